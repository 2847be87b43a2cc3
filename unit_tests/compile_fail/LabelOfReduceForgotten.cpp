// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: a task has a label: parallel_reduce("label", ResourcePolicy(graph, n, read(x), ...),
#include <Trellis.hpp>

double submit(trellis::TaskGraph& graph) {
  auto const body = KOKKOS_LAMBDA(int i, double& s) {
    s += i;
  };
#ifdef TRELLIS_COMPILE_OK
  auto const sum = trellis::parallel_reduce("sum", trellis::ResourcePolicy(graph, 10), body);
#else
  auto const sum = trellis::parallel_reduce(trellis::ResourcePolicy(graph, 10), body);
#endif
  return sum.get();
}
