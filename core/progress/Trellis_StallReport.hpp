// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_STALLREPORT_HPP
#define TRELLIS_IMPL_STALLREPORT_HPP

#include <access/Trellis_AccessTable.hpp>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace trellis::Impl {

class Kernel;
class Polling;
class Waiters;

/// Reports on the standard error stream when no task of a graph has been completed for a while
/// though some are in flight. The report has each such task, its state, and what it waits for, once
/// for each stall. A separate thread checks this now and then, only in graphs that ask for it.
///
/// It reads tasks that other threads complete meanwhile, as the search for cycles does. A task that
/// is live under its lock remains so, and the report on a task holds for that moment.
class StallReport {
 public:
  /// `waiting_for_room`: the number of submitting threads that wait for room.
  StallReport(Kernel& kernel, Polling& polling, Waiters& waiters,
              std::atomic<int> const& waiting_for_room, double seconds);
  StallReport(StallReport const&) = delete;
  StallReport& operator=(StallReport const&) = delete;
  ~StallReport();

  /// Sets the beginning of each line of all reports of this process, e.g. "[rank 3] ". It is for
  /// programs with several processes that write to one stream.
  static void begin_lines_with(std::string text);

 private:
  void watch();
  [[nodiscard]] std::string report() const;
  [[nodiscard]] std::string line_of(LiveAccess task, std::vector<TaskId> const& before) const;

  Kernel& m_kernel;
  Polling& m_polling;
  Waiters& m_waiters;
  std::atomic<int> const& m_waiting_for_room;
  double const m_seconds;
  std::mutex m_mutex;
  std::condition_variable m_end;
  bool m_is_over = false;  ///< guarded by m_mutex
  std::thread m_thread;    ///< last: it uses everything above
};

}  // namespace trellis::Impl

#endif
