// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans as users write them: Views, all patterns, several rounds, against the same loops as plain
// Kokkos.
#include <Trellis.hpp>

#include "SpaceTest.hpp"
#include "Timing.hpp"

#include <Kokkos_Core.hpp>
#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <cmath>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace trellis {
namespace {

using Test::with_workers;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
template <class T>
using RightView = Kokkos::View<T, Kokkos::LayoutRight, Memory>;
using Line = RightView<double*>;
using Plane = RightView<double**>;
using Kokkos::subview;
using Test::values_of;

// ---- stencils in tiles, with double buffers -----------------------------------------------------

/// With a boundary value at either end.
Line bumps(std::string const& label, int cells) {
  Line line(label, cells + 2);
  Kokkos::parallel_for(
      Range(0, cells + 2), KOKKOS_LAMBDA(int i) { line(i) = 1.0 / (1 + i) + ((i * 7) % 5) * 0.3; });
  Space().fence();
  return line;
}

struct LineStep {
  Line before;
  Line after;
  KOKKOS_FUNCTION void operator()(int i) const {
    after(i) = before(i) + 0.3 * ((before(i - 1) + before(i + 1)) - 2 * before(i));
  }
};

Line plain_line(int cells, int steps) {
  Line a = bumps("a", cells);
  Line b = bumps("b", cells);
  for (int step = 0; step != steps; ++step) {
    Kokkos::parallel_for(Range(1, cells + 1), LineStep{a, b});
    Space().fence();
    std::swap(a, b);
  }
  return a;
}

/// One step of each tile, with its neighbours' cells at its ends.
void step_in_tiles(TaskGraph& graph, Line const& before, Line const& after, int cells, int tiles) {
  for (int t = 0; t != tiles; ++t) {
    int const begin = 1 + t * cells / tiles;
    int const end = 1 + (t + 1) * cells / tiles;
    parallel_for("step",
                 ResourcePolicy(graph, Range(begin, end),
                                read(subview(before, std::pair(begin - 1, end + 1))),
                                write(subview(after, std::pair(begin, end)))),
                 LineStep{before, after});
  }
}

SPACE_TEST(PlanStencil, TwoHalfStepsInOnePlan) {
  for (int const tiles : {1, 2, 7, 40}) {
    int const cells = 40;
    Line const a = bumps("a", cells);
    Line const b = bumps("b", cells);
    TaskGraph graph(with_workers(3));
    Plan const plan = graph.record("two steps", [&] {
      step_in_tiles(graph, a, b, cells, tiles);
      step_in_tiles(graph, b, a, cells, tiles);
    });
    EXPECT_EQ(plan.tasks(), 2U * static_cast<unsigned>(tiles));
    EXPECT_EQ(values_of(a), values_of(bumps("untouched", cells))) << "recording runs nothing";
    int steps = 0;
    for (std::uint64_t const rounds : {1U, 5U, 20U}) {
      graph.replay(plan, rounds);
      graph.wait();
      steps += 2 * static_cast<int>(rounds);
      ASSERT_EQ(values_of(a), values_of(plain_line(cells, steps)))
          << tiles << " tiles, " << steps << " steps";
    }
  }
}

SPACE_TEST(PlanStencil, APlanForEachDirectionOfTheBuffers) {
  int const cells = 60;
  int const tiles = 6;
  Line const a = bumps("a", cells);
  Line const b = bumps("b", cells);
  TaskGraph graph(with_workers(3));
  std::array const steps{graph.record("there", [&] { step_in_tiles(graph, a, b, cells, tiles); }),
                         graph.record("back", [&] { step_in_tiles(graph, b, a, cells, tiles); })};
  for (std::size_t step = 0; step != 41; ++step) graph.replay(steps[step % 2]);
  graph.wait();
  EXPECT_EQ(values_of(b), values_of(plain_line(cells, 41)));
}

struct PlaneStep {
  Plane before;
  Plane after;
  KOKKOS_FUNCTION void operator()(int i, int j) const {
    after(i, j) =
        0.25 * ((before(i - 1, j) + before(i + 1, j)) + (before(i, j - 1) + before(i, j + 1)));
  }
};

Plane hill(std::string const& label, int cells) {
  Plane plane(label, cells + 2, cells + 2);
  Kokkos::parallel_for(
      Square({0, 0}, {cells + 2, cells + 2}),
      KOKKOS_LAMBDA(int i, int j) { plane(i, j) = 1.0 / (1 + i + 2 * j) + (i * j % 3) * 0.1; });
  Space().fence();
  return plane;
}

void step_in_tiles(TaskGraph& graph, Plane const& before, Plane const& after, int cells,
                   int tiles) {
  auto const edge = [=](int tile) { return 1 + tile * cells / tiles; };
  for (int s = 0; s != tiles; ++s)
    for (int t = 0; t != tiles; ++t) {
      std::pair const rows(edge(s), edge(s + 1));
      std::pair const columns(edge(t), edge(t + 1));
      parallel_for(
          "step",
          ResourcePolicy(
              graph, Square({rows.first, columns.first}, {rows.second, columns.second}),
              read(subview(before, rows, columns)), read(subview(before, rows.first - 1, columns)),
              read(subview(before, rows.second, columns)),
              read(subview(before, rows, columns.first - 1)),
              read(subview(before, rows, columns.second)), write(subview(after, rows, columns))),
          PlaneStep{before, after});
    }
}

SPACE_TEST(PlanStencil, TilesOfAPlaneBetweenTasksThatAreInNoPlan) {
  int const cells = 24;
  for (int const tiles : {1, 2, 5}) {
    Plane const a = hill("a", cells);
    Plane const b = hill("b", cells);
    Plane expected = hill("expected", cells);
    Plane other = hill("other", cells);
    TaskGraph graph(with_workers(3));
    Plan const plan = graph.record([&] {
      step_in_tiles(graph, a, b, cells, tiles);
      step_in_tiles(graph, b, a, cells, tiles);
    });
    auto const source = KOKKOS_LAMBDA(int k, Plane const& to) {
      to(k, 3) += 1;
    };
    for (int repetition = 0; repetition != 6; ++repetition) {
      parallel_for(
          "source",
          ResourcePolicy(graph, Range(1, cells + 1), read_write(subview(a, Kokkos::ALL, 3))),
          KOKKOS_LAMBDA(int k) { source(k, a); });
      graph.replay(plan, 3);
      Kokkos::parallel_for(Range(1, cells + 1), KOKKOS_LAMBDA(int k) { source(k, expected); });
      for (int step = 0; step != 6; ++step) {
        Kokkos::parallel_for(Square({1, 1}, {cells + 1, cells + 1}), PlaneStep{expected, other});
        Space().fence();
        std::swap(expected, other);
      }
    }
    auto const sum = parallel_reduce(
        "sum", ResourcePolicy(graph, Range(0, cells + 2), read(a)),
        KOKKOS_LAMBDA(int i, double& s) { s += a(i, i); });
    double expected_sum = 0;
    Kokkos::parallel_reduce(
        Range(0, cells + 2), KOKKOS_LAMBDA(int i, double& s) { s += expected(i, i); },
        expected_sum);
    EXPECT_DOUBLE_EQ(sum.get(), expected_sum);
    graph.wait();
    EXPECT_EQ(values_of(a), values_of(expected)) << tiles;
  }
}

// ---- patterns -----------------------------------------------------------------------------------

struct Doubled {};
struct Work {
  RightView<long*> x;
  KOKKOS_FUNCTION void operator()(Doubled, int i) const { x(i) = 2 * x(i) + i; }
};

SPACE_TEST(PlanPatterns, LoopsOverRangesPlanesAndTeams) {
  RightView<long*> x("x", 12);
  RightView<long**> y("y", 12, 5);
  RightView<long*> rows("rows", 12);
  TaskGraph graph(with_workers(2));
  Plan const plan = graph.record([&] {
    parallel_for(
        "integer", ResourcePolicy(graph, 12, read_write(x), on<Space>),
        KOKKOS_LAMBDA(int i) { x(i) += 1; });
    parallel_for("tagged",
                 ResourcePolicy(graph, Kokkos::RangePolicy<Space, Doubled>(2, 10), read_write(x)),
                 Work{x});
    parallel_for(
        "plane", ResourcePolicy(graph, Square({0, 1}, {12, 5}, {4, 2}), read(x), read_write(y)),
        KOKKOS_LAMBDA(int i, int j) { y(i, j) += x(i) * j; });
    using Scratch = Kokkos::View<long*, Space::scratch_memory_space, Kokkos::MemoryUnmanaged>;
    auto const teams =
        Teams(12, 1).set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(Scratch::shmem_size(5))));
    parallel_for(
        "teams", ResourcePolicy(graph, teams, read(y), read_write(rows)),
        KOKKOS_LAMBDA(Member const& team) {
          Scratch const row(team.team_scratch(0), 5);
          int const i = team.league_rank();
          for (int j = 0; j != 5; ++j) row(j) = y(i, j);
          long sum = 0;
          for (int j = 0; j != 5; ++j) sum += row(j);
          rows(i) = 3 * rows(i) + sum;
        });
  });
  EXPECT_EQ(plan.edges(), 3U);
  graph.replay(plan, 2);
  graph.replay(plan, 3);
  graph.wait();
  std::vector<long> expected_x(12, 0);
  std::vector<long> expected_rows(12, 0);
  std::array<std::array<long, 5>, 12> expected_y{};
  for (int round = 0; round != 5; ++round)
    for (std::size_t i = 0; i != 12; ++i) {
      expected_x[i] += 1;
      if (i >= 2 && i < 10) expected_x[i] = 2 * expected_x[i] + static_cast<long>(i);
      expected_rows[i] *= 3;
      for (std::size_t j = 1; j != 5; ++j)
        expected_rows[i] += expected_y[i][j] += expected_x[i] * static_cast<long>(j);
    }
  EXPECT_EQ(values_of(x), expected_x);
  EXPECT_EQ(values_of(rows), expected_rows);
}

