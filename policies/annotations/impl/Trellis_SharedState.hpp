// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_SHAREDSTATE_HPP
#define TRELLIS_IMPL_SHAREDSTATE_HPP

#include <common/Trellis_KokkosInternals.hpp>

#include <Kokkos_Core.hpp>

#include <atomic>

namespace trellis::Impl {

/// The state that several handles share.
struct SharedState {
  std::atomic<long> uses{1};
};

/// Keeps a state as a View keeps its allocation: the state lives as long as a copy that counts.
/// Copies that Kokkos makes for a kernel do not count. A functor may hold a handle; a device gets
/// only the address.
template <class State>
class SharedHandle {
 public:
  KOKKOS_DEFAULTED_FUNCTION SharedHandle() = default;
  /// Takes over the single use that a new state has.
  explicit SharedHandle(State* state) : m_state(state), m_counts(state != nullptr) {}
  KOKKOS_FUNCTION SharedHandle(SharedHandle const& other) : m_state(other.m_state) {
    KOKKOS_IF_ON_HOST((m_counts = count();))
  }
  KOKKOS_FUNCTION SharedHandle& operator=(SharedHandle const& other) {
    if (m_state == other.m_state && m_counts == other.m_counts) return *this;
    KOKKOS_IF_ON_HOST(
        (SharedHandle const old(*this, TakeOver()); m_state = other.m_state; m_counts = count();))
    return *this;
  }
  KOKKOS_FUNCTION ~SharedHandle() { KOKKOS_IF_ON_HOST((release();)) }

  [[nodiscard]] KOKKOS_FUNCTION State* get() const { return m_state; }

 private:
  struct TakeOver {};
  SharedHandle(SharedHandle& other, TakeOver) : m_state(other.m_state), m_counts(other.m_counts) {
    other.m_counts = false;
  }
  [[nodiscard]] bool count() const {
    if (m_state == nullptr || !counts_references()) return false;
    m_state->uses.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  void release() noexcept {
    if (m_counts && m_state->uses.fetch_sub(1, std::memory_order_acq_rel) == 1) delete m_state;
  }

  State* m_state = nullptr;
  bool m_counts = false;
};

}  // namespace trellis::Impl

#endif
