// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Analysis.hpp>
#include <Trellis_PriorityPolicy.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

namespace trellis::experimental {

void PriorityPolicy::learn(Graph const& graph) {
  struct Sum {
    double rank = 0;
    double consumers = 0;
    double tasks = 0;
  };
  std::map<std::string_view, Sum> sums;
  std::vector<TaskRank> const of_tasks = ranks(graph, measured_cost(graph));
  for (std::size_t k = 0; k < of_tasks.size(); ++k) {
    Sum& sum = sums[graph.nodes()[k].label];
    sum.rank += of_tasks[k].rank;
    sum.consumers += static_cast<double>(of_tasks[k].consumers);
    ++sum.tasks;
  }
  for (auto const& [label, sum] : sums)
    set_urgency(label, {std::llround(sum.rank / sum.tasks),
                        static_cast<std::uint32_t>(std::llround(sum.consumers / sum.tasks))});
}

}  // namespace trellis::experimental
