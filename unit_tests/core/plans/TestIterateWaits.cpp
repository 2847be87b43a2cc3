// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Iterations of a loop that somebody asks after before they are over, and which ones are
// remembered.
#include "BareTask.hpp"
#include "Timing.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;
using testing::HasSubstr;

class IterateWaits : public Timed {};
class IterateMemory : public Timed {};

// --- whoever asks --------------------------------------------------------------------------------

TEST_F(IterateWaits, AThreadThatTheBodyJoinsMayWaitForATaskOfTheIteration) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  long seen = 0;
  IterateReport const report = graph.iterate("loop", 10, [&] {
    Future<long> const grown = task(graph, "grow", {updates(x)}, [&] { return ++x[0]; });
    std::thread([&] { seen += grown.get(); }).join();
    task(graph, "shrink", {updates(x)}, [&] { --x[0]; });
    task(graph, "grow again", {updates(x)}, [&] { ++x[0]; });
  });
  graph.wait();
  EXPECT_EQ(x[0], 10);
  EXPECT_EQ(seen, 55);
  EXPECT_EQ(report.dynamic, 10U);
}

TEST_F(IterateWaits, TheBodyMayPollATaskOfTheIteration) {
  Block x("x");
  TaskGraph graph(with_workers(1));
  graph.iterate("loop", 10, [&](std::uint64_t k) {
    task(graph, "before", {updates(x)}, [&] { x[0] *= 2; });
    Future<void> const polled = task(graph, "polled", {updates(x)}, [&] { ++x[0]; });
    until_done(polled);
    EXPECT_EQ(x[0], (2L << k) - 1);
    task(graph, "after", {updates(x)}, [] {});
  });
  graph.wait();
  EXPECT_EQ(x[0], 1023);
}

TEST_F(IterateWaits, ATaskOfAnotherGraphMayWaitForATaskOfTheIteration) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  TaskGraph other(with_workers(1));
  std::atomic<long> seen{0};
  graph.iterate("loop", 10, [&] {
    Future<long> const grown = task(graph, "grow", {updates(x)}, [&] { return ++x[0]; });
    Future<void> const asks = task(other, "asks", {}, [&, grown] { seen += grown.get(); });
    asks.get();
    task(graph, "rest", {updates(x)}, [] {});
  });
  graph.wait();
  EXPECT_EQ(seen, 55);
}

TEST_F(IterateWaits, AnotherGraphMayBeWaitedForAsAWhole) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  TaskGraph other(with_workers(1));
  std::atomic<long> seen{0};
  graph.iterate("loop", 10, [&] {
    Future<long> const grown = task(graph, "grow", {updates(x)}, [&] { return ++x[0]; });
    task(other, "polls", {}, [&, grown] {
      until_done(grown);
      seen += grown.get();
    });
    other.wait();
  });
  EXPECT_EQ(seen, 55);
}

TEST_F(IterateWaits, WhoWaitsForTheGraphInAnotherThreadWaitsForTheIterationSoFar) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  graph.iterate("loop", 10, [&](std::uint64_t k) {
    task(graph, "grow", {updates(x)}, [&] { ++x[0]; });
    std::thread([&] {
      graph.wait();
      EXPECT_EQ(x[0], static_cast<long>(2 * k + 1));
    }).join();
    task(graph, "grow again", {updates(x)}, [&] { ++x[0]; });
  });
  graph.wait();
  EXPECT_EQ(x[0], 20);
}

TEST_F(IterateWaits, WhoWaitsForTheGraphInTheBodyWaitsForTheIterationSoFar) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  graph.iterate("loop", 10, [&](std::uint64_t k) {
    task(graph, "grow", {updates(x)}, [&] { ++x[0]; });
    graph.wait();
    EXPECT_EQ(x[0], static_cast<long>(k + 1));
  });
}

