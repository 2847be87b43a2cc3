// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_PAGE_HPP
#define TRELLIS_IMPL_PAGE_HPP

#include <Trellis_Graph.hpp>
#include <tools/Trellis_Fold.hpp>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// The page that shows a trace in a browser, and the texts beside it.
namespace trellis::Impl {

/// What a page shows besides the trace. A larger trace is cut, and the page says so.
struct PageOptions {
  std::string title = "Trellis trace";
  std::string analysis;  ///< text; empty: that of `write_analysis`
  std::vector<std::pair<std::string, std::string>> files;  ///< names and addresses to lead to
  std::size_t most_tasks = 100'000;
  std::size_t most_edges = 500'000;
  std::size_t most_accesses = 500'000;
};

/// Writes the page as one file that needs no other one.
void write_page(std::ostream& out, TraceLook const& look, PageOptions const& options);

/// One graph in a folder with the traces of several, and when its trace was written.
struct GraphEntry {
  std::string folder, title, summary, time;
  friend bool operator==(GraphEntry const&, GraphEntry const&) = default;
};
/// Writes a page that leads to those of several graphs.
void write_list_page(std::ostream& out, std::vector<GraphEntry> const& entries);

/// The times of the tasks whose labels differ only in numbers.
struct LabelTimes {
  std::string name;
  std::optional<TimelineStyle::Look> look;
  std::size_t tasks = 0;
  std::size_t run = 0;
  std::size_t failed = 0;
  std::size_t critical = 0;
  std::uint64_t time = 0;
  std::uint64_t shortest = 0;
  std::uint64_t longest = 0;
  std::uint64_t ready = 0;  ///< the sum of what they were ready before they ran
};
[[nodiscard]] std::vector<LabelTimes> label_times(TraceLook const& look);  ///< longest time first
/// Returns tables for a terminal: the times of each label, and how busy each row was.
[[nodiscard]] std::string statistics_text(TraceLook const& look);
/// Returns the counters over time in the form of `TRELLIS_STATISTICS`. What a record does not tell
/// is empty.
[[nodiscard]] std::string statistics_csv(TraceLook const& look, std::string const& graph);

/// The counters of a trace, at equal distances from its begin to its end.
struct Counters {
  std::vector<std::uint64_t> time_ns;                    ///< since the graph was made
  std::vector<std::uint64_t> spawned, batches, batched;  ///< since the begin
  std::vector<std::uint64_t> pending, ready, running;
};
[[nodiscard]] Counters counters_of(TraceLook const& look, std::size_t samples);

}  // namespace trellis::Impl

#endif
