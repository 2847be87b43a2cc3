// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Messages of plans: recorded once, started in every round.
#include "MpiTest.hpp"

#include <gmock/gmock.h>

#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace trellis {
namespace {

using namespace Test;

class MessagePlans : public MpiTest {
 protected:
  using Grid = Kokkos::View<long**, Kokkos::LayoutRight, HostSpace>;
  static constexpr int n = 6;  ///< and a column of halo on each side

  /// A step of something like a stencil, with columns as halos: packed messages.
  template <class Where>
  void step(Where& where, Grid const& from, Grid const& to) {
    using Kokkos::ALL;
    mpi::send(where, comm, Kokkos::subview(from, ALL, 1), left, 1);
    mpi::send(where, comm, Kokkos::subview(from, ALL, n), right, 2);
    mpi::recv(where, comm, Kokkos::subview(from, ALL, n + 1), right, 1);
    mpi::recv(where, comm, Kokkos::subview(from, ALL, 0), left, 2);
    trellis::parallel_for(
        "step",
        ResourcePolicy(where, Kokkos::RangePolicy<Kokkos::DefaultHostExecutionSpace>(0, 4),
                       read(from), write(to)),
        KOKKOS_LAMBDA(int i) {
          for (int j = 1; j <= n; ++j)
            to(i, j) = (from(i, j - 1) + 2 * from(i, j) + 3 * from(i, j + 1)) % 1000003;
        });
  }
  long start(int i, int j) const { return 100 * i + (rank * n + j) * 7; }
  Grid grid(std::string const& name) const { return Grid(name, 4, n + 2); }
  void fill(Grid const& g) const {
    for (int i = 0; i < 4; ++i)
      for (int j = 1; j <= n; ++j) g(i, j) = start(i, j);
  }
  void expect_after(int steps, Grid const& g) const {
    int const all = size * n;
    for (int i = 0; i < 4; ++i) {
      std::vector<long> row(static_cast<std::size_t>(all)), next(row);
      for (int k = 0; k < all; ++k) row[static_cast<std::size_t>(k)] = 100 * i + (k + 1) * 7L;
      for (int step = 0; step < steps; ++step) {
        for (int k = 0; k < all; ++k)
          next[static_cast<std::size_t>(k)] = (row[static_cast<std::size_t>((k + all - 1) % all)] +
                                               2 * row[static_cast<std::size_t>(k)] +
                                               3 * row[static_cast<std::size_t>((k + 1) % all)]) %
                                              1000003;
        row = next;
      }
      for (int j = 1; j <= n; ++j)
        EXPECT_EQ(g(i, j), row[static_cast<std::size_t>(rank * n + j - 1)]) << i << ' ' << j;
    }
  }
};

TEST_F(MessagePlans, GiveWhatTheTasksGive) {
  for (TaskGraphOptions const& options : kinds_of_graphs()) {
    Grid const a = grid("a"), b = grid("b");
    fill(a);
    TaskGraph graph(options);
    Plan const plan = graph.record("two steps", [&] {
      step(graph, a, b);
      step(graph, b, a);
    });
    for (int k = 0; k < 5; ++k) graph.replay(plan);
    graph.replay(plan, 10);
    graph.wait();
    expect_after(30, a);
  }
}

TEST_F(MessagePlans, AreIterated) {
  for (TaskGraphOptions const& options : kinds_of_graphs()) {
    Grid const a = grid("a"), b = grid("b");
    fill(a);
    TaskGraph graph(options);
    graph.iterate("steps", 15, [&] {
      step(graph, a, b);
      step(graph, b, a);
    });
    graph.wait();
    expect_after(30, a);
  }
}

/// Packed messages, which have a persistent request each from the second round on, and a buffer.
TEST_F(MessagePlans, AllocateNothingInARound) {
  constexpr int few = 20, many = 220;
  Grid const a = grid("a"), b = grid("b");
  fill(a);
  TaskGraphOptions options;
  options.workers = 2;
  TaskGraph graph(options);
  Plan const plan = graph.record("two steps", [&] {
    step(graph, a, b);
    step(graph, b, a);
  });
  auto const allocations_in = [&](int rounds) {
    long const before = mpi_calls().allocations;
    graph.replay(plan, rounds);
    graph.wait();
    return mpi_calls().allocations - before;
  };
  allocations_in(few);
  MpiCallCounts const before = mpi_calls();
  // A replay itself has some. And each worker keeps some regions of tasks with completions, of
  // which one may open more and another close more, so on a busy machine there are new ones until
  // both have enough. Then of 16 messages not even one has any.
  constexpr int most_tries = 8;
  constexpr long messages = 8 * (many - few);
  long in_messages = messages;
  int tries = 0;
  for (; tries < most_tries && in_messages >= messages / 16; ++tries) {
    long const of_few = allocations_in(few);
    in_messages = allocations_in(many) - of_few;
    // All ranks go on, or none does.
    MPI_Allreduce(MPI_IN_PLACE, &in_messages, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
  }
  MpiCallCounts const after = mpi_calls();
  EXPECT_EQ(after.immediate - before.immediate, 0);
  EXPECT_EQ(after.made - before.made, 0);
  EXPECT_EQ(after.freed - before.freed, 0);
  EXPECT_EQ(after.started - before.started, tries * 8 * (few + many));
  EXPECT_LT(in_messages, messages / 16);
  expect_after(2 * (few + tries * (few + many)), a);
}

/// Their requests are freed by a thread that may call MPI.
TEST_F(MessagePlans, MayBeDroppedByAnyThread) {
  MpiCallCounts const before = mpi_calls();
  for (int k = 0; k < 5; ++k) {
    Grid const a = grid("a"), b = grid("b");
    fill(a);
    TaskGraphOptions options;
    options.workers = 2;
    auto graph = std::make_unique<TaskGraph>(options);
    {
      std::optional<Plan> plan = graph->record("a step", [&] { step(*graph, a, b); });
      graph->replay(*plan, 3);
      graph->wait();
      std::thread([&] { plan.reset(); }).join();
    }
    graph.reset();
  }
  (void)comm.duplicate();
  MpiCallCounts const after = mpi_calls();
  EXPECT_EQ(after.made - before.made, 5 * 4);
  EXPECT_EQ(after.freed - before.freed, 5 * 4);
}

TEST_F(MessagePlans, MayHaveCollectives) {
  for (TaskGraphOptions const& options : kinds_of_graphs()) {
    Kokkos::View<long*, HostSpace> x("x", 4), sum("sum", 4);
    TaskGraph graph(options);
    Plan const plan = graph.record("sums", [&] {
      host_task("make", ResourcePolicy(graph, read_write(x), read(sum)), [=, this] {
        for (int i = 0; i < 4; ++i) x(i) = (x(i) + sum(i) + rank + i) % 1009;
      });
      mpi::allreduce(graph, comm, x, sum, mpi::sum);
      mpi::bcast(graph, comm, x, 0);
    });
    graph.replay(plan, 20);
    graph.wait();
    std::vector<long> mine(4, 0), total(4, 0);
    for (int round = 0; round < 20; ++round)
      for (std::size_t i = 0; i < 4; ++i) {
        long all = 0, first = 0;
        for (int r = 0; r < size; ++r) {
          long const value = (mine[i] + total[i] + r + static_cast<long>(i)) % 1009;
          if (r == 0) first = value;
          all += value;
        }
        mine[i] = first;
        total[i] = all;
      }
    for (int i = 0; i < 4; ++i) EXPECT_EQ(sum(i), total[static_cast<std::size_t>(i)]);
  }
}

TEST_F(MessagePlans, TakeAsMuchAsEachRoundSays) {
  for (TaskGraphOptions const& options : kinds_of_graphs()) {
    Kokkos::View<long*, HostSpace> x("x", 50), y("y", 50);
    Kokkos::View<long, HostSpace> got("got");
    TaskGraph graph(options);
    int round = 0;
    Plan const plan = graph.record("rounds", [&] {
      auto const count =
          host_task("count", ResourcePolicy(graph, read_write(x)), [=, this, &round] {
            for (int i = 0; i < 50; ++i) x(i) = 100 * round + rank;
            return ++round * 3;
          });
      mpi::send(graph, comm, x, count, right, 0);
      auto const received = mpi::recv(graph, comm, y, left, 0);
      host_task("add", ResourcePolicy(graph, value(received), read(y), read_write(got)),
                [=](mpi::Received const& what, auto const&...) {
                  got() += what.count * 10000 + y(what.count - 1);
                });
    });
    for (int k = 0; k < 6; ++k) {
      graph.replay(plan);
      graph.wait();
    }
    long expected = 0;
    for (long k = 0; k < 6; ++k) expected += (k + 1) * 30000 + 100 * k + left;
    EXPECT_EQ(got(), expected);
  }
}

TEST_F(MessagePlans, ThatFailAreTold) {
  Kokkos::View<double*, HostSpace> x("x", 10), y("y", 4);
  TaskGraph graph;
  int round = 0;
  Plan const plan = graph.record("rounds", [&] {
    auto const count =
        host_task("count", ResourcePolicy(graph), [&] { return ++round < 4 ? 4 : 10; });
    auto const sent = mpi::send(graph, comm, x, count, right, 0);
    mpi::recv("receive it", where_truncation_is_told(graph, sent), comm, y, left, 0);
  });
  for (int k = 0; k < 3; ++k) {
    graph.replay(plan);
    graph.wait();
  }
  graph.replay(plan);
  EXPECT_THAT(text_of([&] { graph.wait(); }), testing::HasSubstr("receive it"));
}

}  // namespace
}  // namespace trellis