TEST_F(IterateWaits, AnotherThreadMayNameATaskOfTheIterationInAfter) {
  TaskGraph graph(with_workers(2));
  std::atomic<int> step{0};
  graph.iterate("loop", 10, [&] {
    Future<void> const first = task(graph, "first", {}, [&] { step = 1; });
    std::thread([&] {
      Future<void> const second = task(graph, "second", {}, [&] { EXPECT_EQ(step.exchange(2), 1); },
                                       {.after = handles(first)});
      second.get();
    }).join();
    EXPECT_EQ(step, 2);
  });
}

TEST_F(IterateWaits, TheIterationMayNameItsOwnTasksInAfter) {
  TaskGraph graph(with_workers(2));
  std::vector<int> order;
  IterateReport const report = graph.iterate("loop", 10, [&](std::uint64_t k) {
    Future<void> const first =
        task(graph, "first", {}, [&, k] { order.push_back(static_cast<int>(2 * k)); });
    Future<void> const second =
        task(graph, "second", {}, [&, k] { order.push_back(static_cast<int>(2 * k + 1)); },
             {.after = handles(first)});
    second.get();
  });
  graph.wait();
  EXPECT_EQ(order.size(), 20U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  EXPECT_EQ(report.dynamic, 10U);
}

TEST_F(IterateWaits, ATaskOfTheIterationMayBeRefinedInItsBody) {
  Block x("x", 2);
  TaskGraph graph(with_workers(2));
  Gate gate;
  task(graph, "in front", {writes(x)}, [&] { EXPECT_TRUE(gate.pass()); });
  graph.iterate("loop", 1, [&] {
    Future<void> const whole =
        task(graph, "whole", {updates(x)}, [] { ADD_FAILURE() << "it was refined"; });
    EXPECT_TRUE(refine(whole, [&](Impl::TaskHandle const& parent) {
      child_of(parent, "left", {updates(x(0, 1))}, [&] { x[0] = 1; });
      child_of(parent, "right", {updates(x(1, 1))}, [&] { x[1] = 2; });
    }));
  });
  gate.open();
  graph.wait();
  EXPECT_EQ(x[0] + x[1], 3);
}

TEST_F(IterateWaits, NobodyWaitsForIterationsThatCannotStartYet) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  Gate gate;
  task(graph, "in front", {updates(x)}, [&] { EXPECT_TRUE(gate.pass()); });
  IterateReport const report = graph.iterate("loop", 50, [&](std::uint64_t k) {
    task(graph, "step", {updates(x)}, [&, k] { x[0] = x[0] * 3 % 1009 + static_cast<long>(k); });
  });
  EXPECT_EQ(report.recorded, 1U);
  EXPECT_EQ(report.replayed, 49U);
  gate.open();
  graph.wait();
  long expected = 0;
  for (long k = 0; k != 50; ++k) expected = expected * 3 % 1009 + k;
  EXPECT_EQ(x[0], expected);
}

TEST_F(IterateWaits, ATaskMayLoopOverWhatComesAfterIt) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  IterateReport report;
  task(graph, "submits", {updates(x)}, [&] {
    report = graph.iterate("loop", 20, [&] {
      task(graph, "grow", {updates(x)}, [&] { ++x[0]; });
      task(graph, "double", {updates(x)}, [&] { x[0] = 2 * x[0] % 1009; });
    });
    EXPECT_EQ(x[0], 0);
  });
  graph.wait();
  long expected = 0;
  for (int k = 0; k != 20; ++k) expected = 2 * (expected + 1) % 1009;
  EXPECT_EQ(x[0], expected);
  EXPECT_EQ(report.replayed, 19U);
}

TEST_F(IterateWaits, ATaskThatWaitsForWhatDependsOnItIsTold) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  Future<void> const submits = task(graph, "submits", {updates(x)}, [&] {
    Future<void> last;
    graph.iterate("loop", 3, [&] { last = task(graph, "grow", {updates(x)}, [&] { ++x[0]; }); });
    last.get();
  });
  EXPECT_THAT(message_of([&] { submits.get(); }),
              HasSubstr("which cannot be complete before it is"));
  EXPECT_THROW(graph.wait(), Error);
}

