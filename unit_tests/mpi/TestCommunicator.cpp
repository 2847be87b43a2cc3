// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Communicators: whose they are, what they are called, and which channels there are.
#include "MpiTest.hpp"

#include <gmock/gmock.h>

#include <optional>

namespace trellis {
namespace {

using namespace Test;
using testing::HasSubstr;

class Communicators : public MpiTest {};

TEST_F(Communicators, OfOneMpiCommAreOne) {
  auto const a = mpi::Communicator::from_raw(MPI_COMM_WORLD);
  auto const b = mpi::Communicator::from_raw(MPI_COMM_WORLD);
  EXPECT_EQ(a.comm(), MPI_COMM_WORLD);
  EXPECT_EQ(a.name(), "MPI_COMM_WORLD");
  EXPECT_EQ(&a.name(), &b.name());
  EXPECT_EQ(a.rank(), rank);
  EXPECT_EQ(a.size(), size);
  EXPECT_GE(a.largest_tag(), 32767);
  auto const again = mpi::Communicator::from_raw(comm.comm());
  EXPECT_EQ(&again.name(), &comm.name());
}

TEST_F(Communicators, AreFreedWithTheirLastCopy) {
  std::optional<mpi::Communicator> made = comm.duplicate();
  MPI_Comm const raw = made->comm();
  EXPECT_NE(raw, comm.comm());
  mpi::Communicator copy = *made;
  made.reset();
  int compared = 0;
  ASSERT_EQ(MPI_Comm_compare(copy.comm(), comm.comm(), &compared), MPI_SUCCESS);
  EXPECT_EQ(compared, MPI_CONGRUENT);
  copy = {};
  EXPECT_FALSE(copy.valid());
  EXPECT_EQ(copy.comm(), MPI_COMM_NULL);
}

TEST_F(Communicators, LiveAsLongAsTheirTasks) {
  Kokkos::View<int, HostSpace> x("x"), y("y");
  TaskGraph graph;
  {
    auto const own = comm.duplicate();
    x() = rank;
    mpi::send(graph, own, x, right, 1);
    mpi::recv(graph, own, y, left, 1);
  }
  graph.wait();
  EXPECT_EQ(y(), left);
}

TEST_F(Communicators, HaveTheSameNameOnAllRanks) {
  auto const half = comm.split(rank % 2, -rank);
  auto const other = comm.duplicate();
  EXPECT_EQ(half.size(), (size + 1 - rank % 2) / 2);
  EXPECT_EQ(half.rank(), (half.size() - 1) - rank / 2);
  EXPECT_EQ(half.name(), comm.name() + "/0:" + std::to_string(rank % 2));
  EXPECT_EQ(other.name(), comm.name() + "/1");
  auto const alone = comm.split(rank == 0 ? 0 : MPI_UNDEFINED, 0);
  EXPECT_EQ(alone.valid(), rank == 0);
}

TEST_F(Communicators, OfNothingAreRefused) {
  EXPECT_THAT(text_of([] { (void)mpi::Communicator::from_raw(MPI_COMM_NULL); }),
              HasSubstr("MPI_COMM_NULL"));
  EXPECT_THAT(text_of([] { (void)mpi::Communicator().rank(); }), HasSubstr("of nothing"));
  TaskGraph graph;
  Kokkos::View<int, HostSpace> x("x");
  EXPECT_THAT(text_of([&] { mpi::send(graph, mpi::Communicator(), x, 0, 0); }),
              HasSubstr("of nothing"));
}

/// A task that hands the communicator to a library is in order with all messages.
TEST_F(Communicators, AreResourcesOfTheUsers) {
  for (TaskGraphOptions const& options : kinds_of_graphs()) {
    Kokkos::View<int, HostSpace> x("x"), y("y");
    TaskGraph graph(options);
    x() = rank;
    int sum = 0;
    mpi::send(graph, comm, x, right, 3);
    mpi::recv(graph, comm, y, left, 3);
    host_task("library", ResourcePolicy(graph, read_write(comm), read(y), main_thread),
              [&](mpi::Communicator const& with, Kokkos::View<int const, HostSpace> const& mine) {
                int const value = mine();
                mpi::Guard const guard;
                MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, with.comm());
              });
    mpi::allreduce(graph, comm, x, mpi::sum);
    graph.wait();
    EXPECT_EQ(sum, size * (size - 1) / 2);
    EXPECT_EQ(x(), sum);
  }
}

/// Any class that has one.
struct Handle {
  MPI_Comm mine;
  [[nodiscard]] MPI_Comm comm() const { return mine; }
};

TEST_F(Communicators, MayBeMpisOrSomebodyElses) {
  Kokkos::View<int, HostSpace> x("x"), y("y"), z("z");
  TaskGraph graph;
  x() = rank;
  mpi::sendrecv(graph, comm.comm(), x, right, 1, y, left, 1);
  mpi::sendrecv(graph, Handle{comm.comm()}, x, right, 2, z, left, 2);
  graph.wait();
  EXPECT_EQ(y(), left);
  EXPECT_EQ(z(), left);
}

}  // namespace
}  // namespace trellis
