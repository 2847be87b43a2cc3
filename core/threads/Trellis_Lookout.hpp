// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_LOOKOUT_HPP
#define TRELLIS_IMPL_LOOKOUT_HPP

#include <threads/Trellis_SpinLock.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace trellis::Impl {

/// Several threads want to go on when something is so, and each look at that takes cache lines from
/// those who work. So one of them, the lookout, looks for all. The others follow: they read a line
/// that nobody writes until the lookout has ended.
///
/// INVARIANT. `m_watches` is odd as long as there is a lookout. It is made odd by the thread that
/// becomes it, with a compare-exchange, so there is one at most, and even again by the same thread.
/// Each watch has a number of its own, so a follower does not take the next one for its own. It
/// tells nothing of other memory: who goes on looks for itself, hence relaxed. A follower does not
/// rely on the lookout, which may have lost its core: it goes on after a time of its own.
class alignas(64) Lookout {
 public:
  /// True: the calling thread is it, until it calls `end`. Else there is one.
  [[nodiscard]] bool begin() {
    std::uint32_t watches = m_watches.load(std::memory_order_relaxed);
    return watches % 2 == 0 &&
           m_watches.compare_exchange_strong(watches, watches + 1, std::memory_order_relaxed);
  }
  void end() {
    m_watches.store(m_watches.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  /// Until the lookout that there is ends, if there is one. False: there is none.
  bool follow(std::chrono::nanoseconds longest) const {
    constexpr int between_looks_at_the_clock = 50;
    std::uint32_t const watch = m_watches.load(std::memory_order_relaxed);
    if (watch % 2 == 0) return false;
    auto const end = std::chrono::steady_clock::now() + longest;
    do {
      for (int k = 0; k < between_looks_at_the_clock; ++k) {
        if (m_watches.load(std::memory_order_relaxed) != watch) return true;
        cpu_relax();
      }
    } while (std::chrono::steady_clock::now() < end);
    return true;
  }

 private:
  std::atomic<std::uint32_t> m_watches{0};
};

}  // namespace trellis::Impl

#endif