SPACE_TEST(PlanPatterns, EachRoundReducesAndScansAnew) {
  RightView<int*> x("x", 100);
  RightView<int> sum("sum");
  RightView<int> most("most");
  RightView<int*> sums("sums", 100);
  TaskGraph graph(with_workers(2));
  Future<int> first;
  Future<std::tuple<int, int>> ends;
  Future<int> total;
  Plan const plan = graph.record([&] {
    parallel_for(
        "grow", ResourcePolicy(graph, Range(0, 100), read_write(x)),
        KOKKOS_LAMBDA(int i) { x(i) += i; });
    first = parallel_reduce(
        "into a future", ResourcePolicy(graph, Range(0, 100), read(x)),
        KOKKOS_LAMBDA(int i, int& s) { s += x(i); });
    ends = parallel_reduce(
        "two", ResourcePolicy(graph, Range(1, 100), read(x)),
        KOKKOS_LAMBDA(int i, int& low, int& high) {
          low = x(i) < low ? x(i) : low;
          high = x(i) > high ? x(i) : high;
        },
        reduced<Kokkos::Min<int>>, reduced<Kokkos::Max<int>>);
    parallel_reduce(
        "into a View", ResourcePolicy(graph, Range(0, 100), read(x)),
        KOKKOS_LAMBDA(int i, int& s) { s += x(i); }, sum);
    parallel_reduce(
        "with a reducer on a View", ResourcePolicy(graph, Range(0, 100), read(x)),
        KOKKOS_LAMBDA(int i, int& m) { m = x(i) > m ? x(i) : m; },
        Kokkos::Max<int, Space::memory_space>(most));
    total = parallel_scan(
        "scan", ResourcePolicy(graph, Range(0, 100), read(x), write(sums)),
        KOKKOS_LAMBDA(int i, int& s, bool last) {
          s += x(i);
          if (last) sums(i) = s;
        });
  });
  int rounds = 0;
  for (int const more : {1, 4, 2}) {
    graph.replay(plan, static_cast<std::uint64_t>(more));
    rounds += more;
    EXPECT_EQ(first.get(), 4950 * rounds);
    EXPECT_EQ(ends.get(), std::tuple(rounds, 99 * rounds));
    EXPECT_EQ(total.get(), 4950 * rounds);
    graph.wait();
    EXPECT_EQ(values_of(sum), std::vector{4950 * rounds});
    EXPECT_EQ(values_of(most), std::vector{99 * rounds});
    EXPECT_EQ(values_of(sums)[50], 1275 * rounds);
  }
}

