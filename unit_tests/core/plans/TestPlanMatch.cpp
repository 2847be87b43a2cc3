// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A plan whose Views have been reallocated is an error, one whose Views are still there is not.
#include "Timing.hpp"

#include <Trellis.hpp>
#include <common/Trellis_KokkosInternals.hpp>

#include <gmock/gmock.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace trellis {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using View = Kokkos::View<double*, Kokkos::HostSpace>;
using HostSpace = Kokkos::DefaultHostExecutionSpace;

class PlanMatch : public Test::Timed {};

struct Increment {
  View x;
  KOKKOS_FUNCTION void operator()(int i) const { x(i) += 1; }
};

Plan record_increment(TaskGraph& graph, View const& x) {
  return graph.record("increment", [&] {
    parallel_for("inc",
                 ResourcePolicy(graph, static_cast<int>(x.extent(0)), on<HostSpace>, read_write(x)),
                 Increment{x});
  });
}

std::string error_of_replay(TaskGraph& graph, Plan const& plan) {
  try {
    graph.replay(plan);
    graph.wait();
  } catch (Error const& error) {
    return error.what();
  }
  return "no error";
}

TEST_F(PlanMatch, ResizedAndAssignedViewsAreErrors) {
  TaskGraph graph;
  View x("x", 10);
  Plan const plan = record_increment(graph, x);
  EXPECT_EQ(error_of_replay(graph, plan), "no error");
  EXPECT_EQ(x(3), 1);
  Kokkos::resize(x, 20);
  EXPECT_THAT(error_of_replay(graph, plan),
              AllOf(HasSubstr("\"increment\""), HasSubstr("TestPlanMatch.cpp"),
                    HasSubstr("the View \"x\""), HasSubstr("reallocated")));
  EXPECT_EQ(x(3), 1);

  Plan const again = record_increment(graph, x);
  EXPECT_EQ(error_of_replay(graph, again), "no error");
  EXPECT_EQ(x(19), 1);
  x = View("another x", 20);
  EXPECT_THAT(error_of_replay(graph, again), HasSubstr("reallocated"));
  Plan const outer = graph.record("outer", [&] {});
  EXPECT_EQ(error_of_replay(graph, outer), "no error");
}

TEST_F(PlanMatch, NestedPlansAreLookedAtToo) {
  TaskGraph graph;
  View x("x", 10);
  Plan const inner = record_increment(graph, x);
  Plan const outer = graph.record("outer", [&] { graph.replay(inner, 2); });
  EXPECT_EQ(error_of_replay(graph, outer), "no error");
  Kokkos::realloc(x, 12);
  EXPECT_THAT(error_of_replay(graph, outer),
              AllOf(HasSubstr("\"increment\""), HasSubstr("the View \"x\"")));
}

TEST_F(PlanMatch, HostTasksThatCaptureByReferenceAreSeen) {
  TaskGraph graph;
  View x("x", 10);
  Plan const plan = graph.record(
      [&] { host_task("host", ResourcePolicy(graph, read_write(x)), [&] { x(0) += 1; }); });
  EXPECT_EQ(error_of_replay(graph, plan), "no error");
  x = View("y", 10);
  EXPECT_THAT(error_of_replay(graph, plan), HasSubstr("the View \"x\""));
}

TEST_F(PlanMatch, AnyOtherViewOfTheAllocationWillDo) {
  TaskGraph graph;
  View x("x", 10);
  std::vector<View> tiles{Kokkos::subview(x, std::pair(0, 5)),
                          Kokkos::subview(x, std::pair(5, 10))};
  Plan const plan = graph.record([&] {
    for (View const& tile : tiles)
      parallel_for("inc", ResourcePolicy(graph, 5, on<HostSpace>, read_write(tile)),
                   Increment{tile});
  });
  x = View();
  EXPECT_EQ(error_of_replay(graph, plan), "no error");
  EXPECT_EQ(tiles[1](0), 1);
  tiles.clear();
  EXPECT_THAT(error_of_replay(graph, plan), HasSubstr("the View \"x\""));
}

