// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans: what a replay does and what it is to others.
#include "BareTask.hpp"
#include "Timing.hpp"

#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <stdexcept>
#include <thread>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class Plans : public Timed {};

TEST_F(Plans, RecordingRunsNothingAndAReplayRunsEverythingInOrder) {
  Block x("x");
  Block y("y");
  TaskGraph graph(with_workers(2));
  Plan const plan = graph.record("step", [&] {
    task(graph, "grow", {updates(x)}, [&] { x[0] = 2 * x[0] + 1; });
    task(graph, "copy", {reads(x), writes(y)}, [&] { y[0] = x[0]; });
    task(graph, "shift", {updates(x), reads(y)}, [&] { x[0] += y[0]; });
  });
  graph.wait();
  EXPECT_EQ(x[0], 0);
  EXPECT_EQ(plan.name(), "step");
  EXPECT_EQ(plan.tasks(), 3U);
  EXPECT_EQ(plan.edges(), 2U);  // the third one is redundant

  long expected_x = 0;
  long expected_y = 0;
  for (std::uint64_t const rounds : {1U, 0U, 4U, 1U}) {
    Future<void> const done = graph.replay(plan, rounds);
    for (std::uint64_t k = 0; k < rounds; ++k) {
      expected_x = 2 * expected_x + 1;
      expected_y = expected_x;
      expected_x += expected_y;
    }
    done.get();
    EXPECT_TRUE(done.is_done());
    EXPECT_EQ(x[0], expected_x);
    EXPECT_EQ(y[0], expected_y);
  }
}

TEST_F(Plans, AreOneTaskToThoseAround) {
  Block x("x");
  Block y("y");
  Block z("z");
  TaskGraph graph(recorded(2));
  Plan const plan = graph.record("step", [&] {
    task(graph, "a", {updates(x)}, [&] { x[0] += 1; });
    task(graph, "b", {updates(y)}, [&] { y[0] += 1; });
  });
  EXPECT_EQ(plan.accesses(), 2U);
  task(graph, "before", {writes(x)}, [&] { x[0] = 10; });
  graph.replay(plan, 2);
  task(graph, "after", {reads(y), writes(z)}, [&] { z[0] = y[0]; });
  task(graph, "aside", {updates(z)}, [&] { z[0] += 1; });
  graph.wait();
  EXPECT_EQ(x[0], 12);
  std::vector<std::string> const edges = edges_of(graph.dependency_graph());
  EXPECT_THAT(edges, ElementsAre("a>a", "after>aside", "b>b", "before>step", "step>after"));
  // The runs are children of the replay.
  DependencyGraph const dependencies = graph.dependency_graph();
  ASSERT_EQ(dependencies.nodes().size(), 8U);
  for (TaskRecord const& node : dependencies.nodes()) {
    EXPECT_EQ(node.state, TaskState::done) << node.label;
    EXPECT_EQ(node.parent, node.label == "a" || node.label == "b" ? 2U : 0U) << node.label;
  }
}

TEST_F(Plans, NeighbouringTilesAreOneAccessToOthers) {
  Block x("x", 8);
  Block y("y", 8);
  TaskGraph graph(with_workers(1));
  Plan const plan = graph.record([&] {
    for (std::size_t t = 0; t != 8; ++t)
      task(graph, "tile", {reads(x(t, 1)), writes(y(t, 1))}, [&, t] { y[t] = x[t]; });
    task(graph, "first", {reads(x(0, 1))}, [] {});
  });
  EXPECT_EQ(plan.accesses(), 2U);
  EXPECT_EQ(plan.name(), "plan");
  EXPECT_EQ(plan.edges(), 0U);
}

TEST_F(Plans, RoundsOverlap) {
  // The first tile is in its second round while the last one is still held up in its first.
  Block x("x", 2);
  TaskGraph graph(with_workers(3));
  Gate second_round;
  std::atomic<int> runs{0};
  Plan const plan = graph.record([&] {
    task(graph, "quick", {updates(x(0, 1))}, [&] {
      if (++runs == 2) second_round.open();
    });
    task(graph, "slow", {updates(x(1, 1))}, [&] { EXPECT_TRUE(second_round.pass()); });
  });
  graph.replay(plan, 2);
  graph.wait();
  EXPECT_EQ(runs, 2);
}

