// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_STATISTICS_HPP
#define TRELLIS_STATISTICS_HPP

#include <cstdint>
#include <iosfwd>

/// With this header you see how many tasks a graph has in which state, now and over time, without
/// recording the graph. `TRELLIS_STATISTICS=file.csv` writes the counters of all graphs to a file
/// and draws a picture beside it.
namespace trellis {

/// Counters of one graph; see TaskGraph::statistics. Each run of a recorded task counts as a task.
struct GraphStatistics {
  // Since the graph was made.
  std::uint64_t spawned = 0;          ///< tasks, children included
  std::uint64_t spawned_fusable = 0;  ///< of these, tasks that may run as one with others
  std::uint64_t completed = 0;        ///< also those that failed or were cancelled
  std::uint64_t batches = 0;          ///< of fused tasks
  std::uint64_t batched = 0;          ///< tasks in these
  // At the time of the call.
  std::uint64_t pending = 0;
  std::uint64_t ready = 0;
  std::uint64_t running = 0;    ///< a task with children runs until they are complete
  std::int64_t held = 0;        ///< ready, and held back to be fused
  std::int64_t fork_joins = 0;  ///< fork-joins that are under way
  /// Tasks in flight that these fork-joins have forked: how many may run at the same time between a
  /// fork and its join. Children of these children are not counted.
  std::int64_t fork_join_children = 0;

  [[nodiscard]] std::uint64_t in_flight() const { return pending + ready + running; }
};

namespace experimental {

/// Draws the contents of a statistics file: each column over time, a line for each graph. The
/// largest value in each pixel counts. Throws `Error` when this is no such file.
void write_statistics_svg(std::istream& csv, std::ostream& svg);

}  // namespace experimental

}  // namespace trellis

#endif
