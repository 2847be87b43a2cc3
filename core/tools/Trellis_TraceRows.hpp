// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TRACE_ROWS_HPP
#define TRELLIS_TRACE_ROWS_HPP

#include <Trellis_Graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace trellis::Impl {

/// One task on its row, from `begin` to `end` in nanoseconds.
struct Slice {
  TaskRecord const* task = nullptr;
  std::uint64_t begin =
      0;  ///< later than `task->started_ns` where it was queued behind another task
  std::uint64_t end = 0;
  std::size_t row = 0;  ///< index into `TraceRows::names`
  std::size_t lane = 0;
  bool is_late = false;  ///< the time from the end of its body until it was complete
};

inline bool has_run(TaskRecord const& task) {
  return task.row >= 0 && (task.state == TaskState::running || task.state == TaskState::done ||
                           task.state == TaskState::failed);
}

/// The tasks of a trace that ran, laid out in rows. Two tasks of one row may overlap in two ways. A
/// task that splits itself or waits runs others on its own thread: they lie inside of it, and get a
/// lane below. Tasks of a stream are launched one after the other long before they run, and run in
/// that order: each one begins when the one before it has finished. Tasks that are complete later
/// than their bodies have two slices: that of the body, and one on a row that all of them share.
/// This object refers to the trace, which must outlive it.
struct TraceRows {
  std::vector<std::string> names;  ///< without rows that have neither a name nor tasks
  std::size_t threads = 0;         ///< how many of these, the first ones, are threads that share
                                   ///< the places of `Trace::workers`
  /// The number of lanes of each row, at least 1. In a lane no two tasks overlap.
  std::vector<std::size_t> lanes;
  std::vector<Slice> slices;  ///< by begin, then end, then order in the graph
  std::size_t tasks = 0;      ///< number of tasks that have run
  std::uint64_t begin = 0;    ///< when the first task began
  std::uint64_t end = 0;      ///< when the last one finished; a running task reaches up to here

  explicit TraceRows(Trace const& trace) {
    bool any_running = false;
    std::size_t late_row = trace.rows.size();
    for (TaskRecord const& task : trace.graph.nodes())
      if (has_run(task)) late_row = std::max(late_row, static_cast<std::size_t>(task.row) + 1);
    bool any_late = false;
    for (TaskRecord const& task : trace.graph.nodes()) {
      // A task that still runs reaches up to the last event that is known.
      end = std::max({end, task.submitted_ns, task.ready_ns, task.started_ns, task.finished_ns});
      if (!has_run(task)) continue;
      // After the body only its children run.
      std::uint64_t const until = task.returned_ns != 0 ? task.returned_ns : task.finished_ns;
      slices.push_back({&task, task.started_ns, until, static_cast<std::size_t>(task.row), 0});
      ++tasks;
      if (task.completes_later && task.returned_ns != 0) {
        any_late = true;
        slices.push_back({&task, task.returned_ns, task.finished_ns, late_row, 0, true});
      }
      any_running = any_running || task.state == TaskState::running;
    }
    std::uint64_t last = 0;
    for (Slice& slice : slices) {
      bool const continues = slice.is_late || slice.task->returned_ns == 0;
      if (slice.task->state == TaskState::running && continues) slice.end = end;
      slice.end = std::max(slice.end, slice.begin);
      last = std::max(last, slice.end);
    }
    if (!any_running) end = last;
    std::vector<std::string> given = trace.rows;
    if (any_late) {
      given.resize(late_row);
      given.emplace_back("complete later");
    }
    name_rows(given, trace.workers > 0 ? trace.threads : 0);
    sort();
    order_queues();
    sort();
    if (!slices.empty()) begin = slices.front().begin;
    assign_lanes();
  }

  /// Returns for each row the nanoseconds in which at least one task ran. `by_worker`: a task with
  /// the threads of several workers counts once for each worker.
  [[nodiscard]] std::vector<std::uint64_t> busy(bool by_worker = false) const {
    std::vector<std::uint64_t> sum(names.size(), 0), reached(sum), reached_by_wide(sum);
    for (Slice const& slice : slices) {
      auto const add = [&](std::uint64_t& until, int times) {
        std::uint64_t const from = std::max(slice.begin, until);
        if (slice.end <= from) return;
        sum[slice.row] += (slice.end - from) * static_cast<std::uint64_t>(times);
        until = slice.end;
      };
      add(reached[slice.row], 1);
      if (by_worker && slice.task->workers > 1)
        add(reached_by_wide[slice.row], slice.task->workers - 1);
    }
    return sum;
  }

 private:
  void sort() {
    std::stable_sort(slices.begin(), slices.end(), [](Slice const& a, Slice const& b) {
      return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
    });
  }

  void name_rows(std::vector<std::string> const& given, std::size_t given_threads) {
    std::size_t count = given.size();
    for (Slice const& slice : slices) count = std::max(count, slice.row + 1);
    std::vector<bool> used(count, false);
    for (Slice const& slice : slices) used[slice.row] = true;
    std::vector<std::size_t> index(count, 0);
    for (std::size_t row = 0; row != count; ++row) {
      bool const named = row < given.size() && !given[row].empty();
      if (!named && !used[row]) continue;
      index[row] = names.size();
      if (row < given_threads) threads = names.size() + 1;
      names.push_back(named ? given[row] : "row " + std::to_string(row));
    }
    for (Slice& slice : slices) slice.row = index[slice.row];
  }

  // Orders the tasks of queues: a task that begins within another and outlives it cannot have been
  // called by it.
  void order_queues() {
    std::vector<std::uint64_t> reached(names.size(), 0);
    for (Slice& slice : slices) {
      if (slice.is_late) continue;
      std::uint64_t& row_end = reached[slice.row];
      if (slice.begin < row_end && slice.end > row_end) slice.begin = row_end;
      row_end = std::max(row_end, slice.end);
    }
  }

  // Each task takes the first lane of its row that is free when it begins.
  void assign_lanes() {
    using Busy = std::pair<std::uint64_t, std::size_t>;
    struct Row {
      std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy;
      std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> free;
    };
    std::vector<Row> rows(names.size());
    lanes.assign(names.size(), 0);
    for (Slice& slice : slices) {
      Row& row = rows[slice.row];
      while (!row.busy.empty() && row.busy.top().first <= slice.begin) {
        row.free.push(row.busy.top().second);
        row.busy.pop();
      }
      if (row.free.empty()) row.free.push(lanes[slice.row]++);
      slice.lane = row.free.top();
      row.free.pop();
      row.busy.emplace(slice.end, slice.lane);
    }
    for (std::size_t& count : lanes) count = std::max<std::size_t>(count, 1);
  }
};

}  // namespace trellis::Impl

#endif
