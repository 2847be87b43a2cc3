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

template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (Error const& error) {
    return error.what();
  }
  return "no error";
}

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
  // The runs are parts of the replay.
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
        task(graph, "read", {reads(x), updates(y(k, 1))}, [&, k] { y[k] = 3 * y[k] + x[0]; });
    });
    graph.replay(plan, 50);
    graph.wait();
    long expected = 0;
    for (long round = 1; round <= 50; ++round)
      expected =
          static_cast<long>(3 * static_cast<unsigned long>(expected) + static_cast<unsigned long>(round));
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
  Plan const plan = graph.record([&] { sum = task(graph, "sum", {updates(x)}, [&] { return ++x[0]; }); });
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
  Plan const plan = graph.record([&] { task(graph, "in", {}, [&] { EXPECT_TRUE(passed); }, after); });
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
      for (std::size_t k = 0; k != 4; ++k) part("part", {updates(x(k, 1))}, [&, k] { x[k] += 1; });
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
      EXPECT_THAT(error_of([&] { demote({reads(y)}); }), HasSubstr("never declared"));
      x[0] += 1;
    });
    task(graph, "read", {reads(x)}, [&] { EXPECT_GT(x[0], 0); });
  });
  graph.replay(plan, 10);
  graph.wait();
  EXPECT_EQ(x[0], 10);
}

TEST_F(Plans, AFailedTaskCancelsWhatDependsOnItInAllRoundsAndNothingElse) {
  Block x("x");
  Block y("y");
  Block z("z");
  TaskGraph graph(with_workers(2));
  int runs = 0;
  std::atomic<int> others{0};
  bool fails = true;
  Future<long> result;
  Future<void> boom;
  Plan const plan = graph.record("step", [&] {
    boom = task(graph, "boom", {updates(x)}, [&] {
      if (++runs == 3 && fails) throw std::runtime_error("no more");
    });
    result = task(graph, "behind", {reads(x), updates(y)}, [&] { return ++y[0]; });
    task(graph, "other", {updates(z)}, [&] { ++others; });
  });
  Future<void> const whole = graph.replay(plan, 5);
  Future<void> const later = task(graph, "later", {reads(y)}, [] { FAIL(); });
  EXPECT_THAT(error_of([&] { whole.get(); }), AllOf(HasSubstr("\"boom\" (recorded #1"),
                                                    HasSubstr("TestPlan.cpp"), HasSubstr("failed: no more")));
  EXPECT_THAT(error_of([&] { boom.get(); }), AllOf(HasSubstr("\"boom\""), HasSubstr("failed: no more")));
  EXPECT_THAT(error_of([&] { result.get(); }), AllOf(HasSubstr("\"behind\""), HasSubstr("was cancelled")));
  EXPECT_THAT(error_of([&] { later.get(); }), AllOf(HasSubstr("\"later\""), HasSubstr("was cancelled")));
  EXPECT_THAT(error_of([&] { graph.wait(); }), HasSubstr("no more"));
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(y[0], 2);
  EXPECT_EQ(others, 5);

  fails = false;
  graph.replay(plan, 4);
  EXPECT_EQ(result.get(), 6);
  EXPECT_NO_THROW(boom.get());
  graph.wait();
  EXPECT_EQ(runs, 7);
}

TEST_F(Plans, WithAFailureReportTheFirstOneInOrder) {
  for (int repetition = 0; repetition != 30; ++repetition) {
    TaskGraph graph(with_workers(4));
    Plan const plan = graph.record([&] {
      for (int k = 0; k != 4; ++k)
        task(graph, "boom " + std::to_string(k), {}, [k] { throw std::runtime_error(std::to_string(k)); });
    });
    Future<void> const whole = graph.replay(plan, 2);
    EXPECT_THAT(error_of([&] { whole.get(); }), HasSubstr("boom 0"));
    EXPECT_THAT(error_of([&] { graph.wait(); }), HasSubstr("boom 0"));
  }
}

