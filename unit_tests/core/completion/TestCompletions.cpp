// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tasks that are over later than their bodies.
#include "LateTest.hpp"
#include "Timing.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class Completions : public Timed {};

TaskGraphOptions serially() {
  TaskGraphOptions options;
  options.serial = true;
  return options;
}
std::vector<TaskGraphOptions> every_kind() {
  return {with_workers(1), with_workers(2), with_workers(4), serially()};
}

TEST_F(Completions, KeepTheirTaskUntilSomethingIsSaid) {
  for (TaskGraphOptions const& options : every_kind()) {
    Block x("x");
    Slots slots;
    TaskGraph graph(options);
    auto const first = late(graph, "late", {writes(x)}, slots.keeper());
    std::atomic<bool> has_run{false};
    auto const second = task(graph, "next", {reads(x)}, [&] {
      has_run = true;
      EXPECT_EQ(x[0], 7);
    });
    bool beside = false;
    auto const other = task(graph, "other", {}, [&] { beside = true; });
    other.wait();
    EXPECT_TRUE(beside);
    Completion<> completion = slots.take();
    EXPECT_TRUE(completion.valid());
    EXPECT_EQ(completion.id(), first.id());
    EXPECT_FALSE(first.is_done());
    EXPECT_FALSE(has_run);
    while (graph.in_flight() > 2) std::this_thread::yield();  // it counts what is being destroyed
    EXPECT_EQ(graph.in_flight(), 2U);
    x[0] = 7;
    completion.done();
    EXPECT_FALSE(completion.valid());
    second.wait();
    EXPECT_TRUE(has_run);
    EXPECT_TRUE(first.is_done());
    graph.wait();
  }
}

TEST_F(Completions, MaySayItWithinTheBody) {
  for (TaskGraphOptions const& options : every_kind()) {
    Block x("x");
    TaskGraph graph(options);
    for (int k = 0; k < 1000; ++k)
      late(graph, "late", {updates(x)}, [&](Completion<> completion) {
        ++x[0];
        completion.done();
      });
    graph.wait();
    EXPECT_EQ(x[0], 1000);
  }
}

TEST_F(Completions, MaySayItOnAnyThread) {
  for (TaskGraphOptions const& options : every_kind()) {
    Block x("x", 8);
    Elsewhere here, there;
    TaskGraph graph(options);
    for (int k = 0; k < 2000; ++k)
      late(graph, "late", {updates(x(k % 8, 1))}, [&, k](Completion<> completion) {
        (k % 3 == 0 ? here : there).give([&x, k, c = std::move(completion)]() mutable {
          ++x[k % 8];
          c.done();
        });
      });
    graph.wait();
    for (int k = 0; k < 8; ++k) EXPECT_EQ(x[k], 250);
  }
}

TEST_F(Completions, LetTheGraphEndAsSoonAsTheyAreSaid) {
  for (int repeat = 0; repeat < (sanitized ? 50 : 300); ++repeat) {
    Elsewhere elsewhere;
    TaskGraph graph(every_kind()[static_cast<std::size_t>(repeat) % 4]);
    late(graph, "late", {}, elsewhere.sayer());
  }
}

TEST_F(Completions, FailTheirTask) {
  for (TaskGraphOptions const& options : every_kind()) {
    Block x("x");
    Slots slots;
    TaskGraph graph(options);
    auto const first = late(graph, "late", {writes(x)}, slots.keeper());
    auto const second = task(graph, "next", {reads(x)}, [] { FAIL() << "it is cancelled"; });
    slots.take().fail(std::runtime_error("the disk is gone"));
    EXPECT_THAT(message_of([&] { first.get(); }),
                testing::AllOf(HasSubstr("task \"late\""), HasSubstr("the disk is gone")));
    EXPECT_THAT(message_of([&] { second.get(); }), HasSubstr("the disk is gone"));
    EXPECT_THAT(message_of([&] { graph.wait(); }), HasSubstr("the disk is gone"));
    late(graph, "late", {writes(x)}, [](Completion<> c) { c.fail(std::exception_ptr()); });
    EXPECT_THAT(message_of([&] { graph.wait(); }),
                HasSubstr("fail() was called with no exception"));
    graph.wait();
  }
}

