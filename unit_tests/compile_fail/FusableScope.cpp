// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: Trellis: fusable goes with parallel_for over a number, a RangePolicy or an MDRangePolicy
#include <Trellis.hpp>
#include <Trellis_Fusion.hpp>

void submit(trellis::TaskGraph& graph) {
#ifdef TRELLIS_COMPILE_OK
  trellis::host_task("task", trellis::ResourcePolicy(graph, trellis::fusable), [] {});
#else
  auto const body = [](trellis::TaskScope&) {};
  trellis::host_task("task", trellis::ResourcePolicy(graph, trellis::fusable), body);
#endif
}
