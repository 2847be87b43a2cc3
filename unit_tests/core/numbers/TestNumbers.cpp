// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tasks that are named by numbers.
#include "BareTask.hpp"
#include "OrderTest.hpp"
#include "Timing.hpp"

#include <Trellis_TaskNumbers.hpp>
#include <numbers/Trellis_UnspawnedRanges.hpp>

#include <gmock/gmock.h>

#include <atomic>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <ranges>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <unordered_set>
#include <vector>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// --- the value -----------------------------------------------------------------------------------

static_assert(std::is_trivially_copyable_v<TaskNumber>);
static_assert(std::weakly_incrementable<TaskNumber>);
static_assert(Impl::NumberRange<std::set<TaskNumber>&>);
static_assert(Impl::NumberRange<std::span<TaskNumber const>>);
static_assert(!Impl::NumberRange<TaskNumber>);
static_assert(!Impl::NumberRange<std::vector<int>>);

class Numbers : public Timed {};

TEST_F(Numbers, AreInARowUniqueAndGrow) {
  TaskGraph graph(with_workers(1));
  TaskNumbers const numbers(graph);
  TaskNumber const first = numbers.reserve(3);
  EXPECT_TRUE(first.valid());
  EXPECT_EQ(first.value(), 1u);
  EXPECT_EQ((first + 2).value(), 3u);
  EXPECT_EQ((first + 2) - first, 2);
  EXPECT_LT(first, first + 1);
  TaskNumber const next = numbers.reserve();
  EXPECT_EQ(next, first + 3);
  EXPECT_EQ(numbers.reserved(), 4u);
  EXPECT_EQ(numbers.at(2), first + 1);
  TaskNumber k = first;
  EXPECT_EQ(k++, first);
  EXPECT_EQ(k, first + 1);

  TaskNumbers const others(graph);
  EXPECT_NE(others.reserve(), first);
  std::unordered_set<TaskNumber> both{first, first + 1, others.at(1), first};
  EXPECT_EQ(both.size(), 3u);
}

TEST_F(Numbers, OfNoTaskStandForNothing) {
  TaskNumber const none;
  EXPECT_FALSE(none.valid());
  EXPECT_EQ(none + 1, none);
  TaskGraph graph(with_workers(1));
  bool ran = false;
  task(graph, "fire and forget", {}, [&] { ran = true; }, numbered(none, {none, none}));
  graph.wait(none);
  graph.wait({none, none});
  EXPECT_TRUE(graph.is_done(none));
  graph.wait();
  EXPECT_TRUE(ran);
}

TEST_F(Numbers, AreWrittenAsSets) {
  TaskGraph graph(with_workers(1));
  TaskNumbers const numbers(graph);
  TaskNumber const first = numbers.reserve(4);
  EXPECT_EQ(to_string(std::set<TaskNumber>()), "{<empty>}");
  EXPECT_EQ(to_string(std::set<TaskNumber>{first + 3, first, first + 2, first + 1}), "{1,2,3,4}");
  EXPECT_EQ(to_string(std::vector<TaskNumber>{first + 1}), "{2}");
  EXPECT_EQ(to_string(std::views::iota(first, first + 3)), "{1,2,3}");
  std::ostringstream text;
  text << first << ' ' << TaskNumber();
  EXPECT_EQ(text.str(), "1 none");
}

TEST_F(Numbers, EndWhenThereAreNoMore) {
  TaskGraph graph(with_workers(1));
  TaskNumbers const numbers(graph);
  (void)numbers.reserve(std::numeric_limits<std::uint64_t>::max() - 10);
  EXPECT_THAT(error_of([&] { (void)numbers.reserve(11); }).what(), HasSubstr("numbers left"));
  TaskNumber const last = numbers.reserve(9);
  bool ran = false;
  task(graph, "last", {}, [&] { ran = true; }, numbered(last + 8));
  graph.wait(last + 8);
  EXPECT_TRUE(ran);
}

// --- what is wrong -------------------------------------------------------------------------------

