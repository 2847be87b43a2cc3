// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TaskFactorisation.hpp"

#include <cstddef>
#include <vector>

namespace cholesky {

bool priorities_are_paths(trellis::Graph const& graph) {
  std::vector<std::size_t> const edges_behind = trellis::hops(graph);
  for (std::size_t k = 0; k < edges_behind.size(); ++k)
    if (graph.nodes()[k].priority != static_cast<int>(edges_behind[k]) + 1) return false;
  return true;
}

}  // namespace cholesky
