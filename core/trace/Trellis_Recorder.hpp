// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_RECORDER_HPP
#define TRELLIS_IMPL_RECORDER_HPP

#include <Trellis_Graph.hpp>
#include <task/Trellis_Task.hpp>

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

namespace trellis::Impl {

/// Keeps what a graph that records has done. Everything is kept, so memory grows with the number of
/// tasks; a graph that does not record has no recorder. Safe for use by several threads.
class Recorder {
 public:
  [[nodiscard]] std::uint64_t now_ns() const {
    using namespace std::chrono;
    return static_cast<std::uint64_t>(
        duration_cast<nanoseconds>(steady_clock::now() - m_start).count());
  }

  /// A task that is being submitted (its accesses are known).
  void submitted(Task const& task);
  void edge(TaskId from, TaskId to, EdgeReason reason, bool released = false);
  /// The edges by access between the two that are there now no longer count.
  void release(TaskId from, TaskId to);
  /// The task has given up accesses.
  void demoted(Task const& task);
  /// A pending task is refined: its body will not run, `pattern` says so.
  void refined(Task const& task);
  /// The body of a task with parts is over.
  void returned(Task const& task);
  /// Ready, or running on this row.
  void changed(Task const& task, TaskState state, int row = -1);
  /// The task is over: done, failed or cancelled. `row`: the seat that ran it, -1: none.
  void finished(Task const& task, TaskState state, int row);

  /// When a task that is about to be finished really ran, by the device's clock; that agrees with
  /// the host's to a few microseconds, or is quite another one.
  void ran_on_device(TaskId id, std::uint64_t started_ns, std::uint64_t finished_ns);

  [[nodiscard]] std::vector<TaskRecord> nodes() const;
  /// Sorted, without repetitions.
  [[nodiscard]] std::vector<EdgeRecord> edges(bool dependencies_only) const;

 private:
  [[nodiscard]] static std::vector<AccessRecord> accesses_of(Task const& task);
  TaskRecord& record(TaskId id) { return m_nodes[static_cast<std::size_t>(id - 1)]; }

  std::chrono::steady_clock::time_point m_start = std::chrono::steady_clock::now();
  mutable std::mutex m_mutex;
  std::vector<TaskRecord> m_nodes;  ///< task `id` at position `id - 1`
  std::vector<EdgeRecord> m_edges;
  struct Release {
    TaskId from;
    TaskId to;
    std::size_t edges;  ///< how many there were: later ones count again
  };
  std::vector<Release> m_releases;
};

}  // namespace trellis::Impl

#endif
