// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tasks that wait for tasks that wait, to any depth: a waiting task runs what it waits for on its
// stack.
#include "BareTask.hpp"
#include "Timing.hpp"

#include <Trellis_SchedulingPolicy.hpp>

#include <gmock/gmock.h>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;
using testing::HasSubstr;

class Recursion : public Timed {};

long fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

/// As children, which are waited for together.
long by_children(int n) {
  if (n < 2) return n;
  long left = 0, right = 0;
  child("left", {}, [&, n] { left = by_children(n - 1); });
  child("right", {}, [&, n] { right = by_children(n - 2); });
  wait_for_children();
  return left + right;
}

/// As children, each waited for by its Future.
long by_futures_of_children(int n) {
  if (n < 2) return n;
  auto const left = child("left", {}, [n] { return by_futures_of_children(n - 1); });
  auto const right = child("right", {}, [n] { return by_futures_of_children(n - 2); });
  return left.get() + right.get();
}

/// As tasks of the graph.
long by_tasks(TaskGraph& graph, int n) {
  if (n < 2) return n;
  auto const left = task(graph, "left", {}, [&graph, n] { return by_tasks(graph, n - 1); });
  auto const right = task(graph, "right", {}, [&graph, n] { return by_tasks(graph, n - 2); });
  return left.get() + right.get();
}

constexpr int size = sanitized ? 13 : 18;

TaskGraphOptions options_with(int workers, std::string const& policy) {
  TaskGraphOptions options = with_workers(workers);
  if (policy == "fifo") options.policy = make_fifo_policy();
  if (policy == "shake") options.policy = make_shake_policy(17);
  return options;
}

/// Calls f with graphs of one to eight workers and of each policy, and a size.
void for_each_graph(std::function<void(TaskGraph&, int)> const& f) {
  for (int const workers : {1, 2, 3, 8})
    for (std::string const policy : {"work_stealing", "fifo", "shake"}) {
      SCOPED_TRACE(std::to_string(workers) + " workers, " + policy);
      TaskGraph graph(options_with(workers, policy));
      f(graph, policy == "shake" ? 9 : size);
    }
}

TEST_F(Recursion, ByChildrenThatAreWaitedForTogether) {
  for_each_graph([](TaskGraph& graph, int n) {
    EXPECT_EQ(task(graph, "whole", {}, [n] { return by_children(n); }).get(), fibonacci(n));
  });
}

TEST_F(Recursion, ByChildrenThatAreWaitedForByTheirFutures) {
  for_each_graph([](TaskGraph& graph, int n) {
    EXPECT_EQ(task(graph, "whole", {}, [n] { return by_futures_of_children(n); }).get(),
              fibonacci(n));
  });
}

TEST_F(Recursion, ByTasksThatAreNoChildren) {
  for_each_graph([](TaskGraph& graph, int n) {
    EXPECT_EQ(task(graph, "whole", {}, [&graph, n] { return by_tasks(graph, n); }).get(),
              fibonacci(n));
  });
}

TEST_F(Recursion, OfManyTasks) {
  constexpr int large = sanitized ? 15 : 22;
  for (int const workers : {1, 2, 4}) {
    TaskGraph graph(with_workers(workers));
    EXPECT_EQ(task(graph, "whole", {}, [] { return by_children(large); }).get(), fibonacci(large));
    EXPECT_EQ(task(graph, "whole", {}, [] { return by_futures_of_children(large); }).get(),
              fibonacci(large));
    EXPECT_EQ(task(graph, "whole", {}, [&] { return by_tasks(graph, large - 2); }).get(),
              fibonacci(large - 2));
  }
}

/// In the order in which they were submitted: the first is far from where tasks are taken.
TEST_F(Recursion, OfTasksThatForkManyChildren) {
  constexpr int width = 40;
  std::function<int(int)> descend = [&](int level) {
    if (level == 0) return 1;
    std::vector<Future<int>> children;
    for (int k = 0; k < width; ++k)
      children.push_back(child("child", {}, [&, level] { return descend(level - 1); }));
    int sum = 0;
    for (auto const& each : children) sum += each.get();
    return sum;
  };
  for (int const workers : {1, 2, 4}) {
    TaskGraph graph(with_workers(workers));
    EXPECT_EQ(task(graph, "whole", {}, [&] { return descend(3); }).get(), width * width * width);
  }
}

/// The thread that submits is the only one that may run a tree, and several trees are under way at
/// once.
TEST_F(Recursion, OfSeveralTreesAtOnce) {
  TaskGraph graph(with_workers(2));
  std::vector<Future<long>> trees;
  for (int k = 0; k < 10; ++k)
    trees.push_back(task(graph, "whole", {}, [] { return by_children(11); }));
  for (auto const& tree : trees) EXPECT_EQ(tree.get(), fibonacci(11));
}

