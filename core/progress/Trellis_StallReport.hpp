// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_STALLREPORT_HPP
#define TRELLIS_IMPL_STALLREPORT_HPP

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <thread>

namespace trellis::Impl {

class Kernel;
class Polling;
class SubmissionLock;
class TaskSlab;
class Waiters;

/// Tells on the standard error stream when no task of a graph has been completed for a while though
/// some are in flight: each of them, in which state it is, and what it waits for. Once for each
/// such time. It is a thread of its own, which looks now and then, in graphs that are asked for it
/// alone.
///
/// It looks at tasks that others complete meanwhile, as the search for circles does: a task that is
/// live under its lock stays so, and what is said of one is what held at that moment.
class StallReport {
 public:
  /// `waiting_for_room`: threads that submit.
  StallReport(Kernel& kernel, Polling& polling, Waiters& waiters,
              std::atomic<int> const& waiting_for_room, double seconds);
  StallReport(StallReport const&) = delete;
  StallReport& operator=(StallReport const&) = delete;
  ~StallReport();

  /// What each line of all reports of this process begins with, e.g. "[rank 3] ", where a program
  /// has several processes that write to one stream.
  static void begin_lines_with(std::string text);

 private:
  void watch();
  [[nodiscard]] std::string report() const;

  Kernel& m_kernel;
  Polling& m_polling;
  Waiters& m_waiters;
  std::atomic<int> const& m_waiting_for_room;
  TaskSlab& m_slab;
  SubmissionLock& m_submission;
  double const m_seconds;
  std::mutex m_mutex;
  std::condition_variable m_end;
  bool m_is_over = false;  ///< guarded by m_mutex
  std::thread m_thread;    ///< last: it uses everything above
};

}  // namespace trellis::Impl

#endif
