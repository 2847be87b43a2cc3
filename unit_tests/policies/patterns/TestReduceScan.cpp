// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// parallel_reduce into Futures and Views, parallel_scan.
#include <Trellis.hpp>
#include <Trellis_Recorded.hpp>

#include "SpaceTest.hpp"
#include "Timing.hpp"

#include <Kokkos_Core.hpp>
#include <gmock/gmock.h>

#include <limits>
#include <tuple>

namespace trellis {
namespace {

using Test::value_of;
using testing::HasSubstr;

// With several threads per worker a wrong join shows.
TaskGraphOptions two_threads() {
  TaskGraphOptions options;
  options.workers = 1;
  options.threads_per_worker = 2;
  return options;
}

SPACE_TEST(Reduce, TheSumIsTheDefaultAndItsTypeIsDeduced) {
  TaskGraph graph(two_threads());
  auto const whole = parallel_reduce(
      "whole", ResourcePolicy(graph, Range(0, 100)), KOKKOS_LAMBDA(int i, long& s) { s += i; });
  auto const real = parallel_reduce(
      "real", ResourcePolicy(graph, Range(0, 10)), KOKKOS_LAMBDA(int, float& s) { s += 0.5f; });
  static_assert(std::is_same_v<decltype(whole), Future<long> const>);
  static_assert(std::is_same_v<decltype(real), Future<float> const>);
  EXPECT_EQ(whole.get(), 4950);
  EXPECT_EQ(real.get(), 5);
}

SPACE_TEST(Reduce, OverNothingGivesTheIdentity) {
  TaskGraph graph;
  auto const sum = parallel_reduce(
      "sum", ResourcePolicy(graph, 0, on<Space>), KOKKOS_LAMBDA(int, int& s) { s += 1; });
  auto const most = parallel_reduce(
      "most", ResourcePolicy(graph, 0, on<Space>), KOKKOS_LAMBDA(int, int& s) { s = 1; },
      reduced<Kokkos::Max<int>>);
  EXPECT_EQ(sum.get(), 0);
  EXPECT_EQ(most.get(), std::numeric_limits<int>::lowest());
}

SPACE_TEST(Reduce, WithAReducerIntoAFuture) {
  TaskGraph graph(two_threads());
  View<int*> x("x", 50);
  parallel_for(
      "fill", ResourcePolicy(graph, Range(0, 50), write(x)),
      KOKKOS_LAMBDA(int i) { x(i) = (i * 17) % 50 - 60; });
  auto const most = parallel_reduce(
      "most", ResourcePolicy(graph, Range(0, 50), read(x)),
      KOKKOS_LAMBDA(int i, int& m) { m = x(i) > m ? x(i) : m; }, reduced<Kokkos::Max<int>>);
  using Place = Kokkos::MinLoc<int, int>;
  auto const least = parallel_reduce(
      "least", ResourcePolicy(graph, Range(0, 50), read(x)),
      KOKKOS_LAMBDA(int i, Place::value_type& m) {
        if (x(i) < m.val) m.val = x(i), m.loc = i;
      },
      reduced<Place>);
  EXPECT_EQ(most.get(), -11);
  EXPECT_EQ(least.get().val, -60);
  EXPECT_EQ(least.get().loc, 0);
}

SPACE_TEST(Reduce, WithSeveralResultsGivesATuple) {
  TaskGraph graph(two_threads());
  auto const both = parallel_reduce(
      "both", ResourcePolicy(graph, Range(1, 6)),
      KOKKOS_LAMBDA(int i, int& sum, double& product) {
        sum += i;
        product *= i;
      },
      reduced<Kokkos::Sum<int>>, reduced<Kokkos::Prod<double>>);
  static_assert(std::is_same_v<decltype(both), Future<std::tuple<int, double>> const>);
  EXPECT_EQ(std::get<0>(both.get()), 15);
  EXPECT_EQ(std::get<1>(both.get()), 120);
}

SPACE_TEST(Reduce, IntoAViewIsAWriteOfThatView) {
  TaskGraphOptions options;
  options.record = true;
  TaskGraph graph(options);
  View<double> sum("sum");
  auto const future = parallel_reduce(
      "sum", ResourcePolicy(graph, Range(0, 10)), KOKKOS_LAMBDA(int i, double& s) { s += i; }, sum);
  static_assert(std::is_same_v<decltype(future), Future<void> const>);
  auto const twice = parallel_reduce(
      "look", ResourcePolicy(graph, Range(0, 2), read(sum)),
      KOKKOS_LAMBDA(int, double& s) { s += sum(); });
  EXPECT_EQ(twice.get(), 90);
  graph.wait();
  EXPECT_EQ(value_of(sum), 45);
  EXPECT_THAT(graph.dependency_graph().edges(),
              testing::ElementsAre(EdgeRecord{1, 2, EdgeReason::access}));
  EXPECT_EQ(graph.dependency_graph().node(1).accesses.at(0).mode, "write");
}

SPACE_TEST(Reduce, IntoAReducerOnAView) {
  TaskGraphOptions options;
  options.record = true;
  TaskGraph graph(options);
  View<int> least("least");
  using Min = Kokkos::Min<int, Space::memory_space>;
  parallel_reduce(
      "min", ResourcePolicy(graph, Range(3, 10)),
      KOKKOS_LAMBDA(int i, int& m) { m = i < m ? i : m; }, Min(least));
  auto const look = parallel_reduce(
      "look", ResourcePolicy(graph, Range(0, 1), read(least)),
      KOKKOS_LAMBDA(int, int& s) { s += least(); });
  EXPECT_EQ(look.get(), 3);
  EXPECT_EQ(graph.dependency_graph().edges().size(), 1u);
}

SPACE_TEST(Reduce, IntoViewsAndTheFutureAtOnce) {
  TaskGraph graph(two_threads());
  View<double> sum("sum");
  View<int> most("most");
  using Max = Kokkos::Max<int, Space::memory_space>;
  auto const count = parallel_reduce(
      "mixed", ResourcePolicy(graph, Range(0, 10)),
      KOKKOS_LAMBDA(int i, double& s, long& n, int& m) {
        s += i;
        n += 1;
        m = i > m ? i : m;
      },
      sum, reduced<Kokkos::Sum<long>>, Max(most));
  EXPECT_EQ(count.get(), 10);
  EXPECT_EQ(value_of(sum), 45);
  EXPECT_EQ(value_of(most), 9);
}

SPACE_TEST(Reduce, KeepsTheResultsViewAlive) {
  TaskGraph graph;
  View<double> sum("sum");
  Kokkos::View<double, Space::memory_space> alias = sum;
  EXPECT_EQ(alias.use_count(), 2);
  {
    View<double> const dropped = sum;
    parallel_reduce(
        "sum", ResourcePolicy(graph, Range(0, 10)), KOKKOS_LAMBDA(int i, double& s) { s += i; },
        dropped)
        .get();
  }
  EXPECT_EQ(alias.use_count(), 2);
}

SPACE_TEST(Reduce, IntoAReducerOnAVariableIsAnErrorThatNamesTheTask) {
  TaskGraph graph;
  double value = 0;
  Error const error = trellis::Test::error_of([&] {
    parallel_reduce(
        "local", ResourcePolicy(graph, Range(0, 10)), KOKKOS_LAMBDA(int i, double& s) { s += i; },
        Kokkos::Sum<double, Space::memory_space>(value));
  });
  EXPECT_EQ(error.kind(), Error::Kind::bad_input);
  EXPECT_THAT(error.what(),
              testing::AllOf(HasSubstr("\"local\""), HasSubstr("reduces into a variable"),
                             HasSubstr("TestReduceScan.cpp:")));
  EXPECT_EQ(graph.submitted(), 0u);
}

// A functor that brings its own reduction, as Kokkos allows.
struct Largest {
  using value_type = int;
  View<int*> x;
  KOKKOS_FUNCTION void operator()(int i, int& m) const { m = x(i) > m ? x(i) : m; }
  KOKKOS_FUNCTION void init(int& m) const { m = -1000; }
  KOKKOS_FUNCTION void join(int& m, int const& other) const { m = other > m ? other : m; }
};

SPACE_TEST(Reduce, AFunctorsOwnJoinAndInitAreUsed) {
  TaskGraph graph(two_threads());
  View<int*> x("x", 100);
  Kokkos::deep_copy(x, -5);
  EXPECT_EQ(
      parallel_reduce("largest", ResourcePolicy(graph, Range(0, 100), read(x)), Largest{x}).get(),
      -5);
}

struct LargestOfArgument {
  using value_type = int;
  KOKKOS_FUNCTION void operator()(int i, View<int const*> const& x, int& m) const {
    m = x(i) > m ? x(i) : m;
  }
  KOKKOS_FUNCTION void init(int& m) const { m = -1000; }
  KOKKOS_FUNCTION void join(int& m, int const& other) const { m = other > m ? other : m; }
};

SPACE_TEST(Reduce, AFunctorsOwnJoinAndInitAreUsedAlsoWhenItTakesItsViews) {
  TaskGraph graph(two_threads());
  View<int*> x("x", 100);
  Kokkos::deep_copy(x, -5);
  EXPECT_EQ(
      parallel_reduce("largest", ResourcePolicy(graph, Range(0, 100), read(x)), LargestOfArgument{})
          .get(),
      -5);
}

SPACE_TEST(Scan, GivesPartialSumsAndTheTotal) {
  TaskGraph graph(two_threads());
  View<int*> x("x", 100);
  auto const total = parallel_scan(
      "scan", ResourcePolicy(graph, Range(0, 100), write(x)),
      KOKKOS_LAMBDA(int i, long& s, bool is_final) {
        s += i;
        if (is_final) x(i) = static_cast<int>(s);
      });
  static_assert(std::is_same_v<decltype(total), Future<long> const>);
  EXPECT_EQ(total.get(), 4950);
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), x);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(host(i), i * (i + 1) / 2);
}