TEST_F(Numbers, ThatWereNeverReservedAreRefused) {
  TaskGraph graph(with_workers(1));
  TaskNumbers const numbers(graph);
  TaskNumber const beyond = numbers.reserve(2) + 2;
  for (TaskNumber const wrong : {beyond, numbers.at(0), numbers.at(99)}) {
    Error const error =
        error_of([&] { task(graph, "b", {}, [] { FAIL(); }, after_numbers({wrong})); });
    EXPECT_EQ(error.kind(), Error::Kind::bad_input);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("task \"b\""), HasSubstr("TestNumbers.cpp:"),
                                    HasSubstr("after(...) the number " + to_string(wrong) + ','),
                                    HasSubstr("never been reserved")));
    EXPECT_THAT(error_of([&] { task(graph, "c", {}, [] { FAIL(); }, numbered(wrong)); }).what(),
                AllOf(HasSubstr("is to have"), HasSubstr("never been reserved")));
    EXPECT_THAT(error_of([&] { graph.wait(wrong); }).what(),
                AllOf(HasSubstr("TestNumbers.cpp:"), HasSubstr("waits for"),
                      HasSubstr("never been reserved")));
    EXPECT_THAT(error_of([&] { (void)graph.is_done(wrong); }).what(),
                HasSubstr("never been reserved"));
  }
  EXPECT_EQ(graph.submitted(), 0u);
}

TEST_F(Numbers, WithoutATaskAreRefusedAndMayBeUsedLater) {
  TaskGraph graph(with_workers(1));
  TaskNumbers const numbers(graph);
  TaskNumber const first = numbers.reserve(3);
  EXPECT_THAT(error_of([&] { task(graph, "b", {}, [] {}, after_numbers({first + 1})); }).what(),
              AllOf(HasSubstr("the number 2,"), HasSubstr("no task has been spawned")));
  EXPECT_THAT(error_of([&] { graph.wait({first, first + 1}); }).what(),
              HasSubstr("no task has been spawned"));
  EXPECT_THAT(error_of([&] { (void)graph.is_done(first); }).what(),
              HasSubstr("no task has been spawned"));
  EXPECT_THAT(error_of([&] { task(graph, "itself", {}, [] {}, numbered(first, {first})); }).what(),
              AllOf(HasSubstr("itself"), HasSubstr("no task has been spawned")));
  std::string order;
  task(graph, "a", {}, [&] { order += 'a'; }, numbered(first + 1));
  task(graph, "b", {}, [&] { order += 'b'; }, numbered(first, {first + 1}));
  graph.wait({first, first + 1});
  EXPECT_EQ(order, "ab");
}

TEST_F(Numbers, AreForOneTaskEach) {
  TaskGraph graph(with_workers(1));
  TaskNumbers const numbers(graph);
  TaskNumber const k = numbers.reserve(200);
  Gate end;
  task(graph, "has it", {}, [&] { EXPECT_TRUE(end.pass()); }, numbered(k));
  auto const again = [&] {
    return error_of([&] { task(graph, "again", {}, [] { FAIL(); }, numbered(k)); });
  };
  EXPECT_THAT(again().what(), AllOf(HasSubstr("\"again\""), HasSubstr("the number 1,"),
                                    HasSubstr("which task #1 has")));
  end.open();
  graph.wait();
  // Until it is forgotten, too.
  for (unsigned n = 1; n < 200; ++n) task(graph, "other", {}, [] {}, numbered(k + n));
  graph.wait();
  EXPECT_EQ(again().kind(), Error::Kind::bad_input);
  EXPECT_THAT(again().what(), HasSubstr("a task has had that is complete"));
  EXPECT_TRUE(graph.is_done(k));
}

TEST_F(Numbers, AreOfOneGraph) {
  TaskGraphOptions named = with_workers(1);
  named.name = "the first";
  TaskGraph first(named);
  TaskGraph second(with_workers(1));
  TaskNumbers const numbers(first);
  TaskNumber const k = numbers.reserve(2);
  task(first, "a", {}, [] {}, numbered(k));
  for (auto const& wrong :
       {error_of([&] { task(second, "b", {}, [] {}, after_numbers({k})); }),
        error_of([&] { task(second, "b", {}, [] {}, numbered(k + 1)); }),
        error_of([&] { second.wait(k); }), error_of([&] { (void)second.is_done(k); })}) {
    EXPECT_EQ(wrong.kind(), Error::Kind::bad_input);
    EXPECT_THAT(wrong.what(), HasSubstr("TaskNumbers of another graph, the first"));
  }
  task(first, "b", {}, [] {}, numbered(k + 1, {k}));
  first.wait();
}

