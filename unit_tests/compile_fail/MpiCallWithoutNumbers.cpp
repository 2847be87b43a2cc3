// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: behind the graph an MPI task takes a communicator, Views, and what the operation is to know
// LINES: 20
#include <Trellis_Mpi.hpp>

void submit(trellis::TaskGraph& graph, trellis::mpi::Communicator const& comm,
            Kokkos::View<double*, Kokkos::HostSpace> const& x) {
  using namespace trellis;
#ifdef TRELLIS_COMPILE_OK
  mpi::send(graph, comm, x, 1, 0);
#else
  mpi::send(graph, comm, x, "to the right");
#endif
}
