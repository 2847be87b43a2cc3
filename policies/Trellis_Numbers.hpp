// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_NUMBERS_HPP
#define TRELLIS_NUMBERS_HPP

/// With this header tasks have numbers that are known before the tasks exist: `number(k)`,
/// `after(k)`, `graph.wait(k)`.
#include <annotations/Trellis_Properties.hpp>
#include <Trellis_TaskNumber.hpp>
#include <Trellis_TaskNumbers.hpp>

namespace trellis {

/// The task has this number from now on, see Trellis_Numbers.hpp. The call that submits it throws
/// `Error` when another task has the number, when it is not reserved, or when it belongs to another
/// graph. If the call throws, the number is unchanged. `number(TaskNumber())` gives the task no
/// number.
using Impl::number;

}  // namespace trellis

#endif
