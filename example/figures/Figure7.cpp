// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Figure 7: a scheduler may add edges and never takes one away. Here functors 3 and 4 both use the
// network, where a rule of the user's keeps the order of the code.
//
// Look at: functor 3 -> functor 4 is in the scheduling graph only. It makes functor 2 -> functor 4
// useless, which stays.
#include "Figures.hpp"

namespace figures {

using trellis::read, trellis::read_write, trellis::ResourcePolicy;

namespace {
enum class Uses { nothing, network };  // a functor without a tag uses nothing
}

Facts figure_7(trellis::TaskGraph& graph) {
  graph.add_rule<Uses>(
      "network in order", trellis::Constraint::ordered,
      [](Uses earlier, Uses later) { return earlier == Uses::network && later == Uses::network; });

  trellis::Token const green("green");
  auto const network = trellis::tag(Uses::network);
  trellis::host_task("functor 1", ResourcePolicy(graph, read_write(green)), [] {});
  auto const second =
      trellis::host_task("functor 2", ResourcePolicy(graph, read_write(green)), [] {});
  auto const third =
      trellis::host_task("functor 3", ResourcePolicy(graph, read(green), network), [] {});
  auto const fourth =
      trellis::host_task("functor 4", ResourcePolicy(graph, read(green), network), [] {});
  graph.wait();

  trellis::SchedulingGraph const scheduling = graph.scheduling_graph();
  return {fact(
      "functor 2 comes before functor 4 also by way of functor 3",
      scheduling.reaches(second.id(), third.id()) && scheduling.reaches(third.id(), fourth.id()))};
}

}  // namespace figures