TEST_F(Completions, ThatAreDroppedFailTheirTask) {
  for (TaskGraphOptions const& options : every_kind()) {
    Slots slots;
    TaskGraph graph(options);
    late(graph, "dropped", {}, [](Completion<>) {});
    EXPECT_THAT(message_of([&] { graph.wait(); }),
                HasSubstr("its Completion was dropped: neither done() nor fail() was called"));
    late(graph, "dropped later", {}, slots.keeper());
    slots.take();
    EXPECT_THAT(message_of([&] { graph.wait(); }), HasSubstr("its Completion was dropped"));
    late(graph, "overwritten", {}, slots.keeper());
    Completion<> completion = slots.take();
    completion = Completion<>();
    EXPECT_THAT(message_of([&] { graph.wait(); }), HasSubstr("its Completion was dropped"));
  }
}

/// What the body throws is its failure, not what the Completion becomes of that.
TEST_F(Completions, OfABodyThatThrows) {
  for (TaskGraphOptions const& options : every_kind()) {
    Slots slots;
    TaskGraph graph(options);
    late(graph, "thrown", {}, [](Completion<>) { throw std::runtime_error("no such file"); });
    EXPECT_THAT(message_of([&] { graph.wait(); }),
                testing::AllOf(HasSubstr("no such file"), Not(HasSubstr("dropped"))));
    auto const thrown = late(graph, "thrown", {}, [&](Completion<> completion) {
      slots.put(std::move(completion));
      throw std::runtime_error("no such file");
    });
    Completion<> completion = slots.take();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    EXPECT_FALSE(thrown.is_done()) << "what it has started may still use what it accesses";
    completion.done();
    EXPECT_THAT(message_of([&] { graph.wait(); }), HasSubstr("no such file"));
  }
}

TEST_F(Completions, HaveOneThingToSay) {
  Slots slots;
  TaskGraph graph(with_workers(2));
  late(graph, "late", {}, slots.keeper());
  Completion<> completion = slots.take();
  Completion<> moved = std::move(completion);
  EXPECT_THAT(message_of([&] { completion.done(); }),  // NOLINT(bugprone-use-after-move)
              HasSubstr("done() of a Completion that has nothing to say"));
  moved.done();
  EXPECT_THAT(message_of([&] { moved.done(); }), HasSubstr("nothing to say"));
  EXPECT_THAT(message_of([&] { moved.fail(std::exception_ptr()); }),
              HasSubstr("fail() of a Completion that has nothing to say"));
  EXPECT_THAT(message_of([&] { (void)moved.stop_requested(); }), HasSubstr("nothing to say"));
  EXPECT_THAT(message_of([] { Completion<>().done(); }), HasSubstr("belongs to no task"));
  graph.wait();
}

TEST_F(Completions, MayBeSeveralOfOneTask) {
  for (TaskGraphOptions const& options : every_kind()) {
    Slots slots;
    TaskGraph graph(options);
    auto const both = task(graph, "both", {}, [&] {
      slots.put(Impl::CompletionInternals::open(self()));
      slots.put(Impl::CompletionInternals::open(self()));
    });
    slots.take().done();
    EXPECT_FALSE(both.is_done());
    slots.take().done();
    both.wait();
  }
}

// --- and what else a task may be -----------------------------------------------------------------

TEST_F(Completions, OfTasksWithChildren) {
  for (TaskGraphOptions const& options : every_kind()) {
    Block x("x", 4);
    Slots slots;
    Elsewhere elsewhere;
    TaskGraph graph(options);
    for (int repeat = 0; repeat < 100; ++repeat) {
      std::atomic<int> children{0};
      auto const whole = late(graph, "whole", {updates(x)}, [&](Completion<> completion) {
        for (std::size_t k = 0; k < 4; ++k)
          late_child("child", {updates(x(k, 1))}, [&, k](Completion<> of_child) {
            elsewhere.give([&, k, c = std::move(of_child)]() mutable {
              ++x[k];
              ++children;
              c.done();
            });
          });
        slots.put(std::move(completion));
      });
      bool is_over = false;
      task(graph, "next", {reads(x)}, [&] { is_over = children == 4; });
      Completion<> completion = slots.take();
      if (repeat % 2 == 0)
        while (children != 4 && !options.serial.value_or(false)) std::this_thread::yield();
      EXPECT_FALSE(whole.is_done());
      completion.done();
      graph.wait();
      EXPECT_TRUE(is_over);
    }
    for (std::size_t k = 0; k < 4; ++k) EXPECT_EQ(x[k], 100);
  }
}

