// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TaskFactorisation.hpp"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace cholesky {

bool priorities_are_paths(trellis::Graph const& graph) {
  std::unordered_map<trellis::TaskId, std::vector<trellis::TaskId>> successors;
  for (auto const& edge : graph.edges()) successors[edge.from].push_back(edge.to);
  // Edges lead from earlier tasks to later ones.
  std::unordered_map<trellis::TaskId, int> path;
  auto const& nodes = graph.nodes();
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    int longest = 0;
    for (trellis::TaskId const next : successors[node->id]) longest = std::max(longest, path[next]);
    path[node->id] = longest + 1;
    if (node->priority != longest + 1) return false;
  }
  return true;
}

}  // namespace cholesky
