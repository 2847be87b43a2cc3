// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pending tasks that are replaced by a sub-graph.
#include "BareTask.hpp"
#include "Timing.hpp"

#include <gmock/gmock.h>

#include <stdexcept>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class Refining : public Timed {};

TEST_F(Refining, APendingTaskIsReplacedByItsChildren) {
  Block x("x", 2);
  TaskGraph graph(recorded(2));
  Gate gate;
  task(graph, "before", {writes(x)}, [&] {
    gate.pass();
    x[0] = x[1] = 1;
  });
  auto alive = std::make_shared<int>();
  std::weak_ptr<int> const body = alive;
  Future<void> const pending = task(graph, "pending", {updates(x)}, [alive = std::move(alive)] {
    ADD_FAILURE() << "its body ran";
  });
  long seen = 0;
  task(graph, "after", {reads(x)}, [&] { seen = x[0] + x[1]; });
  std::atomic<int> children_ran{0};
  EXPECT_TRUE(refine(pending, [&](auto const& parent) {
    EXPECT_TRUE(body.expired()) << "the old body is gone, with what it captured";
    Future<void> const left = child_of(parent, "left", {updates(x(0, 1))}, [&] {
      x[0] += 2;
      ++children_ran;
    });
    child_of(parent, "right", {updates(x(1, 1))}, [&] {
      x[1] += 3;
      ++children_ran;
    });
    child_of(parent, "both", {updates(x)}, [&] {
      x[0] *= 10;
      ++children_ran;
      child("child of both", {updates(x(0, 1))}, [&] { x[0] += 5; });
    });
    // To any depth.
    EXPECT_TRUE(refine(left, [&](auto const& deeper) {
      child_of(deeper, "deep", {updates(x(0, 1))}, [&] {
        x[0] += 4;
        ++children_ran;
      });
    }));
  }));
  std::this_thread::sleep_for(1ms);
  EXPECT_EQ(children_ran, 0) << "they start when the task would have";
  gate.open();
  graph.wait();
  EXPECT_EQ(children_ran, 3);
  EXPECT_EQ(x[0], (1 + 4) * 10 + 5);
  EXPECT_EQ(seen, 55 + 4);
  EXPECT_THAT(edges_of(graph.dependency_graph()),
              ElementsAre("before>pending", "left>both", "pending>after", "right>both"));
  EXPECT_EQ(graph.dependency_graph().node(pending.id()).pattern, "refined");
}

TEST_F(Refining, OnlyPendingTasks) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  Gate running;
  Gate end;
  auto const never = [](auto const&) { ADD_FAILURE() << "it is not pending"; };
  Future<void> const busy = task(graph, "busy", {updates(x)}, [&] {
    running.open();
    end.pass();
  });
  running.pass();
  EXPECT_FALSE(refine(busy, never));
  Future<void> const pending = task(graph, "pending", {updates(x)}, [] {});
  EXPECT_TRUE(refine(pending, [](auto const&) {}));
  Error const error = error_of([&] { refine(pending, never); });
  EXPECT_THAT(error.what(), AllOf(HasSubstr("\"pending\""), HasSubstr("refined before")));
  end.open();
  graph.wait();
  EXPECT_FALSE(refine(busy, never));
  EXPECT_EQ(error_of([&] { refine(Future<void>(), never); }).kind(), Error::Kind::bad_input);
}

TEST_F(Refining, KeepsToTheAccessesOfTheTask) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  Gate gate;
  task(graph, "before", {writes(x)}, [&] { gate.pass(); });
  Future<void> const pending = task(graph, "pending", {reads(x)}, [] {});
  refine(pending, [&](auto const& parent) {
    EXPECT_EQ(error_of([&] { child_of(parent, "bad", {writes(x)}, [] {}); }).kind(),
              Error::Kind::bad_access);
    EXPECT_EQ(
        error_of([&] { Impl::GraphInternals::demote(parent, requests_of({writes(x)})); }).kind(),
        Error::Kind::bad_access);
    EXPECT_EQ(error_of([&] { Impl::GraphInternals::wait_for_children(parent); }).kind(),
              Error::Kind::bad_input);
    Impl::GraphInternals::release(parent, requests_of({nothing(x)}));
    EXPECT_EQ(error_of([&] { child_of(parent, "late", {reads(x)}, [] {}); }).kind(),
              Error::Kind::bad_access);
  });
  gate.open();
  graph.wait();
}

