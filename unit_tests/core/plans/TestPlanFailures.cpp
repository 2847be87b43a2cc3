// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans: failures, and mistakes.
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
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class PlanFailures : public Timed {};

TEST_F(PlanFailures, AFailedTaskCancelsWhatDependsOnItInAllRoundsAndNothingElse) {
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
  EXPECT_THAT(message_of([&] { whole.get(); }),
              AllOf(HasSubstr("\"boom\" (recorded #1"), HasSubstr("TestPlanFailures.cpp"),
                    HasSubstr("failed: no more")));
  EXPECT_THAT(message_of([&] { boom.get(); }),
              AllOf(HasSubstr("\"boom\""), HasSubstr("failed: no more")));
  EXPECT_THAT(message_of([&] { result.get(); }),
              AllOf(HasSubstr("\"behind\""), HasSubstr("was cancelled")));
  EXPECT_THAT(message_of([&] { later.get(); }),
              AllOf(HasSubstr("\"later\""), HasSubstr("was cancelled")));
  Properties after;
  after.after = handles(boom);
  Future<void> const named = task(graph, "named", {}, [] { FAIL(); }, after);
  EXPECT_THAT(message_of([&] { named.get(); }),
              AllOf(HasSubstr("\"named\""), HasSubstr("was cancelled")));
  EXPECT_THAT(message_of([&] { graph.wait(); }), HasSubstr("no more"));
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

TEST_F(PlanFailures, WithAFailureReportTheFirstOneInOrder) {
  for (int repetition = 0; repetition != 30; ++repetition) {
    TaskGraph graph(with_workers(4));
    Plan const plan = graph.record([&] {
      for (int k = 0; k != 4; ++k)
        task(graph, "boom " + std::to_string(k), {},
             [k] { throw std::runtime_error(std::to_string(k)); });
    });
    Future<void> const whole = graph.replay(plan, 2);
    EXPECT_THAT(message_of([&] { whole.get(); }), HasSubstr("boom 0"));
    EXPECT_THAT(message_of([&] { graph.wait(); }), HasSubstr("boom 0"));
  }
}

TEST_F(PlanFailures, ThatDependOnAFailureDoNotRun) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  std::atomic<int> runs{0};
  Future<int> in;
  Future<void> in_outer;
  Plan const plan =
      graph.record([&] { in = task(graph, "in", {reads(x)}, [&] { return ++runs; }); });
  Plan const outer = graph.record([&] {
    in_outer = task(graph, "in outer", {reads(x)}, [&] { ++runs; });
    graph.replay(plan);
  });
  task(graph, "boom", {writes(x)}, [] { throw std::runtime_error("early"); });
  Future<void> const whole = graph.replay(plan, 3);
  EXPECT_THAT(message_of([&] { whole.get(); }), HasSubstr("early"));
  EXPECT_THAT(message_of([&] { in.get(); }),
              AllOf(HasSubstr("\"in\""), HasSubstr("was cancelled"), HasSubstr("early")));
  graph.replay(outer);
  EXPECT_THAT(message_of([&] { in_outer.get(); }),
              AllOf(HasSubstr("was cancelled"), HasSubstr("early")));
  EXPECT_ANY_THROW(graph.wait());
  EXPECT_EQ(runs, 0);
  graph.replay(plan, 3);
  EXPECT_EQ(in.get(), 3);
  graph.replay(outer);
  in_outer.get();
  graph.wait();
  EXPECT_EQ(runs, 5);
}

TEST_F(PlanFailures, RecordingThatThrowsLeavesNothing) {
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

TEST_F(PlanFailures, MistakesAreErrors) {
  TaskGraph graph(with_workers(2));
  TaskGraph other(with_workers(1));
  Plan const plan = graph.record("mine", [&] { task(graph, "a", {}, [] {}); });
  EXPECT_THAT(message_of([&] { graph.replay(Plan()); }), HasSubstr("is to replay an empty plan"));
  EXPECT_THAT(message_of([&] { other.replay(plan); }),
              AllOf(HasSubstr("\"mine\""), HasSubstr("TestPlanFailures.cpp"),
                    HasSubstr("belongs to another graph")));
  EXPECT_THAT(message_of([&] { (void)graph.record([&] { graph.wait(); }); }),
              HasSubstr("nothing to wait for"));
  EXPECT_THAT(message_of([&] {
                (void)graph.record([&] { task(graph, "a", {}, [] { return 1; }).get(); });
              }),
              HasSubstr("nothing to wait for"));
  EXPECT_THAT(message_of([&] { (void)graph.record([&] { (void)graph.record([] {}); }); }),
              HasSubstr("recording a plan on this thread already"));
  Future<void> recorded_task;
  Plan const named = graph.record([&] { recorded_task = task(graph, "named", {}, [] {}); });
  EXPECT_THAT(message_of([&] {
                (void)graph.record([&] {
                  Properties after;
                  after.after = handles(recorded_task);
                  task(graph, "b", {}, [] {}, after);
                });
              }),
              HasSubstr("a task of another plan"));
  EXPECT_THAT(message_of([&] { (void)refine(recorded_task, [](auto const&) {}); }),
              HasSubstr("belongs to a plan and cannot be refined"));
}

TEST_F(PlanFailures, ATaskThatWaitsForWhatItsReplayHoldsUpIsToldSo) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  Future<void> later;
  Gate submitted;
  std::string text;
  Plan const plan = graph.record([&] {
    task(graph, "in", {updates(x)}, [&] {
      EXPECT_TRUE(submitted.pass());
      text = message_of([&] { later.get(); });
    });
  });
  graph.replay(plan);
  later = task(graph, "later", {reads(x)}, [] {});
  submitted.open();
  graph.wait();
  EXPECT_THAT(text, HasSubstr("cannot be complete before it is"));
}