TEST_F(Numbers, MayOutliveTheirGraphAndTheOtherWayRound) {
  std::optional<TaskGraph> graph(std::in_place, with_workers(1));
  std::optional<TaskNumbers> numbers(std::in_place, *graph);
  TaskNumber const k = numbers->reserve(2);
  task(*graph, "a", {}, [] {}, numbered(k));
  graph.reset();
  (void)numbers->reserve();
  TaskGraph later(with_workers(1));
  EXPECT_THAT(error_of([&] { later.wait(k); }).what(), HasSubstr("another graph"));
  EXPECT_THAT(error_of([&] { task(later, "b", {}, [] {}, numbered(k + 1)); }).what(),
              HasSubstr("another graph"));

  std::optional<TaskNumbers> own(std::in_place, later);
  TaskNumber const n = own->reserve(2);
  Gate end;
  bool ran = false;
  task(later, "c", {}, [&] { ran = end.pass(); }, numbered(n));
  own.reset();
  numbers.reset();
  for (TaskNumber const gone : {n, n + 1, k}) {
    EXPECT_THAT(error_of([&] { later.wait(gone); }).what(), HasSubstr("not there any more"));
    EXPECT_THAT(error_of([&] { task(later, "d", {}, [] {}, after_numbers({gone})); }).what(),
                HasSubstr("not there any more"));
  }
  TaskNumbers const reused(later);  // in the same place
  (void)reused.reserve(2);
  EXPECT_THAT(error_of([&] { later.wait(n); }).what(), HasSubstr("not there any more"));
  end.open();
  later.wait();
  EXPECT_TRUE(ran);
}

TEST_F(Numbers, OfAClosedGraphCannotBeHadAndCopiesShareThem) {
  TaskGraph graph(with_workers(1));
  std::optional<TaskNumbers> first(std::in_place, graph);
  TaskNumbers const copy = *first;
  TaskNumbers const moved = std::move(*first);
  TaskNumber const k = first->reserve();
  first.reset();
  EXPECT_EQ(copy.reserve(), k + 1);
  EXPECT_EQ(moved.reserve(), k + 2);
  task(graph, "a", {}, [] {}, numbered(k));
  graph.wait(k);
}

/// A body whose copy into the task throws.
struct ThrowsWhenMoved {
  ThrowsWhenMoved() = default;
  ThrowsWhenMoved(ThrowsWhenMoved const&) = default;
  ThrowsWhenMoved(ThrowsWhenMoved&& other) : moves(other.moves + 1) {
    if (moves == 2) throw std::runtime_error("not that");
  }
  int moves = 0;
  void operator()() const {}
};

TEST_F(Numbers, AreAsBeforeWhenTheSubmissionThrows) {
  for (bool const is_child : {false, true}) {
    TaskGraph graph(with_workers(1));
    TaskNumbers const numbers(graph);
    TaskNumber const k = numbers.reserve();
    Block x("x");
    auto const tries = [&](Impl::TaskHandle const* parent) {
      auto const submit = [&](auto body, std::vector<Touch> const& touches,
                              Properties const& properties) {
        if (parent != nullptr) return child_of(*parent, "t", touches, body, properties);
        return task(graph, "t", touches, body, properties);
      };
      Properties self = numbered(k);
      self.after = {Impl::TaskHandle()};  // of no task
      EXPECT_THROW(submit([] {}, {}, self), Error);
      EXPECT_THROW(submit([] {}, {}, numbered(k, {k})), Error);
      if (parent != nullptr) {
        EXPECT_THROW(submit([] {}, {writes(x)}, numbered(k)), Error);
      }
      EXPECT_THAT(error_of([&] { graph.wait(k); }).what(), HasSubstr("no task has been spawned"));
      submit([] {}, {}, numbered(k));
    };
    if (is_child)
      task(graph, "parent", {}, [&] {
        Impl::TaskHandle const parent = self();
        tries(&parent);
      });
    else
      tries(nullptr);
    graph.wait();
    EXPECT_TRUE(graph.is_done(k));
  }
}

