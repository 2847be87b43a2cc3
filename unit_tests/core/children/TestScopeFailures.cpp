// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Failures and numbers of children that several threads submit into several regions.
#include "BareTask.hpp"
#include "ScopeTest.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;
using testing::HasSubstr;

class ScopeFailures : public Timed {};

TEST_F(ScopeFailures, NumbersGrowFromATaskToItsChildrenAndAmongThese) {
  TaskGraph graph(with_workers(4));
  std::atomic<int> children{0};
  std::function<void(TaskId, int)> split = [&](TaskId own, int depth) {
    ++children;
    TaskId before = own;
    auto const submit = [&, depth] {
      TaskId const id = child("child", {}, [] {}).id();
      EXPECT_GT(id, before);
      before = id;
      if (depth == 0) return;
      auto const number = std::make_shared<std::atomic<TaskId>>(0);
      Future<void> const splits = child("splits", {}, [&split, number, depth] {
        while (*number == 0) std::this_thread::yield();
        split(*number, depth - 1);
      });
      EXPECT_GT(splits.id(), before);
      before = splits.id();
      *number = splits.id();
    };
    for (int k = 0; k < 3; ++k) submit();
  };
  for (int k = 0; k < 20; ++k) {
    auto const number = std::make_shared<std::atomic<TaskId>>(0);
    Future<void> const future = task(graph, "task", {}, [&split, number] {
      while (*number == 0) std::this_thread::yield();
      split(*number, 2);
    });
    *number = future.id();
  }
  graph.wait();
  EXPECT_EQ(children, 20 * (1 + 3 + 9));
}

TEST_F(ScopeFailures, ARecordHasAllEdgesAndItsNumbersHaveNoGaps) {
  constexpr int parents = 20;
  constexpr int children = 10;
  for (int round = 0; round < repetitions; ++round) {
    TaskGraph graph(recorded(4));
    Block x("x", parents);
    for (std::size_t k = 0; k < parents; ++k)
      task(graph, "parent", {updates(x(k, 1))}, [&, k] {
        for (int n = 0; n < children; ++n)
          child("child", {updates(x(k, 1))}, [&, k, n] { x[k] = x[k] * 3 + n; });
      });
    graph.wait();
    DependencyGraph const graph_of = graph.dependency_graph();
    EXPECT_EQ(graph_of.nodes().size(), parents * (children + 1U));
    EXPECT_EQ(graph_of.edges().size(), parents * (children - 1U));
    EXPECT_LE(graph.edges(),
              parents * (children - 1U));  // those to tasks that were done are not counted
    EXPECT_EQ(graph.submitted(), parents * (children + 1U));
    for (TaskId id = 1; id <= parents * (children + 1U); ++id) EXPECT_EQ(graph_of.node(id).id, id);
    for (TaskRecord const& node : graph_of.nodes())
      if (node.label == "parent") {
        EXPECT_EQ(graph_of.children(node.id).size(), children * 1U);
      }
  }
}

TEST_F(ScopeFailures, WhatABodyThrowsGoesBeforeFailuresOfChildrenThatItsThreadsSubmit) {
  for (int round = 0; round < repetitions; ++round) {
    TaskGraph graph(with_workers(2));
    Future<void> const outer = task(graph, "outer", {}, [&] {
      // The numbers of the worker are far above those of the graph then.
      for (int k = 0; k < 200; ++k) child("filler", {}, [] {});
      wait_for_children();
      child("inner", {}, [] {
        Impl::TaskHandle const parent = self();
        std::thread([parent] {
          Future<void> const failed = child_of(parent, "failing child", {},
                                               [] { throw std::runtime_error("of the child"); });
          until_done(failed);
        }).join();
        throw std::runtime_error("of the body");
      });
    });
    EXPECT_THAT(error_of([&] { outer.get(); }).what(), HasSubstr("of the body"));
    error_of([&] { graph.wait(); });
  }
}

TEST_F(ScopeFailures, WhatARecordedTaskThrowsGoesBeforeFailuresOfItsChildren) {
  TaskGraph graph(with_workers(2));
  Plan const plan = graph.record([&] {
    task(graph, "recorded", {}, [] {
      Future<void> const failed =
          child("failing child", {}, [] { throw std::runtime_error("of the child"); });
      until_done(failed);
      throw std::runtime_error("of the body");
    });
  });
  for (int round = 0; round < 3 * repetitions; ++round) {
    // So that the graph's numbers are above those of the workers, or below.
    for (int k = 0; k < 70; ++k) task(graph, "filler", {}, [] { child("child", {}, [] {}); });
    Future<void> const replay = graph.replay(plan);
    EXPECT_THAT(error_of([&] { replay.get(); }).what(), HasSubstr("of the body"));
    error_of([&] { graph.wait(); });
  }
}

