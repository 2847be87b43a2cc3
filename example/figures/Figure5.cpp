// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Figure 5: running sub functors are demoted, from read-write to nothing and from read-write to
// read.
//
// Look at: the edges marked "released". Functor 2.2 did not have to wait for the end of 2.1, nor
// 2.3 for the end of 2.2. Without the demotions this would never end: each of the two waits, while
// it runs, for the end of the next one.
#include "Figures.hpp"

#include <future>

namespace figures {

using trellis::read, trellis::read_write, trellis::ResourcePolicy, trellis::TaskScope;

Facts figure_5(trellis::TaskGraph& graph) {
  trellis::Token const green("green");
  std::promise<trellis::Future<void>> functor_2_2, functor_2_3;
  trellis::host_task("functor 1", ResourcePolicy(graph, read_write(green)), [] {});
  trellis::host_task(
      "functor 2", ResourcePolicy(graph, read_write(green)), [&](TaskScope& functor_2) {
        trellis::host_task("functor 2.1", ResourcePolicy(functor_2, read_write(green)),
                           [&](TaskScope& self) {
                             self.release(green);
                             functor_2_2.get_future().get().wait();
                           });
        functor_2_2.set_value(trellis::host_task(
            "functor 2.2", ResourcePolicy(functor_2, read_write(green)), [&](TaskScope& self) {
              self.demote(read(green));
              functor_2_3.get_future().get().wait();
            }));
        functor_2_3.set_value(
            trellis::host_task("functor 2.3", ResourcePolicy(functor_2, read(green)), [] {}));
      });
  trellis::host_task("functor 3", ResourcePolicy(graph, read(green)), [] {});
  graph.wait();
  return {fact("functor 2.2 ran while functor 2.1 was still running",
               ran_during(graph, "functor 2.2", "functor 2.1")),
          fact("functor 2.3 ran while functor 2.2 was still running",
               ran_during(graph, "functor 2.3", "functor 2.2"))};
}

}  // namespace figures
