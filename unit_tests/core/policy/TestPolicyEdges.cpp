// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scheduling policies that add edges to the scheduling graph, and choose among exclusive tasks.
#include "OrderTest.hpp"
#include "Timing.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class PolicyEdges : public Timed {};

TaskGraphOptions seen_by(Seeing::Seen seen, int workers = 2, bool record = true) {
  TaskGraphOptions options = with_workers(workers);
  options.record = record;
  options.policy = std::make_shared<Seeing>(std::move(seen));
  return options;
}

/// Tasks by their label.
using ByLabel = std::map<std::string, SubmittedTask>;

TEST_F(PolicyEdges, MayLeadFromALaterTaskToAnEarlierOne) {
  ByLabel all;
  TaskGraph graph(seen_by([&](SubmittedTask task, SchedulingEdges& edges) {
    all[std::string(task.label())] = task;
    if (task.label() == "later") {
      EXPECT_TRUE(edges.add(task, all["earlier"]));
    }
  }));
  Block x("x");
  Gate submitted;
  std::string order;
  task(graph, "first", {updates(x)}, [&] { EXPECT_TRUE(submitted.pass()); });
  task(graph, "earlier", {reads(x)}, [&] { order += 'e'; });
  task(graph, "later", {reads(x)}, [&] { order += 'l'; });
  submitted.open();
  graph.wait();
  EXPECT_EQ(order, "le");
  EXPECT_THAT(edges_of(graph.dependency_graph()), ElementsAre("first>earlier", "first>later"));
  EXPECT_THAT(edges_of(graph.scheduling_graph()),
              ElementsAre("first>earlier", "first>later", "later>earlier policy"));
}

TEST_F(PolicyEdges, ThatWouldCloseACircleAreRefusedAndTheGraphGoesOn) {
  ByLabel all;
  TaskGraph graph(seen_by([&](SubmittedTask task, SchedulingEdges& edges) {
    all[std::string(task.label())] = task;
    auto const refused = [&](SubmittedTask before, SubmittedTask after) {
      Error const error = error_of([&] { edges.add(before, after); });
      EXPECT_EQ(error.kind(), Error::Kind::deadlock);
      return std::string(error.what());
    };
    if (task.label() != "c") return;
    EXPECT_THAT(refused(task, all["a"]),
                AllOf(HasSubstr("\"c\""), HasSubstr("\"a\""), HasSubstr("circle"),
                      HasSubstr("\"work_stealing\"")));
    refused(task, task);
    EXPECT_TRUE(edges.add(task, all["free"]));
    refused(all["free"], all["a"]);  // by the edge that has just been added
    refused(all["free"], task);
  }));
  Block x("x");
  Block y("y");
  Gate submitted;
  task(graph, "first", {updates(x), updates(y)}, [&] { EXPECT_TRUE(submitted.pass()); });
  std::string order;
  task(graph, "a", {updates(x)}, [&] { order += 'a'; });
  task(graph, "free", {reads(y)}, [&] { order += 'f'; });
  task(graph, "b", {updates(x)}, [&] { order += 'b'; });
  task(graph, "c", {updates(x)}, [&] { order += 'c'; });
  submitted.open();
  graph.wait();
  EXPECT_EQ(order, "abcf");
}

TEST_F(PolicyEdges, WhatThePolicyThrowsIsTheFailureOfTheTask) {
  TaskGraph graph(seen_by([&](SubmittedTask task, SchedulingEdges& edges) {
    if (task.label() == "bad") edges.add(task, task);
  }));
  Block x("x");
  task(graph, "bad", {updates(x)}, [] { ADD_FAILURE() << "it ran"; });
  Future<void> const behind = task(graph, "behind", {reads(x)}, [] { ADD_FAILURE(); });
  bool ran = false;
  task(graph, "other", {}, [&] { ran = true; });
  Error const error = error_of([&] { graph.wait(); });
  EXPECT_EQ(error.kind(), Error::Kind::task_failed);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("\"bad\""), HasSubstr("circle")));
  EXPECT_EQ(error_of([&] { behind.get(); }).kind(), Error::Kind::cancelled);
  EXPECT_TRUE(ran);
  graph.wait();
}

