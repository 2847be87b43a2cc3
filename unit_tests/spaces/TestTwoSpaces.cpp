// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One graph whose tasks run on two spaces of the host: this test's, and the one that Kokkos takes
// by default. With a Kokkos that has Serial and OpenMP these differ; with one space they are the
// same, and everything holds all the same.
#include <Trellis.hpp>

#include "SpaceTest.hpp"
#include "Timing.hpp"

#include <Kokkos_Core.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace trellis {
namespace {
namespace two_spaces {

using Other = Kokkos::DefaultHostExecutionSpace;
using Integers = Kokkos::View<std::int64_t*, Kokkos::HostSpace>;
using Test::Rendezvous;
using Test::values_of;
using Test::with_workers;

TaskGraphOptions recorded(int workers) {
  TaskGraphOptions options = with_workers(workers);
  options.record = true;
  return options;
}

SPACE_TEST(TwoSpaces, EachTaskRunsOnItsOwn) {
  int const n = 1000;
  Integers x("x", n);
  TaskGraph graph(recorded(2));
  parallel_for(
      "fill", ResourcePolicy(graph, n, write(x), on<Space>), KOKKOS_LAMBDA(int i) { x(i) = i; });
  parallel_for(
      "double", ResourcePolicy(graph, n, read_write(x), on<Other>),
      KOKKOS_LAMBDA(int i) { x(i) *= 2; });
  auto const sum = parallel_reduce(
      "sum", ResourcePolicy(graph, n, read(x), on<Space>),
      KOKKOS_LAMBDA(int i, std::int64_t& all) { all += x(i); });
  auto const largest = parallel_reduce(
      "largest", ResourcePolicy(graph, n, read(x), on<Other>),
      KOKKOS_LAMBDA(int i, std::int64_t& most) { most = x(i) > most ? x(i) : most; },
      reduced<Kokkos::Max<std::int64_t>>);
  auto const total = parallel_scan(
      "scan", ResourcePolicy(graph, n, read_write(x), on<Other>),
      KOKKOS_LAMBDA(int i, std::int64_t& before, bool last) {
        std::int64_t const own = x(i);
        if (last) x(i) = before;
        before += own;
      });
  auto const name = space_task("instance", ResourcePolicy(graph, read_write(x), on<Space>),
                               [](Space const& instance, Integers const& v) {
                                 Kokkos::parallel_for(
                                     Kokkos::RangePolicy<Space>(instance, 0, 10),
                                     KOKKOS_LAMBDA(int i) { v(i) += 1; });
                                 return std::string(Space::name());
                               });
  EXPECT_EQ(sum.get(), std::int64_t{n} * (n - 1));
  EXPECT_EQ(largest.get(), 2 * (n - 1));
  EXPECT_EQ(total.get(), sum.get());
  EXPECT_EQ(name.get(), Space::name());
  graph.wait();
  EXPECT_EQ(x(9), 9 * 8 + 1);
  EXPECT_EQ(x(n - 1), std::int64_t{n - 1} * (n - 2));

  std::vector<std::string> spaces;
  for (TaskRecord const& task : graph.scheduling_graph().nodes()) spaces.push_back(task.space);
  std::string const one = Space::name(), other = Other::name();
  EXPECT_EQ(spaces, (std::vector{one, other, one, other, other, one}));
}

SPACE_TEST(TwoSpaces, RunAtTheSameTime) {
  Integers x("x", 1), y("y", 1);
  Rendezvous both(2);
  TaskGraph graph(with_workers(2));
  auto const meet = [&](Integers const& mine) { mine(0) = both.meet() ? 1 : 0; };
  space_task("one", ResourcePolicy(graph, write(x), on<Space>),
             [&](Space const&, Integers const& mine) { meet(mine); });
  space_task("other", ResourcePolicy(graph, write(y), on<Other>),
             [&](Other const&, Integers const& mine) { meet(mine); });
  graph.wait();
  EXPECT_EQ(x(0) + y(0), 2) << "the two waited for each other";
}

SPACE_TEST(TwoSpaces, TeamsHaveTheThreadsOfTheirSpace) {
  int const threads = std::min(2, Other().concurrency());
  Integers one("one", 8), other("other", 8);
  TaskGraphOptions options = with_workers(1);
  options.threads_per_worker = threads;
  TaskGraph graph(options);
  auto const count_in = [&]<class On>(On, Integers const& sizes) {
    using Policy = Kokkos::TeamPolicy<On>;
    parallel_for(
        "teams", ResourcePolicy(graph, Policy(8, Kokkos::AUTO), write(sizes)),
        KOKKOS_LAMBDA(typename Policy::member_type const& team) {
          int in_team = 0;
          Kokkos::parallel_reduce(
              Kokkos::TeamThreadRange(team, 100), [](int, int& sum) { ++sum; }, in_team);
          Kokkos::single(Kokkos::PerTeam(team), [&] { sizes(team.league_rank()) = in_team; });
        });
  };
  count_in(Space(), one);
  count_in(Other(), other);
  graph.wait();
  EXPECT_EQ(values_of(one), std::vector<std::int64_t>(8, 100));
  EXPECT_EQ(values_of(other), std::vector<std::int64_t>(8, 100));
}

/// Programs of a few Views whose parts are read and written by tasks of both spaces.
constexpr int views = 4, length = 24;
struct Step {
  int to, from;
  int begin, count;
  bool here;
  int kind;  ///< 0: a loop, 1: a copy, 2: a sum that later tasks use
};

struct Program {
  std::vector<Step> steps;
  explicit Program(unsigned seed) {
    std::mt19937 random(seed);
    auto const below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    for (int k = 0; k != 40; ++k) {
      Step step{};
      step.to = below(views);
      step.from = (step.to + 1 + below(views - 1)) % views;
      step.begin = below(length - 1);
      step.count = 1 + below(length - step.begin - 1);
      step.here = below(2) == 0;
      step.kind = below(3);
      steps.push_back(step);
    }
  }
};

using State = std::array<std::vector<std::int64_t>, views>;

State one_by_one(Program const& program, int rounds) {
  State state;
  for (int v = 0; v != views; ++v) state[static_cast<std::size_t>(v)].assign(length, v + 1);
  for (int round = 0; round != rounds; ++round)
    for (Step const& step : program.steps) {
      auto& to = state[static_cast<std::size_t>(step.to)];
      auto const& from = state[static_cast<std::size_t>(step.from)];
      std::int64_t sum = 0;
      for (int i = step.begin; i != step.begin + step.count; ++i) {
        auto const k = static_cast<std::size_t>(i);
        if (step.kind == 0)
          to[k] = (3 * to[k] + from[k] + i) % 1000003;
        else if (step.kind == 1)
          to[k] = from[k];
        else
          sum += from[k];
      }
      if (step.kind == 2) to[0] = sum % 1000003;
    }
  return state;
}

template <class On>
void submit_step(TaskGraph& graph, Step const& step, Integers const& to, Integers const& from) {
  auto const range = Kokkos::pair(step.begin, step.begin + step.count);
  auto const a = Kokkos::subview(to, range);
  auto const b = Kokkos::subview(from, range);
  int const begin = step.begin;
  if (step.kind == 0) {
    parallel_for(
        "loop", ResourcePolicy(graph, step.count, read_write(a), read(b), on<On>),
        KOKKOS_LAMBDA(int i) { a(i) = (3 * a(i) + b(i) + begin + i) % 1000003; });
  } else if (step.kind == 1) {
    deep_copy(Label("copy"), graph, a, b);
  } else {
    auto const sum = Kokkos::subview(to, 0);
    parallel_reduce(
        "sum", ResourcePolicy(graph, step.count, read(b), write(sum), on<On>),
        KOKKOS_LAMBDA(int i, std::int64_t& all) { all += b(i); }, sum);
    parallel_for(
        "remainder", ResourcePolicy(graph, 1, read_write(sum), on<On>),
        KOKKOS_LAMBDA(int) { sum() %= 1000003; });
  }
}

void submit(TaskGraph& graph, Program const& program, std::array<Integers, views> const& all) {
  for (Step const& step : program.steps) {
    auto const& to = all[static_cast<std::size_t>(step.to)];
    auto const& from = all[static_cast<std::size_t>(step.from)];
    if (step.here)
      submit_step<Space>(graph, step, to, from);
    else
      submit_step<Other>(graph, step, to, from);
  }
}

SPACE_TEST(TwoSpaces, AnyProgramGivesWhatItGivesOneByOne) {
  for (unsigned seed = 0; seed != 8; ++seed)
    for (bool const planned : {false, true}) {
      Program const program(seed);
      std::array<Integers, views> all;
      for (int v = 0; v != views; ++v) {
        auto& view = all[static_cast<std::size_t>(v)];
        view = Integers("v", length);
        Kokkos::deep_copy(view, v + 1);
      }
      int const rounds = 3;
      {
        TaskGraph graph(with_workers(3));
        if (planned)
          graph.replay(graph.record([&] { submit(graph, program, all); }), rounds);
        else
          for (int round = 0; round != rounds; ++round) submit(graph, program, all);
      }
      State const expected = one_by_one(program, rounds);
      for (std::size_t v = 0; v != all.size(); ++v)
        EXPECT_EQ(values_of(all[v]), expected[v])
            << "seed " << seed << ", View " << v << (planned ? ", planned" : "");
    }
}

}  // namespace two_spaces
}  // namespace
}  // namespace trellis