TEST_F(Plans, ThatDependOnAFailureDoNotRun) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  std::atomic<int> runs{0};
  Future<int> in;
  Future<void> in_outer;
  Plan const plan = graph.record([&] { in = task(graph, "in", {reads(x)}, [&] { return ++runs; }); });
  Plan const outer = graph.record([&] {
    in_outer = task(graph, "in outer", {reads(x)}, [&] { ++runs; });
    graph.replay(plan);
  });
  task(graph, "boom", {writes(x)}, [] { throw std::runtime_error("early"); });
  Future<void> const whole = graph.replay(plan, 3);
  EXPECT_THAT(error_of([&] { whole.get(); }), HasSubstr("early"));
  EXPECT_THAT(error_of([&] { in.get(); }),
              AllOf(HasSubstr("\"in\""), HasSubstr("was cancelled"), HasSubstr("early")));
  graph.replay(outer);
  EXPECT_THAT(error_of([&] { in_outer.get(); }), AllOf(HasSubstr("was cancelled"), HasSubstr("early")));
  EXPECT_ANY_THROW(graph.wait());
  EXPECT_EQ(runs, 0);
  graph.replay(plan, 3);
  EXPECT_EQ(in.get(), 3);
  graph.replay(outer);
  in_outer.get();
  graph.wait();
  EXPECT_EQ(runs, 5);
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