TEST_F(Numbers, AreAsBeforeWhenTheBodyCannotBeMoved) {
  TaskGraph graph(with_workers(1));
  TaskNumbers const numbers(graph);
  TaskNumber const k = numbers.reserve();
  bool thrown = false;
  try {
    task(graph, "t", {}, ThrowsWhenMoved(), numbered(k));
  } catch (std::runtime_error const& error) {
    thrown = true;
    EXPECT_STREQ(error.what(), "not that");
  }
  EXPECT_TRUE(thrown);
  EXPECT_THAT(error_of([&] { graph.wait(k); }).what(), HasSubstr("no task has been spawned"));
  task(graph, "t", {}, [] {}, numbered(k));
  graph.wait(k);
}

// --- order ---------------------------------------------------------------------------------------

/// How a graph takes its tasks.
enum class Way { workers, serial, recorded, told, capped, warned };

class NumbersInEachWay : public testing::TestWithParam<Way> {
 protected:
  static TaskGraphOptions options() {
    TaskGraphOptions all = with_workers(2);
    all.serial = GetParam() == Way::serial;
    all.record = GetParam() == Way::recorded;
    if (GetParam() == Way::told)
      all.policy = std::make_shared<Seeing>([](SubmittedTask, SchedulingEdges&) {});
    if (GetParam() == Way::capped) all.in_flight = 1;
    all.warn = GetParam() == Way::warned;
    return all;
  }

 private:
  Watchdog m_watchdog{sanitized ? 240s : 60s, [] { return std::string("NumbersInEachWay"); }};
};
INSTANTIATE_TEST_SUITE_P(Ways, NumbersInEachWay,
                         testing::Values(Way::workers, Way::serial, Way::recorded, Way::told,
                                         Way::capped, Way::warned));

TEST_P(NumbersInEachWay, OrderTasksThatShareNothing) {
  TaskGraph graph(options());
  TaskNumbers const numbers(graph);
  TaskNumber const k = numbers.reserve(3);
  std::atomic<int> done{0};
  task(graph, "a", {}, [&] { compute_for(200us), done |= 1; }, numbered(k));
  task(graph, "b", {}, [&] { compute_for(200us), done |= 2; }, numbered(k + 1));
  auto const c =
      task(graph, "c", {}, [&] { EXPECT_EQ(done.fetch_or(4), 3); }, numbered(k + 2, {k, k + 1}));
  Properties mixed = after_numbers({k + 2});
  mixed.after = handles(c);
  task(graph, "d", {}, [&] { EXPECT_EQ(done.fetch_or(8), 7); }, mixed);
  graph.wait(std::set<TaskNumber>{k, k + 1, k + 2});
  EXPECT_EQ(done & 7, 7);
  graph.wait();
  if (GetParam() == Way::recorded) {
    EXPECT_THAT(edges_of(graph.dependency_graph()),
                ElementsAre("a>c after", "b>c after", "c>d after"));
  }
}

/// The task may run, and what it releases may name it, before the call that submits it returns.
TEST_P(NumbersInEachWay, AreKnownToTheTaskItself) {
  TaskGraph graph(options());
  TaskNumbers const numbers(graph);
  std::atomic<int> ran{0};
  int const rounds = sanitized ? 100 : 1000;
  for (int round = 0; round < rounds; ++round) {
    TaskNumber const k = numbers.reserve(2);
    task(
        graph, "a", {},
        [&, k] {
          task(graph, "b", {}, [&] { ++ran; }, numbered(k + 1, {k}));
          EXPECT_FALSE(graph.is_done(k));
          ++ran;
        },
        numbered(k));
  }
  graph.wait();
  EXPECT_EQ(ran, 2 * rounds);
}

