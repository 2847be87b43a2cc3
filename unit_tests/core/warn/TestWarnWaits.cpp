// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A wait() that keeps tasks apart for nothing. Views are large, and hardly touched: what counts is
// what the annotations say, and that no host reads half a gigabyte in a moment.
#include "WarnTest.hpp"

#include <chrono>
#include <thread>
#include <utility>

namespace trellis {
namespace {

using namespace Test;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;

constexpr std::size_t far = std::size_t{1} << 25;

/// Two fields that have nothing to do with each other.
struct Fields {
  V a = make("a"), b = make("b"), c = make("c"), d = make("d");
  static V make(char const* label) {
    V const made(Kokkos::view_alloc(std::string(label), Kokkos::WithoutInitializing), far);
    made(far / 2) = 1;
    return made;
  }
};

void step(TaskGraph& graph, V const& from, V const& to, Label label) {
  parallel_for(
      std::move(label), ResourcePolicy(graph, Range(0, 1), read(from), write(to)),
      KOKKOS_LAMBDA(int i) { to(i) = from(i); });
}
void both_steps(TaskGraph& graph, Fields const& f, int k) {
  step(graph, k % 2 == 0 ? f.a : f.b, k % 2 == 0 ? f.b : f.a, Label("left"));
  step(graph, k % 2 == 0 ? f.c : f.d, k % 2 == 0 ? f.d : f.c, Label("right"));
}

/// Steps with a wait after each. `between` runs after the wait.
template <class Step, class Between>
std::vector<Warning> of_steps(int count, Step const& one_step, Between const& between,
                              std::uint_least32_t* line = nullptr,
                              TaskGraphOptions const& options = {}) {
  Heard const heard(
      [&](TaskGraph& graph) {
        for (int k = 0; k < count; ++k) {
          one_step(graph, k);
          if (line != nullptr) *line = __LINE__ + 1;
          graph.wait();
          between();
        }
      },
      options);
  EXPECT_EQ(
      heard.of(WarningKind::serialising_wait).size(),
      static_cast<std::size_t>(std::count_if(heard.all().begin(), heard.all().end(),
                                             [](Warning const& each) { return each.count == 1; })))
      << heard.text();
  return heard.of(WarningKind::serialising_wait);
}
void nothing() {}

SPACE_TEST(WarnWaits, AWaitAfterEachStepOfTwoFieldsThatOnlyTasksRead) {
  Fields const f;
  for (TaskGraphOptions const& options : {TaskGraphOptions(), serially()}) {
    std::uint_least32_t line = 0;
    auto const told = of_steps(
        12, [&](TaskGraph& graph, int k) { both_steps(graph, f, k); }, nothing, &line, options);
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0].task, "wait()");
    EXPECT_THAT(told[0].place,
                AllOf(HasSubstr("TestWarnWaits.cpp"), EndsWith(':' + std::to_string(line))));
    EXPECT_THAT(told[0].text, AllOf(HasSubstr("task \"left\""), HasSubstr("task \"right\""),
                                    HasSubstr("TestWarnWaits.cpp")));
    EXPECT_THAT(told[0].resource, testing::AnyOf("a", "b", "c", "d"));
    EXPECT_EQ(told[0].area, "[0, 33554432)");
  }
}

SPACE_TEST(WarnWaits, OnceOrTwiceIsNoHabit) {
  Fields const f;
  EXPECT_TRUE(
      of_steps(3, [&](TaskGraph& graph, int k) { both_steps(graph, f, k); }, nothing).empty());
}

SPACE_TEST(WarnWaits, AHostThatTakesItsTimeMayHaveRead) {
  Fields const f;
  auto const reads = [] { std::this_thread::sleep_for(std::chrono::milliseconds(3)); };
  EXPECT_TRUE(
      of_steps(8, [&](TaskGraph& graph, int k) { both_steps(graph, f, k); }, reads).empty());
}

SPACE_TEST(WarnWaits, WhatNoTaskReadsIsForTheHost) {
  Fields const f;
  auto const one = [&](TaskGraph& graph, int k) {
    step(graph, k % 2 == 0 ? f.a : f.b, k % 2 == 0 ? f.b : f.a, Label("left"));
    V const c = f.c;  // written again, and only the host can have read it
    parallel_for(
        "right", ResourcePolicy(graph, Range(0, 1), write(c)), KOKKOS_LAMBDA(int i) { c(i) = k; });
  };
  EXPECT_TRUE(of_steps(8, one, nothing).empty());
}

SPACE_TEST(WarnWaits, AChainLosesNothing) {
  Fields const f;
  auto const one = [&](TaskGraph& graph, int k) {
    step(graph, k % 2 == 0 ? f.a : f.b, k % 2 == 0 ? f.b : f.a, Label("left"));
  };
  EXPECT_TRUE(of_steps(8, one, nothing).empty());
}

SPACE_TEST(WarnWaits, WhatHostTasksLeaveElsewhereIsNotToBeSeen) {
  Fields const f;
  int seen = 0;
  auto const one = [&](TaskGraph& graph, int k) {
    both_steps(graph, f, k);
    host_task("count", ResourcePolicy(graph, read(f.a)), [&seen] { ++seen; });
  };
  EXPECT_TRUE(of_steps(8, one, nothing).empty());
  EXPECT_EQ(seen, 8);
}

/// Like the length of a time step, which tasks read, and the host to know when it is over.
SPACE_TEST(WarnWaits, ASmallViewMayBeForTheHost) {
  Fields const f;
  V const dt("dt", 1);
  auto const one = [&](TaskGraph& graph, int k) {
    both_steps(graph, f, k);
    step(graph, dt, dt, Label("dt"));
  };
  EXPECT_TRUE(of_steps(8, one, nothing).empty());
}

SPACE_TEST(WarnWaits, SmallViewsAreReadInNoTime) {
  V const a("a", 4), b("b", 4), c("c", 4), d("d", 4);
  Fields const f{a, b, c, d};
  EXPECT_TRUE(
      of_steps(20, [&](TaskGraph& graph, int k) { both_steps(graph, f, k); }, nothing).empty());
}

}  // namespace
}  // namespace trellis
