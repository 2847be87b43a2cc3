// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_TIMING_HPP
#define TRELLIS_TEST_TIMING_HPP

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include <Trellis_Error.hpp>
#include <Trellis_TaskGraph.hpp>

#include "Sanitized.hpp"
#include "Watchdog.hpp"
#include "Occupancy.hpp"

/// What tests of concurrency need: proofs that two bodies run at the same time, and an end for
/// those that hang.
namespace trellis::Test {

using namespace std::chrono_literals;

/// A place where `size` bodies meet: who arrives waits until all are there.
class Rendezvous {
 public:
  explicit Rendezvous(int size) : m_missing(size) {}

  /// True when all came in time.
  bool meet(std::chrono::milliseconds patience = 20s) {
    std::unique_lock lock(m_mutex);
    if (--m_missing <= 0) m_all.notify_all();
    return m_all.wait_for(lock, patience, [&] { return m_missing <= 0; });
  }

 private:
  std::mutex m_mutex;
  std::condition_variable m_all;
  int m_missing;
};

/// A door that is closed until somebody opens it.
class Gate {
 public:
  void open() {
    std::lock_guard const lock(m_mutex);
    m_open = true;
    m_opened.notify_all();
  }
  /// True when it was opened in time.
  bool pass(std::chrono::milliseconds patience = 20s) {
    std::unique_lock lock(m_mutex);
    return m_opened.wait_for(lock, patience, [&] { return m_open; });
  }
  [[nodiscard]] bool is_open() {
    std::lock_guard const lock(m_mutex);
    return m_open;
  }

 private:
  std::mutex m_mutex;
  std::condition_variable m_opened;
  bool m_open = false;
};

/// A test that is ended when it hangs.
class Timed : public testing::Test {
 protected:
  /// One that takes long gets on.
  void beat() { m_watchdog.beat(); }

 private:
  Watchdog m_watchdog{sanitized ? 240s : 60s, [] {
                        auto const* test = testing::UnitTest::GetInstance()->current_test_info();
                        return std::string(test->test_suite_name()) + '.' + test->name();
                      }};
};

/// The error that `f` throws; a test failure, and an empty one, when it throws none.
inline Error error_of(std::function<void()> const& f) {
  try {
    f();
  } catch (Error const& error) {
    return error;
  }
  ADD_FAILURE() << "no trellis::Error was thrown";
  return {Error::Kind::bad_input, ""};
}

/// Not wait(), in which this thread would run tasks beside the workers.
inline void let_the_workers_finish(TaskGraph const& graph) {
  // While bodies submit tasks, `in_flight` may miss some.
  auto const is_over = [&] {
    std::uint64_t const submitted = graph.submitted();
    return graph.in_flight() == 0 && graph.submitted() == submitted;
  };
  while (!is_over()) std::this_thread::sleep_for(100us);
}

inline void compute_for(std::chrono::microseconds time) {
  auto const end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

/// Sets an environment variable for a while.
class Environment {
 public:
  Environment(char const* name, char const* value) : m_name(name) { setenv(name, value, 1); }
  ~Environment() { unsetenv(m_name); }

 private:
  char const* m_name;
};

}  // namespace trellis::Test

#endif
