// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_TASKCOUNTERS_HPP
#define TRELLIS_IMPL_TASKCOUNTERS_HPP

#include <Trellis_Graph.hpp>
#include <Trellis_Statistics.hpp>
#include <Trellis_TaskId.hpp>
#include <base/Trellis_FunctionRef.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace trellis::Impl {

/// A file that a graph's counters go to over time. It ends with the object. Trellis::tools makes
/// it; see GraphTools.
class StatisticsFile {
 public:
  StatisticsFile() = default;
  StatisticsFile(StatisticsFile const&) = delete;
  StatisticsFile& operator=(StatisticsFile const&) = delete;
  virtual ~StatisticsFile() = default;
  /// Notes that these numbers have changed. Calls come one after the other.
  virtual void fork_joins(std::int64_t fork_joins, std::int64_t children) noexcept = 0;
};

/// The counters of a graph, and the file that they go to. If they are not wanted, each call is only
/// one test.
class TaskCounters {
 public:
  /// `file`: null if counters are not wanted; empty for counters without a file. Throws `Error`
  /// when the file cannot be written. `graph`: its name. Requires `graph_tools` for a file.
  TaskCounters(std::string const* file, std::string const& graph);
  TaskCounters(TaskCounters const&) = delete;
  TaskCounters& operator=(TaskCounters const&) = delete;
  /// Requires that no task is in flight.
  ~TaskCounters();

  [[nodiscard]] bool are_on() const { return m_state != nullptr; }
  /// Counts a task that has entered this state. `is_fork_join_child` returns whether it is a child
  /// of a fork-join. It is called for a new task, while its fork-join exists.
  void changed(TaskId task, TaskState state, FunctionRef<bool()> is_fork_join_child) {
    if (m_state != nullptr) note_state(task, state, is_fork_join_child);
  }
  /// Counts a spawned task that may be fused.
  void fusable() {
    if (m_state != nullptr) note_fusable();
  }
  void held(std::int64_t by) {
    if (m_state != nullptr) note_held(by);
  }
  void batch(std::size_t tasks) {
    if (m_state != nullptr) note_batch(tasks);
  }
  /// Notes that a fork-join starts (1) or ends (-1), or that its children start (0).
  void fork_join(int by) {
    if (m_state != nullptr) note_fork_join(by);
  }
  /// Requires `are_on`.
  [[nodiscard]] GraphStatistics now() const;

  /// Lets graphs of this process write to files with this rank in their names from now on.
  static void set_rank(int rank);
  [[nodiscard]] static int rank();  ///< -1: not known

 private:
  struct State;
  void note_state(TaskId task, TaskState state, FunctionRef<bool()> is_fork_join_child);
  void note_fusable();
  void note_held(std::int64_t by);
  void note_batch(std::size_t tasks);
  void note_fork_join(int by);

  std::unique_ptr<State> m_state;          ///< null: not wanted
  std::unique_ptr<StatisticsFile> m_file;  ///< null: none; it uses the counters
};

}  // namespace trellis::Impl

#endif
