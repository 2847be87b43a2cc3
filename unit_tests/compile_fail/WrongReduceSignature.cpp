// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: the functor can be called neither with the policy's indices nor with the indices followed
// by the
#include <Trellis.hpp>

void submit(trellis::TaskGraph& graph) {
#ifdef TRELLIS_COMPILE_OK
  auto const body = KOKKOS_LAMBDA(int, double&, int&){};
#else
  auto const body = KOKKOS_LAMBDA(int, double&){};  // one value for two results
#endif
  trellis::parallel_reduce("both", trellis::ResourcePolicy(graph, 10), body,
                           trellis::reduced<Kokkos::Sum<double>>,
                           trellis::reduced<Kokkos::Max<int>>);
}
