// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_RELAXED_HPP
#define TRELLIS_IMPL_RELAXED_HPP

#include <atomic>

namespace trellis::Impl {

/// A value that other threads may read while it changes; each of them sees an old or a new value.
/// It orders nothing: code that acts upon it has another reason to know that it still holds.
template <class T>
class Relaxed {
 public:
  constexpr Relaxed(T value = T()) noexcept : m_value(value) {}
  Relaxed(Relaxed const&) = delete;
  T operator=(T value) noexcept {
    m_value.store(value, std::memory_order_relaxed);
    return value;
  }
  Relaxed& operator=(Relaxed const& other) noexcept {
    *this = static_cast<T>(other);
    return *this;
  }
  operator T() const noexcept { return m_value.load(std::memory_order_relaxed); }
  T operator->() const noexcept { return *this; }

 private:
  std::atomic<T> m_value;
};

}  // namespace trellis::Impl

#endif