TEST_F(PolicyEdges, ComeTooLateForATaskThatIsReadyAndAreNotNeededBehindOneThatIsDone) {
  ByLabel all;
  std::map<std::string, bool> added;
  TaskGraph graph(seen_by([&](SubmittedTask task, SchedulingEdges& edges) {
    all[std::string(task.label())] = task;
    if (task.label() != "last") return;
    added["to done"] = edges.add(task, all["done"]);
    added["to running"] = edges.add(task, all["running"]);
    added["from done"] = edges.add(all["done"], task);
    added["from running"] = edges.add(all["running"], task);
  }));
  Gate end;
  Gate runs;
  std::atomic<bool> over{false};
  until_done(task(graph, "done", {}, [] {}));
  task(graph, "running", {}, [&] {
    runs.open();
    EXPECT_TRUE(end.pass());
    over = true;
  });
  ASSERT_TRUE(runs.pass());
  task(graph, "last", {}, [&] { EXPECT_TRUE(over); });
  end.open();
  graph.wait();
  EXPECT_THAT(added,
              ElementsAre(testing::Pair("from done", true), testing::Pair("from running", true),
                          testing::Pair("to done", false), testing::Pair("to running", false)));
  EXPECT_THAT(edges_of(graph.scheduling_graph()),
              ElementsAre("done>last policy", "running>last policy"));
}

TEST_F(PolicyEdges, HandOnNoFailure) {
  ByLabel all;
  TaskGraph graph(seen_by([&](SubmittedTask task, SchedulingEdges& edges) {
    all[std::string(task.label())] = task;
    if (task.label() == "ordered") {
      EXPECT_TRUE(edges.add(all["bad"], task));
    }
    if (task.label() == "both") {
      EXPECT_TRUE(edges.add(all["bad"], task));
    }
  }));
  Block x("x");
  Gate submitted;
  task(graph, "bad", {updates(x)}, [&] {
    EXPECT_TRUE(submitted.pass());
    throw std::runtime_error("no luck");
  });
  bool ran = false;
  Future<void> const ordered = task(graph, "ordered", {}, [&] { ran = true; });
  Future<void> const both = task(graph, "both", {reads(x)}, [] { ADD_FAILURE() << "it ran"; });
  submitted.open();
  EXPECT_THROW(graph.wait(), Error);
  EXPECT_TRUE(ran);
  ordered.get();
  EXPECT_EQ(error_of([&] { both.get(); }).kind(), Error::Kind::cancelled);
}

// "done" came behind "earlier", which has given that up, and is behind it now only by "t", for the
// policy: when "t" gives up what it has in common with "middle", no dependency leads back.
TEST_F(PolicyEdges, LeadToNoDependencyOnALaterTask) {
  ByLabel all;
  TaskGraph graph(seen_by(
      [&](SubmittedTask task, SchedulingEdges& edges) {
        all[std::string(task.label())] = task;
        if (task.label() == "t") {
          EXPECT_TRUE(edges.add(task, all["earlier"]));
        }
      },
      3));
  Block hold("hold"), x("x"), y("y"), z("z");
  Gate end;
  task(graph, "holder", {updates(hold)}, [&] { EXPECT_TRUE(end.pass()); });
  Future<void> const earlier = task(graph, "earlier", {reads(hold), updates(x)}, [] {});
  Future<void> const done = task(graph, "done", {reads(x), updates(y)}, [] {});
  EXPECT_TRUE(release_other(graph, earlier, {x}));
  until_done(done);
  task(graph, "middle", {reads(hold), reads(y), updates(z)}, [] {});
  Future<void> const t = task(graph, "t", {reads(hold), reads(z)}, [] {});
  EXPECT_TRUE(release_other(graph, t, {z}));
  end.open();
  graph.wait();
  EXPECT_THAT(edges_of(graph.dependency_graph()),
              ElementsAre("done>middle", "done>t demotion", "earlier>done released",
                          "holder>earlier", "holder>middle", "holder>t", "middle>t released"));
}

