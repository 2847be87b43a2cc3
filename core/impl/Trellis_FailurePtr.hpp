// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_FAILUREPTR_HPP
#define TRELLIS_IMPL_FAILUREPTR_HPP

#include <Trellis_Error.hpp>
#include <Trellis_TaskId.hpp>

#include <memory>
#include <string>

namespace trellis::Impl {

/// Why a task did not end well; see its own header.
struct Failure;
using FailurePtr = std::shared_ptr<Failure const>;

/// Returns the error of `get()` on a task with this failure: failed itself, or cancelled.
[[nodiscard]] Error make_error(TaskId task, std::string const& task_text, Failure const& failure);

}  // namespace trellis::Impl

#endif
