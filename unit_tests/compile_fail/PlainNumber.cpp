// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: the policy says which graph and which Views: parallel_reduce("label",
#include <Trellis.hpp>

double launch(trellis::TaskGraph& graph, double value) {
  auto const body = KOKKOS_LAMBDA(int i, double& s) {
    s += i;
  };
#ifdef TRELLIS_COMPILE_OK
  value = trellis::parallel_reduce("sum", trellis::ResourcePolicy(graph, 10), body).get();
#else
  (void)graph;
  trellis::parallel_reduce("sum", 10, body, value);
#endif
  return value;
}
