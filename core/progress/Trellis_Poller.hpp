// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_POLLER_HPP
#define TRELLIS_IMPL_POLLER_HPP

#include <threads/Trellis_Relaxed.hpp>
#include <threads/Trellis_ThisThread.hpp>

#include <algorithm>
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
    return m_thread.compare_exchange_strong(expected, ThisThread::id(), std::memory_order_seq_cst);
  }
  /// Does the calling thread poll?
  [[nodiscard]] bool is_here() const {
    return m_thread.load(std::memory_order_relaxed) == ThisThread::id();
  }
  /// Does no other thread poll?
  [[nodiscard]] bool may_be_here() const {
    void const* const thread = m_thread.load(std::memory_order_seq_cst);
    return thread == nullptr || thread == ThisThread::id();
  }
  /// Requires `is_here`.
  void end() { m_thread.store(nullptr, std::memory_order_seq_cst); }

  /// How often devices are asked. Where nobody waits for an answer each is one for much that has
  /// happened meanwhile, and the driver is kept from launches for a small part of the time only.
  enum class Pace : unsigned char { awaited, nobody_waits, launches };
  /// Is it time to ask again? For the thread that polls, or might.
  [[nodiscard]] bool is_due(Pace pace = Pace::awaited) const {
    Clock::duration wanted = interval;
    if (pace != Pace::awaited) {
      int const part = pace == Pace::launches ? 32 : 8;
      wanted = std::clamp(part * Clock::duration(m_took), patience, longest);
    }
    return Clock::now() - Clock::time_point(m_asked) >= wanted;
  }
  void has_asked() { m_asked = Clock::now(); }
  /// How long the last questions to devices took.
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