TEST_F(Completions, OfChildrenThatTheBodyWaitsFor) {
  for (TaskGraphOptions const& options : every_kind()) {
    Block x("x");
    Elsewhere elsewhere;
    TaskGraph graph(options);
    for (int repeat = 0; repeat < 50; ++repeat)
      task(graph, "whole", {updates(x)}, [&] {
        long const before = x[0];
        late_child("child", {updates(x)}, [&](Completion<> of_child) {
          elsewhere.give([&, c = std::move(of_child)]() mutable {
            ++x[0];
            c.done();
          });
        });
        wait_for_children();
        EXPECT_EQ(x[0], before + 1);
      });
    graph.wait();
    EXPECT_EQ(x[0], 50);
  }
}

TEST_F(Completions, AndAChildThatFails) {
  for (TaskGraphOptions const& options : every_kind()) {
    Slots slots;
    TaskGraph graph(options);
    auto const whole = late(graph, "whole", {}, [&](Completion<> completion) {
      child("child", {}, [] { throw std::runtime_error("the child"); });
      slots.put(std::move(completion));
    });
    slots.take().done();
    EXPECT_THAT(message_of([&] { whole.get(); }), HasSubstr("the child"));
    EXPECT_THAT(message_of([&] { graph.wait(); }), HasSubstr("the child"));
  }
}

/// With one worker, whose thread gives its place to another that completes the task.
TEST_F(Completions, CanBeWaitedForInsideTasks) {
  for (TaskGraphOptions const& options : every_kind()) {
    Elsewhere elsewhere;
    TaskGraph graph(options);
    int count = 0;
    for (int repeat = 0; repeat < 50; ++repeat) {
      auto const awaited = late(graph, "late", {}, elsewhere.sayer());
      task(graph, "waits", {}, [&, awaited] {
        awaited.wait();
        EXPECT_TRUE(awaited.is_done());
        ++count;
      }).wait();
    }
    EXPECT_EQ(count, 50);
  }
}

TEST_F(Completions, OfTasksThatAreCancelled) {
  for (TaskGraphOptions const& options : every_kind()) {
    Block x("x");
    Slots slots;
    TaskGraph graph(options);
    auto const first = late(graph, "late", {writes(x)}, slots.keeper());
    auto const second = task(graph, "next", {reads(x)}, [] { FAIL() << "it is cancelled"; });
    Completion<> completion = slots.take();
    EXPECT_FALSE(completion.stop_requested());
    graph.cancel(first);
    EXPECT_TRUE(completion.stop_requested());
    EXPECT_FALSE(first.is_done()) << "what it has started may still use what it accesses";
    completion.done();
    EXPECT_THAT(message_of([&] { first.get(); }), HasSubstr("cancelled"));
    EXPECT_THAT(message_of([&] { second.get(); }), HasSubstr("cancelled"));
    graph.wait();
    auto const failing = late(graph, "late", {writes(x)}, slots.keeper());
    completion = slots.take();
    graph.cancel(failing);
    completion.fail(std::runtime_error("interrupted"));
    EXPECT_THAT(message_of([&] { failing.get(); }), HasSubstr("interrupted"));
    graph.wait();  // that was its way to stop
  }
}

TEST_F(Completions, KeepExclusiveAreas) {
  for (TaskGraphOptions const& options : every_kind()) {
    Block x("x", 2);
    Elsewhere here, there;
    TaskGraph graph(options);
    std::atomic<int> inside{0}, met{0};
    for (int k = 0; k < 500; ++k)
      late(graph, "late", {excludes(x)}, [&, k](Completion<> completion) {
        met += inside++ != 0;
        (k % 2 == 0 ? here : there).give([&, c = std::move(completion)]() mutable {
          ++x[0];
          --inside;
          c.done();
        });
      });
    graph.wait();
    EXPECT_EQ(met, 0);
    EXPECT_EQ(x[0], 500);
  }
}

/// The thread that has to say something is the one that submits.
TEST_F(Completions, DoNotKeepASubmitterAtTheCapForEver) {
  for (bool const serial : {false, true})
    for (int const workers : {1, 2}) {
      Block x("x");
      Slots slots;
      TaskGraphOptions options = capped(workers, 4);
      options.serial = serial;
      TaskGraph graph(options);
      std::atomic<int> ran{0};
      for (int k = 0; k < 100; ++k) {
        late(graph, "late", {reads(x)}, slots.keeper());
        task(graph, "beside", {}, [&] { ++ran; });
      }
      for (int k = 0; k < 100; ++k) slots.take().done();
      graph.wait();
      EXPECT_EQ(ran, 100);
    }
}

