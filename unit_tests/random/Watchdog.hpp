// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_WATCHDOG_HPP
#define TRELLIS_TEST_WATCHDOG_HPP

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace random_program {

/// Ends the process, and says what it was at, when that takes too long.
class Watchdog {
 public:
  Watchdog(std::string what, std::chrono::seconds limit)
      : m_thread([this, text = std::move(what), limit] {
          std::unique_lock lock(m_mutex);
          if (m_condition.wait_for(lock, limit, [this] { return m_over; })) return;
          std::cerr << "This does not end:\n" << text << std::endl;
          std::abort();
        }) {}
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

 private:
  std::mutex m_mutex;
  std::condition_variable m_condition;
  bool m_over = false;
  std::thread m_thread;  // last: it uses what is above
};

}  // namespace random_program

#endif