TEST_F(Plans, AReaderIsNotOvertakenByTheNextRound) {
  for (int repetition = 0; repetition != 20; ++repetition) {
    Block x("x");
    Block y("y", 4);
    TaskGraph graph(with_workers(4));
    Plan const plan = graph.record([&] {
      task(graph, "write", {updates(x)}, [&] { x[0] += 1; });
      for (std::size_t k = 0; k != 4; ++k)
        task(graph, "read", {reads(x), updates(y(k, 1))},
             [&, k] { y[k] = (3 * y[k] + x[0]) % 1000003; });
    });
    graph.replay(plan, 50);
    graph.wait();
    long expected = 0;
    for (long round = 1; round <= 50; ++round) expected = (3 * expected + round) % 1000003;
    for (std::size_t k = 0; k != 4; ++k) ASSERT_EQ(y[k], expected);
  }
}

TEST_F(Plans, ATaskWithoutPredecessorsRunsEachRoundOnce) {
  TaskGraph graph(with_workers(3));
  std::atomic<int> free_runs{0};
  std::atomic<int> bound_runs{0};
  Properties bound;
  bound.main_thread = true;
  Plan const plan = graph.record([&] {
    task(graph, "free", {}, [&] { ++free_runs; });
    task(graph, "bound", {}, [&] { ++bound_runs; }, bound);
  });
  graph.replay(plan, 100);
  graph.wait();
  EXPECT_EQ(free_runs, 100);
  EXPECT_EQ(bound_runs, 100);
}

TEST_F(Plans, FuturesHoldTheResultOfTheNewestReplay) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  Future<long> sum;
  Future<void> last;
  Plan const plan = graph.record([&] {
    task(graph, "grow", {updates(x)}, [&] { x[0] += 1; });
    sum = task(graph, "sum", {reads(x)}, [&] { return 10 * x[0]; });
    last = task(graph, "last", {reads(x)}, [] {});
  });
  EXPECT_TRUE(sum.is_done());
  graph.replay(plan);
  EXPECT_EQ(sum.get(), 10);
  graph.replay(plan, 3);
  graph.replay(plan, 2);
  EXPECT_EQ(sum.get(), 60);
  last.get();
  EXPECT_TRUE(last.is_done());
}

TEST_F(Plans, AReplayCanBeAwaitedInsideATask) {
  Block x("x");
  Block y("y");
  TaskGraph graph(with_workers(2));
  Future<long> sum;
  Plan const plan =
      graph.record([&] { sum = task(graph, "sum", {updates(x)}, [&] { return ++x[0]; }); });
  task(graph, "decide", {updates(y)}, [&] {
    graph.replay(plan, 5);
    y[0] = sum.get();
  });
  graph.wait();
  EXPECT_EQ(y[0], 5);
}

TEST_F(Plans, CanBeNested) {
  Block x("x");
  Block y("y");
  TaskGraph graph(recorded(2));
  Future<long> inner_sum;
  Plan const inner = graph.record(
      "inner", [&] { inner_sum = task(graph, "grow", {updates(x)}, [&] { return x[0] += 1; }); });
  Plan const outer = graph.record("outer", [&] {
    task(graph, "double", {updates(x)}, [&] { x[0] *= 2; });
    graph.replay(inner, 3);
    task(graph, "keep", {reads(x), updates(y)}, [&] { y[0] = 100 * y[0] + x[0]; });
    graph.replay(inner);
  });
  EXPECT_EQ(outer.tasks(), 4U);
  graph.replay(inner);
  graph.replay(outer, 3);
  EXPECT_EQ(inner_sum.get(), 1 * 8 + 4 * 7);
  graph.wait();
  EXPECT_EQ(x[0], 36);
  EXPECT_EQ(y[0], 51535);
  // 1 + 1 for the first, then one whole, 3 rounds of 4 tasks, and 4 runs in each of these.
  EXPECT_EQ(graph.dependency_graph().nodes().size(), 2U + 1U + 12U + 12U);
}

TEST_F(Plans, OfReadersAloneDoNotRunTwiceAtOnce) {
  Block x("x");
  TaskGraph graph(with_workers(4));
  std::atomic<int> inside{0};
  std::atomic<int> runs{0};
  Plan const plan = graph.record([&] {
    task(graph, "read", {reads(x)}, [&] {
      EXPECT_EQ(++inside, 1);
      std::this_thread::yield();
      --inside;
      ++runs;
    });
  });
  for (int k = 0; k != 50; ++k) graph.replay(plan, 2);
  graph.wait();
  EXPECT_EQ(runs, 100);
}

