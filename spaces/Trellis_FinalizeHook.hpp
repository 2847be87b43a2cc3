// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_FINALIZEHOOK_HPP
#define TRELLIS_FINALIZEHOOK_HPP

#include <Kokkos_Core.hpp>

#include <functional>
#include <mutex>
#include <utility>

namespace trellis::Impl {

/// Kokkos::push_finalize_hook, for any thread: Kokkos keeps its hooks in a container that only one
/// thread may change at a time, and graphs and pools of memory are made by several.
inline void push_finalize_hook(std::function<void()> hook) {
  static std::mutex mutex;
  std::lock_guard const lock(mutex);
  Kokkos::push_finalize_hook(std::move(hook));
}

}  // namespace trellis::Impl

#endif