TEST_F(PlanMatch, ViewsOfThePlanAloneAreItsOwnBusiness) {
  TaskGraph graph;
  View sum("sum", 1);
  Plan const plan = graph.record([&] {
    View const scratch("scratch", 10);
    parallel_for("fill", ResourcePolicy(graph, 10, on<HostSpace>, read_write(scratch)),
                 Increment{scratch});
    host_task("sum", ResourcePolicy(graph, read(scratch), read_write(sum)), [scratch, sum] {
      for (int i = 0; i != 10; ++i) sum(0) += scratch(i);
    });
  });
  for (int k = 0; k != 3; ++k) EXPECT_EQ(error_of_replay(graph, plan), "no error");
  EXPECT_EQ(sum(0), 60);
}

TEST_F(PlanMatch, UnmanagedViewsAreNotCounted) {
  TaskGraph graph;
  std::vector<double> memory(10, 0.0);
  Plan plan;
  {
    View const wrapped(memory.data(), memory.size());
    plan = record_increment(graph, wrapped);
  }
  EXPECT_EQ(error_of_replay(graph, plan), "no error");
  EXPECT_EQ(memory[4], 1);
}

TEST_F(PlanMatch, AnUnmanagedViewOfAnAllocationHidesNoManagedOne) {
  using Unmanaged = Kokkos::View<double*, HostSpace, Kokkos::MemoryUnmanaged>;
  TaskGraph graph;
  View x("x", 10);
  Unmanaged const alias(x.data(), x.size());
  Plan const plan = graph.record([&] {
    host_task("by alias", ResourcePolicy(graph, read_write(alias)), [alias] { alias(0) += 1; });
    parallel_for("increment", ResourcePolicy(graph, 10, on<HostSpace>, read_write(x)),
                 Increment{x});
  });
  EXPECT_EQ(error_of_replay(graph, plan), "no error");
  EXPECT_EQ(x(0), 2);
  x = View();
  EXPECT_THAT(error_of_replay(graph, plan), HasSubstr("nobody but the plan holds"));
}

TEST_F(PlanMatch, WhatOldViewsHaveLeftInABodyIsNoReference) {
  TaskGraph graph;
  View x("x", 10);
  struct Body {
    View x;
    std::array<std::uintptr_t, 2> left;
    std::unique_ptr<int> cannot_be_copied;
    void operator()() const { x(0) += 1; }
  };
  auto const record = reinterpret_cast<std::uintptr_t>(Impl::record_of(x));
  Plan const plan = graph.record([&] {
    host_task("host", ResourcePolicy(graph, read_write(x)), Body{x, {record, 10}, nullptr});
  });
  EXPECT_EQ(error_of_replay(graph, plan), "no error");
  x = View();
  EXPECT_THAT(error_of_replay(graph, plan), HasSubstr("nobody but the plan holds"));
}

TEST_F(PlanMatch, WorksWhileOtherTasksHoldTheViews) {
  TaskGraph graph;
  for (int repetition = 0; repetition != 50; ++repetition) {
    View x("x", 10);
    for (int k = 0; k != 20; ++k)
      parallel_for("before", ResourcePolicy(graph, 10, on<HostSpace>, read_write(x)), Increment{x});
    Plan const plan = record_increment(graph, x);
    graph.replay(plan);
    graph.wait();
    ASSERT_EQ(x(9), 21);
    ASSERT_EQ(error_of_replay(graph, plan), "no error");
    // While references come and go not all of the plan's own may have been counted, so only a plan
    // that is recorded when nothing runs is sure to notice.
    Plan const quiet = record_increment(graph, x);
    ASSERT_EQ(error_of_replay(graph, quiet), "no error");
  }
  View x("x", 10);
  Plan const quiet = record_increment(graph, x);
  x = View();
  ASSERT_THAT(error_of_replay(graph, quiet), HasSubstr("nobody but the plan holds"));
}

}  // namespace
}  // namespace trellis
