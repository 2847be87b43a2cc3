// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops whose iterations are replayed when they are alike.
#include "BareTask.hpp"
#include "Timing.hpp"

#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <memory>
#include <random>
#include <stdexcept>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;
using testing::AllOf;
using testing::HasSubstr;

class Iterate : public Timed {};

TEST_F(Iterate, LaterIterationsRunTheirOwnFunctors) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  IterateReport const report = graph.iterate("loop", 20, [&](std::uint64_t k) {
    task(graph, "grow", {updates(x)}, [&, k] { x[0] = 3 * x[0] + static_cast<long>(k % 7); });
    task(graph, "shrink", {updates(x)}, [&] { x[0] %= 1000; });
  });
  graph.wait();
  long expected = 0;
  for (long k = 0; k != 20; ++k) expected = (3 * expected + k % 7) % 1000;
  EXPECT_EQ(x[0], expected);
  EXPECT_EQ(report.recorded + report.replayed, 20U);
  EXPECT_LE(report.recorded, 2U);
  EXPECT_EQ(report.dynamic, 0U);
}

TEST_F(Iterate, BuffersMayChangeRoles) {
  Block x("x");
  Block y("y");
  Block* from = &x;
  Block* to = &y;
  TaskGraph graph(with_workers(2));
  IterateReport const report = graph.iterate("loop", 31, [&] {
    task(graph, "step", {reads(*from), writes(*to)}, [from, to] { (*to)[0] = (*from)[0] + 1; });
    std::swap(from, to);
  });
  graph.wait();
  EXPECT_EQ((*from)[0], 31);
  EXPECT_LE(report.recorded, 4U);
  EXPECT_EQ(report.dynamic, 0U);
}

TEST_F(Iterate, StopsWhenTheBodySaysSo) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  int count = 0;
  graph.iterate("loop", 100, [&](std::uint64_t k) {
    ++count;
    task(graph, "step", {updates(x)}, [&] { ++x[0]; });
    return k < 4;
  });
  graph.wait();
  EXPECT_EQ(count, 5);
  EXPECT_EQ(x[0], 5);
}

TEST_F(Iterate, AnIterationThatWaitsForItsOwnTaskIsSubmitted) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  long seen = 0;
  IterateReport const report = graph.iterate("loop", 10, [&] {
    task(graph, "grow", {updates(x)}, [&] { x[0] += 2; });
    Future<long> const sum = task(graph, "sum", {reads(x)}, [&] { return x[0]; });
    seen = sum.get();
    task(graph, "half", {updates(x)}, [&] { x[0] -= 1; });
    return seen < 8;
  });
  graph.wait();
  EXPECT_EQ(seen, 8);
  EXPECT_EQ(x[0], 7);
  EXPECT_EQ(report.dynamic, 7U);
}

TEST_F(Iterate, AnIterationMayWaitForTheOneBefore) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  Future<long> before;
  IterateReport const report = graph.iterate("loop", 50, [&](std::uint64_t k) {
    if (k > 0) {
      EXPECT_EQ(before.get(), static_cast<long>(k));
    }
    before = task(graph, "grow", {updates(x)}, [&] { return ++x[0]; });
  });
  EXPECT_EQ(before.get(), 50);
  EXPECT_EQ(report.dynamic, 0U);
  EXPECT_LE(report.recorded, 2U);
}

TEST_F(Iterate, FuturesBelongToTheirIteration) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  std::vector<Future<long>> results;
  std::vector<Future<void>> ends;
  graph.iterate("loop", 12, [&](std::uint64_t k) {
    results.push_back(task(graph, "grow", {updates(x)}, [&, k] {
      if (k == 5) throw std::runtime_error("five");
      return ++x[0];
    }));
    ends.push_back(task(graph, "end", {reads(x)}, [] {}));
  });
  EXPECT_THAT(message_of([&] { graph.wait(); }), HasSubstr("five"));
  for (std::size_t k = 0; k != 12; ++k) {
    std::string const text =
        message_of([&] { EXPECT_EQ(results[k].get(), static_cast<long>(k) + 1); });
    std::string const end = message_of([&] { ends[k].get(); });
    if (k < 5) {
      EXPECT_EQ(text, "no error") << k;
      EXPECT_EQ(end, "no error") << k;
    } else if (k == 5) {
      EXPECT_THAT(text, HasSubstr("failed: five"));
      EXPECT_THAT(end, AllOf(HasSubstr("was cancelled"), HasSubstr("five")));
    } else {
      EXPECT_THAT(text, AllOf(HasSubstr("\"grow\""), HasSubstr("five"))) << k;
      EXPECT_THAT(end, HasSubstr("five")) << k;
    }
  }
}

