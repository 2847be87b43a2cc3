// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Step 8 of the tutorial: messages of MPI as tasks. See docs/tutorial/8_messages.md.
#include <Trellis.hpp>
#include <Trellis_Mpi.hpp>

#include <cstdio>
#include <utility>

namespace mpi = trellis::mpi;

/// The solution, at the end.
static int largest_number(trellis::TaskGraph& graph, mpi::Communicator const& comm);

int main(int argc, char** argv) {
  mpi::ScopeGuard const guard(argc, argv);
  Kokkos::ScopeGuard const kokkos(argc, argv);
  auto const comm = mpi::Communicator::duplicate(MPI_COMM_WORLD);
  int const rank = comm.rank(), ranks = comm.size(), n = 100;
  int const left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;

  trellis::TaskGraph graph;
  Kokkos::View<int*> x("x", n + 2), y("y", n + 2);  // cells 1 to n, and a halo on each side
  auto const cells = [](auto const& view, int first, int last) {
    return Kokkos::subview(view, std::pair(first, last));
  };
  Kokkos::RangePolicy<> const inside(1, n + 1);
  trellis::parallel_for(
      "fill", trellis::ResourcePolicy(graph, inside, trellis::write(cells(x, 1, n + 1))),
      KOKKOS_LAMBDA(int i) { x(i) = rank; });
  mpi::send(graph, comm, cells(x, 1, 2), left, 0);
  mpi::send(graph, comm, cells(x, n, n + 1), right, 1);
  mpi::recv(graph, comm, cells(x, n + 1, n + 2), right, 0);
  mpi::recv(graph, comm, cells(x, 0, 1), left, 1);
  trellis::parallel_for(
      "neighbours",
      trellis::ResourcePolicy(graph, inside, trellis::read(x), trellis::write(cells(y, 1, n + 1))),
      KOKKOS_LAMBDA(int i) { y(i) = x(i - 1) + x(i + 1); });
  Kokkos::View<int> sum("sum");
  trellis::parallel_reduce(
      "sum", trellis::ResourcePolicy(graph, inside, trellis::read(cells(y, 1, n + 1))),
      KOKKOS_LAMBDA(int i, int& s) { s += y(i); }, sum);
  mpi::allreduce(graph, comm, sum, mpi::sum);
  Kokkos::View<int, Kokkos::HostSpace> result("result");
  trellis::deep_copy(graph, result, sum);
  graph.wait();

  int const largest = largest_number(graph, comm);
  if (rank == 0) {
    std::printf("%d ranks: the sums of neighbours add up to %d.\n", ranks, result());
    std::printf("Exercise: the largest number is %d.\n", largest);
  }
  return result() == n * ranks * (ranks - 1) && largest == 10 * (ranks - 1) ? 0 : 1;
}

/// Each rank has a number, ten times its own; all get the largest one.
static int largest_number(trellis::TaskGraph& graph, mpi::Communicator const& comm) {
  int const rank = comm.rank();
  Kokkos::View<int> number("number");
  trellis::parallel_for(
      "number", trellis::ResourcePolicy(graph, 1, trellis::write(number)),
      KOKKOS_LAMBDA(int) { number() = 10 * rank; });
  mpi::allreduce(graph, comm, number, mpi::max);
  Kokkos::View<int, Kokkos::HostSpace> result("result");
  trellis::deep_copy(graph, result, number);
  graph.wait();
  return result();
}
