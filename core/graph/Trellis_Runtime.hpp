// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_RUNTIME_HPP
#define TRELLIS_IMPL_RUNTIME_HPP

#include <functional>

namespace trellis::Impl {

/// What core needs from the library that the tasks run on. `spaces/` sets it for Kokkos; without it
/// (core alone) a graph may always be made.
struct Runtime {
  bool (*is_usable)() = nullptr;                         ///< initialised and not finalised
  int (*concurrency)() = nullptr;                        ///< threads of the host space
  void (*at_finalize)(std::function<void()>) = nullptr;  ///< calls it before the library ends
};
Runtime& runtime();

}  // namespace trellis::Impl

#endif
