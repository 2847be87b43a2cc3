// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: the policy says which graph and which Views: parallel_scan("label", ResourcePolicy(graph,
#include <Trellis.hpp>

double submit([[maybe_unused]] trellis::TaskGraph& graph) {
  auto const body = KOKKOS_LAMBDA(int i, double& s, bool) {
    s += i;
  };
#ifdef TRELLIS_COMPILE_OK
  return trellis::parallel_scan("sum", trellis::ResourcePolicy(graph, 10), body).get();
#else
  return trellis::parallel_scan("sum", Kokkos::RangePolicy<>(0, 10), body).get();
#endif
}
