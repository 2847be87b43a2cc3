// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: the functor's call operator must take what stands in FunctorMustTake<...> above
// SHOWS: FunctorMustTake<false, void ?[(][a-z ]+, [a-z ]+, Kokkos::View<double ?[*]>[)]>
#include <Trellis.hpp>

using V = Kokkos::View<double*>;

void submit(trellis::TaskGraph& graph, V const& x) {
  using Plane = Kokkos::MDRangePolicy<Kokkos::Rank<2>>;
#ifdef TRELLIS_COMPILE_OK
  auto const body = KOKKOS_LAMBDA(int, int, V){};
#else
  auto const body = KOKKOS_LAMBDA(int, V){};  // one index for two
#endif
  trellis::ResourcePolicy const policy(graph, Plane({0, 0}, {2, 2}), trellis::write(x));
  trellis::parallel_for("plane", policy, body);
}
