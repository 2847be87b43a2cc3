// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: parallel_reduce needs a range: parallel_reduce("label", ResourcePolicy(graph, n,
#include <Trellis.hpp>

double submit(trellis::TaskGraph& graph) {
  auto const body = KOKKOS_LAMBDA(int i, double& s) {
    s += i;
  };
#ifdef TRELLIS_COMPILE_OK
  return trellis::parallel_reduce("sum", trellis::ResourcePolicy(graph, 10), body).get();
#else
  return trellis::parallel_reduce("sum", trellis::ResourcePolicy(graph), body).get();
#endif
}
