// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: a View annotated with atomic_add or atomic_mul is taken as an atomic_view<V>
#include <Trellis.hpp>

using V = Kokkos::View<double*>;
#ifdef TRELLIS_COMPILE_OK
using Count = trellis::atomic_view<V>;
#else
using Count = V;
#endif

void submit(trellis::TaskGraph& graph, V const& x) {
  auto const body = KOKKOS_LAMBDA(int, Count const& count, double& sum, bool) {
    sum += count(0) += 1;
  };
  auto const both = trellis::group(x);
  trellis::ResourcePolicy const policy(graph, 4, trellis::atomic_add(both));
  trellis::parallel_scan("count", policy, body);
}
