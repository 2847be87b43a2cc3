// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: the label comes first: host_task("label", ResourcePolicy(graph, read(x), ...), callable)
// LINES: 12
#include <Trellis.hpp>

void submit(trellis::TaskGraph& graph) {
  char const* const name = "task";
#ifdef TRELLIS_COMPILE_OK
  trellis::host_task(name, trellis::ResourcePolicy(graph), [] {});
#else
  trellis::host_task(trellis::ResourcePolicy(graph), name, [] {});
#endif
}
