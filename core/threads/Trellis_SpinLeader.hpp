// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_SPINLEADER_HPP
#define TRELLIS_IMPL_SPINLEADER_HPP

#include <base/Trellis_SpinLock.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace trellis::Impl {

/// What a worker has seen of the submissions when it last checked whether it should back off, see
/// Trellis_BackOff.cpp. Only that worker uses it.
struct BackOffCheck {
  int until_next = 0;  ///< tasks
  std::chrono::steady_clock::time_point at{};
  std::uint64_t submitted = 0;
};

/// Chooses one of several threads that wait for a condition to poll it for all of them. Each look
/// at the condition takes cache lines from the threads that work, so only one thread, the leader,
/// looks. The others follow it: they read a cache line that is not written until the leader ends.
/// Trellis_BackOff.cpp, which uses it, says what was measured.
///
/// INVARIANT. `m_turns` is odd as long as there is a leader. The thread that becomes the leader
/// makes it odd with a compare-exchange, so there is one at most, and later makes it even again.
/// Each turn as leader has its own number, so a follower does not mistake the next turn for the one
/// it follows. The number publishes no other memory, as a thread that goes on looks for itself;
/// hence relaxed. A follower does not rely on the leader, which may have lost its core: it goes on
/// after a time limit of its own.
class alignas(64) SpinLeader {
 public:
  /// True: the calling thread is the leader until it calls `end`. False: another thread is.
  [[nodiscard]] bool begin() {
    std::uint32_t watches = m_turns.load(std::memory_order_relaxed);
    return watches % 2 == 0 &&
           m_turns.compare_exchange_strong(watches, watches + 1, std::memory_order_relaxed);
  }
  void end() {
    m_turns.store(m_turns.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  /// Waits until the current leader ends, but not longer than `longest`. False: there is none.
  bool follow(std::chrono::nanoseconds longest) const {
    constexpr int between_looks_at_the_clock = 50;
    std::uint32_t const watch = m_turns.load(std::memory_order_relaxed);
    if (watch % 2 == 0) return false;
    auto const end = std::chrono::steady_clock::now() + longest;
    do {
      for (int k = 0; k < between_looks_at_the_clock; ++k) {
        if (m_turns.load(std::memory_order_relaxed) != watch) return true;
        cpu_relax();
      }
    } while (std::chrono::steady_clock::now() < end);
    return true;
  }

 private:
  std::atomic<std::uint32_t> m_turns{0};
};

}  // namespace trellis::Impl

#endif
