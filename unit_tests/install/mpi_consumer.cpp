// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The smallest program that needs the headers and the archive of the component `mpi`.
#include <Trellis.hpp>
#include <Trellis_Mpi.hpp>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int const ranks = trellis::mpi::Communicator::from_raw(MPI_COMM_WORLD).size();
  MPI_Finalize();
  return ranks == 2 ? 0 : 1;
}