SPACE_TEST(PlanPatterns, CopiesCallsAndViewsAsArguments) {
  RightView<double**> right("right", 6, 4);
  Kokkos::View<double**, Kokkos::LayoutLeft, Space::memory_space> left("left", 6, 4);
  RightView<double*> column("column", 6);
  RightView<int> counter("counter");
  TaskGraph graph(with_workers(2));
  Future<double> corner;
  Plan const plan = graph.record([&] {
    trellis::deep_copy("fill", graph, subview(right, 0, Kokkos::ALL), 1.5);
    parallel_for(
        "arguments", ResourcePolicy(graph, Range(1, 6), read(column), read_write(right)),
        KOKKOS_LAMBDA(int i, read_view<RightView<double*>> in, RightView<double**> out) {
          out(i, 2) += in(i) + i;
        });
    trellis::deep_copy("turn", graph, left, right);
    host_task("count", ResourcePolicy(graph, read_write(counter)),
              [](RightView<int> const& c) { c() += 1; });
    space_task("sum up", ResourcePolicy(graph, read(left), write(column), on<Space>),
               [](Space const& space, auto const& in, RightView<double*> const& out) {
                 Kokkos::parallel_for(
                     Kokkos::RangePolicy<Space>(space, 0, 6),
                     KOKKOS_LAMBDA(int i) { out(i) = in(i, 0) + in(i, 1) + in(i, 2) + in(i, 3); });
                 space.fence();
               });
    corner = host_task("look", ResourcePolicy(graph, read(column), read(counter)),
                       [](read_view<RightView<double*>> const& c,
                          read_view<RightView<int>> const& n) { return c(5) + 1000 * n(); });
  });
  EXPECT_EQ(plan.tasks(), 6U);
  graph.replay(plan);
  EXPECT_EQ(corner.get(), 1005);
  graph.replay(plan, 4);
  // Column 5 doubles and grows by 5: 5, 15, 35, ...
  EXPECT_EQ(corner.get(), 5000 + 155);
  graph.wait();
  EXPECT_EQ(values_of(counter), std::vector{5});
  EXPECT_EQ(values_of(column)[0], 6);
}

