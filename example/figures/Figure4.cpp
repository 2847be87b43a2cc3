// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Figure 4: functors are split into sub functors, which have a dependency graph of their own.
//
// Look at: functor 2 is split by its own body, while it runs. Functor 3 is split from outside,
// while it is pending. The edges around them stay as they are: to all others, functor 2 is complete
// when its sub functors are. A sub functor must not do more than its parent: functor 3 only reads,
// so it cannot get one that writes.
#include "Figures.hpp"

#include <future>

namespace figures {

using trellis::read, trellis::read_write, trellis::ResourcePolicy;

Facts figure_4(trellis::TaskGraph& graph) {
  trellis::Token const green("green");
  std::promise<void> all_is_added;  // until then nothing starts
  trellis::host_task("functor 1", ResourcePolicy(graph, read_write(green)),
                     [&] { all_is_added.get_future().wait(); });
  trellis::host_task(
      "functor 2", ResourcePolicy(graph, read_write(green)), [&](trellis::TaskScope& self) {
        trellis::host_task("functor 2.1", ResourcePolicy(self, read_write(green)), [] {});
        trellis::host_task("functor 2.2", ResourcePolicy(self, read(green)), [] {});
        trellis::host_task("functor 2.3", ResourcePolicy(self, read(green)), [] {});
      });
  auto const functor_3 = trellis::host_task("functor 3", ResourcePolicy(graph, read(green)), [] {});
  trellis::host_task("functor 4", ResourcePolicy(graph, read_write(green)), [] {});

  bool promotion_was_refused = false;
  trellis::refine(functor_3, [&](trellis::TaskScope& self) {
    trellis::host_task("functor 3.1", ResourcePolicy(self, read(green)), [] {});
    trellis::host_task("functor 3.2", ResourcePolicy(self, read(green)), [] {});
    try {
      trellis::host_task("functor 3.3", ResourcePolicy(self, read_write(green)), [] {});
    } catch (trellis::Error const& error) {
      promotion_was_refused = error.kind() == trellis::Error::Kind::bad_access;
    }
  });
  all_is_added.set_value();
  graph.wait();
  return {fact("a sub functor of functor 3 that writes was refused", promotion_was_refused),
          fact("functor 3 started only when functor 2.3 was over",
               is_over_before(graph, "functor 2.3", "functor 3"))};
}

}  // namespace figures
