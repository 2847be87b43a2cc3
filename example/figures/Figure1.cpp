// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Figure 1: dependencies follow from the order of the code and from what each functor does to the
// resource.
//
// Look at: the two readers depend on the second writer, not on each other. Functor 1 comes before
// them, too, but this needs no edge of its own.
//
// There is no way to insert a functor between two others (figure 2): a new one always comes last.
#include "Figures.hpp"

namespace figures {

using trellis::read, trellis::read_write, trellis::ResourcePolicy;

Facts figure_1(trellis::TaskGraph& graph) {
  trellis::Token const green("green");
  trellis::host_task("functor 1", ResourcePolicy(graph, read_write(green)), [] {});
  trellis::host_task("functor 2", ResourcePolicy(graph, read_write(green)), [] {});
  trellis::host_task("functor 3", ResourcePolicy(graph, read(green)), [] {});
  trellis::host_task("functor 4", ResourcePolicy(graph, read(green)), [] {});
  graph.wait();
  return {};
}

}  // namespace figures
