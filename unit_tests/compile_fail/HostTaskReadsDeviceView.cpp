// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: the task's execution space cannot access the memory space of an annotated View
#include <Simulated/Trellis_SpaceSimulated.hpp>
#include <Trellis.hpp>

#ifdef TRELLIS_COMPILE_OK
using Space = Kokkos::HostSpace;
#else
using Space = trellis::SimulatedSpace;
#endif

void f() {
  trellis::TaskGraph graph;
  Kokkos::View<double*, Space> const x("x", 10);
  auto const body = [=] { return x(0); };
  trellis::host_task("read", trellis::ResourcePolicy(graph, trellis::read(x)), body);
}