TEST_F(Iterate, ADifferentIterationIsSubmittedAsItIs) {
  Block x("x");
  Block y("y");
  TaskGraph graph(with_workers(2));
  std::array<long, 2> expected{};
  IterateReport const report = graph.iterate("loop", 40, [&](std::uint64_t k) {
    bool const odd_one = k % 10 == 7;
    task(graph, "a", {updates(x)}, [&] { x[0] = 2 * x[0] % 1009 + 1; });
    if (odd_one) task(graph, "extra", {updates(x)}, [&] { x[0] += 5; });
    task(graph, "b", {reads(x), updates(y)}, [&] { y[0] = (3 * y[0] + x[0]) % 1013; });
    if (k % 10 == 9) return true;  // one task less
    task(graph, "c", {updates(y)}, [&] { y[0] += 1; });
    return true;
  });
  graph.wait();
  for (int k = 0; k != 40; ++k) {
    expected[0] = 2 * expected[0] % 1009 + 1;
    if (k % 10 == 7) expected[0] += 5;
    expected[1] = (3 * expected[1] + expected[0]) % 1013;
    if (k % 10 != 9) expected[1] += 1;
  }
  EXPECT_EQ(x[0], expected[0]);
  EXPECT_EQ(y[0], expected[1]);
  EXPECT_EQ(report.recorded + report.replayed + report.dynamic, 40U);
  EXPECT_GT(report.replayed, 10U);
}

TEST_F(Iterate, OrdersItsIterationsWithTasksAround) {
  Block x("x");
  TaskGraph graph(with_workers(3));
  task(graph, "before", {writes(x)}, [&] { x[0] = 100; });
  graph.iterate("loop", 10, [&] { task(graph, "in", {updates(x)}, [&] { x[0] += 1; }); });
  Future<long> const after = task(graph, "after", {reads(x)}, [&] { return x[0]; });
  EXPECT_EQ(after.get(), 110);
}

TEST_F(Iterate, BodiesMayThrowAndWhatTheySubmittedStays) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  EXPECT_THROW(graph.iterate("loop", 10,
                             [&](std::uint64_t k) {
                               task(graph, "in", {updates(x)}, [&] { x[0] += 1; });
                               if (k == 3) throw std::runtime_error("stop");
                             }),
               std::runtime_error);
  graph.wait();
  EXPECT_EQ(x[0], 4);
}

TEST_F(Iterate, FunctorsWhoseCopyThrowsLoseNothing) {
  struct Throws {
    std::shared_ptr<int> left;
    explicit Throws(int copies) : left(std::make_shared<int>(copies)) {}
    Throws(Throws const& other) : left(other.left) {
      if (--*left < 0) throw std::runtime_error("copy");
    }
    Throws(Throws&& other) : Throws(static_cast<Throws const&>(other)) {}
    void operator()() const {}
  };
  Block x("x");
  TaskGraph graph(with_workers(2));
  EXPECT_THROW(graph.iterate("loop", 10,
                             [&](std::uint64_t k) {
                               task(graph, "first", {updates(x)}, [&] { x[0] += 1; });
                               task(graph, "second", {updates(x)}, Throws(k == 4 ? 1 : 100));
                             }),
               std::runtime_error);
  graph.wait();
  EXPECT_EQ(x[0], 5);
}

