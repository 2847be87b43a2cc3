// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: the task's execution space cannot access the memory space of an annotated View
#include <Trellis.hpp>
#include <Simulated/Trellis_SpaceSimulated.hpp>

#include <vector>

void submit(trellis::TaskGraph& graph) {
#ifdef TRELLIS_COMPILE_OK
  std::vector<Kokkos::View<double*, trellis::SimulatedSpace>> all;
#else
  std::vector<Kokkos::View<double*, Kokkos::HostSpace>> all;
#endif
  auto const body = KOKKOS_LAMBDA(int){};
  trellis::ResourcePolicy const policy(graph, 1, trellis::read(all),
                                       trellis::on<trellis::Simulated>);
  trellis::parallel_for("look", policy, body);
}
