// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each rank sends a row of numbers to the next one, in a ring, and all ranks add up what has come.
// Messages are tasks: they read and write Views, and no line of the program waits for them.
#include <Trellis.hpp>
#include <Trellis_Mpi.hpp>

#include <cstdio>

namespace mpi = trellis::mpi;

int main(int argc, char** argv) {
  mpi::ScopeGuard const guard(argc, argv);
  Kokkos::ScopeGuard const kokkos(argc, argv);
  auto const comm = mpi::Communicator::duplicate(MPI_COMM_WORLD);
  int const ranks = comm.size();
  int const rank = comm.rank();
  constexpr int n = 100;

  trellis::TaskGraph graph;
  Kokkos::View<double*> mine("mine", n);
  Kokkos::View<double*> theirs("theirs", n);
  Kokkos::View<double> sum("sum");
  trellis::parallel_for(
      "fill", trellis::ResourcePolicy(graph, n, trellis::write(mine)),
      KOKKOS_LAMBDA(int i) { mine(i) = rank; });
  mpi::send(graph, comm, mine, (rank + 1) % ranks, 0);
  mpi::recv(graph, comm, theirs, (rank + ranks - 1) % ranks, 0);
  trellis::parallel_reduce(
      "add", trellis::ResourcePolicy(graph, n, trellis::read(theirs)),
      KOKKOS_LAMBDA(int i, double& s) { s += theirs(i); }, sum);
  mpi::allreduce(graph, comm, sum, mpi::sum);
  Kokkos::View<double, Kokkos::HostSpace> result("result");
  trellis::deep_copy(graph, result, sum);
  graph.wait();

  if (rank == 0) std::printf("%d ranks, the sum is %g\n", ranks, result());
  return result() == n * ranks * (ranks - 1) / 2.0 ? 0 : 1;
}
