// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Messages of Views that the host cannot touch: on a device in software, through a buffer of the
// host.
#include "MpiTest.hpp"

#include <Simulated/Trellis_SpaceSimulated.hpp>

#include <utility>
#include <vector>

namespace trellis {
namespace {

using namespace Test;
using Span = std::pair<int, int>;

class StagedMessages : public MpiTest {
 protected:
  using Device = Kokkos::View<long**, Kokkos::LayoutRight, SimulatedSpace>;
  using Host = Kokkos::View<long**, Kokkos::LayoutRight, HostSpace>;
  using Range = Kokkos::MDRangePolicy<Simulated::kernel_space, Kokkos::Rank<2>>;

  static void fill(TaskGraph& graph, Device const& x, long first) {
    int const columns = static_cast<int>(x.extent(1));
    trellis::parallel_for(
        "fill",
        ResourcePolicy(graph, Range({0, 0}, {int(x.extent(0)), columns}), write(x), on<Simulated>),
        KOKKOS_LAMBDA(int i, int j) { x(i, j) = first + i * columns + j; });
  }
  static Host on_host(TaskGraph& graph, Device const& x) {
    Host const copy("copy", x.extent(0), x.extent(1));
    trellis::deep_copy(graph, copy, x).get();
    return copy;
  }
};

TEST_F(StagedMessages, ArriveWholeAndInPart) {
  TaskGraphOptions options;
  options.workers = 2;
  TaskGraph graph(options);
  Device const x("x", 6, 8), y("y", 6, 8), z("z", 6, 8);
  for (int round = 0; round < 3; ++round) {
    fill(graph, x, 1000 * (rank + 1) + round);
    fill(graph, z, -100);
    mpi::send(graph, comm, x, right, 1);
    mpi::recv(graph, comm, y, left, 1);
    mpi::send(graph, comm, Kokkos::subview(x, Kokkos::ALL, 2), right, 2);
    auto const column = mpi::recv(graph, comm, Kokkos::subview(z, Kokkos::ALL, 5), left, 2);
    EXPECT_EQ(column.get().count, 6);
    mpi::sendrecv(graph, comm, Kokkos::subview(x, Span(1, 3), Span(2, 5)), right, 3,
                  Kokkos::subview(z, Span(4, 6), Span(0, 3)), left, 3);
    Host const whole = on_host(graph, y);
    Host const parts = on_host(graph, z);
    long const first = 1000 * (left + 1) + round;
    for (int i = 0; i < 6; ++i)
      for (int j = 0; j < 8; ++j) {
        EXPECT_EQ(whole(i, j), first + i * 8 + j);
        long expected = -100 + i * 8 + j;
        if (j == 5) expected = first + i * 8 + 2;
        if (i >= 4 && j < 3) expected = first + (i - 3) * 8 + j + 2;
        EXPECT_EQ(parts(i, j), expected) << i << ' ' << j;
      }
  }
}

TEST_F(StagedMessages, AreReduced) {
  TaskGraph graph;
  Device const x("x", 2, 3), y("y", 2, 3);
  fill(graph, x, rank);
  mpi::allreduce(graph, comm, x, y, mpi::sum);
  mpi::allreduce(graph, comm, Kokkos::subview(x, Kokkos::ALL, 1), mpi::max);
  Host const sums = on_host(graph, y);
  Host const most = on_host(graph, x);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j) {
      EXPECT_EQ(sums(i, j), size * (size - 1) / 2 + size * (i * 3 + j));
      EXPECT_EQ(most(i, j), (j == 1 ? size - 1 : rank) + i * 3 + j);
    }
}

TEST_F(StagedMessages, AreInPlans) {
  TaskGraph graph;
  Device const x("x", 4, 4), y("y", 4, 4);
  fill(graph, x, rank);
  Plan const plan = graph.record("exchange", [&] {
    mpi::send(graph, comm, Kokkos::subview(x, Kokkos::ALL, 3), right, 1);
    mpi::recv(graph, comm, Kokkos::subview(y, Kokkos::ALL, 0), left, 1);
    trellis::parallel_for(
        "take", ResourcePolicy(graph, Range({0, 0}, {4, 1}), read(y), write(x), on<Simulated>),
        KOKKOS_LAMBDA(int i, int) { x(i, 3) = y(i, 0) + 1; });
  });
  graph.replay(plan, 2 * size);
  Host const all = on_host(graph, x);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(all(i, 3), rank + i * 4 + 3 + 2 * size);
}

}  // namespace
}  // namespace trellis