TEST_F(PolicyEdges, StayWhenADemotionEndsTheDependency) {
  ByLabel all;
  TaskGraph graph(seen_by(
      [&](SubmittedTask task, SchedulingEdges& edges) {
        all[std::string(task.label())] = task;
        if (task.label() == "kept") {
          EXPECT_TRUE(edges.add(all["demoter"], task));
        }
      },
      3));
  Block x("x");
  Gate submitted;
  Gate end;
  std::atomic<bool> over{false};
  task(graph, "demoter", {updates(x)}, [&] {
    EXPECT_TRUE(submitted.pass());
    release(x);
    EXPECT_TRUE(end.pass());
    over = true;
    throw std::runtime_error("no luck");
  });
  std::atomic<bool> ran{false};
  Future<void> const kept = task(graph, "kept", {reads(x)}, [&] {
    EXPECT_TRUE(over);
    ran = true;
  });
  Future<void> const freed = task(graph, "freed", {reads(x)}, [&] { EXPECT_FALSE(over); });
  submitted.open();
  until_done(freed);
  EXPECT_FALSE(kept.is_done());
  end.open();
  EXPECT_THROW(graph.wait(), Error);
  EXPECT_TRUE(ran) << "only the policy still ordered it behind the one that failed";
}

TEST_F(PolicyEdges, BetweenChildrenAndToThem) {
  ByLabel all;
  TaskGraph graph(seen_by([&](SubmittedTask task, SchedulingEdges& edges) {
    all[std::string(task.label())] = task;
    if (task.label() == "2") {
      EXPECT_TRUE(edges.add(task, all["1"]));
      EXPECT_EQ(error_of([&] { edges.add(all["parent"], task); }).kind(), Error::Kind::deadlock);
    }
  }));
  Block x("x");
  std::string order;
  task(graph, "parent", {updates(x)}, [&] {
    Gate submitted;
    child("0", {updates(x)}, [&] { EXPECT_TRUE(submitted.pass()); });
    child("1", {reads(x)}, [&] { order += '1'; });
    child("2", {reads(x)}, [&] { order += '2'; });
    submitted.open();
    wait_for_children();
  });
  graph.wait();
  EXPECT_EQ(order, "21");
}

TEST_F(PolicyEdges, AreAddedByApolicyThatMayNotUseTheGraph) {
  TaskGraph* the_graph = nullptr;
  std::string said;
  TaskGraph graph(seen_by([&](SubmittedTask, SchedulingEdges&) {
    if (said.empty()) said = error_of([&] { the_graph->wait(); }).what();
  }));
  the_graph = &graph;
  task(graph, "t", {}, [] {});
  graph.wait();
  EXPECT_NE(said, "");
}

TEST_F(PolicyEdges, AreNotAskedForInASerialGraph) {
  Environment const serial("TRELLIS_SERIAL", "1");
  TaskGraph graph(seen_by([](SubmittedTask, SchedulingEdges&) { ADD_FAILURE(); }));
  task(graph, "t", {}, [] {});
  graph.wait();
}

// A policy that looks ahead: it keeps all to itself until it has seen the last one.
class LookAhead : public ForwardingPolicy {
 public:
  explicit LookAhead(int tasks) : ForwardingPolicy(make_fifo_policy()), m_missing(tasks) {}
  bool sees_submissions() const override { return true; }
  void submitted(SubmittedTask, SchedulingEdges&) override {
    std::lock_guard const lock(m_mutex);
    if (--m_missing != 0) return;
    for (ReadyTask const task : m_kept) ForwardingPolicy::push(task, -1);
  }
  void push(ReadyTask task, int slot) override {
    std::lock_guard const lock(m_mutex);
    if (m_missing > 0)
      m_kept.push_back(task);
    else
      ForwardingPolicy::push(task, slot);
  }

