// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: the base policy of a task on a simulated device is a whole number or a policy of a host
// space
#include <Simulated/Trellis_SpaceSimulated.hpp>
#include <Trellis.hpp>

#ifdef TRELLIS_COMPILE_OK
using Space = trellis::Simulated::kernel_space;
#else
using Space = trellis::Simulated;
#endif

void f() {
  trellis::TaskGraph graph;
  auto const body = KOKKOS_LAMBDA(int){};
  trellis::ResourcePolicy const policy(graph, Kokkos::RangePolicy<Space>(0, 10),
                                       trellis::on<trellis::Simulated>);
  trellis::parallel_for("once", policy, body);
}
