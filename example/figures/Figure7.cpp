// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Figure 7: a scheduler may add edges and never takes one away. Here a scheduling policy lets
// functor 4 of figure 1 come before functor 3.
//
// Look at: functor 4 -> functor 3 is in the scheduling graph only, and against the order of the
// code. It makes functor 2 -> functor 3 redundant, but that edge stays. The policy holds functor 1
// until it has seen functor 4, as an edge to a running functor would come too late.
#include "Figures.hpp"
#include "LookAhead.hpp"

namespace figures {

using trellis::read, trellis::read_write, trellis::ResourcePolicy;

std::shared_ptr<trellis::SchedulingPolicy> figure_7_policy(
    std::shared_ptr<trellis::SchedulingPolicy> base) {
  return std::make_shared<LookAhead>(std::move(base), "functor 4", "functor 3");
}

Facts figure_7(trellis::TaskGraph& graph) {
  trellis::Token const green("green");
  trellis::host_task("functor 1", ResourcePolicy(graph, read_write(green)), [] {});
  auto const second =
      trellis::host_task("functor 2", ResourcePolicy(graph, read_write(green)), [] {});
  auto const third = trellis::host_task("functor 3", ResourcePolicy(graph, read(green)), [] {});
  auto const fourth = trellis::host_task("functor 4", ResourcePolicy(graph, read(green)), [] {});
  graph.wait();

  trellis::SchedulingGraph const scheduling = graph.scheduling_graph();
  return {fact("functor 2 comes before functor 3 also by way of functor 4",
               scheduling.reaches(second.id(), fourth.id()) &&
                   scheduling.reaches(fourth.id(), third.id())),
          fact("functor 4 was over before functor 3 started",
               is_over_before(graph, "functor 4", "functor 3"))};
}

}  // namespace figures