 private:
  std::mutex m_mutex;
  int m_missing;
  std::vector<ReadyTask> m_kept;
};

TEST_F(PolicyEdges, APolicyMayKeepTasksUntilItHasSeenOthers) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    TaskGraphOptions options = with_workers(2);
    options.policy = std::make_shared<LookAhead>(4);
    TaskGraph graph(options);
    std::atomic<int> ran{0};
    for (int k = 0; k < 4; ++k) {
      EXPECT_EQ(ran, 0);
      task(graph, "t", {}, [&] { ++ran; });
    }
    let_the_workers_finish(graph);
    EXPECT_EQ(ran, 4);
  }
}

// --- exclusive tasks -----------------------------------------------------------------------------

std::vector<int> exclusive_order(std::shared_ptr<SchedulingPolicy> policy,
                                 std::vector<int> const& priorities) {
  TaskGraphOptions options = with_workers(2);
  options.policy = std::move(policy);
  TaskGraph graph(options);
  Block x("x");
  Gate blocked, submitted;
  std::vector<int> order;  // they exclude each other
  task(graph, "b", {excludes(x)}, [&] {
    blocked.open();
    EXPECT_TRUE(submitted.pass());
  });
  EXPECT_TRUE(blocked.pass());
  for (std::size_t k = 0; k < priorities.size(); ++k)
    task(graph, "t", {excludes(x)}, [&order, k] { order.push_back(static_cast<int>(k)); },
         {.priority = priorities[k]});
  submitted.open();
  graph.wait();
  return order;
}

TEST_F(PolicyEdges, ExclusiveTasksGetTheirTurnByPriority) {
  EXPECT_EQ(exclusive_order(make_work_stealing_policy(), {0, 2, -1, 5, 0, 2}),
            (std::vector{3, 1, 5, 0, 4, 2}));
  EXPECT_EQ(exclusive_order(make_fifo_policy(), {0, 2, -1, 5}), (std::vector{0, 1, 2, 3}));
}

// The front waits for the holder, that for its child, that for the awaited task, and that must not
// wait behind the front.
TEST_F(PolicyEdges, TheFrontKeepsNobodyBackWhomAChildOfAHolderWaitsFor) {
  for (bool const by_policy : {false, true}) {
    SubmittedTask first;
    TaskGraphOptions options = seen_by([&](SubmittedTask task, SchedulingEdges& edges) {
      if (task.label() == "awaited") first = task;
      if (task.label() == "child" && by_policy) {
        EXPECT_TRUE(edges.add(first, task));
      }
    });
    if (!by_policy) options.policy = nullptr;
    TaskGraph graph(options);
    Block x("x", 2);
    Gate runs;
    Gate submitted;
    std::atomic<bool> over{false};
    Future<void> awaited;
    task(graph, "holder", {excludes(x(0, 1))}, [&] {
      runs.open();
      EXPECT_TRUE(submitted.pass());
      Properties properties;
      if (!by_policy) properties.after = handles(awaited);
      child("child", {}, [&] { EXPECT_TRUE(over); }, properties);
    });
    ASSERT_TRUE(runs.pass());
    task(graph, "front", {excludes(x(0, 1)), excludes(x(1, 1))}, [] {});
    awaited = task(graph, "awaited", {excludes(x(1, 1))}, [&] { over = true; });
    EXPECT_FALSE(awaited.is_done()) << "the front keeps it back";
    submitted.open();
    graph.wait();
  }
}

TEST_F(PolicyEdges, ExclusiveTasksGetTheirTurnAsThePolicySays) {
  class NewestFirst : public ForwardingPolicy {
   public:
    NewestFirst() : ForwardingPolicy(make_work_stealing_policy()) {}
    std::int64_t exclusive_rank(ReadyTask task) override {
      return static_cast<std::int64_t>(task.id());
    }
  };
  EXPECT_EQ(exclusive_order(std::make_shared<NewestFirst>(), {0, 9, 0, 0}),
            (std::vector{3, 2, 1, 0}));
}

}  // namespace
}  // namespace trellis
