// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: an MPI task takes the graph, a TaskScope or a ResourcePolicy first
#include <Trellis_Mpi.hpp>

void submit(trellis::TaskGraph& graph, trellis::mpi::Communicator const& comm,
            Kokkos::View<double*, Kokkos::HostSpace> const& x) {
  using namespace trellis;
#ifdef TRELLIS_COMPILE_OK
  mpi::allreduce(graph, comm, x, mpi::sum);
#else
  (void)graph;
  mpi::allreduce(comm, x, mpi::sum);
#endif
}
