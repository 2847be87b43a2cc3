// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: ResourcePolicy(graph, base, accesses...) takes as base a whole number or a Kokkos
// RangePolicy
#include <Trellis.hpp>

void submit(trellis::TaskGraph& graph) {
#ifdef TRELLIS_COMPILE_OK
  int const base = 10;
#else
  double const base = 10;
#endif
  trellis::parallel_for("task", trellis::ResourcePolicy(graph, base), KOKKOS_LAMBDA(int){});
}