TEST_F(Completions, AreForShrinkingTasksAnError) {
  TaskGraph graph(with_workers(2));
  Block x("x");
  late(graph, "shrinks", {writes(x)}, [](Completion<> completion) {
    EXPECT_THAT(message_of([] { Impl::GraphInternals::shrink_to_children(self()); }),
                HasSubstr("shrink_to_children() in a task with a Completion"));
    completion.done();
  });
  task(graph, "shrinks first", {writes(x)}, [] {
    child("child", {}, [] {});
    Impl::GraphInternals::shrink_to_children(self());
    EXPECT_THAT(message_of([] { (void)Impl::CompletionInternals::open(self()); }),
                HasSubstr("shrink_to_children() in a task with a Completion"));
  });
  graph.wait();
}

/// Two threads wait in one serial graph: each has its turn, and bodies run one by one.
TEST_F(Completions, LetThreadsTakeTurnsInASerialGraph) {
  for (int repeat = 0; repeat < (sanitized ? 10 : 50); ++repeat) {
    Block x("x", 3);
    Elsewhere elsewhere;
    TaskGraph graph(serially());
    std::atomic<int> inside{0}, met{0};
    auto const alone = [&] {
      met += inside++ != 0;
      std::this_thread::yield();
      --inside;
    };
    auto const submit_and_wait = [&](std::size_t k) {
      for (int turn = 0; turn < 10; ++turn) {
        late(graph, "late", {updates(x(k, 1))}, elsewhere.sayer());
        auto const first = task(graph, "next", {reads(x(k, 1))}, alone);
        auto const second = task(graph, "next", {reads(x(k, 1))}, alone);
        first.wait();
        second.wait();
      }
    };
    std::thread one([&] { submit_and_wait(0); }), two([&] { submit_and_wait(1); });
    submit_and_wait(2);
    one.join();
    two.join();
    graph.wait();
    EXPECT_EQ(met, 0);
  }
}

/// A parent that holds exclusive areas when the last Completion is said goes on to hold them.
TEST_F(Completions, LeaveExclusionAsItIsInASerialGraph) {
  Block x("x");
  Slots slots;
  std::vector<std::string> order;
  TaskGraph graph(serially());
  auto const first = late(graph, "first", {}, slots.keeper());
  Properties behind;
  behind.after = handles(first);
  late(
      graph, "behind", {excludes(x)},
      [&](Completion<> completion) {
        order.emplace_back("behind");
        completion.done();
      },
      behind);
  task(graph, "parent", {excludes(x)}, [&] {
    child("says", {excludes(x)}, [&] {
      order.emplace_back("says");
      slots.take().done();
    });
    child("last", {excludes(x)}, [&] { order.emplace_back("last"); });
  });
  graph.wait();
  EXPECT_THAT(order, ElementsAre("says", "last", "behind"));
}

TEST_F(Completions, OfExclusiveReplaysInASerialGraph) {
  Block x("x");
  Elsewhere elsewhere;
  TaskGraph graph(serially());
  std::atomic<int> inside{0}, met{0};
  auto const body = [&](Completion<> completion) {
    met += inside++ != 0;
    elsewhere.give([&, c = std::move(completion)]() mutable {
      ++x[0];
      --inside;
      c.done();
    });
  };
  Plan const plan = graph.record("plan", [&] { late(graph, "late", {excludes(x)}, body); });
  for (int k = 0; k < 50; ++k) {
    late(graph, "late", {excludes(x)}, body);
    graph.replay(plan, 2);
  }
  graph.wait();
  EXPECT_EQ(met, 0);
  EXPECT_EQ(x[0], 150);
}

/// More than a thread completes at once.
TEST_F(Completions, AreManyThatOneTaskOfASerialGraphWaitsFor) {
  Slots slots;
  TaskGraph graph(serially());
  std::vector<Future<void>> all;
  for (int k = 0; k < 200; ++k) all.push_back(late(graph, "late", {}, slots.keeper()));
  for (int k = 0; k < 200; ++k) slots.take().done();
  task(graph, "waits", {}, [&] { all.back().wait(); });
  graph.wait();
}

