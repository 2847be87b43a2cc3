// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Figure 9: a synchronizing functor comes after all functors before it and before all functors
// after it.
//
// Look at: the functors are those of figure 1, but functor 3 is synchronizing. Functor 4 now has to
// wait for it, and it for functor 1, to which it had no edge.
#include "Figures.hpp"

namespace figures {

using trellis::read, trellis::read_write, trellis::ResourcePolicy;

Facts figure_9(trellis::TaskGraph& graph) {
  trellis::Token const green("green");
  trellis::host_task("functor 1", ResourcePolicy(graph, read_write(green)), [] {});
  trellis::host_task("functor 2", ResourcePolicy(graph, read_write(green)), [] {});
  trellis::host_task("functor 3", ResourcePolicy(graph, read(green), trellis::synchronizing),
                     [] {});
  trellis::host_task("functor 4", ResourcePolicy(graph, read(green)), [] {});
  graph.wait();
  return {fact("functors 1 and 2 were over before functor 3 started",
               is_over_before(graph, "functor 1", "functor 3") &&
                   is_over_before(graph, "functor 2", "functor 3")),
          fact("functor 3 was over before functor 4 started",
               is_over_before(graph, "functor 3", "functor 4"))};
}

}  // namespace figures
