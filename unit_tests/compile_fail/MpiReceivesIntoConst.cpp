// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: an MPI task cannot receive into a View of const elements
// LINES: 40
#include <Trellis_Mpi.hpp>

void submit(trellis::TaskGraph& graph, trellis::mpi::Communicator const& comm,
            Kokkos::View<double*, Kokkos::HostSpace> const& x) {
  using namespace trellis;
  using R = Kokkos::View<double const*, Kokkos::HostSpace>;
#ifdef TRELLIS_COMPILE_OK
  mpi::recv(graph, comm, x, 1, 0);
#else
  mpi::recv(graph, comm, R(x), 1, 0);
#endif
}
