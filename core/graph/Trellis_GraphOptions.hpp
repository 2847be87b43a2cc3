// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_GRAPHOPTIONS_HPP
#define TRELLIS_IMPL_GRAPHOPTIONS_HPP

#include <Trellis_TaskGraphOptions.hpp>

namespace trellis::Impl {

/// Returns the options of a graph with a value for each one: what the program asks for, else what
/// the environment says, else the default. Throws `Error` for a value that cannot be.
[[nodiscard]] TaskGraphOptions resolve(TaskGraphOptions const& asked);

}  // namespace trellis::Impl

#endif