TEST_F(Recursion, OfAChainThatIsDeeperThanThereMayBeThreads) {
  constexpr int depth = 1000;
  for (int const workers : {1, 2, 4}) {
    TaskGraph graph(with_workers(workers));
    std::function<int(int)> descend = [&](int level) -> int {
      return level == depth
                 ? 0
                 : 1 + child("child", {}, [&, level] { return descend(level + 1); }).get();
    };
    EXPECT_EQ(task(graph, "whole", {}, [&] { return descend(0); }).get(), depth)
        << workers << " workers";
  }
}

TEST_F(Recursion, GivesAFailureUpToTheFirstThatCatchesIt) {
  TaskGraph graph(with_workers(2));
  std::function<void(int)> descend = [&](int level) {
    if (level == 0) throw std::runtime_error("at the bottom");
    child("fine", {}, [] {});
    child("child", {}, [&, level] { descend(level - 1); });
    wait_for_children();
  };
  auto const whole = task(graph, "whole", {}, [&] { descend(20); });
  EXPECT_THAT(message_of([&] { whole.get(); }), HasSubstr("at the bottom"));
  EXPECT_THROW(graph.wait(), Error);
  EXPECT_EQ(task(graph, "again", {}, [] { return by_children(8); }).get(), fibonacci(8));
}

TEST_F(Recursion, AtASmallCap) {
  for (int const cap : {1, 4}) {
    TaskGraphOptions options = with_workers(2);
    options.in_flight = cap;
    TaskGraph graph(options);
    for (int k = 0; k < 5; ++k) {
      task(graph, "whole", {}, [] { EXPECT_EQ(by_children(10), fibonacci(10)); });
      task(graph, "whole", {}, [&] { EXPECT_EQ(by_tasks(graph, 10), fibonacci(10)); });
    }
    graph.wait();
  }
}

TEST_F(Recursion, InAPlan) {
  TaskGraph graph(with_workers(2));
  Block x("x");
  std::atomic<int> wrong{0};
  Plan const plan = graph.record([&] {
    task(graph, "before", {updates(x)}, [&] { wrong += by_children(8) != fibonacci(8); });
    task(graph, "beside", {}, [&] { wrong += by_futures_of_children(8) != fibonacci(8); });
    task(graph, "behind", {updates(x)}, [&] { x[0] += by_children(8); });
  });
  graph.replay(plan, 20);
  task(graph, "waits for a replay", {}, [&] { graph.replay(plan, 5).wait(); });
  graph.wait();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(x[0], 25 * fibonacci(8));
}

TEST_F(Recursion, InIterationsOfALoop) {
  TaskGraph graph(with_workers(2));
  Block x("x");
  graph.iterate("loop", 50, [&](std::uint64_t) {
    task(graph, "step", {updates(x)}, [&] { x[0] += by_children(6); });
    task(graph, "look", {reads(x)}, [] { EXPECT_EQ(by_futures_of_children(5), fibonacci(5)); });
  });
  graph.wait();
  EXPECT_EQ(x[0], 50 * fibonacci(6));
}

/// The graph is destroyed, and threads outside wait, while trees are under way.
TEST_F(Recursion, WhileTheGraphEndsAndOthersWait) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    Future<long> whole;
    std::thread waits;
    {
      TaskGraph graph(with_workers(2));
      whole = task(graph, "whole", {}, [] { return by_children(9); });
      waits = std::thread([whole] { EXPECT_EQ(whole.get(), fibonacci(9)); });
      task(graph, "another", {}, [] { return by_futures_of_children(9); });
    }
    waits.join();
  }
}

/// What it waits for, and nothing else: this one would have the other's place for ever.
TEST_F(Recursion, RunsNoOtherTaskOnTheStackOfOneThatWaits) {
  for (int repeat = 0; repeat < 50; ++repeat) {
    TaskGraph graph(with_workers(1));
    Gate gate;
    std::atomic<bool> continues{false};
    task(graph, "whole", {}, [&] {
      auto const quick = child("quick", {}, [] {});
      child("would be taken first", {}, [&] { EXPECT_TRUE(gate.pass()); });
      quick.wait();
      continues = true;
      gate.open();
    });
    graph.wait();
    EXPECT_TRUE(continues);
  }
}

TEST_F(Recursion, WithExclusiveChildrenEnds) {
  for (int const workers : {1, 2, 4}) {
    TaskGraph graph(with_workers(workers));
    Block x("x");
    std::function<void(int)> descend = [&](int level) {
      if (level == 0) return;
      for (int k = 0; k < 2; ++k)
        child("child", {excludes(x)}, [&, level] {
          x[0] += 1;
          descend(level - 1);
        });
      wait_for_children();
    };
    task(graph, "whole", {excludes(x)}, [&] { descend(6); });
    graph.wait();
    EXPECT_EQ(x[0], (1 << 7) - 2) << workers << " workers";
  }
}

}  // namespace
}  // namespace trellis