TEST_P(NumbersInEachWay, OrderChildren) {
  TaskGraph graph(options());
  TaskNumbers const numbers(graph);
  TaskNumber const k = numbers.reserve(4);
  std::atomic<int> done{0};
  task(graph, "outside", {}, [&] { done |= 1; }, numbered(k));
  task(
      graph, "parent", {},
      [&] {
        child("p", {}, [&] { done |= 2; }, numbered(k + 1, {k}));
        child("q", {}, [&] { EXPECT_EQ(done.fetch_or(4) & 3, 3); }, numbered(k + 2, {k + 1}));
        graph.wait({k + 1, k + 2});
        EXPECT_EQ(done & 7, 7);
        // To wait for itself, or for a child of oneself to come after oneself, is a circle.
        EXPECT_EQ(error_of([&] { graph.wait(k + 3); }).kind(), Error::Kind::deadlock);
        EXPECT_EQ(error_of([&] { child("r", {}, [] {}, after_numbers({k + 3})); }).kind(),
                  Error::Kind::deadlock);
      },
      numbered(k + 3));
  graph.wait();
  EXPECT_EQ(done, 7);
}

TEST_P(NumbersInEachWay, CancelUntilTheFailureHasBeenToldOf) {
  TaskGraph graph(options());
  TaskNumbers const numbers(graph);
  TaskNumber const k = numbers.reserve(5);
  task(graph, "fails", {}, [] { throw std::runtime_error("no"); }, numbered(k));
  let_the_workers_finish(graph);
  task(graph, "behind", {}, [] { FAIL(); }, numbered(k + 1, {k}));
  task(graph, "good", {}, [] {}, numbered(k + 2));
  Error const error = error_of([&] { graph.wait({k + 2, k + 1, k}); });
  EXPECT_EQ(error.kind(), Error::Kind::cancelled);  // the first one in this order
  EXPECT_THAT(error.what(), AllOf(HasSubstr("\"behind\""), HasSubstr("no")));
  Error const first = error_of([&] { graph.wait({k, k + 1}, Awaited::fused); });
  EXPECT_EQ(first.kind(), Error::Kind::task_failed);
  EXPECT_THAT(first.what(), HasSubstr("\"fails\""));
  EXPECT_THAT(error_of([&] { graph.wait(); }).what(), HasSubstr("\"fails\""));
  graph.wait({k, k + 1});
  bool ran = false;
  task(graph, "later", {}, [&] { ran = true; }, numbered(k + 3, {k, k + 1}));
  graph.wait(k + 3, Awaited::unfused);
  EXPECT_TRUE(ran);
}

TEST_P(NumbersInEachWay, WaitsThrowAfterAllAreComplete) {
  TaskGraph graph(options());
  TaskNumbers const numbers(graph);
  TaskNumber const k = numbers.reserve(2);
  std::atomic<bool> ended{false};
  task(graph, "fails", {}, [] { throw std::runtime_error("no"); }, numbered(k));
  task(graph, "long", {}, [&] { compute_for(2000us), ended = true; }, numbered(k + 1));
  EXPECT_EQ(error_of([&] { graph.wait({k, k + 1}); }).kind(), Error::Kind::task_failed);
  EXPECT_TRUE(ended);
  EXPECT_THROW(graph.wait(), Error);
}

