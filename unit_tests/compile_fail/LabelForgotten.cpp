// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: a task has a label: parallel_for("label", ResourcePolicy(graph, n, read(x), ...),
#include <Trellis.hpp>

void submit(trellis::TaskGraph& graph) {
  auto const body = KOKKOS_LAMBDA(int){};
#ifdef TRELLIS_COMPILE_OK
  trellis::parallel_for("task", trellis::ResourcePolicy(graph, 10), body);
#else
  trellis::parallel_for(trellis::ResourcePolicy(graph, 10), body);
#endif
}
