// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: the functor can be called neither with the policy's indices nor with the indices followed
// by the
#include <Trellis.hpp>

using V = Kokkos::View<double*>;

void submit(trellis::TaskGraph& graph, V const& x) {
  using Plane = Kokkos::MDRangePolicy<Kokkos::Rank<2>>;
#ifdef TRELLIS_COMPILE_OK
  auto const body = KOKKOS_LAMBDA(int, int, V){};
#else
  auto const body = KOKKOS_LAMBDA(int, V){};  // one index for two
#endif
  trellis::parallel_for(
      "plane", trellis::ResourcePolicy(graph, Plane({0, 0}, {2, 2}), trellis::write(x)), body);
}