/// What holds exclusive areas is not what keeps those back on whom it waits.
TEST_F(Completions, KeepNobodyBackOnWhomTheyWait) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    Block x("x", 2);
    Slots slots;
    TaskGraph graph(with_workers(2));
    late(graph, "holds", {excludes(x(0, 1))}, slots.keeper());
    while (slots.empty()) std::this_thread::yield();
    task(graph, "wants both", {excludes(x(0, 1)), excludes(x(1, 1))}, [] {});
    task(graph, "says", {excludes(x(1, 1))}, [&] { slots.take().done(); });
    graph.wait();
  }
}

// --- plans ---------------------------------------------------------------------------------------

/// Each round after the one before, in the order of the accesses.
TEST_F(Completions, OfPlans) {
  for (TaskGraphOptions const& options : every_kind()) {
    Block x("x", 3);
    Elsewhere here, there;
    TaskGraph graph(options);
    Plan const plan = graph.record("plan", [&] {
      for (std::size_t k = 0; k < 2; ++k)
        late(graph, "adds", {updates(x(k, 1))}, [&, k](Completion<> completion) {
          (k == 0 ? here : there).give([&, k, c = std::move(completion)]() mutable {
            ++x[k];
            c.done();
          });
        });
      task(graph, "compares", {reads(x(0, 2)), updates(x(2, 1))}, [&] {
        EXPECT_EQ(x[0], x[1]);
        EXPECT_EQ(x[0], ++x[2]);
      });
    });
    graph.replay(plan, 100);
    graph.replay(plan, 50);
    graph.wait();
    EXPECT_EQ(x[2], 150);
  }
}

TEST_F(Completions, OfPlansMayFailInOneRound) {
  for (TaskGraphOptions const& options : every_kind()) {
    Block x("x");
    Elsewhere elsewhere;
    TaskGraph graph(options);
    int rounds = 0;
    Plan const plan = graph.record("plan", [&] {
      late(graph, "late", {updates(x)}, [&](Completion<> completion) {
        elsewhere.give([&, c = std::move(completion)]() mutable {
          if (++rounds == 3)
            c.fail(std::runtime_error("round 3"));
          else
            c.done();
        });
      });
    });
    auto const replay = graph.replay(plan, 10);
    EXPECT_THAT(message_of([&] { replay.get(); }), HasSubstr("round 3"));
    EXPECT_EQ(rounds, 3);
    EXPECT_THAT(message_of([&] { graph.wait(); }), HasSubstr("round 3"));
    graph.replay(plan, 10);
    graph.wait();
    EXPECT_EQ(rounds, 13);
  }
}

TEST_F(Completions, OfIterationsThatAreAlike) {
  for (TaskGraphOptions const& options : every_kind()) {
    Block x("x", 2);
    Elsewhere elsewhere;
    TaskGraph graph(options);
    graph.iterate("loop", 60, [&] {
      late(graph, "adds", {updates(x(0, 1))}, [&](Completion<> completion) {
        elsewhere.give([&, c = std::move(completion)]() mutable {
          ++x[0];
          c.done();
        });
      });
      task(graph, "follows", {reads(x(0, 1)), updates(x(1, 1))}, [&] { EXPECT_EQ(x[0], ++x[1]); });
    });
    graph.wait();
    EXPECT_EQ(x[1], 60);
  }
}

// --- more than one graph -------------------------------------------------------------------------

TEST_F(Completions, AreSaidByTasksOfOtherGraphs) {
  for (int const workers : {1, 2}) {
    Slots slots;
    TaskGraph one(with_workers(workers)), other(with_workers(1));
    for (int k = 0; k < 100; ++k) {
      auto const first = late(one, "late", {}, slots.keeper());
      task(other, "says", {}, [&] { slots.take().done(); });
      task(other, "waits", {}, [&, first] {
        first.wait();
        EXPECT_TRUE(first.is_done());
      });
    }
    other.wait();
    one.wait();
  }
}

TEST_F(Completions, ShowInTheTraceUntilTheyAreSaid) {
  Slots slots;
  TaskGraph graph(recorded(2));
  late(graph, "late", {}, slots.keeper());
  Completion<> completion = slots.take();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  completion.done();
  graph.wait();
  Trace const trace = graph.trace();
  TaskRecord const& record = trace.graph.nodes().front();
  EXPECT_GE(record.finished_ns - record.returned_ns, 5'000'000U);
  EXPECT_TRUE(record.completes_later);
}

}  // namespace
}  // namespace trellis
