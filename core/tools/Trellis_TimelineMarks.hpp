// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_TIMELINEMARKS_HPP
#define TRELLIS_IMPL_TIMELINEMARKS_HPP

#include <Trellis_Analysis.hpp>
#include <Trellis_Error.hpp>
#include <Trellis_Graph.hpp>
#include <tools/Trellis_TraceRows.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

/// Marks for the rows and boxes of a timeline: how busy a row was, and which tasks determined the
/// length of the whole.
namespace trellis::Impl {

/// Returns for each row the nanoseconds in which at least one task ran.
[[nodiscard]] inline std::vector<std::uint64_t> busy(TraceRows const& rows) {
  std::vector<std::uint64_t> sum(rows.names.size(), 0);
  std::vector<std::uint64_t> reached(rows.names.size(), 0);
  for (Slice const& slice : rows.slices) {
    std::uint64_t const from = std::max(slice.begin, reached[slice.row]);
    if (slice.end > from) sum[slice.row] += slice.end - from;
    reached[slice.row] = std::max(reached[slice.row], slice.end);
  }
  return sum;
}

/// Returns these times too, but counts a task with the threads of several workers once for each
/// worker.
[[nodiscard]] inline std::vector<std::uint64_t> busy_workers(TraceRows const& rows) {
  std::vector<std::uint64_t> sum = busy(rows);
  std::vector<std::uint64_t> reached(rows.names.size(), 0);
  for (Slice const& slice : rows.slices) {
    if (slice.task->workers <= 1) continue;
    std::uint64_t const from = std::max(slice.begin, reached[slice.row]);
    if (slice.end <= from) continue;
    sum[slice.row] += (slice.end - from) * static_cast<std::uint64_t>(slice.task->workers - 1);
    reached[slice.row] = slice.end;
  }
  return sum;
}

/// Returns one line: how many tasks ran on how many rows, how long, how busy, and what failed.
[[nodiscard]] std::string summary_of(Trace const& trace, TraceRows const& rows);

/// The critical path of a trace, as slices. It is empty if it is not wanted, if there are no edges,
/// or if made-up edges close a circle.
class CriticalSlices {
 public:
  CriticalSlices(Graph const& graph, TraceRows const& rows, bool wanted)
      : m_is_on(rows.slices.size(), false) {
    if (!wanted || graph.edges().empty()) return;
    std::vector<TaskId> path;
    try {
      GraphAnalysis found = analyse(graph);
      path = std::move(found.critical_path);
      m_span_ns = static_cast<std::uint64_t>(std::llround(found.span));
    } catch (Error const&) {
      return;
    }
    if (path.size() < 2) return;
    std::unordered_map<TaskId, std::size_t> slice_of;
    for (std::size_t k = 0; k != rows.slices.size(); ++k)
      if (!rows.slices[k].is_late) slice_of.emplace(rows.slices[k].task->id, k);
    for (TaskId const id : path)
      if (auto const found = slice_of.find(id); found != slice_of.end()) {
        m_slices.push_back(found->second);
        m_is_on[found->second] = true;
      }
  }

  [[nodiscard]] std::vector<std::size_t> const& slices() const { return m_slices; }  ///< in order
  [[nodiscard]] bool contains(std::size_t slice) const { return m_is_on[slice]; }
  [[nodiscard]] std::uint64_t span_ns() const { return m_span_ns; }

 private:
  std::vector<std::size_t> m_slices;
  std::vector<bool> m_is_on;
  std::uint64_t m_span_ns = 0;
};

}  // namespace trellis::Impl

#endif
