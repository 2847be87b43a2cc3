// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: a View annotated with atomic_add or atomic_mul is taken as an atomic_view<V>
#include <Trellis.hpp>

using V = Kokkos::View<double*>;
#ifdef TRELLIS_COMPILE_OK
using Count = trellis::atomic_view<V>;
#else
using Count = V;
#endif

void submit(trellis::TaskGraph& graph, V const& x, V const& y) {
  auto const body = KOKKOS_LAMBDA(int, int, Count const& one, Count two, double& sum) {
    one(0) += 1;
    two(0) += 1;
    sum += 1;
  };
  Kokkos::MDRangePolicy<Kokkos::Rank<2>> const plane({0, 0}, {4, 4});
  trellis::ResourcePolicy const policy(graph, plane, trellis::atomic_add(x, y));
  trellis::parallel_reduce("count", policy, body);
}