SPACE_TEST(Scan, OverNothingGivesZero) {
  TaskGraph graph;
  EXPECT_EQ(
      parallel_scan(
          "scan", ResourcePolicy(graph, 0, on<Space>), KOKKOS_LAMBDA(int, int& s, bool) { s += 1; })
          .get(),
      0);
}

// The running maximum: a scan whose functor brings its own join.
struct RunningMaximum {
  using value_type = int;
  View<int*> x;
  KOKKOS_FUNCTION void operator()(int i, int& m, bool is_final) const {
    m = x(i) > m ? x(i) : m;
    if (is_final) x(i) = m;
  }
  KOKKOS_FUNCTION void init(int& m) const { m = -1000; }
  KOKKOS_FUNCTION void join(int& m, int const& other) const { m = other > m ? other : m; }
};
struct RunningMaximumOfArgument {
  using value_type = int;
  KOKKOS_FUNCTION void operator()(int i, View<int*> const& x, int& m, bool is_final) const {
    m = x(i) > m ? x(i) : m;
    if (is_final) x(i) = m;
  }
  KOKKOS_FUNCTION void init(int& m) const { m = -1000; }
  KOKKOS_FUNCTION void join(int& m, int const& other) const { m = other > m ? other : m; }
};

template <class Functor>
void check_running_maximum(View<int*> const& x, Functor const& functor) {
  TaskGraph graph(two_threads());
  parallel_for(
      "fill", ResourcePolicy(graph, Range(0, 100), write(x)),
      KOKKOS_LAMBDA(int i) { x(i) = i == 30 ? -1 : -5; });
  EXPECT_EQ(
      parallel_scan("scan", ResourcePolicy(graph, Range(0, 100), read_write(x)), functor).get(),
      -1);
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), x);
  EXPECT_EQ(host(29), -5);
  EXPECT_EQ(host(99), -1);
}

SPACE_TEST(Scan, AFunctorsOwnJoinAndInitAreUsed) {
  View<int*> x("x", 100);
  check_running_maximum(x, RunningMaximum{x});
  check_running_maximum(x, RunningMaximumOfArgument{});
}

}  // namespace
}  // namespace trellis
