// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tasks that others demote, before they start and while they run; parents that shrink to their
// children.
#include "OrderTest.hpp"
#include "Timing.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class OutsideDemotion : public Timed {};
using Coordinates = AreaAccess<int, 1>;  // a state in which tasks exclude no others
class Shrinking : public Timed {};

/// A task that is held up by another one, until that is told to end.
struct Held {
  Gate end;
  Block hold{"hold"};
  std::atomic<bool> over{false};
  void start(TaskGraph& graph, std::vector<Touch> touches = {}) {
    touches.push_back(updates(hold));
    task(graph, "holder", touches, [this] {
      EXPECT_TRUE(end.pass());
      over = true;
    });
  }
};

TEST_F(OutsideDemotion, OfAPendingTaskLetsThoseBehindItGo) {
  Block x("x");
  TaskGraph graph(recorded(2));
  Held held;
  held.start(graph);
  std::atomic<bool> ran{false};
  Future<void> const t = task(graph, "t", {reads(held.hold), updates(x)}, [&] { ran = true; });
  Future<void> const reader = task(graph, "reader", {reads(x)}, [&] { EXPECT_FALSE(ran); });
  Future<void> const writer = task(graph, "writer", {updates(x)}, [&] { EXPECT_TRUE(ran); });
  EXPECT_TRUE(demote_other(graph, t, {reads(x)}));
  until_done(reader);
  EXPECT_FALSE(t.is_done());
  EXPECT_FALSE(writer.is_done()) << "it came behind t by way of the reader";
  held.end.open();
  graph.wait();
  EXPECT_THAT(edges_of(graph.dependency_graph()),
              ElementsAre("holder>t", "reader>writer", "t>reader released", "t>writer"));
  EXPECT_EQ(graph.dependency_graph().node(2).demotions.size(), 1U);
}

TEST_F(OutsideDemotion, OfAPendingTaskLetsItGo) {
  Block x("x");
  TaskGraph graph(recorded(2));
  Held held;
  held.start(graph, {reads(x)});
  Future<void> const t = task(graph, "t", {updates(x)}, [&] { EXPECT_FALSE(held.over); });
  EXPECT_TRUE(demote_other(graph, t, {reads(x)}));
  until_done(t);
  held.end.open();
  graph.wait();
  EXPECT_THAT(edges_of(graph.dependency_graph()), ElementsAre("holder>t released"));
}

// first -> reader -> t: the reader is not in the way of t any more, but the first one still is.
TEST_F(OutsideDemotion, BehindAPredecessorTheNextConflictIsKept) {
  Block x("x");
  TaskGraph graph(recorded(3));
  Held held;
  held.start(graph, {updates(x)});
  Gate end_of_reader;
  task(graph, "reader", {reads(x)}, [&] { EXPECT_TRUE(end_of_reader.pass()); });
  Future<void> const t = task(graph, "t", {updates(x)}, [&] { EXPECT_TRUE(held.over); });
  EXPECT_TRUE(demote_other(graph, t, {reads(x)}));
  EXPECT_FALSE(t.is_done());
  held.end.open();
  until_done(t);
  end_of_reader.open();
  graph.wait();
  EXPECT_THAT(edges_of(graph.dependency_graph()),
              ElementsAre("holder>reader", "holder>t", "reader>t released"));
}

// holder -> t -> behind: the two have only t in between.
TEST_F(OutsideDemotion, ThoseOnBothSidesOfATaskKeepTheirOrder) {
  Block x("x", 2);
  TaskGraph graph(recorded(3));
  Held held;
  held.start(graph, {updates(x(0, 1))});
  Gate end_of_other;
  task(graph, "other", {updates(x(1, 1))}, [&] { EXPECT_TRUE(end_of_other.pass()); });
  Future<void> const t = task(graph, "t", {updates(x)}, [] {});
  Future<void> const behind = task(graph, "behind", {reads(x(0, 1))}, [&] {
    EXPECT_TRUE(held.over);
    EXPECT_FALSE(end_of_other.is_open()) << "it has nothing to do with the other";
  });
  EXPECT_TRUE(release_other(graph, t, {x}));
  until_done(t);
  EXPECT_FALSE(behind.is_done());
  Future<void> const later =
      task(graph, "later", {reads(x(0, 1))}, [&] { EXPECT_TRUE(held.over); });
  Future<void> const last =
      task(graph, "last", {updates(x(1, 1))}, [&] { EXPECT_TRUE(end_of_other.is_open()); });
  held.end.open();
  until_done(behind);
  until_done(later);
  EXPECT_FALSE(last.is_done());
  end_of_other.open();
  graph.wait();
}