TEST_P(NumbersInEachWay, OfRecordedTasksStayAsLongAsThePlan) {
  TaskGraph graph(options());
  TaskNumbers const numbers(graph);
  TaskNumber const k = numbers.reserve(1000);
  std::string order;
  std::atomic<bool> before{false};
  task(graph, "before", {}, [&] { compute_for(500us), before = true; }, numbered(k));
  std::optional<Plan> plan(graph.record("plan", [&] {
    task(
        graph, "a", {},
        [&] {
          EXPECT_TRUE(before);
          order += 'a';
        },
        numbered(k + 1, {k}));
    task(graph, "b", {}, [&] { order += 'b'; }, numbered(k + 2, {k + 1}));
    EXPECT_EQ(error_of([&] { graph.wait(k + 1); }).kind(), Error::Kind::bad_input);
    EXPECT_THAT(error_of([&] { task(graph, "c", {}, [] {}, numbered(k + 2)); }).what(),
                HasSubstr("a task of a plan"));
  }));
  EXPECT_EQ(plan->edges(), 1u);
  EXPECT_TRUE(graph.is_done(k + 1));  // as that of its future
  graph.replay(*plan, 3);
  graph.wait({k + 1, k + 2});
  EXPECT_EQ(order, "ababab");
  // Others come and go.
  for (unsigned n = 10; n < 900; ++n) task(graph, "other", {}, [] {}, numbered(k + n));
  auto const c = task(graph, "c", {}, [&] { order += 'c'; }, numbered(k + 3, {k + 2}));
  c.wait();
  graph.replay(*plan, 1);
  graph.wait(k + 2);
  EXPECT_EQ(order, "abababcab");
  EXPECT_THAT(error_of([&] {
                Plan const other = graph.record(
                    "other", [&] { task(graph, "d", {}, [] {}, after_numbers({k + 1})); });
              }).what(),
              HasSubstr("a task of another plan"));
  graph.wait();
  plan.reset();
  for (unsigned n = 900; n < 1000; ++n) task(graph, "other", {}, [] {}, numbered(k + n));
  graph.wait({k + 1, k + 2});
  EXPECT_THAT(error_of([&] { task(graph, "e", {}, [] {}, numbered(k + 2)); }).what(),
              HasSubstr("which"));
}

TEST_P(NumbersInEachWay, FailuresOfRecordedTasksAreThoseOfTheNewestReplay) {
  TaskGraph graph(options());
  TaskNumbers const numbers(graph);
  TaskNumber const k = numbers.reserve(2);
  bool fails = true;
  Plan const plan = graph.record("plan", [&] {
    task(
        graph, "a", {},
        [&] {
          if (fails) throw std::runtime_error("this time");
        },
        numbered(k));
    task(graph, "b", {}, [] {}, numbered(k + 1, {k}));
  });
  graph.replay(plan);
  EXPECT_THAT(error_of([&] { graph.wait({k + 1, k}); }).what(), HasSubstr("this time"));
  EXPECT_THROW(graph.wait(), Error);
  fails = false;
  graph.replay(plan);
  graph.wait({k + 1, k});
  graph.wait();
}

TEST_P(NumbersInEachWay, OfAnIterationAreKnownAtOnce) {
  TaskGraph graph(options());
  TaskNumbers const numbers(graph);
  Block x("x");
  Block y("y");
  std::vector<TaskNumber> all;
  auto const report = graph.iterate(Label("loop"), 20, [&](std::uint64_t iteration) {
    TaskNumber const k = numbers.reserve(2);
    all.push_back(k);
    all.push_back(k + 1);
    task(graph, "x", {updates(x)}, [&] { x[0] += 1; }, numbered(k));
    task(graph, "y", {reads(x), updates(y)}, [&] { y[0] += x[0]; }, numbered(k + 1));
    if (iteration == 7) {  // on demand
      graph.wait(k + 1);
      EXPECT_EQ(x[0], 8);
    }
    if (iteration == 9) {
      EXPECT_THAT(error_of([&] { task(graph, "z", {}, [] {}, numbered(k)); }).what(),
                  HasSubstr("the number"));
    }
    if (iteration == 11)
      task(graph, "z", {reads(x)}, [&] { EXPECT_EQ(x[0], 12); }, after_numbers({k}));
  });
  EXPECT_EQ(report.recorded + report.replayed + report.dynamic, 20u);
  if (GetParam() == Way::workers) {
    EXPECT_GT(report.replayed, 10u);
  }
  graph.wait(all);
  EXPECT_EQ(x[0], 20);
  EXPECT_EQ(y[0], 210);
  EXPECT_TRUE(graph.is_done(all));
}

TEST_P(NumbersInEachWay, OfAnIterationThatFailsCancel) {
  TaskGraph graph(options());
  TaskNumbers const numbers(graph);
  Block x("x");
  TaskNumber const k = numbers.reserve(2);
  graph.iterate(Label("loop"), 1, [&] {
    task(graph, "x", {updates(x)}, [] { throw std::runtime_error("no"); }, numbered(k));
  });
  let_the_workers_finish(graph);
  auto const behind = task(graph, "behind", {}, [] { FAIL(); }, numbered(k + 1, {k}));
  EXPECT_THAT(error_of([&] { graph.wait({k}); }).what(), HasSubstr("no"));
  EXPECT_EQ(error_of([&] { behind.get(); }).kind(), Error::Kind::cancelled);
  EXPECT_THROW(graph.wait(), Error);
  graph.wait({k, k + 1});
}

