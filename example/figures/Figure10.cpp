// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Figure 10: functors 3 and 4 must not run at the same time, but may in any order. Both solutions
// are valid; which one it is depends on who is ready first.
//
// Look at: the edge between functors 3 and 4, in the scheduling graph only, which points the other
// way in solution 2. To have both solutions for sure, here one of the first two functors waits
// until the other one's successor is over.
#include "Figures.hpp"

#include <future>

namespace figures {

using trellis::exclusive, trellis::read, trellis::read_write, trellis::ResourcePolicy;

namespace {

void add_functors(trellis::TaskGraph& graph, int first) {
  trellis::Token const red("red"), green("green"), blue("blue");
  std::promise<trellis::Future<void>> functor_3, functor_4;
  trellis::host_task("functor 1", ResourcePolicy(graph, read_write(red)), [&] {
    if (first == 4) functor_4.get_future().get().wait();
  });
  trellis::host_task("functor 2", ResourcePolicy(graph, read_write(green)), [&] {
    if (first == 3) functor_3.get_future().get().wait();
  });
  functor_3.set_value(
      trellis::host_task("functor 3", ResourcePolicy(graph, read(red), exclusive(blue)), [] {}));
  functor_4.set_value(
      trellis::host_task("functor 4", ResourcePolicy(graph, read(green), exclusive(blue)), [] {}));
  graph.wait();
}

}  // namespace

Facts figure_10_solution_1(trellis::TaskGraph& graph) {
  add_functors(graph, 3);
  return {fact("functor 3 was over before functor 4 started",
               is_over_before(graph, "functor 3", "functor 4"))};
}

Facts figure_10_solution_2(trellis::TaskGraph& graph) {
  add_functors(graph, 4);
  return {fact("functor 4 was over before functor 3 started",
               is_over_before(graph, "functor 4", "functor 3"))};
}

}  // namespace figures