TEST_F(OutsideDemotion, OfARunningTask) {
  Block x("x", 2);
  TaskGraph graph(recorded(3));
  Gate runs;
  Gate end;
  std::atomic<bool> over{false};
  Future<void> const t = task(graph, "t", {updates(x)}, [&] {
    runs.open();
    EXPECT_TRUE(end.pass());
    over = true;
  });
  Future<void> const left = task(graph, "left", {updates(x(0, 1))}, [&] { EXPECT_FALSE(over); });
  Future<void> const all = task(graph, "all", {updates(x)}, [&] { EXPECT_FALSE(over); });
  ASSERT_TRUE(runs.pass());
  EXPECT_TRUE(demote_other(graph, t, {writes(x(1, 1))}));
  until_done(left);
  EXPECT_FALSE(all.is_done());
  EXPECT_TRUE(release_other(graph, t, {x(1, 1)}));
  std::thread elsewhere([&] {
    EXPECT_EQ(error_of([&] { release_other(graph, t, {x(1, 1)}); }).kind(),
              Error::Kind::bad_access);
  });
  elsewhere.join();
  until_done(all);
  end.open();
  graph.wait();
}

TEST_F(OutsideDemotion, OfATaskThatIsOverIsTooLate) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  Future<void> const t = task(graph, "t", {updates(x)}, [] {});
  until_done(t);
  EXPECT_FALSE(demote_other(graph, t, {reads(x)}));
  EXPECT_FALSE(release_other(graph, t, {x}));
}

TEST_F(OutsideDemotion, OfAnExclusiveTaskThatWaitsForItsTurn) {
  Block x("x", 2);
  TaskGraph graph(with_workers(3));
  Gate runs;
  Gate end;
  task(graph, "holder", {excludes(x(0, 1))}, [&] {
    runs.open();
    EXPECT_TRUE(end.pass());
  });
  ASSERT_TRUE(runs.pass());
  Future<void> const t = task(graph, "t", {excludes(x(0, 1)), excludes(x(1, 1))}, [] {});
  Future<void> const kept = task(graph, "kept back", {excludes(x(1, 1))}, [] {});
  EXPECT_FALSE(kept.is_done());
  EXPECT_TRUE(release_other(graph, t, {x(1, 1)}));
  until_done(kept);
  EXPECT_FALSE(t.is_done());
  EXPECT_TRUE(release_other(graph, t, {x(0, 1)}));
  until_done(t);
  end.open();
  graph.wait();
}

TEST_F(OutsideDemotion, OfAPendingTaskToExclusiveAndOfOneThatRunsIsTooLate) {
  Block x("x");
  TaskGraph graph(with_workers(3));
  Held held;
  held.start(graph);
  std::atomic<int> inside{0};
  auto const alone = [&] {
    EXPECT_EQ(++inside, 1);
    std::this_thread::yield();
    --inside;
  };
  Future<void> const t = task(graph, "t", {reads(held.hold), updates(x)}, alone);
  EXPECT_TRUE(demote_other(graph, t, {excludes(x)}));
  Future<void> const other = task(graph, "other", {excludes(x)}, alone);
  until_done(other);
  held.end.open();
  graph.wait();

  Gate runs;
  Gate end;
  Future<void> const running = task(graph, "running", {updates(x)}, [&] {
    runs.open();
    EXPECT_TRUE(end.pass());
  });
  ASSERT_TRUE(runs.pass());
  EXPECT_FALSE(demote_other(graph, running, {excludes(x)}));
  end.open();
  graph.wait();
}

TEST_F(OutsideDemotion, WhileAFailureIsToldToNobodyIsTooLateForPendingTasks) {
  Block x("x");
  Block y("y");
  TaskGraph graph(with_workers(2));
  Held held;
  Future<void> const bad = task(graph, "bad", {updates(x)}, [] { throw std::runtime_error("no"); });
  until_done(bad);
  held.start(graph);
  Future<void> const t =
      task(graph, "t", {reads(held.hold), updates(x)}, [] { ADD_FAILURE() << "it ran"; });
  EXPECT_FALSE(release_other(graph, t, {x}));
  held.end.open();
  EXPECT_THROW(graph.wait(), Error);
  EXPECT_EQ(error_of([&] { t.get(); }).kind(), Error::Kind::cancelled);
}

