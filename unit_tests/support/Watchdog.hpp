// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_WATCHDOG_HPP
#define TRELLIS_TEST_WATCHDOG_HPP

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace trellis::Test {

/// Ends the process when nothing has happened for too long, and prints what is under way. Whoever
/// gets on calls `beat`, if anybody; if not, the limit is for all that happens while it lives.
class Watchdog {
 public:
  /// `describe` is called on the watchdog's thread, while the others hang.
  Watchdog(std::chrono::seconds limit, std::function<std::string()> describe)
      : m_describe(std::move(describe)), m_thread([this, limit] { watch(limit); }) {}
  Watchdog(std::chrono::seconds limit, std::string what)
      : Watchdog(limit, [text = std::move(what)] { return text; }) {}
  Watchdog(Watchdog const&) = delete;
  Watchdog& operator=(Watchdog const&) = delete;
  ~Watchdog() {
    {
      std::lock_guard const lock(m_mutex);
      m_over = true;
    }
    m_condition.notify_one();
    m_thread.join();
  }

  /// Relaxed, so that it orders nothing that the engine has to order.
  void beat() { m_beats.fetch_add(1, std::memory_order_relaxed); }

 private:
  void watch(std::chrono::seconds limit) {
    std::uint64_t seen = 0;
    auto since = std::chrono::steady_clock::now();
    std::unique_lock lock(m_mutex);
    while (!m_condition.wait_for(lock, std::chrono::milliseconds(250), [this] { return m_over; })) {
      std::uint64_t const beats = m_beats.load(std::memory_order_relaxed);
      auto const now = std::chrono::steady_clock::now();
      if (beats != seen) {
        seen = beats;
        since = now;
      } else if (now - since > limit) {
        std::cerr << "Nothing has happened for " << limit.count() << " s.\n"
                  << m_describe() << std::endl;
        std::abort();
      }
    }
  }

  std::function<std::string()> const m_describe;
  std::atomic<std::uint64_t> m_beats{0};
  std::mutex m_mutex;
  std::condition_variable m_condition;
  bool m_over = false;
  std::thread m_thread;  // last: it uses what is above
};

}  // namespace trellis::Test

#endif