TEST_F(Plans, KeepExclusiveTasksApartAcrossRounds) {
  Block x("x");
  TaskGraph graph(with_workers(4));
  std::atomic<int> inside{0};
  auto const body = [&] {
    EXPECT_EQ(++inside, 1);
    x[0] += 1;
    --inside;
  };
  Plan const plan = graph.record([&] {
    for (int k = 0; k != 4; ++k) task(graph, "excludes", {excludes(x)}, body);
    task(graph, "reads", {reads(x)}, [&] { EXPECT_EQ(x[0] % 8, 4); });
    for (int k = 0; k != 4; ++k) task(graph, "excludes", {excludes(x)}, body);
  });
  graph.replay(plan, 30);
  graph.wait();
  EXPECT_EQ(x[0], 240);
}

TEST_F(Plans, HonourExplicitDependenciesAcrossRounds) {
  TaskGraph graph(with_workers(4));
  long first = 0;  // no annotation: only the explicit edge keeps the two apart
  long second = 0;
  Plan const plan = graph.record([&] {
    Properties after;
    after.after = handles(task(graph, "first", {}, [&] { ++first; }));
    task(graph, "second", {}, [&] { EXPECT_EQ(++second, first); }, after);
  });
  EXPECT_EQ(plan.edges(), 1U);
  EXPECT_EQ(plan.edges_between_rounds(), 1U);
  graph.replay(plan, 200);
  graph.wait();
  EXPECT_EQ(second, 200);
}

TEST_F(Plans, StartAfterTheTasksThatTheyNameFromOutside) {
  TaskGraph graph(with_workers(3));
  Gate gate;
  std::atomic<bool> passed{false};
  Properties after;
  after.after = handles(task(graph, "before", {}, [&] {
    EXPECT_TRUE(gate.pass());
    passed = true;
  }));
  Plan const plan =
      graph.record([&] { task(graph, "in", {}, [&] { EXPECT_TRUE(passed); }, after); });
  graph.replay(plan);
  gate.open();
  graph.replay(plan, 2);
  graph.wait();
}

TEST_F(Plans, SynchronizingTasksSeparateWhatIsAroundThemInEachRound) {
  TaskGraph graph(with_workers(4));
  std::atomic<int> before{0};
  std::atomic<int> after{0};
  Properties synchronizing;
  synchronizing.synchronizing = true;
  int rounds = 0;
  Plan const plan = graph.record([&] {
    for (int k = 0; k != 3; ++k) task(graph, "before", {}, [&] { ++before; });
    task(
        graph, "barrier", {},
        [&] {
          EXPECT_EQ(before, 3 * ++rounds);
          EXPECT_EQ(after, 2 * (rounds - 1));
        },
        synchronizing);
    for (int k = 0; k != 2; ++k) task(graph, "after", {}, [&] { ++after; });
  });
  graph.replay(plan, 40);
  graph.wait();
  EXPECT_EQ(rounds, 40);
  EXPECT_EQ(after, 80);
}

TEST_F(Plans, TasksOfThemMaySplit) {
  Block x("x", 4);
  TaskGraph graph(with_workers(3));
  Plan const plan = graph.record([&] {
    task(graph, "whole", {updates(x)}, [&] {
      for (std::size_t k = 0; k != 4; ++k)
        child("child", {updates(x(k, 1))}, [&, k] { x[k] += 1; });
    });
    task(graph, "sum", {updates(x)}, [&] { x[0] += x[1] + x[2] + x[3]; });
  });
  graph.replay(plan, 10);
  graph.wait();
  EXPECT_EQ(x[1], 10);
  long expected = 0;
  for (long round = 1; round <= 10; ++round) expected += 1 + 3 * round;
  EXPECT_EQ(x[0], expected);
}

TEST_F(Plans, DemotionInThemReleasesNobodyEarly) {
  Block x("x");
  Block y("y");
  TaskGraph graph(with_workers(2));
  Plan const plan = graph.record([&] {
    task(graph, "write", {updates(x)}, [&] {
      demote({reads(x)});
      EXPECT_THAT(message_of([&] { demote({reads(y)}); }), HasSubstr("never declared"));
      x[0] += 1;
    });
    task(graph, "read", {reads(x)}, [&] { EXPECT_GT(x[0], 0); });
  });
  graph.replay(plan, 10);
  graph.wait();
  EXPECT_EQ(x[0], 10);
}

TEST_F(Plans, MayOutliveTheirGraphAndTheirHandles) {
  auto const witness = std::make_shared<int>(0);
  Plan left;
  {
    TaskGraph graph(with_workers(2));
    graph.replay(graph.record([&] { task(graph, "a", {}, [witness] { ++*witness; }); }), 3);
    left = graph.record([&] { task(graph, "b", {}, [witness] {}); });
    graph.wait();
    EXPECT_EQ(*witness, 3);
    EXPECT_EQ(witness.use_count(), 2);  // the plan without a handle is gone
  }
  EXPECT_EQ(witness.use_count(), 1);
  EXPECT_EQ(left.tasks(), 1U);
}

