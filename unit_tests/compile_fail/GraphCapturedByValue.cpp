// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the lambda does with its copy is not told besides.
// EXPECT: Trellis: a lambda takes it by reference: [&graph]
// LINES: 12
#include <Trellis.hpp>

void submit() {
  using trellis::host_task, trellis::ResourcePolicy;
  trellis::TaskGraph graph;
#ifdef TRELLIS_COMPILE_OK
  host_task("a", ResourcePolicy(graph), [&graph] { host_task(ResourcePolicy(graph), [] {}); });
#else
  host_task("a", ResourcePolicy(graph), [=] { host_task(ResourcePolicy(graph), [] {}); });
#endif
}
