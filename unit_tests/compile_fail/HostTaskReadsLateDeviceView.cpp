// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: the task's execution space cannot access the memory space of an annotated View
#include <Simulated/Trellis_SpaceSimulated.hpp>
#include <Trellis.hpp>
#include <Trellis_Late.hpp>

#ifdef TRELLIS_COMPILE_OK
using Space = Kokkos::HostSpace;
#else
using Space = trellis::SimulatedSpace;
#endif

void f() {
  trellis::TaskGraph graph;
  using X = trellis::LateView<double*, Space>;
  X const x("x");
  auto const body = [](X::read_view const& all) { return all(0); };
  trellis::host_task("read", trellis::ResourcePolicy(graph, trellis::read(x)), body);
}