TEST_P(NumbersInEachWay, AreGivenBySeveralThreads) {
  TaskGraph graph(options());
  TaskNumbers const numbers(graph);
  int const count = sanitized ? 200 : 2000;
  constexpr int threads = 3;
  std::vector<std::atomic<int>> counts(threads);
  std::vector<std::thread> submitters;
  for (int t = 0; t < threads; ++t)
    submitters.emplace_back([&, t] {
      TaskNumber before;
      std::atomic<int>& mine = counts[static_cast<std::size_t>(t)];
      for (int n = 0; n < count; ++n) {
        TaskNumber const k = numbers.reserve(2);
        task(graph, "t", {}, [&mine, n] { EXPECT_EQ(mine++, n); }, numbered(k + 1, {before}));
        before = k + 1;
        if (n % 64 == 63) graph.wait(before);
      }
    });
  for (std::thread& each : submitters) each.join();
  graph.wait();
  for (auto const& each : counts) EXPECT_EQ(each, count);
}

/// Two threads that want one number: one of them gets it.
TEST_F(Numbers, AreGivenOnceWhoeverIsFirst) {
  TaskGraph graph(with_workers(1));
  TaskNumbers const numbers(graph);
  int const count = sanitized ? 200 : 2000;
  TaskNumber const first = numbers.reserve(static_cast<std::uint64_t>(count));
  std::atomic<int> got{0};
  std::atomic<int> refused{0};
  std::atomic<int> ran{0};
  std::vector<std::thread> submitters;
  for (int t = 0; t < 2; ++t)
    submitters.emplace_back([&] {
      for (int n = 0; n < count; ++n) try {
          task(graph, "t", {}, [&] { ++ran; }, numbered(first + static_cast<std::uint64_t>(n)));
          ++got;
        } catch (Error const& error) {
          EXPECT_EQ(error.kind(), Error::Kind::bad_input);
          ++refused;
        }
    });
  for (std::thread& each : submitters) each.join();
  graph.wait(std::views::iota(first, first + static_cast<std::uint64_t>(count)));
  EXPECT_EQ(got, count);
  EXPECT_EQ(refused, count);
  graph.wait();
  EXPECT_EQ(ran, count);
}

// --- waits inside of tasks -----------------------------------------------------------------------

TEST_F(Numbers, AreAwaitedInsideOfTasks) {
  TaskGraph graph(with_workers(1));
  TaskNumbers const numbers(graph);
  TaskNumber const k = numbers.reserve(3);
  std::string order;
  auto const outer = task(graph, "outer", {}, [&] {
    task(graph, "a", {}, [&] { order += 'a'; }, numbered(k));
    task(graph, "b", {}, [&] { order += 'b'; }, numbered(k + 1, {k}));
    graph.wait({k + 1, k}, Awaited::fused);
    order += 'o';
    task(graph, "c", {}, [] { throw std::runtime_error("inside"); }, numbered(k + 2));
    graph.wait(k + 2);
    order += 'x';
  });
  EXPECT_THAT(error_of([&] { outer.get(); }).what(), HasSubstr("inside"));
  EXPECT_EQ(order, "abo");
  EXPECT_THROW(graph.wait(), Error);
}

TEST_F(Numbers, CloseNoCirclesOfWaits) {
  TaskGraph graph(with_workers(2));
  TaskNumbers const numbers(graph);
  TaskNumber const k = numbers.reserve(2);
  Gate both;
  std::atomic<int> refused{0};
  auto const waits_for = [&](TaskNumber other) {
    return [&, other] {
      EXPECT_TRUE(both.pass());
      try {
        graph.wait(other);
      } catch (Error const& error) {
        EXPECT_EQ(error.kind(), Error::Kind::deadlock);
        ++refused;
      }
    };
  };
  task(graph, "a", {}, waits_for(k + 1), numbered(k));
  task(graph, "b", {}, waits_for(k), numbered(k + 1));
  both.open();
  graph.wait();
  EXPECT_EQ(refused, 1);
}