TEST_F(ScopeFailures, FailuresInChildrenCancelWhatDependsAndNothingElse) {
  constexpr int count = 60;
  for (int round = 0; round < repetitions; ++round) {
    TaskGraph graph(with_workers(4));
    Block x("x", count);
    std::atomic<int> ran{0};
    std::vector<Future<void>> parents;
    std::vector<Future<void>> behind;
    for (std::size_t k = 0; k < count; ++k) {
      parents.push_back(task(graph, "parent", {updates(x(k, 1))}, [&, k] {
        child("first", {updates(x(k, 1))}, [k] {
          if (k % 3 == 0) throw std::runtime_error("failed on purpose");
        });
        child("behind it", {updates(x(k, 1))}, [&, k] { x[k] = 1; });
        child("free", {}, [&] { ++ran; });
      }));
      behind.push_back(task(graph, "behind", {reads(x(k, 1))}, [&] { ++ran; }));
    }
    Error const error = error_of([&] { graph.wait(); });
    EXPECT_THAT(error.what(), HasSubstr(std::to_string(count / 3 - 1) + " more failed"));
    EXPECT_EQ(ran, count + count - count / 3);
    for (std::size_t k = 0; k < count; ++k) {
      EXPECT_EQ(x[k], k % 3 == 0 ? 0 : 1);
      if (k % 3 != 0) continue;
      EXPECT_THAT(error_of([&] { parents[k].get(); }).what(), HasSubstr("a child of it failed"));
      EXPECT_EQ(error_of([&] { behind[k].get(); }).kind(), Error::Kind::cancelled);
    }
  }
}

// A child of a refined task may fail before the others have been told that they may start.
TEST_F(ScopeFailures, AChildThatFailsAtOnceDoesNotCancelTheOtherChildrenOfARefinedTask) {
  constexpr int count = 2000;
  for (int round = 0; round < 2 * repetitions; ++round) {
    TaskGraph graph(with_workers(3));
    Block x("x");
    Gate gate;
    std::atomic<int> ran{0};
    std::atomic<bool> started{false};
    task(graph, "gate", {updates(x)}, [&] { EXPECT_TRUE(gate.pass()); });
    Future<void> const refined = task(graph, "refined", {updates(x)}, [] {});
    Future<void> const other = task(graph, "other", {}, [&] {
      EXPECT_TRUE(gate.pass());
      for (int k = 0; k < 100 * round; ++k) (void)started.load();
    });
    refine(refined, [&](Impl::TaskHandle const& parent) {
      child_of(parent, "child", {}, [] { throw std::runtime_error("failed on purpose"); },
               {.after = handles(other)});
      for (int k = 0; k < count; ++k) child_of(parent, "child", {}, [&] { ++ran; });
    });
    gate.open();
    error_of([&] { graph.wait(); });
    EXPECT_EQ(ran, count);
  }
}

// In a functor's copy the lock is held under which the functor's task is submitted.
TEST_F(ScopeFailures, ACopyThatWaitsForTheChildrenOfItsParentIsTold) {
  struct Waits {
    std::shared_ptr<std::string> text;
    std::shared_ptr<std::atomic<bool>> armed;
    Waits(std::shared_ptr<std::string> its_text, std::shared_ptr<std::atomic<bool>> is_armed)
        : text(std::move(its_text)), armed(std::move(is_armed)) {}
    Waits(Waits const& other) : text(other.text), armed(other.armed) { use(); }
    Waits(Waits&& other) : text(other.text), armed(other.armed) { use(); }
    void use() const {
      if (!armed->exchange(false)) return;
      *text = message_of([] { wait_for_children(); });
    }
    void operator()() const {}
  };
  TaskGraph graph(with_workers(2));
  auto const text = std::make_shared<std::string>();
  auto const armed = std::make_shared<std::atomic<bool>>(false);
  Block x("x");
  task(graph, "parent", {updates(x)}, [&] {
    until_done(child("first", {updates(x)}, [] {}));
    Waits const waits(text, armed);
    // Armed when it is about to be moved into the task, and nowhere else.
    auto const construct = [&](void* storage) {
      *armed = true;
      ::new (storage) Waits(waits);
    };
    static constexpr Impl::TaskOps ops{
        .pattern = "host_task",
        .run = [](void*, void*, Label const&) {},
        .destroy = [](void* body) noexcept { static_cast<Waits*>(body)->~Waits(); },
        .fail = [](void*, TaskId, std::string const&, Impl::FailurePtr const&) noexcept {}};
    Impl::GraphInternals::submit_child(
        self(), Impl::TaskSpec(Label("second"), ops, sizeof(Waits), alignof(Waits), construct));
  });
  graph.wait();
  EXPECT_THAT(*text, HasSubstr("uses the graph to which a task is just being submitted"));
}

}  // namespace
}  // namespace trellis
