// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_STATISTICSFILE_HPP
#define TRELLIS_IMPL_STATISTICSFILE_HPP

#include <memory>
#include <string>
#include <string_view>

namespace trellis::Impl {

class TaskCounters;
class StatisticsFile;

/// The first line of a file of counters over time.
inline constexpr std::string_view statistics_header =
    "time [s],graph,spawned,spawned fusable,held back,batches,mean batch size,ready,running,"
    "in flight,fork-joins,fork-join children\n";
/// Returns the text as a cell of such a file.
[[nodiscard]] std::string csv_cell(std::string const& text);

/// Begins to write the counters of a graph, which outlive the file. Several graphs may write to one
/// file. Throws `Error` when it cannot be written.
[[nodiscard]] std::unique_ptr<StatisticsFile> make_statistics_file(std::string const& file,
                                                                   std::string const& graph,
                                                                   TaskCounters const& counters);

}  // namespace trellis::Impl

#endif
