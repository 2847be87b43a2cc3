// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: the policy says which graph and which Views: parallel_reduce(ResourcePolicy(graph, n or
#include <Trellis.hpp>

double submit([[maybe_unused]] trellis::TaskGraph& graph) {
  auto const body = KOKKOS_LAMBDA(int i, double& s) {
    s += i;
  };
#ifdef TRELLIS_COMPILE_OK
  auto const sum = trellis::parallel_reduce(trellis::ResourcePolicy(graph, 10), body);
#else
  auto const sum = trellis::parallel_reduce(10, body);
#endif
  return sum.get();
}
