// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: parallel_scan runs over a whole number or a RangePolicy, as in Kokkos
#include <Trellis.hpp>

#ifdef TRELLIS_COMPILE_OK
using Policy = Kokkos::RangePolicy<>;
Policy const policy(0, 10);
#else
using Policy = Kokkos::MDRangePolicy<Kokkos::Rank<2>>;
Policy const policy({0, 0}, {10, 10});
#endif

void submit(trellis::TaskGraph& graph) {
  trellis::parallel_scan("sum", trellis::ResourcePolicy(graph, policy),
                         KOKKOS_LAMBDA(int, double&, bool){});
}
