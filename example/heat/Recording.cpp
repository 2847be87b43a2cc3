// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Recording.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace heat {

int steps_under_way(trellis::Graph const& graph) {
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>>
      steps;  // label: first start, last finish
  for (auto const& node : graph.nodes()) {
    if (node.label.rfind("step ", 0) != 0) continue;
    auto const [entry, is_new] = steps.try_emplace(node.label, node.started_ns, node.finished_ns);
    auto& [start, finish] = entry->second;
    start = std::min(start, node.started_ns);
    finish = std::max(finish, node.finished_ns);
  }
  std::vector<std::pair<std::uint64_t, int>> changes;  // at one moment, ends come before beginnings
  for (auto const& [label, span] : steps) {
    changes.emplace_back(span.first, 1);
    changes.emplace_back(span.second, -1);
  }
  std::sort(changes.begin(), changes.end());
  int now = 0, most = 0;
  for (auto const& [time, change] : changes) most = std::max(most, now += change);
  return most;
}

}  // namespace heat
