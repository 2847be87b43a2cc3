// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Values of futures as arguments of functors.
#include <Trellis.hpp>

#include "SpaceTest.hpp"
#include "Timing.hpp"

#include <gmock/gmock.h>

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

namespace trellis {
namespace {

using Test::with_workers;
using testing::HasSubstr;

struct Pair {
  double factor;
  int shift;
};
struct Empty {};

SPACE_TEST(FutureValues, ComeInTheirPlaceAmongTheViews) {
  TaskGraph graph(with_workers(2));
  V const x("x", 8), y("y", 8);
  auto const sum = parallel_reduce(
      "sum", ResourcePolicy(graph, Range(0, 5)), KOKKOS_LAMBDA(int i, double& s) { s += i; });
  auto const pair =
      host_task("pair", ResourcePolicy(graph, value(sum)), [](double s) { return Pair{s, 3}; });
  parallel_for(
      "fill", ResourcePolicy(graph, Range(0, 8), value(sum), write(x), value(pair)),
      KOKKOS_LAMBDA(int i, double s, V const& to, Pair const& p) {
        to(i) = s + p.factor * i + p.shift;
      });
  parallel_for(
      "copy", ResourcePolicy(graph, Range(0, 8), read(x), value(sum), write(y)),
      KOKKOS_LAMBDA(int i, read_view<V> const& from, double const& s, V const& to) {
        to(i) = from(i) - s;
      });
  graph.wait();
  for (int i = 0; i < 8; ++i) EXPECT_EQ(Test::values_of(y).at(i), 10.0 * i + 3);
}

SPACE_TEST(FutureValues, AreLeftOutByFunctorsThatTakeNone) {
  TaskGraph graph(with_workers(2));
  V const x("x", 4);
  auto const one = host_task("one", ResourcePolicy(graph), [] { return 1; });
  auto const nothing = host_task("nothing", ResourcePolicy(graph), [] {});
  parallel_for(
      "fill", ResourcePolicy(graph, Range(0, 4), value(one), value(nothing), write(x)),
      KOKKOS_LAMBDA(int i) { x(i) = i; });
  graph.wait();
  EXPECT_EQ(Test::values_of(x).at(3), 3);
}

SPACE_TEST(FutureValues, ReachAllPatterns) {
  TaskGraph graph(with_workers(2));
  V const x("x", 10);
  auto const two = host_task("two", ResourcePolicy(graph), [] { return 2.0; });
  auto const empty = host_task("empty", ResourcePolicy(graph), [] { return Empty(); });
  auto const sum = parallel_reduce(
      "sum", ResourcePolicy(graph, Range(0, 10), value(two), value(empty)),
      KOKKOS_LAMBDA(int i, double f, Empty const&, double& s) { s += f * i; });
  auto const both = parallel_reduce(
      "both", ResourcePolicy(graph, Range(0, 10), value(sum)),
      KOKKOS_LAMBDA(int i, double s, double& least, double& most) {
        if (s - i < least) least = s - i;
        if (s + i > most) most = s + i;
      },
      reduced<Kokkos::Min<double>>, reduced<Kokkos::Max<double>>);
  auto const total = parallel_scan(
      "scan", ResourcePolicy(graph, Range(0, 10), value(two), write(x)),
      KOKKOS_LAMBDA(int i, double f, V const& to, double& s, bool is_final) {
        s += f;
        if (is_final) to(i) = s;
      });
  V const cells("cells", 12);
  parallel_for(
      "square", ResourcePolicy(graph, Square({0, 0}, {3, 4}), value(two), write(cells)),
      KOKKOS_LAMBDA(int i, int j, double f, V const& to) { to(4 * i + j) = f * (i + j); });
  auto const seen = space_task("space", ResourcePolicy(graph, value(total), on<Space>),
                               [](Space const&, double t) { return t; });
  EXPECT_EQ(sum.get(), 90);
  EXPECT_EQ(both.get(), std::tuple(81.0, 99.0));
  EXPECT_EQ(total.get(), 20);
  EXPECT_EQ(seen.get(), 20);
  graph.wait();
  EXPECT_EQ(Test::values_of(x).at(9), 20);
  EXPECT_EQ(Test::values_of(cells).at(11), 10);
}

/// Too large, or not plain: the functor gets the future's own.
struct CountInto {
  using value_type = long[];
  unsigned value_count = 2;
  KOKKOS_FUNCTION void operator()(int i, long const& factor, long* counts) const {
    counts[i % 2] += factor;
  }
};

SPACE_TEST(FutureValues, ReachReductionsIntoArrays) {
  TaskGraph graph(with_workers(2));
  auto const three = host_task("three", ResourcePolicy(graph), [] { return 3L; });
  auto const counts =
      parallel_reduce("count", ResourcePolicy(graph, Range(0, 9), value(three)), CountInto());
  EXPECT_EQ(counts.get(), (std::vector<long>{15, 12}));
}

SPACE_TEST(FutureValues, OfAnyTypeReachTheHost) {
  TaskGraph graph(with_workers(2));
  View<long*> const x("x", 3);
  auto const list =
      host_task("list", ResourcePolicy(graph), [] { return std::vector<long>{4, 5, 6}; });
  auto const large = host_task("large", ResourcePolicy(graph), [] {
    std::array<long, 1000> numbers{};
    numbers[999] = 7;
    return numbers;
  });
  parallel_for(
      "fill", ResourcePolicy(graph, Range(0, 3), value(list), value(large), write(x)),
      [](int i, std::vector<long> const& from, std::array<long, 1000> const& numbers,
         View<long*> const& to) { to(i) = from[static_cast<std::size_t>(i)] + numbers[999]; });
  graph.wait();
  EXPECT_EQ(Test::values_of(x), (std::vector<long>{11, 12, 13}));
}

SPACE_TEST(FutureValues, AKernelWithoutItsValueDoesNotRun) {
  TaskGraph graph(with_workers(2));
  V const x("x", 3);
  auto const bad =
      host_task("bad", ResourcePolicy(graph), []() -> int { throw std::runtime_error("boom"); });
  auto const submit = [&] {
    return parallel_for(
        "fill", ResourcePolicy(graph, Range(0, 3), value(bad), write(x)),
        KOKKOS_LAMBDA(int i, int n, V const& to) { to(i) = n + 1; });
  };
  auto const error_of = [](Future<void> const& future) {
    try {
      future.get();
    } catch (Error const& error) {
      return std::string(error.what());
    }
    return std::string("nothing is thrown");
  };
  EXPECT_THAT(error_of(submit()), HasSubstr("boom"));
  EXPECT_THROW(graph.wait(), Error);
  // Reported, so it cancels no more; but there is no value.
  EXPECT_THAT(error_of(submit()), HasSubstr("boom"));
  EXPECT_THROW(graph.wait(), Error);
  EXPECT_EQ(Test::values_of(x).at(0), 0);
}

SPACE_TEST(FutureValues, AreThoseOfEachRoundOfAPlan) {
  for (int const workers : {1, 3}) {
    TaskGraph graph(with_workers(workers));
    V const x("x", 4);
    parallel_for(
        "start", ResourcePolicy(graph, Range(0, 4), write(x)), KOKKOS_LAMBDA(int i) { x(i) = i; });
    graph.wait();
    Future<double> sum;
    auto const step = [&] {
      sum = parallel_reduce(
          "sum", ResourcePolicy(graph, Range(0, 4), read(x)),
          KOKKOS_LAMBDA(int i, read_view<V> const& v, double& s) { s += v(i); });
      parallel_for(
          "add", ResourcePolicy(graph, Range(0, 4), value(sum), read_write(x)),
          KOKKOS_LAMBDA(int i, double s, V const& v) { v(i) += s; });
    };
    Plan const plan = graph.record("plan", step);
    graph.replay(plan, 5);
    graph.wait();
    auto const by_plan = Test::values_of(x);
    EXPECT_EQ(sum.get(), 6 * 5 * 5 * 5 * 5);
    parallel_for(
        "start", ResourcePolicy(graph, Range(0, 4), write(x)), KOKKOS_LAMBDA(int i) { x(i) = i; });
    graph.wait();
    graph.iterate("loop", 5, step);
    graph.wait();
    EXPECT_EQ(Test::values_of(x), by_plan);
  }
}

/// A value from before the recording is the same in each round.
SPACE_TEST(FutureValues, FromOutsideOfAPlanStay) {
  TaskGraph graph(with_workers(2));
  V const x("x", 1);
  auto const two = host_task("two", ResourcePolicy(graph), [] { return 2; });
  Plan const plan = graph.record("plan", [&] {
    parallel_for(
        "add", ResourcePolicy(graph, Range(0, 1), value(two), read_write(x)),
        KOKKOS_LAMBDA(int i, int n, V const& v) { v(i) += n; });
  });
  graph.replay(plan, 4);
  graph.wait();
  EXPECT_EQ(Test::value_of(x), 8);
}

}  // namespace
}  // namespace trellis
