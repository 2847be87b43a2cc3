// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: a View annotated with atomic_add or atomic_mul is taken as an atomic_view<V>
#include <Trellis.hpp>

using V = Kokkos::View<double*>;
using Teams = Kokkos::TeamPolicy<>;
#ifdef TRELLIS_COMPILE_OK
using Count = trellis::atomic_view<V>;
#else
using Count = V;
#endif

void submit(trellis::TaskGraph& graph, V const& x) {
  auto const body = KOKKOS_LAMBDA(Teams::member_type const&, Count const& count) {
    count(0) *= 2;
  };
  trellis::ResourcePolicy const policy(graph, Teams(4, 1), trellis::atomic_mul(x));
  trellis::parallel_for("count", policy, body);
}
