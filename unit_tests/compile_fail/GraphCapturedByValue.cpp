// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The only copy of a graph that a program means is that of a reference to it.
// EXPECT: Trellis: a lambda takes it by reference: [&graph]
// LINES: 12
#include <Trellis.hpp>

void submit() {
  trellis::TaskGraph graph;
  auto const nothing = [] {};
#ifdef TRELLIS_COMPILE_OK
  auto const body = [&] { trellis::host_task(trellis::ResourcePolicy(graph), nothing); };
  trellis::host_task(trellis::ResourcePolicy(graph), body);
#else
  auto body = [=] { trellis::host_task(trellis::ResourcePolicy(graph), nothing); };
  trellis::host_task(trellis::ResourcePolicy(graph), std::move(body));
#endif
}
