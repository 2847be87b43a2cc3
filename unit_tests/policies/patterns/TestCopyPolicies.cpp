// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// deep_copy with a policy, from futures, and into variables. For every space.
#include <Trellis.hpp>
#include <Trellis_Recorded.hpp>
#include <Trellis_Resources.hpp>
#include <Trellis_Scheduling.hpp>

#include "SpaceTest.hpp"

#include <Kokkos_Core.hpp>
#include <gmock/gmock.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace trellis {
namespace {

using Test::value_of;
using Test::values_of;
using Test::with_workers;
using testing::Each;
using testing::HasSubstr;

SPACE_TEST(CopyPolicies, SayWhatPoliciesSay) {
  TaskGraphOptions options = with_workers(2);
  options.record = true;
  TaskGraph graph(options);
  V const x("x", 4), y("y", 4);
  Token const token("token");
  auto const first = host_task("first", ResourcePolicy(graph), [] {});
  auto const other = host_task("other", ResourcePolicy(graph, write(token)), [] {});
  trellis::deep_copy("fill", ResourcePolicy(graph, after(first), priority(3)), x, 2.5);
  trellis::deep_copy(ResourcePolicy(graph, read(token), device(0), tag(7)), y, x);
  AccessList list;
  list.read(token);
  trellis::deep_copy("list", ResourcePolicy(graph, list), y, x);
  graph.wait();
  EXPECT_THAT(values_of(y), Each(2.5));
  EXPECT_THAT(graph.scheduling_graph().edges(),
              testing::IsSupersetOf(
                  {EdgeRecord{1, 3, EdgeReason::after}, EdgeRecord{3, 4, EdgeReason::access},
                   EdgeRecord{2, 4, EdgeReason::access}, EdgeRecord{2, 5, EdgeReason::access}}));
  EXPECT_EQ(graph.dependency_graph().node(3).priority, 3);
  EXPECT_TRUE(other.is_done());
}

SPACE_TEST(CopyPolicies, TakeTheValueOfAFuture) {
  TaskGraph graph(with_workers(2));
  V const x("x", 100), y("y", 10);
  View<double> const one("one");
  trellis::deep_copy(graph, x, 0.5);
  auto const sum = parallel_reduce(
      "sum", ResourcePolicy(graph, 100, read(x), on<Space>),
      KOKKOS_LAMBDA(int i, double& s) { s += x(i); });
  trellis::deep_copy("later", graph, y, sum);
  auto const number = host_task("number", ResourcePolicy(graph), [] { return 7; });
  trellis::deep_copy(ResourcePolicy(graph, priority(1)), one, number);
  graph.wait();
  EXPECT_THAT(values_of(y), Each(50.0));
  EXPECT_EQ(value_of(one), 7);
}

SPACE_TEST(CopyPolicies, TakeTheNewestValueInEachRoundOfAPlan) {
  TaskGraph graph(with_workers(2));
  V const x("x", 10), y("y", 10);
  Kokkos::deep_copy(x, 1.0);
  Plan const plan = graph.record("double", [&] {
    auto const sum = parallel_reduce(
        "sum", ResourcePolicy(graph, 2, read(x), on<Space>),
        KOKKOS_LAMBDA(int i, double& s) { s += x(i); });
    trellis::deep_copy("fill", graph, y, sum);
    trellis::deep_copy("back", graph, x, y);
  });
  graph.replay(plan, 10);
  graph.wait();
  EXPECT_THAT(values_of(x), Each(1024.0));
}

SPACE_TEST(CopyPolicies, FailWithTheFuture) {
  TaskGraph graph(with_workers(1));
  V const x("x", 4);
  auto const number = host_task("number", ResourcePolicy(graph),
                                []() -> double { throw std::runtime_error("broken"); });
  auto const filled = trellis::deep_copy("later", graph, x, number);
  EXPECT_THROW(filled.get(), Error);
  EXPECT_THROW(graph.wait(), Error);
  EXPECT_THAT(values_of(x), Each(0.0));
}

SPACE_TEST(CopyPolicies, FailWithAFutureWhoseFailureHasBeenReported) {
  TaskGraph graph(with_workers(1));
  V const x("x", 4);
  auto const number = host_task("number", ResourcePolicy(graph),
                                []() -> double { throw std::runtime_error("broken"); });
  EXPECT_THROW(graph.wait(), Error);
  trellis::deep_copy("later", graph, x, number);
  try {
    graph.wait();
    ADD_FAILURE() << "there is no value";
  } catch (Error const& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("broken"));
  }
  EXPECT_THAT(values_of(x), Each(0.0));
}

SPACE_TEST(CopyPolicies, CopyIntoAVariable) {
  TaskGraph graph(with_workers(2));
  View<double> const sum("sum");
  double result = 0, again = 0;
  for (int k = 1; k <= 3; ++k) {
    trellis::deep_copy(graph, sum, 1.5 * k);
    trellis::deep_copy(graph, result, sum);
  }
  trellis::deep_copy("again", ResourcePolicy(graph, priority(1)), again, sum).get();
  graph.wait();
  EXPECT_EQ(result, 4.5);
  EXPECT_EQ(again, 4.5);
}

SPACE_TEST(CopyPolicies, MakeChildren) {
  TaskGraph graph(with_workers(2));
  Kokkos::View<double*, Kokkos::HostSpace> const x("x", 4), y("y", 4);
  host_task("whole", ResourcePolicy(graph, read_write(x), write(y)), [x, y](TaskScope& self) {
    auto const number = host_task("number", ResourcePolicy(self), [] { return 3; });
    trellis::deep_copy("fill", ResourcePolicy(self, priority(1)), x, number);
    trellis::deep_copy(ResourcePolicy(self), y, x);
  });
  graph.wait();
  EXPECT_THAT(values_of(y), Each(3.0));
}

}  // namespace
}  // namespace trellis