TEST_F(Iterate, MayReplayPlansAndNestItself) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  Plan const plan = graph.record([&] { task(graph, "in plan", {updates(x)}, [&] { x[0] += 1; }); });
  std::vector<Future<void>> replays;
  IterateReport const report = graph.iterate("outer", 10, [&](std::uint64_t k) {
    replays.push_back(graph.replay(plan, 1 + k % 3));
    graph.iterate("inner", 2, [&] { task(graph, "in inner", {updates(x)}, [&] { x[0] += 100; }); });
  });
  for (Future<void> const& replay : replays) replay.get();
  graph.wait();
  EXPECT_EQ(x[0], 2000 + 4 * 1 + 3 * 2 + 3 * 3);
  EXPECT_EQ(report.dynamic, 0U);
}

TEST_F(Iterate, AnIterationThatStopsMatchingAfterAReplaySubmitsThatToo) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  Plan const plan = graph.record([&] { task(graph, "in plan", {updates(x)}, [&] { x[0] += 1; }); });
  Future<void> last;
  graph.iterate("outer", 6, [&](std::uint64_t k) {
    Future<void> const replay = graph.replay(plan, 2);
    last = task(graph, k == 4 ? "other" : "same", {updates(x)}, [&] { x[0] *= 2; });
    if (k == 5) replay.get();
  });
  last.get();
  graph.wait();
  long expected = 0;
  for (int k = 0; k != 6; ++k) expected = (expected + 2) * 2;
  EXPECT_EQ(x[0], expected);
}

TEST_F(Iterate, CapturedThingsAreFreeWhenTheLoopIsOver) {
  auto const witness = std::make_shared<int>(0);
  Block x("x");
  TaskGraph graph(with_workers(2));
  graph.iterate("loop", 10, [&] { task(graph, "in", {updates(x)}, [witness] { ++*witness; }); });
  graph.wait();
  EXPECT_EQ(*witness, 10);
  EXPECT_EQ(witness.use_count(), 1);
}

// Iterations that differ at random, against plain loops.
TEST_F(Iterate, RandomIterationsGiveWhatPlainLoopsGive) {
  for (unsigned seed = 0; seed != 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    auto const pick = [&](unsigned below) { return static_cast<unsigned>(random()) % below; };
    struct Step {
      bool reads_y;
      unsigned cell;
      unsigned long by;
      bool waits;
    };
    std::vector<std::vector<Step>> kinds(1 + pick(3));
    for (auto& kind : kinds) {
      kind.resize(1 + pick(5));
      for (Step& step : kind) step = {pick(2) == 0, pick(4), pick(100), pick(12) == 0};
    }
    std::vector<std::size_t> iterations(30);
    for (std::size_t& kind : iterations) kind = pick(static_cast<unsigned>(kinds.size()));
    std::vector<unsigned long> expected(5, 1);
    for (std::size_t const kind : iterations)
      for (Step const& step : kinds[kind])
        expected[step.cell] =
            expected[step.cell] * 7 + step.by + (step.reads_y ? expected[4]++ : 0);

    Block x("x", 5);
    for (std::size_t k = 0; k != 5; ++k) x[k] = 1;
    TaskGraph graph(with_workers(1 + static_cast<int>(seed % 3)));
    graph.iterate("loop", iterations.size(), [&](std::uint64_t k) {
      for (Step const step : kinds[iterations[k]]) {
        std::vector<Touch> touches{updates(x(step.cell, 1))};
        if (step.reads_y) touches.push_back(updates(x(4, 1)));
        Future<void> const done = task(graph, "step", touches, [&x, step] {
          auto const old = static_cast<unsigned long>(x[step.cell]);
          x[step.cell] = static_cast<long>(old * 7 + step.by +
                                           (step.reads_y ? static_cast<unsigned long>(x[4]++) : 0));
        });
        if (step.waits) done.get();
      }
    });
    graph.wait();
    for (std::size_t k = 0; k != 5; ++k) ASSERT_EQ(static_cast<unsigned long>(x[k]), expected[k]);
  }
}

}  // namespace
}  // namespace trellis