SPACE_TEST(PlanPatterns, SpacesMayBeMixed) {
  RightView<long*> x("x", 50);
  TaskGraph graph(with_workers(3));
  Plan const plan = graph.record([&] {
    auto const grow = KOKKOS_LAMBDA(int i) {
      x(i) = 3 * x(i) + 1;
    };
    parallel_for("this space", ResourcePolicy(graph, 50, read_write(x), on<Space>), grow);
    parallel_for("default",
                 ResourcePolicy(graph, 50, read_write(x), on<Kokkos::DefaultHostExecutionSpace>),
                 grow);
#ifdef KOKKOS_ENABLE_SERIAL
    parallel_for("serial", ResourcePolicy(graph, 50, read_write(x), on<Kokkos::Serial>), grow);
#else
    parallel_for("once more", ResourcePolicy(graph, 50, read_write(x), on<Space>), grow);
#endif
    host_task("host", ResourcePolicy(graph, read_write(x)), [x] {
      for (int i = 0; i != 50; ++i) x(i) -= i;
    });
  });
  graph.replay(plan, 4);
  graph.wait();
  std::vector<long> expected(50, 0);
  for (int round = 0; round != 4; ++round)
    for (long i = 0; i != 50; ++i) {
      long& value = expected[static_cast<std::size_t>(i)];
      value = 27 * value + 13 - i;
    }
  EXPECT_EQ(values_of(x), expected);
}

