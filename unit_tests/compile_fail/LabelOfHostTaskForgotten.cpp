// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: a task has a label: host_task("label", ResourcePolicy(graph, read(x), ...), callable)
#include <Trellis.hpp>

int submit(trellis::TaskGraph& graph) {
#ifdef TRELLIS_COMPILE_OK
  return trellis::host_task("answer", trellis::ResourcePolicy(graph), [] { return 42; }).get();
#else
  return trellis::host_task(trellis::ResourcePolicy(graph), [] { return 42; }).get();
#endif
}