TEST_F(Refining, FailuresOfPredecessorsCancelTheChildren) {
  Block x("x");
  TaskGraph graph(recorded(2));
  Gate gate;
  task(graph, "bad", {writes(x)}, [&] {
    gate.pass();
    throw std::runtime_error("no luck");
  });
  Future<void> const pending = task(graph, "pending", {updates(x)}, [] {});
  Future<void> child;
  refine(pending, [&](auto const& parent) {
    child = child_of(parent, "child", {updates(x)}, [] { ADD_FAILURE() << "it ran"; });
  });
  gate.open();
  EXPECT_EQ(error_of([&] { child.get(); }).kind(), Error::Kind::cancelled);
  EXPECT_EQ(error_of([&] { pending.get(); }).kind(), Error::Kind::cancelled);
  EXPECT_THAT(error_of([&] { graph.wait(); }).what(), HasSubstr("task \"bad\""));
  EXPECT_EQ(graph.dependency_graph().node(pending.id()).state, TaskState::cancelled);
}

TEST_F(Refining, AFailedChildFailsTheTask) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  Gate gate;
  task(graph, "before", {writes(x)}, [&] { gate.pass(); });
  Future<void> const pending = task(graph, "pending", {updates(x)}, [] {});
  Future<void> const after = task(graph, "after", {reads(x)}, [] { ADD_FAILURE() << "it ran"; });
  refine(pending, [&](auto const& parent) {
    child_of(parent, "child", {updates(x)}, [] { throw std::runtime_error("no luck"); });
  });
  gate.open();
  EXPECT_EQ(error_of([&] { after.get(); }).kind(), Error::Kind::cancelled);
  EXPECT_THAT(error_of([&] { pending.get(); }).what(),
              AllOf(HasSubstr("\"pending\""), HasSubstr("\"child\"")));
  EXPECT_THROW(graph.wait(), Error);
}

TEST_F(Refining, WhatTheRefinementThrowsIsTheFailureOfTheTask) {
  Block x("x");
  TaskGraph graph(recorded(2));
  Gate gate;
  task(graph, "before", {writes(x)}, [&] { gate.pass(); });
  Future<void> const pending = task(graph, "pending", {updates(x)}, [] {});
  EXPECT_TRUE(refine(pending, [&](auto const& parent) {
    child_of(parent, "child", {updates(x)}, [] { ADD_FAILURE() << "it ran"; });
    throw std::runtime_error("no luck");
  }));
  gate.open();
  EXPECT_THAT(error_of([&] { pending.get(); }).what(),
              AllOf(HasSubstr("\"pending\""), HasSubstr("no luck")));
  EXPECT_THROW(graph.wait(), Error);
  EXPECT_EQ(graph.dependency_graph().node(pending.id()).state, TaskState::failed);
}

TEST_F(Refining, ACircleThroughAChildThatWaitsToStartIsTold) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  Gate known;
  Future<void> child;
  task(graph, "before", {writes(x)}, [&] {
    known.pass();
    child.wait();
  });
  Future<void> const pending = task(graph, "pending", {updates(x)}, [] {});
  refine(pending,
         [&](auto const& parent) { child = child_of(parent, "child", {updates(x)}, [] {}); });
  known.open();
  Error const error = error_of([&] { graph.wait(); });
  EXPECT_THAT(error.what(), AllOf(HasSubstr("\"before\""), HasSubstr("waits for task \"child\"")));
}

TEST_F(Refining, WhileTheTaskBecomesReady) {
  // Whatever comes first: either the body runs or its children do.
  Block x("x");
  for (int round = 0; round < (sanitized ? 200 : 2000); ++round) {
    TaskGraph graph(with_workers(2));
    std::atomic<int> bodies{0};
    std::atomic<int> children{0};
    task(graph, "before", {writes(x)}, [] {});
    Future<void> const pending = task(graph, "pending", {updates(x)}, [&] { ++bodies; });
    bool const refined = refine(pending, [&](auto const& parent) {
      for (int k = 0; k < 3; ++k) child_of(parent, "child", {updates(x)}, [&] { ++children; });
    });
    graph.wait();
    ASSERT_EQ(bodies, refined ? 0 : 1);
    ASSERT_EQ(children, refined ? 3 : 0);
  }
}

}  // namespace
}  // namespace trellis