/// To those outside a replay is one task, which holds what any of its tasks excludes.
TEST_F(PlanFailures, ATaskThatWaitsForWhatAnotherOfItsPlanExcludesIsToldSo) {
  for (bool const ready_first : {false, true}) {
    SCOPED_TRACE(ready_first);
    Block x("x"), go("go");
    TaskGraph graph(with_workers(3));
    Gate gate, replay_runs;
    Error error{Error::Kind::bad_input, ""};
    task(graph, "in front", {writes(go)}, [&] { EXPECT_TRUE(gate.pass()); });
    Future<void> const awaited = task(graph, "awaited", {reads(go), excludes(x)}, [] {});
    Plan const plan = graph.record("step", [&] {
      task(graph, "excludes", {excludes(x)}, [] {});
      task(graph, "waits", {}, [&] {
        replay_runs.open();
        if (ready_first) {
          gate.open();
          std::this_thread::sleep_for(10ms);  // most likely it stands in line by now
        }
        error = error_of([&] { awaited.wait(); });
      });
    });
    graph.replay(plan);
    EXPECT_TRUE(replay_runs.pass());
    std::this_thread::sleep_for(10ms);  // most likely "waits" does
    gate.open();
    graph.wait();
    EXPECT_EQ(error.kind(), Error::Kind::deadlock);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("\"waits\""), HasSubstr("\"awaited\"")));
    EXPECT_TRUE(awaited.is_done());
  }
}

TEST_F(PlanFailures, ReplaysCannotBeRefined) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  Gate gate;
  Plan const plan = graph.record([&] { task(graph, "in", {updates(x)}, [&] { ++x[0]; }); });
  task(graph, "before", {updates(x)}, [&] { EXPECT_TRUE(gate.pass()); });
  Future<void> const whole = graph.replay(plan, 3);
  EXPECT_THAT(message_of([&] { (void)refine(whole, [](auto const&) {}); }),
              HasSubstr("cannot be refined"));
  gate.open();
  graph.wait();
  EXPECT_EQ(x[0], 3);
}

TEST_F(PlanFailures, WhoseRoundsDoNotOverlapEndWithAFailure) {
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
  EXPECT_THAT(message_of([&] { whole.get(); }), AllOf(HasSubstr("boom"), HasSubstr("second")));
  EXPECT_THAT(message_of([&] { behind.get(); }), HasSubstr("was cancelled"));
  EXPECT_EQ(booms, 2);
  EXPECT_EQ(behind_runs, 1);
  EXPECT_ANY_THROW(graph.wait());
  graph.replay(plan, 3);
  EXPECT_EQ(behind.get(), 4);
}

TEST_F(PlanFailures, ResultsBeforeTheFirstReplayAreAnError) {
  TaskGraph graph(with_workers(2));
  Future<int> result;
  Plan const plan = graph.record([&] { result = task(graph, "in", {}, [] { return 7; }); });
  EXPECT_THAT(message_of([&] { (void)result.get(); }), HasSubstr("has no result yet"));
  graph.replay(plan);
  EXPECT_EQ(result.get(), 7);
}

TEST_F(PlanFailures, AFailureInAnyRoundIsWhatTheFutureTells) {
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
    EXPECT_THAT(message_of([&] { (void)result.get(); }), HasSubstr("\" (recorded #1"));
    EXPECT_THAT(message_of([&] { (void)result.get(); }),
                AllOf(HasSubstr("failed: one of them"), Not(HasSubstr("was cancelled"))));
    EXPECT_THAT(message_of([&] { nothing.get(); }),
                AllOf(HasSubstr("failed: one of them"), Not(HasSubstr("was cancelled"))));
    EXPECT_EQ(runs, 5);
    EXPECT_ANY_THROW(graph.wait());
  }
}

