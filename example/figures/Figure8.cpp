// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Figure 8: functor 3 is bound to the main thread, as calls of MPI often must be.
//
// Look at: the dependencies are those of figure 1. The main thread is the one that made the graph;
// it runs functor 3 inside of wait().
#include "Figures.hpp"

#include <thread>

namespace figures {

using trellis::read, trellis::read_write, trellis::ResourcePolicy;

Facts figure_8(trellis::TaskGraph& graph) {
  trellis::Token const green("green");
  std::thread::id ran_on;
  trellis::host_task("functor 1", ResourcePolicy(graph, read_write(green)), [] {});
  trellis::host_task("functor 2", ResourcePolicy(graph, read_write(green)), [] {});
  trellis::host_task("functor 3", ResourcePolicy(graph, read(green), trellis::main_thread),
                     [&] { ran_on = std::this_thread::get_id(); });
  trellis::host_task("functor 4", ResourcePolicy(graph, read(green)), [] {});
  graph.wait();
  return {fact("functor 3 ran on the main thread", ran_on == std::this_thread::get_id())};
}

}  // namespace figures