// A demotion to a state of the user's makes memory of the task's, at which the thread of a failing
// task looks before it destroys the functor. Under the thread sanitizer this fails if they have no
// lock in common. Sleeps order the two, as anything else would be such a lock.
TEST_F(OutsideDemotion, ToAStateWhileTheTaskFails) {
  int demoted = 0;
  for (int round = 0; round < 20; ++round) {
    Block x("x");
    TaskGraph graph(with_workers(2));
    std::atomic<bool> runs{false};
    std::shared_ptr<void> at_end(nullptr, [](void*) { std::this_thread::sleep_for(6ms); });
    Future<void> const bad = task(graph, "bad", {updates(x)}, [&, at_end] {
      runs = true;
      throw std::runtime_error("no");
    });
    at_end = nullptr;
    while (!runs) std::this_thread::yield();
    std::this_thread::sleep_for(3ms);
    demoted += demote_other(graph, bad, {touches(x, Coordinates({{{0, 4}}}))}) ? 1 : 0;
    EXPECT_THROW(graph.wait(), Error);
  }
  EXPECT_GT(demoted, 0);
}

/// Runs the oldest task first, and looks at the tags of all each time.
class LooksAtTags final : public SchedulingPolicy {
 public:
  std::string_view name() const override { return "looks at tags"; }
  void start(int) override {}
  void push(ReadyTask task, int) override {
    std::lock_guard const lock(m_mutex);
    look();
    m_tasks.push_back(task);
  }
  ReadyTask finished(std::span<ReadyTask const> ready, int slot) override {
    for (ReadyTask const task : ready) push(task, slot);
    return {};
  }
  ReadyTask pop(int) override {
    std::lock_guard const lock(m_mutex);
    look();
    if (m_tasks.empty()) return {};
    ReadyTask const task = m_tasks.front();
    m_tasks.pop_front();
    return task;
  }
  bool empty() const override {
    std::lock_guard const lock(m_mutex);
    return m_tasks.empty();
  }

 private:
  void look() {
    for (ReadyTask const task : m_tasks) EXPECT_EQ(task.tag<int>(), 0);
  }
  mutable std::mutex m_mutex;
  std::deque<ReadyTask> m_tasks;
};

// As above: the demoted tasks are ready, and the policy has them.
TEST_F(OutsideDemotion, ToAStateWhileThePolicyLooksAtTags) {
  TaskGraphOptions options = with_workers(3);
  options.policy = std::make_shared<LooksAtTags>();
  TaskGraph graph(options);
  std::deque<Block> blocks;
  std::vector<Future<void>> tasks;
  for (int k = 0; k < 300; ++k) {
    Block& x = blocks.emplace_back("x");
    tasks.push_back(task(graph, "t", {updates(x)}, [] { std::this_thread::sleep_for(20us); }));
  }
  int demoted = 0;
  for (std::size_t k = tasks.size(); k-- > 0;)
    demoted += demote_other(graph, tasks[k], {touches(blocks[k], Coordinates({{{0, 4}}}))}) ? 1 : 0;
  EXPECT_GT(demoted, 0);
  graph.wait();
}

TEST_F(OutsideDemotion, NeverPromotesAndChangesNothingThen) {
  Block x("x");
  Block y("y");
  TaskGraph graph(with_workers(2));
  Held held;
  held.start(graph);
  Future<void> const t = task(graph, "t", {reads(held.hold), reads(x)}, [] {});
  Error const error = error_of([&] { demote_other(graph, t, {updates(x)}); });
  EXPECT_EQ(error.kind(), Error::Kind::bad_access);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("\"t\""), HasSubstr("promotion")));
  EXPECT_THAT(message_of([&] { release_other(graph, t, {y}); }), HasSubstr("never declared"));
  Future<void> const writer = task(graph, "writer", {updates(x)}, [&] { EXPECT_TRUE(held.over); });
  EXPECT_FALSE(writer.is_done());
  TaskGraph other(with_workers(1));
  EXPECT_EQ(error_of([&] { release_other(other, t, {x}); }).kind(), Error::Kind::bad_input);
  EXPECT_EQ(error_of([&] { release_other(graph, Future<void>(), {x}); }).kind(),
            Error::Kind::bad_input);
  held.end.open();
  graph.wait();
}

TEST_F(OutsideDemotion, OfATaskOfAPlanAndOfAReplayIsRefused) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  Future<void> recorded_task;
  Plan const plan =
      graph.record("plan", [&] { recorded_task = task(graph, "t", {updates(x)}, [] {}); });
  EXPECT_THAT(message_of([&] { release_other(graph, recorded_task, {x}); }),
              HasSubstr("belongs to a plan"));
  Held held;
  held.start(graph, {updates(x)});
  Future<void> const replay = graph.replay(plan);
  EXPECT_THAT(message_of([&] { release_other(graph, replay, {x}); }), HasSubstr("replays a plan"));
  held.end.open();
  graph.wait();
}

