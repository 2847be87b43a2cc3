// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans of tasks on any space. On a device that has graphs they may become one.
#include "DeviceTest.hpp"

#include <cstdint>
#include <vector>

namespace trellis {
namespace {

SPACE_TEST(DevicePlan, RepliesAsOftenAsItIsAsked) {
  V x("x", 60), y("y", 60), z("z", 60);
  TaskGraph graph(with_workers(2));
  Plan const plan = graph.record("diamond", [&] {
    parallel_for(
        "first", ResourcePolicy(graph, Range(0, 60), read_write(x)),
        KOKKOS_LAMBDA(int i) { x(i) += 1; });
    parallel_for("left", ResourcePolicy(graph, Range(0, 60), read(x), read_write(y)), AddTo{x, y});
    parallel_for("right", ResourcePolicy(graph, Range(0, 60), read(x), read_write(z)), AddTo{x, z});
    parallel_for(
        "last", ResourcePolicy(graph, Range(0, 60), read(y), read(z), read_write(x)),
        KOKKOS_LAMBDA(int i) { x(i) += y(i) - z(i); });
  });
  int rounds = 0;
  for (std::uint64_t const more : {1u, 1u, 3u, 10u, 70u}) {
    graph.replay(plan, more);
    graph.wait();
    rounds += static_cast<int>(more);
    EXPECT_EQ(values_of(x), std::vector<double>(60, rounds));
    EXPECT_EQ(values_of(y), std::vector<double>(60, 0.5 * rounds * (rounds + 1)));
    EXPECT_EQ(values_of(z), values_of(y));
  }
}

SPACE_TEST(DevicePlan, AmongOtherTasks) {
  V x("x", 60), sum("sum", 60);
  TaskGraph graph(with_workers(2));
  Plan const plan = graph.record("add", [&] {
    parallel_for("add", ResourcePolicy(graph, Range(0, 60), read(x), read_write(sum)),
                 AddTo{x, sum});
  });
  for (int round = 1; round <= 10; ++round) {
    parallel_for("slow", ResourcePolicy(graph, Range(0, 60), write(x)), Slow{x, 1.0 * round});
    graph.replay(plan);
  }
  graph.wait();
  EXPECT_EQ(values_of(sum), std::vector<double>(60, 55));
}

SPACE_TEST(DevicePlan, ResultsAreReplacedByEachReplay) {
  V x("x", 100);
  View<double> most("most");
  Future<double> sum;
  Future<double> total;
  TaskGraph graph(with_workers(2));
  Plan const plan = graph.record("results", [&] {
    parallel_for(
        "grow", ResourcePolicy(graph, Range(0, 100), read_write(x)),
        KOKKOS_LAMBDA(int i) { x(i) += i; });
    sum = parallel_reduce("sum", ResourcePolicy(graph, Range(0, 100), read(x)), SumOf{x});
    parallel_reduce(
        "most", ResourcePolicy(graph, Range(0, 100), read(x)),
        KOKKOS_LAMBDA(int i, double& m) { m = x(i) > m ? x(i) : m; },
        Kokkos::Max<double, Memory>(most));
    total = parallel_scan(
        "scan", ResourcePolicy(graph, Range(0, 100), read(x)),
        KOKKOS_LAMBDA(int i, double& s, bool) { s += 2 * x(i); });
  });
  int round = 0;
  for (std::uint64_t const more : {1u, 1u, 2u, 40u, 1u, 9u}) {
    graph.replay(plan, more);
    round += static_cast<int>(more);
    EXPECT_EQ(sum.get(), round * 4950);
    EXPECT_EQ(total.get(), round * 9900);
    graph.wait();
    EXPECT_EQ(value_of(most), round * 99);
  }
}

SPACE_TEST(DevicePlan, CopiesAndHostTasksInIt) {
  V x("x", 20);
  PinnedView<double*> shared("shared", 20);
  TaskGraph graph(with_workers(2));
  std::vector<double> seen;
  Plan const plan = graph.record("with the host", [&] {
    parallel_for(
        "grow", ResourcePolicy(graph, Range(0, 20), read_write(x)),
        KOKKOS_LAMBDA(int i) { x(i) += 1; });
    trellis::deep_copy(graph, shared, x);
    host_task("look", ResourcePolicy(graph, read(shared)),
              [&seen, shared] { seen.push_back(shared(19)); });
  });
  graph.replay(plan, 3);
  graph.replay(plan);
  graph.wait();
  EXPECT_EQ(seen, (std::vector<double>{1, 2, 3, 4}));
}

// Each kernel needs more scratch memory than the one before it, and the first replay is the first
// launch.
SPACE_TEST(DevicePlan, TeamsWithMoreAndMoreScratch) {
  using Scratch = Kokkos::View<double*, Space::scratch_memory_space, Kokkos::MemoryUnmanaged>;
  V x("x", 8);
  TaskGraph graph(with_workers(2));
  Plan const plan = graph.record("teams", [&] {
    for (int const n : {50, 700, 9000, 40000})
      parallel_for(
          "team",
          ResourcePolicy(
              graph,
              Teams(8, Kokkos::AUTO)
                  .set_scratch_size(1, Kokkos::PerTeam(static_cast<int>(Scratch::shmem_size(n)))),
              read_write(x)),
          KOKKOS_LAMBDA(Member const& team) {
            Scratch const values(team.team_scratch(1), n);
            Kokkos::parallel_for(Kokkos::TeamThreadRange(team, n), [&](int k) { values(k) = 1; });
            team.team_barrier();
            double sum = 0;
            Kokkos::parallel_reduce(
                Kokkos::TeamThreadRange(team, n), [&](int k, double& s) { s += values(k); }, sum);
            Kokkos::single(Kokkos::PerTeam(team), [&] { x(team.league_rank()) += sum; });
          });
  });
  graph.replay(plan, 3);
  graph.replay(plan, 32);
  graph.wait();
  EXPECT_EQ(values_of(x), std::vector<double>(8, 35 * (50 + 700 + 9000 + 40000)));
}

// A functor that a kernel can hardly take as an argument.
struct Large {
  V x;
  double values[600];
  KOKKOS_FUNCTION void operator()(int i) const { x(i) += values[i % 600]; }
};
SPACE_TEST(DevicePlan, LargeFunctorsAreThoseThatWereRecorded) {
  V x("x", 50), y("y", 50);
  TaskGraph graph(with_workers(2));
  Large one{x, {}}, two{y, {}};
  for (double& value : one.values) value = 1;
  for (double& value : two.values) value = 2;
  Plan const plan = graph.record("large", [&] {
    parallel_for("one", ResourcePolicy(graph, Range(0, 50), read_write(x)), one);
    parallel_for("two", ResourcePolicy(graph, Range(0, 50), read_write(y)), two);
  });
  graph.replay(plan, 3);
  graph.replay(plan, 2);
  graph.wait();
  EXPECT_EQ(values_of(x), std::vector<double>(50, 5));
  EXPECT_EQ(values_of(y), std::vector<double>(50, 10));
}

SPACE_TEST(DevicePlan, IterationsThatAreAlikeAreReplayed) {
  int const steps = 40, n = 50;
  V a("a", n + 2), b("b", n + 2);
  Kokkos::parallel_for(Range(0, n + 2), Fill{a, 1});
  Space().fence();
  TaskGraph graph(with_workers(2));
  graph.iterate("steps", steps, [&](std::uint64_t step) {
    V const in = step % 2 == 0 ? a : b, out = step % 2 == 0 ? b : a;
    parallel_for(
        "step", ResourcePolicy(graph, Range(1, n + 1), read(in), write(out)),
        KOKKOS_LAMBDA(int i) { out(i) = in(i) + 1; });
    return true;
  });
  graph.wait();
  EXPECT_EQ(values_of(a).at(1), 2 + steps);
}

}  // namespace
}  // namespace trellis
