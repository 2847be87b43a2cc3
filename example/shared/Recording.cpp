// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Recording.hpp"

#include <Trellis_Recorded.hpp>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <ostream>
#include <stdexcept>
#include <unordered_set>
#include <utility>
#include <vector>

namespace example {
namespace {

// Returns the trace with no more than `count` tasks: those that began next to each other in the
// middle of the run.
trellis::Trace excerpt(trellis::Trace const& trace, std::size_t count) {
  auto nodes = trace.graph.nodes();
  if (nodes.size() <= count) return trace;
  std::sort(nodes.begin(), nodes.end(),
            [](auto const& a, auto const& b) { return a.started_ns < b.started_ns; });
  auto const first = nodes.begin() + static_cast<std::ptrdiff_t>((nodes.size() - count) / 2);
  std::vector<trellis::TaskRecord> kept(first, first + static_cast<std::ptrdiff_t>(count));
  std::sort(kept.begin(), kept.end(), [](auto const& a, auto const& b) { return a.id < b.id; });

  std::unordered_set<trellis::TaskId> ids;
  for (auto const& node : kept) ids.insert(node.id);
  std::vector<trellis::EdgeRecord> edges;
  for (auto const& edge : trace.graph.edges())
    if (ids.contains(edge.from) && ids.contains(edge.to)) edges.push_back(edge);
  return {trellis::SchedulingGraph(std::move(kept), std::move(edges)), trace.rows, trace.workers,
          trace.threads};
}

template <class Write>
void write_file(std::filesystem::path const& file, Write const& write) {
  std::ofstream out(file);
  write(out);
  if (!out.flush()) throw std::runtime_error("cannot write '" + file.string() + "'");
}

}  // namespace

void write_timeline(std::filesystem::path const& folder, trellis::Trace const& trace) {
  auto const long_trace = excerpt(trace, tasks_in_trace);
  write_file(folder / "trace.json", [&](std::ostream& out) { long_trace.write_chrome_json(out); });
  auto const short_trace = excerpt(trace, tasks_in_timeline);
  write_file(folder / "timeline.svg", [&](std::ostream& out) { short_trace.write_svg(out); });
  write_file(folder / "analysis.txt", [&](std::ostream& out) {
    trellis::write_analysis(out, trace);
    out << '\n';
    trellis::write_predictions(out, trace);
  });
}

void write_graph(std::filesystem::path const& folder, trellis::Trace const& trace) {
  auto const few = excerpt(trace, tasks_in_graph);
  write_file(folder / "graph.dot", [&](std::ostream& out) { few.graph.write_dot(out); });
}

}  // namespace example