TEST_F(IterateWaits, SomebodyMayPollAllTheTime) {
  for (int repetition = 0; repetition != 20; ++repetition) {
    Block x("x");
    TaskGraph graph(with_workers(2));
    std::mutex mutex;
    Future<long> newest;
    std::atomic<bool> over{false};
    std::thread asker([&] {
      long seen = 0;
      while (!over) {
        Future<long> asked;
        {
          std::lock_guard const lock(mutex);
          asked = newest;
        }
        if (!asked.valid()) continue;
        if (asked.is_done() || seen % 3 == 0) {
          long const now = asked.get();
          EXPECT_GE(now, seen);
          seen = now;
        }
      }
    });
    long expected = 0;
    IterateReport const report = graph.iterate("loop", 200, [&](std::uint64_t k) {
      Future<long> const grown = task(graph, "grow", {updates(x)}, [&] { return ++x[0]; });
      {
        std::lock_guard const lock(mutex);
        newest = grown;
      }
      ++expected;
      if (k % 3 == 0) return true;
      task(graph, "more", {updates(x)}, [&, k] { x[0] += static_cast<long>(k); });
      expected += static_cast<long>(k);
      return true;
    });
    graph.wait();
    over = true;
    asker.join();
    EXPECT_EQ(x[0], expected);
    EXPECT_EQ(report.recorded + report.replayed + report.dynamic, 200U);
  }
}

TEST_F(IterateWaits, FuturesMayBeAskedWhenTheirPlacesHaveBeenTakenManyTimes) {
  Block x("x");
  std::vector<Future<long>> results;
  std::vector<Future<void>> ends;
  {
    TaskGraphOptions options = with_workers(2);
    options.in_flight = 8;
    TaskGraph graph(options);
    graph.iterate("loop", 300, [&](std::uint64_t k) {
      results.push_back(task(graph, "grow", {updates(x)}, [&] { return ++x[0]; }));
      ends.push_back(task(graph, "end", {reads(x)}, [] {}));
      if (k > 20) {
        results[k - 20].wait();
        EXPECT_TRUE(results[k - 20].is_done());
      }
    });
    for (std::size_t k = 0; k != results.size(); ++k)
      EXPECT_EQ(results[k].get(), static_cast<long>(k) + 1);
    for (Future<void> const& end : ends) end.get();
  }
  EXPECT_TRUE(results.back().is_done());
  EXPECT_EQ(results.back().get(), 300);
}

TEST_F(IterateWaits, AFutureOfAPlanThatTheIterationReplaysBelongsToThatReplay) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  Future<long> in_plan;
  Plan const plan =
      graph.record([&] { in_plan = task(graph, "in plan", {updates(x)}, [&] { return ++x[0]; }); });
  graph.iterate("loop", 10, [&](std::uint64_t k) {
    task(graph, "before", {updates(x)}, [&] { x[0] += 10; });
    graph.replay(plan);
    if (k % 3 == 0) {
      EXPECT_EQ(in_plan.get(), static_cast<long>(11 * k + 11));
    }
    if (k % 3 == 1) {
      std::thread([&] { EXPECT_EQ(in_plan.get(), static_cast<long>(11 * k + 11)); }).join();
    }
  });
  EXPECT_EQ(in_plan.get(), 110);
}

// --- which iterations are remembered -------------------------------------------------------------

enum class Where { first, middle, last };
class IterateExtra : public IterateMemory, public testing::WithParamInterface<Where> {};

