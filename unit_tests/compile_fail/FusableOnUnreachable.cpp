// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: fusable_on<Space>: Space cannot access the memory space of an annotated View
#include <Simulated/Trellis_SpaceSimulated.hpp>
#include <Trellis.hpp>
#include <Trellis_Fusion.hpp>

#ifdef TRELLIS_COMPILE_OK
using Space = trellis::SimulatedHostPinnedSpace;
#else
using Space = Kokkos::HostSpace;
#endif

void f() {
  trellis::TaskGraph graph;
  Kokkos::View<double*, Space> const x("x", 10);
  auto const body = KOKKOS_LAMBDA(int i) {
    x(i) += 1;
  };
  trellis::ResourcePolicy const policy(graph, 10, trellis::read_write(x),
                                       trellis::experimental::fusable_on<trellis::Simulated>);
  trellis::parallel_for("update", policy, body);
}
