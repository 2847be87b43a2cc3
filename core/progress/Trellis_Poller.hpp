// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_POLLER_HPP
#define TRELLIS_IMPL_POLLER_HPP

#include <threads/Trellis_Relaxed.hpp>

#include <atomic>
#include <chrono>

namespace trellis::Impl {

/// Which thread asks what is outside of the graph how far it is: one at a time, and not all the
/// time, as each question may keep a thread that launches from the device's driver.
///
/// It is the thread, not its seat, that polls: what it completes is given to code of the user's
/// (the end of a functor), which may wait, and then the thread works on in another seat.
class Poller {
 public:
  using Clock = std::chrono::steady_clock;

  /// True when the calling thread polls from now on, or did already.
  [[nodiscard]] bool begin() {
    if (is_here()) return true;
    void const* expected = nullptr;
    return m_thread.compare_exchange_strong(expected, this_thread(), std::memory_order_seq_cst);
  }
  /// Does the calling thread poll?
  [[nodiscard]] bool is_here() const {
    return m_thread.load(std::memory_order_relaxed) == this_thread();
  }
  /// Does no other thread poll?
  [[nodiscard]] bool may_be_here() const {
    void const* const thread = m_thread.load(std::memory_order_seq_cst);
    return thread == nullptr || thread == this_thread();
  }
  /// Requires `is_here`.
  void end() { m_thread.store(nullptr, std::memory_order_seq_cst); }

  /// Is it time to ask again? For the thread that polls, or might.
  [[nodiscard]] bool is_due() const {
    Clock::time_point const next = m_next;
    return Clock::now() >= next;
  }
  void found_nothing() { m_next = Clock::now() + interval; }

 private:
  static constexpr std::chrono::microseconds interval{3};
  [[nodiscard]] static void const* this_thread() {
    static thread_local char const here = 0;
    return &here;
  }

  std::atomic<void const*> m_thread{nullptr};
  Relaxed<Clock::time_point> m_next{};
};

}  // namespace trellis::Impl

#endif
