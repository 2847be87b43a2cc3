// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_POLLER_HPP
#define TRELLIS_IMPL_POLLER_HPP

#include <base/Trellis_Relaxed.hpp>
#include <base/Trellis_ThisThread.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>

namespace trellis::Impl {

/// The thread that asks devices and programs outside of the graph for progress. It is one at a
/// time, and asks only now and then, as each query may delay a thread that launches in the device's
/// driver.
///
/// The thread polls, not its slot. What it completes runs user code (the end of a functor), which
/// may wait, and then the thread continues in another slot.
class Poller {
 public:
  using Clock = std::chrono::steady_clock;

  /// Makes the calling thread the poller. True if it is the poller now.
  [[nodiscard]] bool begin() {
    if (is_here()) return true;
    void const* expected = nullptr;
    return m_thread.compare_exchange_strong(expected, ThisThread::id(), std::memory_order_seq_cst);
  }
  [[nodiscard]] bool is_here() const {
    return m_thread.load(std::memory_order_relaxed) == ThisThread::id();
  }
  /// True if no other thread polls.
  [[nodiscard]] bool may_be_here() const {
    void const* const thread = m_thread.load(std::memory_order_seq_cst);
    return thread == nullptr || thread == ThisThread::id();
  }
  /// Requires `is_here`.
  void end() { m_thread.store(nullptr, std::memory_order_seq_cst); }

  /// How often devices are asked. If no thread waits for an answer, each answer covers much that
  /// has happened meanwhile, and the driver is kept from launches only for a small part of the
  /// time.
  enum class Pace : unsigned char { awaited, nobody_waits, launches };
  /// True if it is time to ask again. For the thread that polls, or might.
  [[nodiscard]] bool is_due(Pace pace = Pace::awaited) const {
    Clock::duration wanted = interval;
    if (pace != Pace::awaited) {
      int const part = pace == Pace::launches ? 32 : 8;
      wanted = std::clamp(part * Clock::duration(m_took), patience, longest);
    }
    return Clock::now() - Clock::time_point(m_asked) >= wanted;
  }
  void has_asked() { m_asked = Clock::now(); }
  /// Notes how long the last queries to devices took.
  void has_taken(Clock::duration time) { m_took = time; }

 private:
  static constexpr Clock::duration interval = std::chrono::microseconds(3);
  static constexpr Clock::duration patience = std::chrono::microseconds(20);
  static constexpr Clock::duration longest = std::chrono::microseconds(200);

  std::atomic<void const*> m_thread{nullptr};
  Relaxed<Clock::time_point> m_asked{};
  Relaxed<Clock::duration> m_took{};
};

}  // namespace trellis::Impl

#endif
