// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_THISTHREAD_HPP
#define TRELLIS_IMPL_THISTHREAD_HPP

namespace trellis::Impl {

/// Distinguishes threads that exist at the same time. (An atomic std::thread::id is not lock-free
/// everywhere.)
class ThisThread {
 public:
  [[nodiscard]] static void const* id() noexcept {
    static thread_local char const here = 0;
    return &here;
  }
};

}  // namespace trellis::Impl

#endif
