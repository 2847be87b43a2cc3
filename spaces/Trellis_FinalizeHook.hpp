// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_FINALIZEHOOK_HPP
#define TRELLIS_FINALIZEHOOK_HPP

#include <functional>

namespace trellis::Impl {

/// Kokkos::push_finalize_hook, for any thread: Kokkos keeps its hooks in a container that only one
/// thread may change at a time, and graphs and pools of memory are made by several.
void push_finalize_hook(std::function<void()> hook);

}  // namespace trellis::Impl

#endif