TEST_F(OutsideDemotion, WhatAnUnfinishedChildNeedsStays) {
  Block x("x", 2);
  TaskGraph graph(with_workers(3));
  Gate split;
  Gate end;
  Future<void> const t = task(graph, "t", {updates(x)}, [&] {
    child("child", {updates(x(0, 1))}, [&] { EXPECT_TRUE(end.pass()); });
    split.open();
  });
  ASSERT_TRUE(split.pass());
  EXPECT_THAT(message_of([&] { release_other(graph, t, {x}); }), HasSubstr("\"child\""));
  EXPECT_TRUE(demote_other(graph, t, {updates(x(0, 1))}));
  until_done(task(graph, "right", {updates(x(1, 1))}, [] {}));
  end.open();
  graph.wait();
}

TEST_F(OutsideDemotion, OfManyAccessesNamedTwice) {
  constexpr std::size_t size = 3000;
  Block x("x", size);
  TaskGraph graph(with_workers(2));
  std::vector<Touch> all;
  std::vector<Touch> twice;
  for (std::size_t k = 0; k < size; ++k) all.push_back(updates(x(k, 1)));
  for (int time = 0; time < 2; ++time)
    for (std::size_t k = 0; k < size; ++k) twice.push_back(nothing(x(k, 1)));
  Gate released;
  task(graph, "t", all, [&] {
    Impl::GraphInternals::release(self(), requests_of(twice));
    EXPECT_TRUE(released.pass());
  });
  until_done(task(graph, "next", {updates(x)}, [] {}));
  released.open();
  graph.wait();
}

// --- parents that shrink -------------------------------------------------------------------------

TEST_F(Shrinking, TasksBehindTheParentStartWithTheEndOfTheChildrenThatTheyNeed) {
  constexpr std::size_t count = 4;
  Block x("x", count);
  TaskGraph graph(recorded(3));
  std::vector<Gate> ends(count);
  std::atomic<bool> parent_over{false};
  Gate submitted;
  Future<void> const parent = task(graph, "parent", {updates(x)}, [&] {
    for (std::size_t k = 0; k + 1 < count; ++k)
      child("child", {updates(x(k, 1))}, [&, k] { EXPECT_TRUE(ends[k].pass()); });
    EXPECT_TRUE(submitted.pass());
    shrink_to_children();
  });
  std::vector<Future<void>> behind;
  for (std::size_t k = 0; k < count; ++k)
    behind.push_back(task(graph, "behind", {updates(x(k, 1))}, [&] { EXPECT_FALSE(parent_over); }));
  Future<void> const all = task(graph, "all", {updates(x)}, [&] {});
  submitted.open();
  until_done(behind[3]);  // no child needs it
  EXPECT_FALSE(behind[1].is_done());
  ends[1].open();
  until_done(behind[1]);
  EXPECT_FALSE(behind[0].is_done() || behind[2].is_done() || parent.is_done());
  ends[0].open();
  until_done(behind[0]);
  EXPECT_FALSE(behind[2].is_done());
  ends[2].open();
  graph.wait();
  EXPECT_TRUE(all.is_done());
}

TEST_F(Shrinking, WhatSeveralChildrenNeedStaysUntilTheLastIsOver) {
  Block x("x", 2);
  TaskGraph graph(with_workers(3));
  Gate first;
  Gate second;
  task(graph, "parent", {updates(x)}, [&] {
    child("first", {reads(x)}, [&] { EXPECT_TRUE(first.pass()); });
    child("second", {reads(x(0, 1))}, [&] { EXPECT_TRUE(second.pass()); });
    shrink_to_children();
  });
  until_done(task(graph, "reader", {reads(x)}, [] {}));
  Future<void> const left = task(graph, "left", {updates(x(0, 1))}, [] {});
  Future<void> const right = task(graph, "right", {updates(x(1, 1))}, [] {});
  EXPECT_FALSE(right.is_done());
  first.open();
  until_done(right);
  EXPECT_FALSE(left.is_done());
  second.open();
  graph.wait();
}

