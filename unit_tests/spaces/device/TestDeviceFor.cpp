// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Order and concurrency of parallel_for and space_task on any space: what one task writes the next
// one reads, however the two are placed.
#include "DeviceTest.hpp"

#include <cstddef>
#include <vector>

namespace trellis {
namespace {

SPACE_TEST(DeviceFor, AChainIsInOrder) {
  V x("x", 100);
  TaskGraph graph(with_workers(2));
  for (int step = 0; step < 300; ++step)
    parallel_for(
        "step", ResourcePolicy(graph, Range(0, 100), read_write(x)),
        KOKKOS_LAMBDA(int i) { x(i) = 0.5 * x(i) + step; });
  graph.wait();
  double expected = 0;
  for (int step = 0; step < 300; ++step) expected = 0.5 * expected + step;
  EXPECT_EQ(values_of(x), std::vector<double>(100, expected));
}

SPACE_TEST(DeviceFor, ManyReadersFollowASlowWriterAndTheNextWriterFollowsThem) {
  int const readers = 12;
  V x("x", 200);
  std::vector<V> copies;
  for (int k = 0; k < readers; ++k) copies.emplace_back("copy", 200);
  TaskGraph graph(with_workers(2));
  for (int round = 1; round <= 5; ++round) {
    parallel_for("write", ResourcePolicy(graph, Range(0, 200), write(x)), Slow{x, 1.0 * round});
    for (V const& copy : copies)
      parallel_for("read", ResourcePolicy(graph, Range(0, 200), read(x), read_write(copy)),
                   AddTo{x, copy});
  }
  graph.wait();
  for (V const& copy : copies) EXPECT_EQ(values_of(copy), std::vector<double>(200, 15));
}

SPACE_TEST(DeviceFor, FansOutAndIn) {
  int const width = 9, depth = 6, n = 64;
  V start("start", n);
  std::vector<V> x;
  for (int k = 0; k < width; ++k) x.emplace_back("x", n);
  V sum("sum", n);
  TaskGraph graph(with_workers(3));
  parallel_for("start", ResourcePolicy(graph, Range(0, n), write(start)), Slow{start, 1});
  for (int k = 0; k < width; ++k) {
    parallel_for("first", ResourcePolicy(graph, Range(0, n), read(start), read_write(x[k])),
                 AddTo{start, x[k]});
    for (int d = 1; d < depth; ++d)
      parallel_for("next", ResourcePolicy(graph, Range(0, n), read(start), read_write(x[k])),
                   AddTo{start, x[k]});
  }
  for (int k = 0; k < width; ++k)
    parallel_for("sum", ResourcePolicy(graph, Range(0, n), read(x[k]), read_write(sum)),
                 AddTo{x[k], sum});
  graph.wait();
  EXPECT_EQ(values_of(sum), std::vector<double>(n, width * depth));
}

SPACE_TEST(DeviceFor, TilesOfAStencilSeeTheirNeighbours) {
  int const cells = 96, tiles = 6, steps = 25;
  V a("a", cells + 2), b("b", cells + 2), c("c", cells + 2), d("d", cells + 2);
  auto const start = [&](V const& x) { Kokkos::parallel_for(Range(0, cells + 2), Fill{x, 1}); };
  start(a), start(b), start(c), start(d);
  Space().fence();
  TaskGraph graph(with_workers(2));
  V before = a, after = b, plain_before = c, plain_after = d;
  for (int step = 0; step < steps; ++step) {
    for (int t = 0; t < tiles; ++t) {
      int const begin = 1 + t * cells / tiles, end = 1 + (t + 1) * cells / tiles;
      V const in = before, out = after;
      parallel_for(
          "tile",
          ResourcePolicy(graph, Range(begin, end),
                         read(Kokkos::subview(in, std::pair(begin - 1, end + 1))),
                         write(Kokkos::subview(out, std::pair(begin, end)))),
          KOKKOS_LAMBDA(int i) {
            out(i) = 0.25 * in(i - 1) + 0.5 * in(i)*in(i) / (i + 2) + 0.25 * in(i + 1);
          });
    }
    V const in = plain_before, out = plain_after;
    Kokkos::parallel_for(
        Range(1, cells + 1), KOKKOS_LAMBDA(int i) {
          out(i) = 0.25 * in(i - 1) + 0.5 * in(i)*in(i) / (i + 2) + 0.25 * in(i + 1);
        });
    Space().fence();
    std::swap(before, after);
    std::swap(plain_before, plain_after);
  }
  graph.wait();
  EXPECT_EQ(values_of(before), values_of(plain_before));
}

SPACE_TEST(DeviceFor, ViewsThatNobodyElseHoldsLiveUntilTheTaskIsDone) {
  V sum("sum", 50);
  TaskGraph graph(with_workers(2));
  for (int k = 1; k <= 30; ++k) {
    V const temporary("temporary", 50);
    parallel_for("fill", ResourcePolicy(graph, Range(0, 50), write(temporary)),
                 Slow{temporary, 1.0 * k});
    parallel_for("add", ResourcePolicy(graph, Range(0, 50), read(temporary), read_write(sum)),
                 AddTo{temporary, sum});
  }
  graph.wait();
  EXPECT_EQ(values_of(sum), std::vector<double>(50, 30 * 31 / 2));
}

SPACE_TEST(DeviceFor, SpaceTasksLaunchOnTheInstanceTheyAreGiven) {
  V x("x", 80), y("y", 80);
  TaskGraph graph(with_workers(2));
  parallel_for("slow", ResourcePolicy(graph, Range(0, 80), write(x)), Slow{x, 3});
  auto const launched =
      space_task("library call", ResourcePolicy(graph, read(x), write(y), on<Space>),
                 [](Space const& space, read_view<V> const& in, V const& out) {
                   Kokkos::deep_copy(space, out, in);
                   Kokkos::parallel_for(Range(space, 0, 80), AddTo{out, out});
                   return 7;
                 });
  parallel_for("after", ResourcePolicy(graph, Range(0, 80), read(y), read_write(x)), AddTo{y, x});
  EXPECT_EQ(launched.get(), 7);
  graph.wait();
  EXPECT_EQ(values_of(x), std::vector<double>(80, 9));
}

SPACE_TEST(DeviceFor, AHostTaskWaitsForWhatTheDeviceWritesIntoPinnedMemory) {
  PinnedView<double*> shared("shared", 10);
  V x("x", 10);
  TaskGraph graph(with_workers(2));
  std::vector<double> seen;
  for (int round = 1; round <= 4; ++round) {
    parallel_for("slow", ResourcePolicy(graph, Range(0, 10), write(x)), Slow{x, 1.0 * round});
    trellis::deep_copy(graph, shared, x);
    host_task("look", ResourcePolicy(graph, read_write(shared)), [&seen, shared] {
      seen.push_back(shared(9));
      shared(0) = -1;
    });
    trellis::deep_copy(graph, x, shared);
  }
  graph.wait();
  EXPECT_EQ(seen, (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(value_of(x), -1);
}

SPACE_TEST(DeviceFor, TeamsWithScratchReadWhatTasksOnOtherStreamsWrote) {
  using Scratch = Kokkos::View<double*, Space::scratch_memory_space, Kokkos::MemoryUnmanaged>;
  int const teams = 20, n = 16;
  View<double**> x("x", teams, n);
  View<double*> sums("sums", teams);
  TaskGraph graph(with_workers(2));
  for (int t = 0; t < teams; ++t)
    parallel_for(
        "row", ResourcePolicy(graph, Range(0, n), write(Kokkos::subview(x, t, Kokkos::ALL))),
        KOKKOS_LAMBDA(int j) { x(t, j) = t + j; });
  auto const policy =
      Teams(teams, Kokkos::AUTO)
          .set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(Scratch::shmem_size(n))))
          .set_scratch_size(1, Kokkos::PerTeam(static_cast<int>(Scratch::shmem_size(1000))));
  parallel_for(
      "teams", ResourcePolicy(graph, policy, read(x), write(sums)),
      KOKKOS_LAMBDA(Member const& team) {
        Scratch const row(team.team_scratch(0), n), big(team.team_scratch(1), 1000);
        int const t = team.league_rank();
        Kokkos::parallel_for(Kokkos::TeamThreadRange(team, n), [&](int j) { row(j) = x(t, j); });
        Kokkos::parallel_for(Kokkos::TeamThreadRange(team, 1000), [&](int j) { big(j) = 1; });
        team.team_barrier();
        double sum = 0;
        Kokkos::parallel_reduce(
            Kokkos::TeamThreadRange(team, n),
            [&](int j, double& s) { s += row(n - 1 - j) * big(999 - j); }, sum);
        Kokkos::single(Kokkos::PerTeam(team), [&] { sums(t) = sum; });
      });
  graph.wait();
  std::vector<double> expected;
  for (int t = 0; t < teams; ++t) expected.push_back(n * t + n * (n - 1) / 2);
  EXPECT_EQ(values_of(sums), expected);
}

SPACE_TEST(DeviceFor, MoreTasksThanTheCapAllows) {
  TaskGraphOptions options = with_workers(2);
  options.in_flight = 16;
  V x("x", 4);
  TaskGraph graph(options);
  for (int k = 0; k < 2000; ++k)
    parallel_for(
        "add", ResourcePolicy(graph, Range(0, 4), read_write(x)),
        KOKKOS_LAMBDA(int i) { x(i) += 1; });
  graph.wait();
  EXPECT_EQ(values_of(x), std::vector<double>(4, 2000));
}

SPACE_TEST(DeviceFor, AnExceptionAtTheLaunchIsTheTasks) {
  V x("x", 4);
  TaskGraph graph(with_workers(1));
  space_task("throws", ResourcePolicy(graph, write(x), on<Space>),
             [](Space const&, V const&) { throw std::runtime_error("no launch today"); });
  parallel_for("cancelled", ResourcePolicy(graph, Range(0, 4), read_write(x)), Fill{x, 1});
  try {
    graph.wait();
    ADD_FAILURE() << "nothing was thrown";
  } catch (Error const& error) {
    EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr("\"throws\""),
                                             testing::HasSubstr("no launch today")));
  }
  EXPECT_EQ(values_of(x), std::vector<double>(4, 0));
  parallel_for("goes on", ResourcePolicy(graph, Range(0, 4), write(x)), Fill{x, 1});
  graph.wait();
  EXPECT_EQ(values_of(x), (std::vector<double>{1, 2, 3, 4}));
}

}  // namespace
}  // namespace trellis