TEST_F(PlanFailures, AChildThatFailsIsToldWithTheRecordedTaskThatItBelongsTo) {
  TaskGraph graph(with_workers(2));
  for (bool const is_nested : {false, true}) {
    Block x("x");
    Future<void> splits, behind;
    Future<long> result;
    auto const tells = [&] {
      EXPECT_THAT(message_of([&] { splits.get(); }),
                  AllOf(HasSubstr("task \"splits\" (recorded #1"),
                        HasSubstr("failed, because a child of it failed: "),
                        HasSubstr("task \"fails\""), HasSubstr("failed: no more")));
      EXPECT_THAT(message_of([&] { (void)result.get(); }),
                  AllOf(HasSubstr("task \"result\" (recorded #3"),
                        HasSubstr("failed, because a child of it failed: ")));
      EXPECT_THAT(message_of([&] { behind.get(); }),
                  AllOf(HasSubstr("task \"behind\" (recorded #2"),
                        HasSubstr("was cancelled, because it depends on task \"fails\"")));
    };
    {
      Plan plan = graph.record("step", [&] {
        splits = task(graph, "splits", {updates(x)},
                      [] { child("fails", {}, [] { throw std::runtime_error("no more"); }); });
        behind = task(graph, "behind", {reads(x)}, [] { FAIL(); });
        result = task(graph, "result", {}, [] {
          child("fails, too", {}, [] { throw std::runtime_error("nor here"); });
          return 1L;
        });
      });
      if (is_nested) plan = graph.record("outer", [&] { graph.replay(plan, 2); });
      Future<void> const whole = graph.replay(plan);
      EXPECT_THAT(message_of([&] { whole.get(); }),
                  AllOf(HasSubstr(is_nested ? "\"outer\"" : "\"step\""),
                        HasSubstr("failed, because a child of it failed: ")));
      tells();
      EXPECT_THAT(message_of([&] { graph.wait(); }),
                  AnyOf(HasSubstr("task \"fails\""), HasSubstr("task \"fails, too\"")))
          << "whichever came first";
    }
    tells();  // there is no plan any more
  }
}

TEST_F(PlanFailures, ATaskThatWaitsForItsOwnReplayIsToldSo) {
  TaskGraph graph(with_workers(2));
  Future<void> own;
  std::string text;
  Plan const plan = graph.record(
      [&] { own = task(graph, "in", {}, [&] { text = message_of([&] { own.get(); }); }); });
  graph.replay(plan);
  graph.wait();
  EXPECT_THAT(text, HasSubstr("cannot be complete before it is"));
}

// The replays have no accesses, so no edge orders them, but one starts after the other. The task,
// or a child of it, waits for the later one.
TEST_F(PlanFailures, ATaskThatWaitsForAReplayBehindItsOwnIsToldSo) {
  for (int k = 0; k < 4; ++k) {
    bool const is_nested = k % 2 == 1;
    bool const in_child = k >= 2;
    TaskGraph graph(with_workers(3));
    Future<void> second;
    Gate begun;
    Gate submitted;
    std::atomic<int> runs{0};
    std::string text;
    Plan const plan = graph.record([&] {
      task(graph, "in", {}, [&] {
        if (++runs != 1) return;
        begun.open();
        EXPECT_TRUE(submitted.pass());
        auto const waits = [&] { text = message_of([&] { second.get(); }); };
        if (in_child)
          child("child", {}, waits);
        else
          waits();
      });
    });
    Plan const outer = graph.record([&] { graph.replay(plan); });
    graph.replay(plan);
    EXPECT_TRUE(begun.pass());
    second = graph.replay(is_nested ? outer : plan);
    submitted.open();
    graph.wait();
    EXPECT_EQ(runs, 2);
    EXPECT_THAT(text, HasSubstr("cannot be complete before it is"));
  }
}

// Here the task itself asks for the later replay, which has not queued yet when the wait begins.
TEST_F(PlanFailures, ATaskThatReplaysItsOwnPlanAndWaitsIsToldSo) {
  for (bool is_serial : {false, true})
    for (int workers : {1, 3}) {
      Environment const serial("TRELLIS_SERIAL", is_serial ? "1" : "0");
      TaskGraph graph(with_workers(workers));
      int runs = 0;
      std::string text;
      Plan plan;
      plan = graph.record([&] {
        task(graph, "in", {}, [&] {
          if (++runs == 1) text = message_of([&] { graph.replay(plan).get(); });
        });
      });
      graph.replay(plan);
      graph.wait();
      EXPECT_EQ(runs, 2);
      EXPECT_THAT(text, HasSubstr("cannot be complete before it is"));
    }
}

// A task of the main thread waits for the second replay, so it runs what the first one has for this
// thread. The random programs have found that.
TEST_F(PlanFailures, AWaitOnTheMainThreadRunsWhatTheReplayInFrontNeeds) {
  for (bool is_nested : {false, true}) {
    TaskGraph graph(with_workers(3));
    Gate begun;
    std::atomic<int> runs{0};
    Plan const plan = graph.record([&] {
      task(graph, "begins", {}, [&] { begun.open(); });
      for (int k = 0; k < 3; ++k)
        task(graph, "on main", {}, [&] { ++runs; }, {.main_thread = true});
    });
    Plan const outer = graph.record([&] { graph.replay(plan); });
    auto const waits = [&] {
      graph.replay(plan);
      EXPECT_TRUE(begun.pass());
      graph.replay(is_nested ? outer : plan).get();
    };
    task(graph, "waits", {}, waits, {.main_thread = true});
    graph.wait();
    EXPECT_EQ(runs, 6);
  }
}

}  // namespace
}  // namespace trellis
