// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: the policy says which graph and which Views: host_task("label", ResourcePolicy(graph,
#include <Trellis.hpp>

int submit(trellis::TaskGraph& graph) {
#ifdef TRELLIS_COMPILE_OK
  return trellis::host_task("task", trellis::ResourcePolicy(graph), [] { return 42; }).get();
#else
  return trellis::host_task("task", graph, [] { return 42; }).get();
#endif
}