TEST_P(IterateExtra, EveryTenthIterationMayHaveOneMore) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  long expected = 0;
  IterateReport const report = graph.iterate("loop", 1000, [&](std::uint64_t k) {
    auto const extra = [&](Where where) {
      if (k % 10 != 0 || where != GetParam()) return;
      task(graph, "extra", {updates(x)}, [&] { x[0] += 5; });
      expected += 5;
    };
    extra(Where::first);
    task(graph, "a", {updates(x)}, [&] { x[0] = 3 * x[0] % 10007; });
    expected = 3 * expected % 10007;
    extra(Where::middle);
    task(graph, "b", {updates(x)}, [&, k] { x[0] += static_cast<long>(k); });
    expected += static_cast<long>(k);
    extra(Where::last);
  });
  graph.wait();
  EXPECT_EQ(x[0], expected);
  EXPECT_EQ(report.recorded, 2U);
  EXPECT_EQ(report.replayed, 998U);
  EXPECT_EQ(report.dynamic, 0U);
}

INSTANTIATE_TEST_SUITE_P(Place, IterateExtra,
                         testing::Values(Where::first, Where::middle, Where::last),
                         [](auto const& each) {
                           return each.param == Where::first    ? "first"
                                  : each.param == Where::middle ? "middle"
                                                                : "last";
                         });

/// Iterations of different kinds: in each a few of five steps.
IterateReport loop_over_kinds(std::vector<unsigned> const& kinds, std::uint64_t iterations) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  long expected = 0;
  IterateReport const report = graph.iterate("loop", iterations, [&](std::uint64_t iteration) {
    for (unsigned step = 0; step != 5; ++step) {
      if ((kinds[iteration % kinds.size()] >> step & 1U) == 0) continue;
      auto const by = static_cast<long>(iteration + step);
      task(graph, "step " + std::to_string(step), {updates(x)},
           [&, by] { x[0] = (x[0] * 7 + by) % 10007; });
      expected = (expected * 7 + by) % 10007;
    }
  });
  graph.wait();
  EXPECT_EQ(x[0], expected);
  return report;
}

TEST_F(IterateMemory, EightDifferentIterationsAreRemembered) {
  for (std::vector<unsigned> const& kinds : {std::vector<unsigned>{1, 3, 7, 15, 31, 29, 27, 23},
                                             std::vector<unsigned>{31, 15, 7, 3, 1, 5, 13, 9},
                                             std::vector<unsigned>{1, 2, 4, 8, 16, 17, 18, 31}}) {
    IterateReport const report = loop_over_kinds(kinds, 400);
    EXPECT_EQ(report.recorded, 8U);
    EXPECT_EQ(report.replayed, 392U);
    EXPECT_EQ(report.dynamic, 0U);
  }
}

TEST_F(IterateMemory, OfMoreThanEightThoseUsedLast) {
  std::vector<unsigned> kinds;
  for (unsigned k = 1; k != 13; ++k) kinds.insert(kinds.end(), 20, k);
  IterateReport const report = loop_over_kinds(kinds, 480);
  EXPECT_EQ(report.recorded, 24U);
  EXPECT_EQ(report.replayed, 456U);
}

TEST_F(IterateMemory, IterationsThatAllDifferAreSeldomRecorded) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  IterateReport const report = graph.iterate("loop", 200, [&](std::uint64_t k) {
    task(graph, "step " + std::to_string(k), {updates(x)}, [&] { ++x[0]; });
  });
  graph.wait();
  EXPECT_EQ(x[0], 200);
  EXPECT_LT(report.recorded, 40U);
  EXPECT_EQ(report.recorded + report.dynamic, 200U);
}

TEST_F(IterateMemory, ALoopThatSettlesAfterManyDifferentIterationsIsReplayed) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  IterateReport const report = graph.iterate("loop", 300, [&](std::uint64_t k) {
    task(graph, "step " + std::to_string(std::min<std::uint64_t>(k, 100)), {updates(x)},
         [&] { ++x[0]; });
  });
  graph.wait();
  EXPECT_EQ(x[0], 300);
  EXPECT_GT(report.replayed, 180U);
}

}  // namespace
}  // namespace trellis