/// A child releases what it was counted for, and its parent after it. When another child ends, the
/// parent must not get that back.
TEST_F(Shrinking, WhatChildAndParentHaveGivenUpStaysGivenUp) {
  TaskGraph graph(with_workers(6));
  Block a("a"), b("b"), z("z");
  Gate has_shrunk, child_gave_up, first, second, holder_is_in, holder;
  std::atomic<bool> second_is_over{false};
  std::atomic<int> inside{0};
  Future<void> const parent = task(graph, "parent", {excludes(a), updates(b), updates(z)}, [&] {
    child("first", {excludes(a)}, [&] {
      EXPECT_TRUE(has_shrunk.pass());
      release(a);
      child_gave_up.open();
      EXPECT_TRUE(first.pass());
    });
    child("second", {updates(b)}, [&] { EXPECT_TRUE(second.pass()); });
    child("after second", {updates(b)}, [&] { second_is_over = true; });
    shrink_to_children();
    has_shrunk.open();
    EXPECT_TRUE(child_gave_up.pass());
    release(a);
  });
  task(graph, "holder", {excludes(a)}, [&] {
    EXPECT_EQ(++inside, 1);
    holder_is_in.open();
    EXPECT_TRUE(holder.pass());
    --inside;
  });
  ASSERT_TRUE(holder_is_in.pass());
  Future<void> const waiter = task(graph, "waiter", {excludes(a)}, [&] {
    EXPECT_EQ(++inside, 1);
    --inside;
  });
  second.open();
  while (!second_is_over) std::this_thread::yield();
  first.open();
  until_done(parent);
  EXPECT_FALSE(waiter.is_done());
  holder.open();
  graph.wait();
}

TEST_F(Shrinking, ChildrenOfChildrenAndChildrenSubmittedLater) {
  Block x("x", 2);
  TaskGraph graph(with_workers(3));
  Gate later;
  Gate inner;
  Gate parent_has_shrunk;  // while the child has all of it: a later child may have that, too
  Gate in_between;
  Gate submitted;
  task(graph, "parent", {updates(x)}, [&] {
    child("child", {updates(x)}, [&] {
      EXPECT_TRUE(parent_has_shrunk.pass());
      child("inner", {updates(x(0, 1))}, [&] { EXPECT_TRUE(inner.pass()); });
      shrink_to_children();
      in_between.open();
    });
    shrink_to_children();
    parent_has_shrunk.open();
    EXPECT_TRUE(in_between.pass());
    child("later", {updates(x(1, 1))}, [&] { EXPECT_TRUE(later.pass()); });
    submitted.open();
  });
  ASSERT_TRUE(submitted.pass());
  Future<void> const left = task(graph, "left", {updates(x(0, 1))}, [] {});
  Future<void> const right = task(graph, "right", {updates(x(1, 1))}, [] {});
  inner.open();
  until_done(left);
  EXPECT_FALSE(right.is_done());
  later.open();
  graph.wait();
}

TEST_F(Shrinking, OfAnExclusiveParentAndWithoutChildren) {
  Block x("x", 2);
  TaskGraph graph(with_workers(3));
  Gate end;
  task(graph, "parent", {excludes(x)}, [&] {
    child("child", {excludes(x(0, 1))}, [&] { EXPECT_TRUE(end.pass()); });
    shrink_to_children();
  });
  until_done(task(graph, "right", {excludes(x(1, 1))}, [] {}));
  Future<void> const left = task(graph, "left", {excludes(x(0, 1))}, [] {});
  EXPECT_FALSE(left.is_done());
  end.open();
  graph.wait();

  Gate over;
  Future<void> const bare = task(graph, "bare", {updates(x)}, [&] {
    shrink_to_children();
    EXPECT_TRUE(over.pass());
  });
  until_done(task(graph, "next", {updates(x)}, [] {}));
  EXPECT_FALSE(bare.is_done());
  over.open();
  graph.wait();
}

TEST_F(Shrinking, OfARefinedTaskWhileItIsPending) {
  Block x("x", 2);
  TaskGraph graph(with_workers(2));
  Held held;
  held.start(graph);
  Future<void> const t = task(graph, "t", {reads(held.hold), updates(x)}, [] { ADD_FAILURE(); });
  Future<void> const right = task(graph, "right", {updates(x(1, 1))}, [] {});
  Future<void> const left =
      task(graph, "left", {updates(x(0, 1))}, [&] { EXPECT_TRUE(held.over); });
  EXPECT_TRUE(refine(t, [&](Impl::TaskHandle const& parent) {
    child_of(parent, "child", {updates(x(0, 1)), reads(held.hold)}, [] {});
    Impl::GraphInternals::shrink_to_children(parent);
  }));
  until_done(right);
  EXPECT_FALSE(left.is_done());
  held.end.open();
  graph.wait();
}

TEST_F(Shrinking, LeavesNothingForABodyThatGoesOnSubmitting) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  task(graph, "parent", {updates(x)}, [&] {
    shrink_to_children();
    EXPECT_EQ(error_of([&] { child("late", {reads(x)}, [] {}); }).kind(), Error::Kind::bad_access);
  });
  graph.wait();
}

}  // namespace
}  // namespace trellis
