// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Communicators: whose they are, what they are called, and which channels there are.
#include "MpiTest.hpp"

#include <mpi/impl/Trellis_KnownCommunicators.hpp>

#include <cstddef>
#include <gmock/gmock.h>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace trellis {
namespace {

using namespace Test;
using testing::HasSubstr;

class Communicators : public MpiTest {
 protected:
  mpi::Communicator kept;
};

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

/// The program's own, freed by that.
class Raw {
 public:
  Raw(MPI_Comm of, int color) { MPI_Comm_split(of, color, 0, &m_comm); }
  Raw(Raw const&) = delete;
  Raw& operator=(Raw const&) = delete;
  ~Raw() {
    if (m_comm != MPI_COMM_NULL) MPI_Comm_free(&m_comm);
  }
  [[nodiscard]] MPI_Comm comm() const { return m_comm; }
  [[nodiscard]] std::string name() const { return mpi::Communicator::from_raw(m_comm).name(); }

 private:
  MPI_Comm m_comm = MPI_COMM_NULL;
};

TEST_F(Communicators, WithoutANameAreCalledByTheirRanks) {
  auto const all =
      std::string("communicator{0") + (size > 1 ? "-" + std::to_string(size - 1) + "}" : "}");
  Raw const a(comm.comm(), 0), b(comm.comm(), 0), named(comm.comm(), 0);
  std::string const first = a.name();
  EXPECT_THAT(first, testing::StartsWith(all));
  EXPECT_THAT(b.name(), testing::StartsWith(all + "#"));
  EXPECT_NE(first, b.name());
  EXPECT_EQ(first, a.name()) << "it stays";
  MPI_Comm_set_name(named.comm(), "halo");
  EXPECT_EQ(named.name(), "halo");
  Raw const alternate(comm.comm(), rank % 2);
  std::string const last = std::to_string(rank % 2 + 2);
  if (rank % 2 + 2 >= size)
    EXPECT_THAT(alternate.name(), HasSubstr("{" + std::to_string(rank % 2) + "}"));
  else
    EXPECT_THAT(alternate.name(), HasSubstr("{" + std::to_string(rank % 2) + "," + last + "}"));
  // The same on all ranks that have it.
  std::string names(size_t(64) * static_cast<std::size_t>(size), '\0');
  std::string mine = b.name();
  mine.resize(64);
  MPI_Allgather(mine.data(), 64, MPI_CHAR, names.data(), 64, MPI_CHAR, comm.comm());
  for (int r = 0; r < size; ++r)
    EXPECT_EQ(names.substr(size_t(64) * static_cast<std::size_t>(r), 64), mine);
}

TEST(NamesOfRanks, AreShort) {
  EXPECT_EQ(Impl::name_of_ranks({0, 1, 2, 3}), "communicator{0-3}");
  EXPECT_EQ(Impl::name_of_ranks({5}), "communicator{5}");
  EXPECT_EQ(Impl::name_of_ranks({3, 0}), "communicator{3,0}");
  EXPECT_EQ(Impl::name_of_ranks({0, 2, 4, 6, 9}), "communicator{0-6:2,9}");
  EXPECT_EQ(Impl::name_of_ranks({0, 4}), "communicator{0,4}");
  std::vector<int> many{1, 5, 6, 20, 3, 50, 2};
  std::string const name = Impl::name_of_ranks(many);
  EXPECT_THAT(name, testing::StartsWith("communicator{7 ranks, "));
  std::swap(many[0], many[1]);
  EXPECT_NE(Impl::name_of_ranks(many), name);
}

/// Where only one thread may call MPI, another one that drops a communicator must not free it.
TEST_F(Communicators, MayBeDroppedByAnyThread) {
  MpiCallCounts const before = mpi_calls();
  constexpr int count = 8;
  for (int k = 0; k < count; ++k)
    std::thread([dropped = comm.duplicate()]() mutable { dropped = {}; }).join();
  (void)comm.duplicate();  // what could not be freed is, by now
  MpiCallCounts const now = mpi_calls();
  EXPECT_EQ(now.comms_made - before.comms_made, count + 1);
  EXPECT_GE(now.comms_freed - before.comms_freed, count);
}

TEST_F(Communicators, MayBeMadeUsedAndDroppedUnderAGuard) {
  Kokkos::View<int, HostSpace> x("x"), y("y");
  TaskGraph graph;
  {
    mpi::Guard const guard;
    auto own = comm.duplicate();
    mpi::send(graph, own.comm(), x, right, 1);
    mpi::recv(graph, own.comm(), y, left, 1);
    auto const other = comm.duplicate();
    mpi::allreduce(graph, other, x, mpi::sum);
    (void)own.split(0, rank);
    mpi::Guard const again;
    kept = own;  // its messages are under way
  }
  graph.wait();
  kept = {};
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
