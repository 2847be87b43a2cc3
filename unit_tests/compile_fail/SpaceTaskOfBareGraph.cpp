// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: the policy says which graph and which Views: space_task("label", ResourcePolicy(graph,
#include <Trellis.hpp>

int submit(trellis::TaskGraph& graph) {
  auto const body = [](Kokkos::DefaultExecutionSpace const& space) { return space.concurrency(); };
#ifdef TRELLIS_COMPILE_OK
  return trellis::space_task("task", trellis::ResourcePolicy(graph), body).get();
#else
  return trellis::space_task("task", graph, body).get();
#endif
}
