// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: a space_task has no range: space_task("label", ResourcePolicy(graph, read(x), ...),
#include <Trellis.hpp>

void submit(trellis::TaskGraph& graph) {
  auto const body = [](Kokkos::DefaultExecutionSpace const&) {};
#ifdef TRELLIS_COMPILE_OK
  trellis::space_task("task", trellis::ResourcePolicy(graph), body);
#else
  trellis::space_task("task", trellis::ResourcePolicy(graph, 10), body);
#endif
}
