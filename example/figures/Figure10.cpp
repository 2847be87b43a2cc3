// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Figure 10: functors 3 and 4 must not run at the same time, but may in any order. Both solutions
// are valid, and the scheduling policy chooses.
//
// Look at: the edges between functors 3 and 4, in the scheduling graph only. They point the other
// way in solution 2. One is the choice of the policy, the other one the order in which the two had
// the resource. The functors are the same in both solutions.
#include "Figures.hpp"
#include "LookAhead.hpp"

namespace figures {

using trellis::exclusive, trellis::read, trellis::read_write, trellis::ResourcePolicy;

namespace {

void add_functors(trellis::TaskGraph& graph) {
  trellis::Token const red("red"), green("green"), blue("blue");
  trellis::host_task("functor 1", ResourcePolicy(graph, read_write(red)), [] {});
  trellis::host_task("functor 2", ResourcePolicy(graph, read_write(green)), [] {});
  trellis::host_task("functor 3", ResourcePolicy(graph, read(red), exclusive(blue)), [] {});
  trellis::host_task("functor 4", ResourcePolicy(graph, read(green), exclusive(blue)), [] {});
  graph.wait();
}

}  // namespace

std::shared_ptr<trellis::SchedulingPolicy> figure_10_policy_1(
    std::shared_ptr<trellis::SchedulingPolicy> base) {
  return std::make_shared<LookAhead>(std::move(base), "functor 3", "functor 4");
}
std::shared_ptr<trellis::SchedulingPolicy> figure_10_policy_2(
    std::shared_ptr<trellis::SchedulingPolicy> base) {
  return std::make_shared<LookAhead>(std::move(base), "functor 4", "functor 3");
}

Facts figure_10_solution_1(trellis::TaskGraph& graph) {
  add_functors(graph);
  return {fact("functor 3 was over before functor 4 started",
               is_over_before(graph, "functor 3", "functor 4"))};
}

Facts figure_10_solution_2(trellis::TaskGraph& graph) {
  add_functors(graph);
  return {fact("functor 4 was over before functor 3 started",
               is_over_before(graph, "functor 4", "functor 3"))};
}

}  // namespace figures