// --- memory --------------------------------------------------------------------------------------

TEST_F(Numbers, ReservedWithoutATaskCostNothing) {
  TaskGraph graph(with_workers(1));
  TaskNumbers const numbers(graph);
  std::size_t const before = numbers.memory();
  TaskNumber const first = numbers.reserve(std::uint64_t{1} << 60);
  TaskNumber const second = numbers.reserve(std::uint64_t{1} << 60);
  EXPECT_EQ(numbers.memory(), before);
  // In the order of neither.
  bool ran = false;
  task(graph, "a", {}, [] {}, numbered(second + 5));
  task(graph, "b", {}, [&] { ran = true; }, numbered(first + 7, {second + 5}));
  for (TaskNumber const none : {first + 6, first + 8, second + 4, second + 6})
    EXPECT_THROW(graph.wait(none), Error);
  graph.wait({first + 7, second + 5});
  EXPECT_TRUE(ran);
}

TEST_F(Numbers, KeepNoMoreThanIsInFlight) {
  TaskGraph graph(capped(2, 64));
  TaskNumbers const numbers(graph);
  auto const spawn = [&](int count) {
    TaskNumber before;
    for (int n = 0; n < count; ++n) {
      TaskNumber const k = numbers.reserve();
      task(graph, "t", {}, [] {}, numbered(k, {before}));
      before = n % 100 == 0 ? TaskNumber() : k;
    }
  };
  spawn(5000);
  std::size_t const few = numbers.memory();
  spawn(sanitized ? 50'000 : 1'000'000);
  EXPECT_LE(numbers.memory(), std::max<std::size_t>(few, std::size_t{64} << 10));
  graph.wait();
}

TEST_F(Numbers, ForgetFailuresThatHaveBeenToldOf) {
  TaskGraph graph(with_workers(1));
  TaskNumbers const numbers(graph);
  int const count = 2000;
  TaskNumber const first = numbers.reserve(10 * static_cast<std::uint64_t>(count));
  for (int n = 0; n < count; ++n)
    task(graph, "f", {}, [] { throw 1; }, numbered(first + static_cast<std::uint64_t>(n)));
  let_the_workers_finish(graph);
  std::size_t const all = numbers.memory();
  EXPECT_GE(all, std::size_t{32} * count);
  EXPECT_THROW(graph.wait(), Error);
  for (int n = count; n < 5 * count; ++n) {
    task(graph, "g", {}, [] {}, numbered(first + static_cast<std::uint64_t>(n)));
    if (n % 16 == 0) graph.wait();
  }
  EXPECT_LT(numbers.memory(), all / 2);
}

// --- ranges --------------------------------------------------------------------------------------

/// Against a std::set.
TEST_F(Numbers, ThatAreUnspawnedAreTheRightOnes) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    Impl::UnspawnedRanges ranges;
    std::set<std::uint64_t> expected;
    std::uint64_t end = 1;
    for (int step = 0; step < 300; ++step) {
      std::uint64_t const number = random() % (end + 3);
      switch (random() % 4) {
        case 0: {
          std::uint64_t const count = random() % 12;
          EXPECT_EQ(ranges.reserve(count), end);
          for (std::uint64_t k = 0; k < count; ++k) expected.insert(end + k);
          end += count;
          break;
        }
        case 1:
        case 2:
          ASSERT_EQ(ranges.take(number), expected.erase(number) == 1) << seed;
          break;
        case 3:
          if (number == 0 || number >= end || expected.contains(number)) break;
          ranges.put_back(number);
          expected.insert(number);
          break;
      }
      for (std::uint64_t k = 0; k < end + 2; ++k)
        ASSERT_EQ(ranges.contains(k), expected.contains(k)) << seed << ' ' << k;
    }
    EXPECT_EQ(ranges.end(), end);
  }
}

}  // namespace
}  // namespace trellis
