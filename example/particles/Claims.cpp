// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Claims.hpp"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "Gate.hpp"

namespace particles {
namespace {

using Ids = std::vector<trellis::TaskId>;

/// Finds the tasks with this label, without children: a body that runs again is a child of its
/// task, with the same label.
Ids find(trellis::Graph const& graph, std::string const& label) {
  Ids ids = graph.find(label);
  std::erase_if(ids, [&](trellis::TaskId id) { return graph.node(id).parent != 0; });
  if (ids.empty()) throw std::runtime_error("no task '" + label + "' was recorded");
  return ids;
}
trellis::TaskRecord only(trellis::Graph const& graph, std::string const& label) {
  Ids const ids = find(graph, label);
  if (ids.size() > 1) throw std::runtime_error("several tasks '" + label + "' were recorded");
  return graph.node(ids.front());
}

/// Returns the messages in flight in a step. The halo of E that the step begins with is left out:
/// it is sent at the end of the previous step, and the first step has no previous one.
std::vector<std::string> messages_of(int step) {
  std::string const name = " " + std::to_string(step);
  std::vector<std::string> all{"exchange particles" + name};
  for (char const* const field : {"B ", "J ", "E "})
    for (char const* const side : {"west", "east"})
      if (step > 0 || field[0] != 'E')
        for (char const* const way : {"send ", "recv "})
          all.push_back(std::string(way) + field + side + name);
  return all;
}

void require_released(trellis::Graph const& graph, std::string const& from, std::string const& to) {
  trellis::TaskId const a = only(graph, from).id, b = only(graph, to).id;
  bool is_there = false;
  for (trellis::EdgeRecord const& edge : graph.edges()) {
    if (edge.from != a || edge.to != b) continue;
    is_there = true;
    if (!edge.released)
      throw std::runtime_error("no early release: '" + to + "' had to wait for the end of '" +
                               from + "'");
  }
  if (!is_there) throw std::runtime_error("'" + to + "' does not depend on '" + from + "'");
}

void require(bool holds, std::string const& what) {
  if (!holds) throw std::runtime_error(what);
}

}  // namespace

ClaimsOfGraph look_at_graph(trellis::Graph const& graph, int steps) {
  ClaimsOfGraph found;
  for (int step = 0; step < steps; ++step) {
    std::string const name = " " + std::to_string(step);
    for (trellis::TaskId const core : find(graph, "push core" + name))
      for (std::string const& label : messages_of(step))
        for (trellis::TaskId const message : find(graph, label)) {
          require(!graph.reaches(core, message) && !graph.reaches(message, core),
                  "no overlap: '" + label + "' and 'push core" + name + "' depend on each other");
          ++found.pairs;
        }
    for (char const* const side : {"west", "east"}) {
      require_released(graph, "push " + std::string(side) + name,
                       "send J " + std::string(side) + name);
      require_released(graph, "push " + std::string(side) + name, "exchange particles" + name);
      found.released += 2;
    }
    trellis::TaskId const exchange = only(graph, "exchange particles" + name).id;
    for (trellis::EdgeRecord const& edge : graph.edges())
      if (edge.from == exchange && edge.released &&
          graph.node(edge.to).label.starts_with("insert "))
        ++found.inserted;
  }
  return found;
}

ClaimsOfTime look_at_times(trellis::Graph const& graph, int steps) {
  ClaimsOfTime found;
  for (int step = 0; step < steps; ++step) {
    std::string const name = " " + std::to_string(step);
    trellis::TaskRecord const send = only(graph, "send J west" + name);
    if (Gate::is_even(step)) {
      trellis::TaskRecord const border = only(graph, "push west" + name);
      require(
          send.started_ns < border.finished_ns,
          "no early release: '" + send.label + "' began after the end of '" + border.label + "'");
      ++found.early;
    } else {
      trellis::TaskRecord const recv = only(graph, "recv J west" + name);
      // The first tile of the core.
      trellis::TaskRecord const& core = graph.node(find(graph, "push core" + name).front());
      require(core.started_ns < send.started_ns && recv.finished_ns < core.finished_ns,
              "no overlap: '" + core.label + "' did not run while the currents were under way");
      ++found.overlapped;
    }
  }
  return found;
}

}  // namespace particles