TEST_F(Plans, RecordingThatThrowsLeavesNothing) {
  auto const witness = std::make_shared<int>(0);
  TaskGraph graph(with_workers(2));
  EXPECT_THROW((void)graph.record([&] {
    task(graph, "a", {}, [witness] { ++*witness; });
    throw std::runtime_error("no plan");
  }),
               std::runtime_error);
  EXPECT_EQ(witness.use_count(), 1);
  std::atomic<int> runs{0};
  task(graph, "after", {}, [&] { ++runs; });
  graph.wait();
  EXPECT_EQ(runs, 1);
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

TEST_F(Plans, MistakesAreErrors) {
  TaskGraph graph(with_workers(2));
  TaskGraph other(with_workers(1));
  Plan const plan = graph.record("mine", [&] { task(graph, "a", {}, [] {}); });
  EXPECT_THAT(error_of([&] { graph.replay(Plan()); }), HasSubstr("is to replay an empty plan"));
  EXPECT_THAT(error_of([&] { other.replay(plan); }),
              AllOf(HasSubstr("\"mine\""), HasSubstr("TestPlan.cpp"), HasSubstr("belongs to another graph")));
  EXPECT_THAT(error_of([&] { (void)graph.record([&] { graph.wait(); }); }), HasSubstr("nothing to wait for"));
  EXPECT_THAT(error_of([&] { (void)graph.record([&] { task(graph, "a", {}, [] { return 1; }).get(); }); }),
              HasSubstr("nothing to wait for"));
  EXPECT_THAT(error_of([&] { (void)graph.record([&] { (void)graph.record([] {}); }); }),
              HasSubstr("recording a plan on this thread already"));
  Future<void> recorded_task;
  Plan const named = graph.record([&] { recorded_task = task(graph, "named", {}, [] {}); });
  EXPECT_THAT(error_of([&] {
                (void)graph.record([&] {
                  Properties after;
                  after.after = handles(recorded_task);
                  task(graph, "b", {}, [] {}, after);
                });
              }),
              HasSubstr("a task of another plan"));
  EXPECT_THAT(error_of([&] { (void)refine(recorded_task, [](auto const&) {}); }),
              HasSubstr("belongs to a plan and cannot be refined"));
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

TEST_F(Plans, ATaskThatWaitsForWhatItsReplayHoldsUpIsToldSo) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  Future<void> later;
  Gate submitted;
  std::string text;
  Plan const plan = graph.record([&] {
    task(graph, "in", {updates(x)}, [&] {
      EXPECT_TRUE(submitted.pass());
      text = error_of([&] { later.get(); });
    });
  });
  graph.replay(plan);
  later = task(graph, "later", {reads(x)}, [] {});
  submitted.open();
  graph.wait();
  EXPECT_THAT(text, HasSubstr("cannot be complete before it is"));
}

TEST_F(Plans, KeepMemoryFlat) {
  Block x("x", 16);
  TaskGraph graph(with_workers(2));
  auto const record_and_replay = [&] {
    Plan const plan = graph.record([&] {
      for (std::size_t k = 0; k != 16; ++k) task(graph, "t", {updates(x(k, 1))}, [&, k] { ++x[k]; });
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
    Plan const plan = graph.record([&] { grown = task(graph, "grow", {updates(x)}, [&] { ++runs; }); });
    Properties after;
    after.after = handles(grown);
    task(graph, "first", {}, [] {}, after).get();  // no replay, nothing to wait for
    graph.replay(plan, 20);
    task(graph, "behind", {}, [&] { EXPECT_EQ(runs % 20, 0); }, after);
    task(graph, "whole", {}, [&] { part("part", {}, [&] { EXPECT_GE(runs, 20); }, after); });
    graph.replay(plan, 20);
    task(graph, "behind", {}, [&] { EXPECT_EQ(runs, 40); }, after);
    graph.wait();
    task(graph, "last", {}, [&] { ++runs; }, after).get();
    EXPECT_EQ(runs, 41);
  }
}

TEST_F(Plans, ReplaysCannotBeRefined) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  Gate gate;
  Plan const plan = graph.record([&] { task(graph, "in", {updates(x)}, [&] { ++x[0]; }); });
  task(graph, "before", {updates(x)}, [&] { EXPECT_TRUE(gate.pass()); });
  Future<void> const whole = graph.replay(plan, 3);
  EXPECT_THAT(error_of([&] { (void)refine(whole, [](auto const&) {}); }), HasSubstr("cannot be refined"));
  gate.open();
  graph.wait();
  EXPECT_EQ(x[0], 3);
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

TEST_F(Plans, WhoseRoundsDoNotOverlapEndWithAFailure) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  int booms = 0;
  int behind_runs = 0;
  Properties synchronizing;
  synchronizing.synchronizing = true;
  Future<int> behind;
  Plan const plan = graph.record([&] {
    task(graph, "boom", {updates(x)}, [&] {
      if (++booms == 2) throw std::runtime_error("second");
    });
    behind = task(graph, "behind", {reads(x)}, [&] { return ++behind_runs; });
    task(graph, "barrier", {}, [] {}, synchronizing);
  });
  Future<void> const whole = graph.replay(plan, 5);
  EXPECT_THAT(error_of([&] { whole.get(); }), AllOf(HasSubstr("boom"), HasSubstr("second")));
  EXPECT_THAT(error_of([&] { behind.get(); }), HasSubstr("was cancelled"));
  EXPECT_EQ(booms, 2);
  EXPECT_EQ(behind_runs, 1);
  EXPECT_ANY_THROW(graph.wait());
  graph.replay(plan, 3);
  EXPECT_EQ(behind.get(), 4);
}

TEST_F(Plans, ResultsBeforeTheFirstReplayAreAnError) {
  TaskGraph graph(with_workers(2));
  Future<int> result;
  Plan const plan = graph.record([&] { result = task(graph, "in", {}, [] { return 7; }); });
  EXPECT_THAT(error_of([&] { (void)result.get(); }), HasSubstr("has no result yet"));
  graph.replay(plan);
  EXPECT_EQ(result.get(), 7);
}

TEST_F(Plans, AFailureInAnyRoundIsWhatTheFutureTells) {
  TaskGraph graph(with_workers(2));
  for (int const fails_in : {1, 2, 5}) {
    std::atomic<int> runs{0};
    Future<int> result;
    Future<void> nothing;
    Block x("x");
    Plan const plan = graph.record([&] {
      result = task(graph, "result", {}, [&] {  // its rounds do not depend on each other
        if (++runs == fails_in) throw std::runtime_error("one of them");
        return 1;
      });
      nothing = task(graph, "chain", {updates(x)}, [&] {
        if (++x[0] == fails_in) throw std::runtime_error("one of them");
      });
    });
    graph.replay(plan, 5);
    EXPECT_THAT(error_of([&] { (void)result.get(); }), HasSubstr("\" (recorded #1"));
    EXPECT_THAT(error_of([&] { (void)result.get(); }),
                AllOf(HasSubstr("failed: one of them"), Not(HasSubstr("was cancelled"))));
    EXPECT_THAT(error_of([&] { nothing.get(); }),
                AllOf(HasSubstr("failed: one of them"), Not(HasSubstr("was cancelled"))));
    EXPECT_EQ(runs, 5);
    EXPECT_ANY_THROW(graph.wait());
  }
}

TEST_F(Plans, ATaskThatWaitsForItsOwnReplayIsToldSo) {
  TaskGraph graph(with_workers(2));
  Future<void> own;
  std::string text;
  Plan const plan =
      graph.record([&] { own = task(graph, "in", {}, [&] { text = error_of([&] { own.get(); }); }); });
  graph.replay(plan);
  graph.wait();
  EXPECT_THAT(text, HasSubstr("cannot be complete before it is"));
}

}  // namespace
}  // namespace trellis