SPACE_TEST(PlanPatterns, RunOnTheWorkersOwnInstances) {
  TaskGraph graph(with_workers(1));
  std::vector<Space> used;
  Plan const plan = graph.record([&] {
    space_task("look", ResourcePolicy(graph, on<Space>),
               [&](Space const& space) { used.push_back(space); });
  });
  graph.replay(plan, 3);
  space_task("look", ResourcePolicy(graph, synchronizing, on<Space>), [&](Space const& space) {
    used.push_back(space);
  }).get();
  graph.wait();
  ASSERT_EQ(used.size(), 4U);
  for (Space const& space : used) EXPECT_FALSE(space == Space()) << "not the default instance";
}

// ---- accesses without an order ------------------------------------------------------------------

SPACE_TEST(PlanAccesses, AtomicAndExclusiveOnesInAnyOrderButEachInItsRound) {
  RightView<long*> sum("sum", 4);
  RightView<long> log("log");
  RightView<long> seen("seen");
  TaskGraph graph(with_workers(4));
  trellis::Test::Occupancy occupancy;
  Plan const plan = graph.record([&] {
    for (int k = 0; k != 6; ++k)
      parallel_for(
          "add", ResourcePolicy(graph, Range(0, 40), atomic_add(sum)),
          KOKKOS_LAMBDA(int i, atomic_view<RightView<long*>> to) { to(i % 4) += 1; });
    for (int k = 0; k != 6; ++k)
      host_task("log", ResourcePolicy(graph, exclusive(log)), [&occupancy, log] {
        trellis::Test::Occupancy::Stay const stay(occupancy);
        log() += 1;
      });
    host_task("check", ResourcePolicy(graph, read(sum), read(log), read_write(seen)),
              [sum, log, seen] {
                seen() += 1;
                EXPECT_EQ(log(), 6 * seen());
                for (int k = 0; k != 4; ++k) EXPECT_EQ(sum(k), 60 * seen());
              });
  });
  for (int k = 0; k != 5; ++k) {
    graph.replay(plan, 6);
    host_task("outside", ResourcePolicy(graph, exclusive(log)),
              [&occupancy] { trellis::Test::Occupancy::Stay const stay(occupancy); });
  }
  graph.wait();
  EXPECT_EQ(occupancy.most(), 1);
  EXPECT_EQ(values_of(seen), std::vector{30L});
}

SPACE_TEST(PlanAccesses, TokensWithPartsKeepTheirOrder) {
  Token halves("halves", 2);
  std::array<int, 2> rounds{};
  int swaps = 0;
  TaskGraph graph(with_workers(3));
  Plan const plan = graph.record([&] {
    for (int half = 0; half != 2; ++half)
      host_task("half", ResourcePolicy(graph, write(halves.part(half))),
                [&, half] { ++rounds[static_cast<std::size_t>(half)]; });
    host_task("swap", ResourcePolicy(graph, write(halves)), [&] {
      ++swaps;
      EXPECT_THAT(rounds, Each(swaps));
    });
  });
  graph.replay(plan, 50);
  graph.wait();
  EXPECT_EQ(swaps, 50);
}

// ---- loops --------------------------------------------------------------------------------------

