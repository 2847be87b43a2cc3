// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_STATISTICS_HPP
#define TRELLIS_STATISTICS_HPP

#include <cstdint>
#include <iosfwd>

/// With this header you see how many tasks a graph has in which state, now and over time, without
/// recording the graph. `TRELLIS_STATISTICS=file.csv` writes the counters of all graphs into a file
/// and a picture beside it.
namespace trellis {

/// Of one graph; see TaskGraph::statistics. Each run of a recorded task counts as a task.
struct GraphStatistics {
  // So far.
  std::uint64_t spawned = 0;          ///< tasks, parts included
  std::uint64_t spawned_fusable = 0;  ///< of these, such as may be run as one
  std::uint64_t completed = 0;        ///< also those that failed or were cancelled
  std::uint64_t batches = 0;          ///< of fused tasks
  std::uint64_t batched = 0;          ///< tasks in these
  // Now.
  std::uint64_t pending = 0;
  std::uint64_t ready = 0;
  std::uint64_t running = 0;  ///< a task that has parts runs until they are complete
  std::int64_t held = 0;      ///< ready, and held back to be fused
  std::int64_t sections = 0;  ///< fork-join sections that are under way
  /// Tasks that these have forked and that are in flight: how many may run beside each other
  /// between a fork and its join. Parts of the parts are not among them.
  std::int64_t section_parts = 0;

  [[nodiscard]] std::uint64_t in_flight() const { return pending + ready + running; }
};

namespace experimental {

/// Draws what a file of statistics has: each column over time, a line for each graph. The largest
/// value in each pixel counts. Throws `Error` when this is no such file.
void write_statistics_svg(std::istream& csv, std::ostream& svg);

}  // namespace experimental

}  // namespace trellis

#endif
