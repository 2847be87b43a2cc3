// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: parallel_scan needs a range: parallel_scan("label", ResourcePolicy(graph, n, read(x),
#include <Trellis.hpp>

double submit(trellis::TaskGraph& graph) {
  auto const body = KOKKOS_LAMBDA(int i, double& s, bool) {
    s += i;
  };
#ifdef TRELLIS_COMPILE_OK
  return trellis::parallel_scan("sum", trellis::ResourcePolicy(graph, 10), body).get();
#else
  return trellis::parallel_scan("sum", trellis::ResourcePolicy(graph), body).get();
#endif
}