SPACE_TEST(PlanLoops, UntilTheResidualIsSmall) {
  int const cells = 16;
  auto const solve = [&](auto&& iterate) {
    Line const a = bumps("a", cells);
    Line const b = bumps("b", cells);
    RightView<double> residual("residual");
    return iterate(a, b);
  };
  struct Change {
    Line a, b;
    KOKKOS_FUNCTION void operator()(int i, double& most) const {
      double const change = Kokkos::abs(a(i) - b(i));
      most = change > most ? change : most;
    }
  };
  auto const plain = solve([&](Line const& a, Line const& b) {
    double change = 1;
    int steps = 0;
    while (change > 1e-3) {
      for (int k = 0; k != 10; ++k) {
        Kokkos::parallel_for(Range(1, cells + 1), LineStep{a, b});
        Space().fence();
        Kokkos::parallel_for(Range(1, cells + 1), LineStep{b, a});
        Space().fence();
        steps += 2;
      }
      Kokkos::parallel_reduce(Range(1, cells + 1), Change{a, b}, Kokkos::Max<double>(change));
    }
    return std::pair(steps, values_of(a));
  });
  auto const by_plan = solve([&](Line const& a, Line const& b) {
    TaskGraph graph(with_workers(2));
    Future<double> residual;
    Plan const plan = graph.record([&] {
      step_in_tiles(graph, a, b, cells, 4);
      step_in_tiles(graph, b, a, cells, 4);
      residual =
          parallel_reduce("residual", ResourcePolicy(graph, Range(1, cells + 1), read(a), read(b)),
                          Change{a, b}, reduced<Kokkos::Max<double>>);
    });
    int steps = 0;
    do {
      graph.replay(plan, 10);
      steps += 20;
    } while (residual.get() > 1e-3);
    return std::pair(steps, values_of(a));
  });
  EXPECT_GT(plain.first, 20);
  EXPECT_EQ(by_plan, plain);
}

SPACE_TEST(PlanLoops, PlansInPlans) {
  int const cells = 30;
  Line const a = bumps("a", cells);
  Line const b = bumps("b", cells);
  Line expected = bumps("expected", cells);
  Line other = bumps("other", cells);
  TaskGraph graph(with_workers(3));
  Plan const smooth = graph.record("smooth", [&] {
    step_in_tiles(graph, a, b, cells, 3);
    step_in_tiles(graph, b, a, cells, 3);
  });
  Plan const cycle = graph.record("cycle", [&] {
    graph.replay(smooth, 2);
    parallel_for(
        "source", ResourcePolicy(graph, Range(1, 6), read_write(a)),
        KOKKOS_LAMBDA(int i) { a(i) += 0.5; });
    graph.replay(smooth);
  });
  EXPECT_EQ(cycle.tasks(), 3U);
  graph.replay(smooth);
  graph.replay(cycle, 4);
  graph.replay(smooth, 3);
  graph.wait();

  auto const plain_steps = [&](int steps) {
    for (int step = 0; step != steps; ++step) {
      Kokkos::parallel_for(Range(1, cells + 1), LineStep{expected, other});
      Space().fence();
      std::swap(expected, other);
    }
  };
  plain_steps(2);
  for (int round = 0; round != 4; ++round) {
    plain_steps(4);
    for (int i = 1; i != 6; ++i) expected(i) += 0.5;
    plain_steps(2);
  }
  plain_steps(6);
  EXPECT_EQ(values_of(a), values_of(expected));
}

