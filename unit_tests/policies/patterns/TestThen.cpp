// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tasks that go on with the value of a future: then, joins with values, and callables that end with
// another future.
#include <Trellis.hpp>
#include <Trellis_Recorded.hpp>

#include "Timing.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace trellis {
namespace {

using namespace Test;
using testing::ElementsAre;
using testing::HasSubstr;

TaskGraphOptions then_workers(int workers) {
  TaskGraphOptions options;
  options.workers = workers;
  return options;
}

template <class F>
std::string text_thrown_by(F&& f, std::optional<Error::Kind> kind = {}) {
  try {
    f();
  } catch (Error const& error) {
    EXPECT_EQ(error.kind(), kind.value_or(error.kind())) << error.what();
    return error.what();
  }
  return "nothing is thrown";
}

class Then : public Timed {};

TEST_F(Then, CallsWithTheValueAndHasTheResult) {
  TaskGraph graph(then_workers(2));
  auto const three = host_task("three", ResourcePolicy(graph), [] { return 3; });
  auto const text = three.then("text", [](int const& n) { return std::string(n, 'x'); });
  auto const size = text.then([](std::string const& s) { return s.size(); });
  auto const without = text.then([] { return true; });
  auto const nothing = size.then([](std::size_t) {});
  auto const after_nothing = nothing.then("after nothing", [] { return 7; });
  static_assert(std::is_same_v<decltype(text), Future<std::string> const>);
  static_assert(std::is_same_v<decltype(nothing), Future<void> const>);
  EXPECT_EQ(size.get(), 3U);
  EXPECT_TRUE(without.get());
  EXPECT_EQ(after_nothing.get(), 7);
  graph.wait();
}

TEST_F(Then, HoldsTheValueThoughTheFutureIsDropped) {
  TaskGraph graph(then_workers(2));
  Gate gate;
  Future<std::size_t> size;
  {
    auto const text = host_task("text", ResourcePolicy(graph), [&] {
      EXPECT_TRUE(gate.pass());
      return std::make_unique<std::string>(1000, 'x');  // can only be moved
    });
    size = text.then([](std::unique_ptr<std::string> const& s) { return s->size(); });
  }
  gate.open();
  EXPECT_EQ(size.get(), 1000U);
}

TEST_F(Then, LabelAndPlaceAreThoseOfTheCall) {
  TaskGraphOptions options = then_workers(1);
  options.record = true;
  TaskGraph graph(options);
  auto const one = host_task("one", ResourcePolicy(graph), [] { return 1; });
  one.then([](int) {});
  one.then("named", [](int) {});
  graph.wait();
  SchedulingGraph const recorded = graph.scheduling_graph();
  ASSERT_EQ(recorded.nodes().size(), 3U);
  EXPECT_EQ(recorded.nodes()[1].label, "then");
  EXPECT_EQ(recorded.nodes()[2].label, "named");
  ASSERT_EQ(recorded.edges().size(), 2U);
  for (EdgeRecord const& edge : recorded.edges()) EXPECT_EQ(edge.reason, EdgeReason::after);
  auto const failing = one.then([](int) { throw std::runtime_error("no"); });
  EXPECT_THAT(text_thrown_by([&] { failing.get(); }), HasSubstr("TestThen.cpp"));
  EXPECT_THROW(graph.wait(), Error);
}

TEST_F(Then, IsSkippedAndPassesTheFailureOn) {
  TaskGraph graph(then_workers(2));
  bool called = false;
  auto const bad =
      host_task("bad", ResourcePolicy(graph), []() -> int { throw std::runtime_error("boom"); });
  auto const next = bad.then("next", [&](int n) {
    called = true;
    return n;
  });
  auto const last = next.then("last", [&](int) { called = true; });
  EXPECT_THAT(text_thrown_by([&] { last.get(); }, Error::Kind::cancelled),
              testing::AllOf(HasSubstr("\"last\""), HasSubstr("was cancelled"),
                             HasSubstr("\"bad\""), HasSubstr("boom")));
  EXPECT_THROW(graph.wait(), Error);
  EXPECT_FALSE(called);
  // What wait() has reported cancels no more, but the value never comes.
  auto const late = bad.then("late", [&](int) { called = true; });
  EXPECT_THAT(text_thrown_by([&] { late.get(); }, Error::Kind::task_failed), HasSubstr("boom"));
  EXPECT_FALSE(called);
  EXPECT_THROW(graph.wait(), Error);
}

TEST_F(Then, IsRefusedWithoutATaskOrAGraph) {
  Future<int> const none;
  EXPECT_THAT(text_thrown_by([&] { none.then([](int) {}); }, Error::Kind::bad_input),
              HasSubstr("belongs to no task"));
  Future<int> late;
  {
    TaskGraph graph(then_workers(1));
    late = host_task("one", ResourcePolicy(graph), [] { return 1; });
  }
  EXPECT_THAT(text_thrown_by([&] { late.then([](int) {}); }, Error::Kind::closed),
              HasSubstr("not there any more"));
  EXPECT_EQ(late.get(), 1);
}

TEST_F(Then, MayBeAChildOfATask) {
  TaskGraph graph(then_workers(2));
  int seen = 0;
  auto const whole = host_task("whole", ResourcePolicy(graph), [&](TaskScope& self) {
    auto const child = host_task("child", ResourcePolicy(self), [] { return 5; });
    child.then("next", self, [&](int n) { seen = n; });
  });
  whole.get();
  EXPECT_EQ(seen, 5);
}

TEST_F(Then, MaySplitAndWait) {
  TaskGraph graph(then_workers(2));
  auto const two = host_task("two", ResourcePolicy(graph), [] { return 2; });
  auto const sum = two.then("sum", [](TaskScope& self, int n) {
    auto const left = host_task("left", ResourcePolicy(self), [n] { return n; });
    auto const right = host_task("right", ResourcePolicy(self), [n] { return 10 * n; });
    return left.get() + right.get();
  });
  EXPECT_EQ(sum.get(), 22);
}

TEST_F(Then, RunsInEachRoundOfAPlan) {
  for (int const workers : {1, 3}) {
    TaskGraph graph(then_workers(workers));
    int n = 0;
    long sum = 0;
    Future<int> number, twice;
    Plan const plan = graph.record("plan", [&] {
      number = host_task("number", ResourcePolicy(graph), [&] { return ++n; });
      twice = number.then("twice", [](int k) { return 2 * k; });
      twice.then("sum", [&](int k) { sum += k; });
    });
    EXPECT_EQ(plan.tasks(), 3U);
    graph.replay(plan, 10);
    EXPECT_EQ(twice.get(), 20);
    EXPECT_EQ(sum, 110);
    // Outside of the plan it comes after the newest replay.
    graph.replay(plan, 5);
    EXPECT_EQ(twice.then([](int k) { return k; }).get(), 30);
    graph.wait();
  }
}

// --- joins ---------------------------------------------------------------------------------------

TEST_F(Then, JoinsGoOnAndHaveTheValues) {
  TaskGraph graph(then_workers(2));
  auto const one = host_task("one", ResourcePolicy(graph), [] { return 1; });
  auto const text = host_task("text", ResourcePolicy(graph), [] { return std::string("ab"); });
  auto const both = when_all_values(Label("both"), one, text);
  static_assert(std::is_same_v<decltype(both), Future<std::tuple<int, std::string>> const>);
  auto const size = both.then([](std::tuple<int, std::string> const& values) {
    return std::get<0>(values) + static_cast<int>(std::get<1>(values).size());
  });
  EXPECT_EQ(size.get(), 3);
  EXPECT_EQ(when_all(one, text).then([] { return 4; }).get(), 4);

  std::vector<Future<int>> many;
  for (int k = 0; k < 100; ++k)
    many.push_back(host_task("k", ResourcePolicy(graph), [k] { return k; }));
  auto const all = when_all_values(many);
  static_assert(std::is_same_v<decltype(all), Future<std::vector<int>> const>);
  long sum = 0;
  for (int const each : all.get()) sum += each;
  EXPECT_EQ(sum, 4950);
  EXPECT_TRUE(when_all_values("none", graph, std::vector<Future<int>>()).get().empty());
  // Without a label.
  EXPECT_TRUE(when_all_values(graph, std::vector<Future<int>>()).get().empty());
  EXPECT_EQ(when_all_values(graph, many).get()[7], 7);
  EXPECT_EQ(std::get<1>(when_all_values(graph, one, text).get()), "ab");
  EXPECT_EQ(when_all(graph, many).then([] { return 5; }).get(), 5);
  EXPECT_EQ(when_all(graph, one, text).then([] { return 6; }).get(), 6);
  when_all(graph).get();
  host_task("split", ResourcePolicy(graph), [&](TaskScope& self) {
    auto const child = host_task("child", ResourcePolicy(self), [] { return 8; });
    return when_all_values(self, child).then("eight", self, [](std::tuple<int> const& value) {
      return std::get<0>(value);
    });
  }).then([](int value) {
      EXPECT_EQ(value, 8);
    }).get();
  TaskGraph other(then_workers(1));
  auto const far = host_task("far", ResourcePolicy(other), [] { return 1; });
  for (std::string const& text_of : {text_thrown_by([&] { when_all_values(graph, far); }),
                                     text_thrown_by([&] { when_all(graph, far); })})
    EXPECT_THAT(text_of, AllOf(HasSubstr("when_all"), HasSubstr("TestThen.cpp")));
  EXPECT_THAT(text_thrown_by([] { when_all_values(std::vector<Future<int>>()); }),
              HasSubstr("name that, too"));
}

/// A join, its value and what goes on with it may be the last that is known of a graph that another
/// thread ends.
TEST_F(Then, JoinsOutliveAGraphThatAnotherThreadEnds) {
  int const rounds = 100;
  for (int round = 0; round < rounds; ++round) {
    auto graph = std::make_unique<TaskGraph>(then_workers(2));
    std::vector<Future<int>> numbers;
    for (int k = 0; k < 4; ++k)
      numbers.push_back(host_task("number", ResourcePolicy(*graph), [k] { return k; }));
    std::atomic<int> called{0};
    int submitted = 0;
    Future<void> const all = when_all(numbers);
    auto const values = when_all_values("values", numbers[1], numbers[3]);
    std::thread ends([&] {
      // Not by yielding: on a busy machine each takes a turn of all others.
      for (int k = round % 30 * 300; k > 0; --k)
        std::atomic_signal_fence(std::memory_order_seq_cst);
      graph.reset();
    });
    try {
      values.then([&](std::tuple<int, int> const&) { ++called; });
      ++submitted;
      all.then([&] { ++called; });
      ++submitted;
    } catch (Error const& error) {  // the graph is gone
      EXPECT_EQ(error.kind(), Error::Kind::closed) << error.what();
    }
    all.wait();
    EXPECT_EQ(values.get(), std::tuple(1, 3));
    ends.join();
    EXPECT_EQ(called, submitted);
    EXPECT_TRUE(all.is_done() && values.is_done());
  }
}

TEST_F(Then, AJoinFailsWithTheFirstOfThem) {
  TaskGraph graph(then_workers(2));
  auto const one = host_task("one", ResourcePolicy(graph), [] { return 1; });
  auto const bad =
      host_task("bad", ResourcePolicy(graph), []() -> int { throw std::runtime_error("boom"); });
  bool called = false;
  auto const all = when_all_values(std::vector<Future<int>>{one, bad});
  auto const next = all.then([&](std::vector<int> const&) { called = true; });
  EXPECT_THAT(text_thrown_by([&] { next.get(); }, Error::Kind::cancelled), HasSubstr("boom"));
  EXPECT_THROW(graph.wait(), Error);
  EXPECT_FALSE(called);
}

// --- callables that end with a future ------------------------------------------------------------

TEST_F(Then, AFutureThatIsReturnedIsTheResult) {
  TaskGraph graph(then_workers(1));  // one worker: nobody waits for the inner task
  Gate gate;
  auto const one = host_task("one", ResourcePolicy(graph), [] { return 1; });
  auto const outer = one.then("outer", [&](int n) {
    return host_task("inner", ResourcePolicy(graph), [n] { return std::to_string(n + 1); });
  });
  static_assert(std::is_same_v<decltype(outer), Future<std::string> const>);
  auto const next = outer.then([](std::string const& text) { return text + "!"; });
  EXPECT_EQ(next.get(), "2!");
  auto const nothing = host_task("nothing", ResourcePolicy(graph),
                                 [&] { return host_task("inner", ResourcePolicy(graph), [] {}); });
  static_assert(std::is_same_v<decltype(nothing), Future<void> const>);
  nothing.get();
}

TEST_F(Then, ItIsThereWhenTheInnerTaskIs) {
  TaskGraph graph(then_workers(2));
  Gate gate;
  auto const inner = host_task("inner", ResourcePolicy(graph), [&] {
    EXPECT_TRUE(gate.pass());
    return 4;
  });
  auto const outer = host_task("outer", ResourcePolicy(graph), [&] { return inner; });
  auto const nothing = host_task("nothing", ResourcePolicy(graph),
                                 [&] { return when_all(std::vector<Future<int>>{inner}); });
  auto const other = host_task("other", ResourcePolicy(graph), [] {});
  while (!other.is_done()) std::this_thread::yield();  // run by the second worker
  EXPECT_FALSE(outer.is_done());
  EXPECT_FALSE(nothing.is_done());
  gate.open();
  EXPECT_EQ(outer.get(), 4);
  nothing.get();
}

/// The value of a child; successors wait for it, too.
TEST_F(Then, TheResultOfATaskMayComeFromItsLastChild) {
  TaskGraph graph(then_workers(2));
  Kokkos::View<long*, Kokkos::HostSpace> const x("x", 4);
  auto const sum = host_task("sum", ResourcePolicy(graph, read_write(x)), [x](TaskScope& self) {
    for (int k = 0; k < 4; ++k) {
      auto const cell = Kokkos::subview(x, std::pair(k, k + 1));
      host_task("fill", ResourcePolicy(self, write(cell)), [cell, k] { cell(0) = k + 1; });
    }
    return host_task("add", ResourcePolicy(self, read(x)),
                     [x] { return x(0) + x(1) + x(2) + x(3); });
  });
  auto const seen = host_task("seen", ResourcePolicy(graph, read(x), value(sum)),
                              [x](auto const&, long s) { return s + x(3); });
  EXPECT_EQ(sum.get(), 10);
  EXPECT_EQ(seen.get(), 14);
}

Future<long> tree_of_futures(TaskScope& self, int depth) {
  if (depth == 0) return host_task("leaf", ResourcePolicy(self), [] { return 1L; });
  auto const branch = [depth](TaskScope& child) { return tree_of_futures(child, depth - 1); };
  auto const left = host_task("left", ResourcePolicy(self), branch);
  auto const right = host_task("right", ResourcePolicy(self), branch);
  return host_task("sum", ResourcePolicy(self, value(left), value(right)),
                   [](long a, long b) { return a + b; });
}
TEST_F(Then, RecursionNeedsNoWaits) {
  for (int const workers : {1, 2, 4}) {
    TaskGraph graph(then_workers(workers));
    int const depth = sanitized ? 6 : 10;
    auto const sum = host_task("tree", ResourcePolicy(graph),
                               [](TaskScope& self) { return tree_of_futures(self, depth); });
    EXPECT_EQ(sum.get(), 1L << depth);
  }
}

TEST_F(Then, FailuresOfTheInnerTaskAreTheTasks) {
  TaskGraph graph(then_workers(2));
  bool called = false;
  auto const outer = host_task("outer", ResourcePolicy(graph), [](TaskScope& self) {
    return host_task("inner", ResourcePolicy(self),
                     []() -> int { throw std::runtime_error("boom"); });
  });
  auto const next = outer.then([&](int) { called = true; });
  EXPECT_THAT(text_thrown_by([&] { outer.get(); }),
              testing::AllOf(HasSubstr("\"outer\""), HasSubstr("\"inner\""), HasSubstr("boom")));
  EXPECT_THAT(text_thrown_by([&] { next.get(); }, Error::Kind::cancelled), HasSubstr("boom"));
  EXPECT_THROW(graph.wait(), Error);
  EXPECT_FALSE(called);

  auto const none = host_task("none", ResourcePolicy(graph), [] { return Future<int>(); });
  EXPECT_THAT(text_thrown_by([&] { none.get(); }), HasSubstr("belongs to no task"));
  TaskGraph other(then_workers(1));
  auto const foreign = host_task("foreign", ResourcePolicy(other), [] { return 1; });
  auto const mixed = host_task("mixed", ResourcePolicy(graph), [foreign] { return foreign; });
  EXPECT_THAT(text_thrown_by([&] { mixed.get(); }), HasSubstr("future of another graph"));
  EXPECT_THROW(graph.wait(), Error);
}

TEST_F(Then, ATaskThatEndsWithOneBehindItIsADeadlock) {
  TaskGraph graph(then_workers(2));
  Kokkos::View<int, Kokkos::HostSpace> const x("x");
  auto const outer = host_task("outer", ResourcePolicy(graph, write(x)), [&graph, x] {
    return host_task("inner", ResourcePolicy(graph, read(x)), [x] { return x(); });
  });
  EXPECT_THAT(text_thrown_by([&] { outer.get(); }),
              testing::AllOf(HasSubstr("to run after task \"inner\" (#"), HasSubstr("a circle")));
  EXPECT_THROW(graph.wait(), Error);
}

TEST_F(Then, ARecordedTaskEndsWithAFutureInEachRound) {
  TaskGraph graph(then_workers(2));
  int round = 0;
  std::vector<int> seen;
  Future<int> last;
  Plan const plan = graph.record("plan", [&] {
    last = host_task("outer", ResourcePolicy(graph), [&](TaskScope& self) {
      return host_task("inner", ResourcePolicy(self), [&] { return ++round; });
    });
    last.then([&](int n) { seen.push_back(n); });
  });
  graph.replay(plan, 4);
  EXPECT_EQ(last.get(), 4);
  EXPECT_THAT(seen, ElementsAre(1, 2, 3, 4));
}

}  // namespace
}  // namespace trellis
