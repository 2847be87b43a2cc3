// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A callable of the host is refused in the same way.
// EXPECT: a View annotated with atomic_add or atomic_mul is taken as an atomic_view<V>
#include <Trellis.hpp>

using V = Kokkos::View<double*>;
#ifdef TRELLIS_COMPILE_OK
using Sum = trellis::atomic_view<V>;
#else
using Sum = V;
#endif

void submit(trellis::TaskGraph& graph, V const& x) {
  auto const body = [](Sum sum) { sum(0) *= 2; };
  trellis::host_task("count", trellis::ResourcePolicy(graph, trellis::atomic_mul(x)), body);
}