SPACE_TEST(PlanLoops, TwoThreadsReplayOnePlan) {
  RightView<long*> x("x", 8);
  TaskGraph graph(with_workers(2));
  Plan const plan = graph.record([&] {
    for (int t = 0; t != 4; ++t) {
      auto const tile = subview(x, std::pair(2 * t, 2 * t + 2));
      parallel_for(
          "count", ResourcePolicy(graph, Range(0, 2), read_write(tile)),
          KOKKOS_LAMBDA(int i) { tile(i) += 1; });
    }
  });
  auto const replays = [&] {
    for (int k = 0; k != 25; ++k) {
      Future<void> const done = graph.replay(plan, 2);
      if (k % 5 == 0) done.get();
    }
  };
  std::thread one(replays);
  std::thread another(replays);
  one.join();
  another.join();
  graph.wait();
  EXPECT_THAT(values_of(x), Each(100L));
}

SPACE_TEST(PlanLoops, RunTheSameUnderTheSerialOracle) {
  auto const run = [] {
    int const cells = 20;
    Line const a = bumps("a", cells);
    Line const b = bumps("b", cells);
    TaskGraph graph(with_workers(2));
    Future<double> middle;
    Plan const plan = graph.record([&] {
      step_in_tiles(graph, a, b, cells, 4);
      step_in_tiles(graph, b, a, cells, 4);
      middle = host_task("look", ResourcePolicy(graph, read(a)), [a] { return a(10); });
    });
    graph.replay(plan, 7);
    double const seen = middle.get();
    graph.replay(plan);
    graph.wait();
    return std::pair(seen, values_of(a));
  };
  auto const parallel = run();
  trellis::Test::Environment const serial("TRELLIS_SERIAL", "1");
  EXPECT_EQ(run(), parallel);
}

// ---- tasks that change, tasks that fail ---------------------------------------------------------

SPACE_TEST(PlanTasks, SplitInEachRoundAsTheyLike) {
  RightView<long*> x("x", 20);
  RightView<long> round("round");
  TaskGraph graph(with_workers(3));
  Plan const plan = graph.record([&] {
    host_task("split", ResourcePolicy(graph, read_write(x), read_write(round)),
              [x, round](TaskScope& self) {
                long const pieces = 1 + round() % 4;  // another number in each round
                round() += 1;
                self.release(round);
                for (long p = 0; p != pieces; ++p) {
                  auto const piece = subview(x, std::pair(p * 20 / pieces, (p + 1) * 20 / pieces));
                  parallel_for(
                      "child",
                      ResourcePolicy(self, Range(0, static_cast<int>(piece.extent(0))),
                                     read_write(piece)),
                      KOKKOS_LAMBDA(int i) { piece(i) += 1; });
                }
                self.wait();
                parallel_for(
                    "all", ResourcePolicy(self, Range(0, 20), read_write(x)),
                    KOKKOS_LAMBDA(int i) { x(i) *= 2; });
              });
    host_task("check", ResourcePolicy(graph, read(x), read(round)),
              [x, round] { EXPECT_EQ(x(19), (2L << round()) - 2); });
  });
  graph.replay(plan, 10);
  graph.wait();
  EXPECT_THAT(values_of(x), Each((2L << 10) - 2));
}

