// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An atomic View converts to a plain one, and then updates of tasks that run together are lost.
// EXPECT: a View annotated with atomic_add or atomic_mul is taken as an atomic_view<V>
#include <Trellis.hpp>

using V = Kokkos::View<double*>;
#ifdef TRELLIS_COMPILE_OK
using Sum = trellis::atomic_view<V>;
#else
using Sum = V;
#endif

void submit(trellis::TaskGraph& graph, V const& x) {
  auto const body = KOKKOS_LAMBDA(int, Sum const& sum) {
    sum(0) += 1;
  };
  trellis::parallel_for("count", trellis::ResourcePolicy(graph, 10, trellis::atomic_add(x)), body);
}
