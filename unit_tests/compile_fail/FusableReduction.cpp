// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: Trellis: fusable goes with parallel_for over a number, a RangePolicy or an MDRangePolicy
#include <Trellis.hpp>
#include <Trellis_Fusion.hpp>

void submit(trellis::TaskGraph& graph) {
#ifdef TRELLIS_COMPILE_OK
  trellis::parallel_for("sum", trellis::ResourcePolicy(graph, 4, trellis::fusable),
                        KOKKOS_LAMBDA(int){});
#else
  auto const body = KOKKOS_LAMBDA(int, long&){};
  trellis::parallel_reduce("sum", trellis::ResourcePolicy(graph, 4, trellis::fusable), body);
#endif
}
