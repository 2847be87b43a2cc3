// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: a host_task has no range: host_task("label", ResourcePolicy(graph, read(x), ...),
#include <Trellis.hpp>

void submit(trellis::TaskGraph& graph) {
#ifdef TRELLIS_COMPILE_OK
  trellis::host_task("task", trellis::ResourcePolicy(graph), [] {});
#else
  trellis::host_task("task", trellis::ResourcePolicy(graph, 10), [] {});
#endif
}
