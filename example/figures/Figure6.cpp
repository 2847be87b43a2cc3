// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Figure 6: several resources, each accessed in its own way.
//
// Look at: functors 1 and 2 have nothing in common, so they are independent. Functor 3 reads what
// both wrote. Functor 4 overwrites green, which functor 3 reads. Functor 5 only reads red, as
// functor 3 does, and need not wait for that.
#include "Figures.hpp"

namespace figures {

using trellis::read, trellis::read_write, trellis::ResourcePolicy;

Facts figure_6(trellis::TaskGraph& graph) {
  trellis::Token const red("red"), green("green");
  trellis::host_task("functor 1", ResourcePolicy(graph, read_write(green)), [] {});
  trellis::host_task("functor 2", ResourcePolicy(graph, read_write(red)), [] {});
  trellis::host_task("functor 3", ResourcePolicy(graph, read(green), read(red)), [] {});
  trellis::host_task("functor 4", ResourcePolicy(graph, read_write(green)), [] {});
  trellis::host_task("functor 5", ResourcePolicy(graph, read(red)), [] {});
  graph.wait();
  return {};
}

}  // namespace figures
