// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Figure 3: figure 1 in a loop. The graph grows at its end while functors at its beginning run and
// leave.
//
// Look at: the facts. To make them visible, functor 1 of each loop waits until the next loop has
// been added. At that time the previous loop is already complete: its functors are removed from the
// graph, and with them the edges that begin there. Only the record still has them, from which the
// last lines are. The number of functors that are left is the graph's own count.
#include "Figures.hpp"

#include <array>
#include <future>

namespace figures {

using trellis::read, trellis::read_write, trellis::ResourcePolicy;

Facts figure_3(trellis::TaskGraph& graph) {
  trellis::Token const green("green");
  constexpr int loops = 3;
  std::array<std::promise<void>, loops + 1> next_loop_is_there;  // from 1, as the loops
  std::array<trellis::Future<void>, loops + 1> last_functor;
  bool loop_2_was_added = false;
  bool loop_3_was_added = false;
  bool loop_1_was_over = false;
  bool loop_2_was_over = false;
  bool four_were_left = false;
  Facts left;  // when functor 1 of loop 3 runs

  for (int loop = 1; loop <= loops; ++loop) {
    std::string const name = "loop " + std::to_string(loop);
    trellis::host_task(name + " functor 1", ResourcePolicy(graph, read_write(green)), [&, loop] {
      next_loop_is_there[loop].get_future().wait();
      if (loop == 1) loop_2_was_added = graph.submitted() >= 8;
      if (loop == 2) loop_3_was_added = graph.submitted() >= 12;
      if (loop == 2) loop_1_was_over = last_functor[1].is_done();
      if (loop == 3) loop_2_was_over = last_functor[2].is_done();
      if (loop == 3) four_were_left = comes_down_to(graph, 4);
      if (loop == 3) left = edges_left(graph);
    });
    trellis::host_task(name + " functor 2", ResourcePolicy(graph, read_write(green)), [] {});
    trellis::host_task(name + " functor 3", ResourcePolicy(graph, read(green)), [] {});
    last_functor[loop] =
        trellis::host_task(name + " functor 4", ResourcePolicy(graph, read(green)), [] {});
    if (loop > 1) next_loop_is_there[loop - 1].set_value();
  }
  next_loop_is_there[loops].set_value();
  graph.wait();
  Facts facts{fact("loop 2 was added while functor 1 of loop 1 ran", loop_2_was_added),
              fact("loop 3 was added while functor 1 of loop 2 ran", loop_3_was_added),
              fact("loop 1 was over by then", loop_1_was_over),
              fact("loop 2 was over when functor 1 of loop 3 ran", loop_2_was_over),
              fact("then only its own four functors were in flight", four_were_left),
              fact("and three edges begin at those", left.size() == 3)};
  facts.insert(facts.end(), left.begin(), left.end());
  return facts;
}

}  // namespace figures
