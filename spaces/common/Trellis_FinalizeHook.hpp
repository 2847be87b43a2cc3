// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_FINALIZEHOOK_HPP
#define TRELLIS_FINALIZEHOOK_HPP

#include <functional>

namespace trellis::Impl {

/// Calls Kokkos::push_finalize_hook; any thread may call it. Kokkos keeps its hooks in a container
/// that only one thread may change at a time, but several threads make graphs and pools of memory.
void push_finalize_hook(std::function<void()> hook);

}  // namespace trellis::Impl

#endif
