// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: Trellis: fusable goes with parallel_for over a number, a RangePolicy or an MDRangePolicy
#include <Trellis.hpp>
#include <Trellis_Fusion.hpp>

void submit(trellis::TaskGraph& graph) {
#ifdef TRELLIS_COMPILE_OK
  trellis::parallel_for("task", trellis::ResourcePolicy(graph, 4, trellis::fusable),
                        KOKKOS_LAMBDA(int){});
#else
  using Teams = Kokkos::TeamPolicy<Kokkos::DefaultHostExecutionSpace>;
  auto const body = KOKKOS_LAMBDA(Teams::member_type const&){};
  trellis::ResourcePolicy const teams(graph, Teams(4, 1), trellis::fusable);
  trellis::parallel_for("task", teams, body);
#endif
}