TEST_F(Plans, OtherThreadsSubmitWhileOneRecords) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  int plain = 0;
  Plan const plan = graph.record([&] {
    std::thread([&] { task(graph, "plain", {}, [&] { ++plain; }).get(); }).join();
    task(graph, "in", {updates(x)}, [&] { ++x[0]; });
  });
  EXPECT_EQ(plain, 1);
  EXPECT_EQ(plan.tasks(), 1U);
}

TEST_F(Plans, OfTwoGraphsCanBeRecordedAtOnce) {
  TaskGraph a(with_workers(1));
  TaskGraph b(with_workers(1));
  int runs = 0;
  Plan inner;
  Plan const outer = a.record([&] {
    inner = b.record([&] { task(b, "b", {}, [&] { runs += 1; }); });
    task(a, "a", {}, [&] { runs += 10; });
  });
  EXPECT_EQ(outer.tasks(), 1U);
  EXPECT_EQ(inner.tasks(), 1U);
  a.replay(outer);
  a.wait();
  b.replay(inner);
  b.wait();
  EXPECT_EQ(runs, 11);
}

TEST_F(Plans, KeepMemoryFlat) {
  Block x("x", 16);
  TaskGraph graph(with_workers(2));
  auto const record_and_replay = [&] {
    Plan const plan = graph.record([&] {
      for (std::size_t k = 0; k != 16; ++k)
        task(graph, "t", {updates(x(k, 1))}, [&, k] { ++x[k]; });
    });
    graph.replay(plan, 3);
    graph.wait();
  };
  record_and_replay();
  record_and_replay();
  std::size_t const memory = graph.task_memory();
  for (int k = 0; k != 200; ++k) record_and_replay();
  EXPECT_EQ(graph.task_memory(), memory);
  EXPECT_EQ(x[3], 3 * 202);
}

TEST_F(Plans, OutsideTasksMayComeAfterARecordedOne) {
  for (int repetition = 0; repetition != 30; ++repetition) {
    Block x("x");
    TaskGraph graph(with_workers(3));
    std::atomic<int> runs{0};
    Future<void> grown;
    Plan const plan =
        graph.record([&] { grown = task(graph, "grow", {updates(x)}, [&] { ++runs; }); });
    Properties after;
    after.after = handles(grown);
    task(graph, "first", {}, [] {}, after).get();  // no replay, nothing to wait for
    graph.replay(plan, 20);
    task(
        graph, "behind", {}, [&] { EXPECT_GE(runs, 20); },
        after);  // the next replay may be under way
    task(graph, "whole", {}, [&] { child("child", {}, [&] { EXPECT_GE(runs, 20); }, after); });
    graph.replay(plan, 20);
    task(graph, "behind", {}, [&] { EXPECT_EQ(runs, 40); }, after);
    graph.wait();
    task(graph, "last", {}, [&] { ++runs; }, after).get();
    EXPECT_EQ(runs, 41);
  }
}

TEST_F(Plans, DoNotRecordWhatOtherGraphsTasksSubmit) {
  TaskGraphOptions few = with_workers(1);
  few.in_flight = 2;
  TaskGraph a(with_workers(2));
  TaskGraph b(few);
  std::atomic<int> runs{0};
  Plan const plan = a.record([&] {
    for (int k = 0; k != 50; ++k) task(b, "b", {}, [&] { task(a, "a", {}, [&] { ++runs; }); });
    b.wait();
  });
  a.wait();
  EXPECT_EQ(plan.tasks(), 0U);
  EXPECT_EQ(runs, 50);
}

// The cell of a nested plan's parent once came back with a parent, and its next task was no sibling
// to any other.
TEST_F(Plans, NestedOnesLeaveNothingToTheTasksAfterThem) {
  Block x("x");
  TaskGraph graph(recorded(2));
  {
    Plan const inner =
        graph.record("inner", [&] { task(graph, "inner", {updates(x)}, [&] { ++x[0]; }); });
    Plan const outer = graph.record("outer", [&] { graph.replay(inner); });
    graph.replay(outer);
    graph.wait();
  }
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  for (int k = 0; k < 300; ++k)
    task(graph, "alone", {excludes(x)}, [&] {
      int const now = ++inside;
      if (now > most) most = now;
      std::this_thread::sleep_for(std::chrono::microseconds(100));
      --inside;
    });
  graph.wait();
  EXPECT_EQ(most, 1);
}

}  // namespace
}  // namespace trellis