SPACE_TEST(PlanTasks, AKernelThatThrowsCancelsWhatDependsOnIt) {
  // An exception cannot leave a parallel region of OpenMP.
  if (std::string_view(Space::name()) != "Serial") GTEST_SKIP() << "only Serial lets it out";
  RightView<int*> x("x", 10);
  RightView<int*> y("y", 10);
  RightView<int*> z("z", 10);
  TaskGraph graph(with_workers(2));
  std::atomic<bool> fails{true};
  Future<int> sum;
  Plan const plan = graph.record("step", [&] {
    parallel_for("boom", ResourcePolicy(graph, Range(0, 10), read_write(x)), [x, &fails](int i) {
      if (fails && x(i) == 2 && i == 7) throw std::runtime_error("element 7");
      x(i) += 1;
    });
    parallel_for(
        "behind", ResourcePolicy(graph, Range(0, 10), read(x), write(y)),
        KOKKOS_LAMBDA(int i) { y(i) = x(i); });
    parallel_for(
        "aside", ResourcePolicy(graph, Range(0, 10), read_write(z)),
        KOKKOS_LAMBDA(int i) { z(i) += 1; });
    sum = parallel_reduce(
        "sum", ResourcePolicy(graph, Range(0, 10), read(y)),
        KOKKOS_LAMBDA(int i, int& s) { s += y(i); });
  });
  Future<void> const whole = graph.replay(plan, 5);
  auto const text = [&](auto&& f) { return std::string(trellis::Test::error_of(f).what()); };
  EXPECT_THAT(text([&] { sum.get(); }),
              AllOf(HasSubstr("\"sum\""), HasSubstr("was cancelled"), HasSubstr("\"boom\""),
                    HasSubstr("element 7"), HasSubstr("TestPlanViews.cpp")));
  EXPECT_THAT(text([&] { whole.get(); }), AllOf(HasSubstr("\"boom\""), HasSubstr("element 7")));
  EXPECT_THAT(text([&] { graph.wait(); }), HasSubstr("element 7"));
  EXPECT_THAT(values_of(y), Each(2)) << "of the second round";
  EXPECT_THAT(values_of(z), Each(5));

  fails = false;
  graph.replay(plan, 2);
  EXPECT_NO_THROW(graph.wait());
  EXPECT_EQ(sum.get(), 7 * 5 + 3 * 4);
}

// ---- how long things live -----------------------------------------------------------------------

SPACE_TEST(PlanLifetime, ViewsMadeInARecordingLiveAsLongAsThePlan) {
  TaskGraph graph(with_workers(2));
  Future<int> sum;
  RightView<int*> kept;
  Plan plan = graph.record([&] {
    RightView<int*> const hidden("hidden", 1000);
    RightView<int*> const counted("counted", 10);
    kept = counted;
    parallel_for(
        "grow", ResourcePolicy(graph, Range(0, 1000), read_write(hidden)),
        KOKKOS_LAMBDA(int i) { hidden(i) += 1; });
    sum = parallel_reduce(
        "sum", ResourcePolicy(graph, Range(0, 1000), read(hidden), read(counted)),
        KOKKOS_LAMBDA(int i, int& s) { s += hidden(i) + counted(i % 10); });
  });
  EXPECT_EQ(kept.use_count(), 3);      // this one, the functor's, and the plan's own
  std::vector<RightView<int*>> noise;  // would be put where a freed View was
  for (int k = 0; k != 50; ++k) {
    noise.emplace_back("noise", 1000);
    Kokkos::deep_copy(noise.back(), -1);
  }
  graph.replay(plan, 3);
  EXPECT_EQ(sum.get(), 3000);
  EXPECT_EQ(kept.use_count(), 3);
  graph.wait();
  plan = Plan();
  EXPECT_EQ(kept.use_count(), 1);
}

SPACE_TEST(PlanLifetime, ADroppedPlanIsReplayedToItsEnd) {
  RightView<int*> const x("x", 100);
  {
    TaskGraph graph(with_workers(2));
    for (int k = 0; k != 10; ++k) {
      Plan const plan = graph.record([&] {
        parallel_for(
            "grow", ResourcePolicy(graph, Range(0, 100), read_write(x)),
            KOKKOS_LAMBDA(int i) { x(i) += 1; });
      });
      graph.replay(plan, 5);
    }
  }
  EXPECT_EQ(x.use_count(), 1);
  EXPECT_THAT(values_of(x), Each(50));
}

SPACE_TEST(PlanLifetime, AFunctorIsTheSameInAllRounds) {
  TaskGraph graph(with_workers(2));
  Future<int> count;
  Plan const plan = graph.record([&] {
    count = host_task("count", ResourcePolicy(graph), [n = 0]() mutable { return ++n; });
  });
  graph.replay(plan, 3);
  graph.replay(plan, 4);
  EXPECT_EQ(count.get(), 7);
}

}  // namespace
}  // namespace trellis
