// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Futures, plans and graphs that end while other threads use them.
#include "BareTask.hpp"
#include "Timing.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;
using testing::HasSubstr;

class Lifetimes : public Timed {};

int const repetitions = sanitized ? 60 : 600;

/// Two threads that do something again and again until they are destroyed.
class Others {
 public:
  explicit Others(std::function<void()> const& f) {
    for (int k = 0; k < 2; ++k)
      m_threads.emplace_back([this, f] {
        while (!m_over.load(std::memory_order_relaxed)) f();
      });
  }
  ~Others() {
    m_over = true;
    for (std::thread& thread : m_threads) thread.join();
  }

 private:
  std::atomic<bool> m_over{false};
  std::vector<std::thread> m_threads;
};

TEST_F(Lifetimes, FuturesOfRecordedTasksMayBeAskedWhileThePlanIsDropped) {
  TaskGraph graph(with_workers(2));
  Block x("x");
  for (int repeat = 0; repeat < repetitions; ++repeat) {
    std::vector<Future<void>> futures;
    std::optional<Plan> plan(Impl::GraphInternals::record(graph, Label(std::string("plan")), [&] {
      for (int k = 0; k < 4; ++k)
        futures.push_back(task(graph, "grow", {updates(x)}, [&] { ++x[0]; }));
    }));
    Others const askers([&] {
      for (auto const& future : futures) {
        std::ignore = future.is_done();
        future.wait();
        future.get();
      }
    });
    graph.replay(*plan, 2);
    plan.reset();
    for (int k = 0; k < 20; ++k) task(graph, "reuses the cells", {updates(x)}, [&] { --x[0]; });
  }
  graph.wait();
  EXPECT_EQ(x[0], repetitions * (8 - 20));
}

TEST_F(Lifetimes, FailuresOfRecordedTasksMayBeAskedWhileThePlanIsDropped) {
  TaskGraph graph(with_workers(2));
  Block x("x");
  for (int repeat = 0; repeat < repetitions; ++repeat) {
    Future<void> future;
    std::optional<Plan> plan(Impl::GraphInternals::record(graph, Label(std::string("plan")), [&] {
      future = task(graph, "throws", {updates(x)}, [] { throw std::runtime_error("on purpose"); });
    }));
    std::atomic<int> wrong{0};
    {
      Others const askers([&] {
        std::string const text = message_of([&] { future.get(); });
        if (text != "no error" && text.find("on purpose") == std::string::npos) ++wrong;
      });
      graph.replay(*plan);
      plan.reset();
      EXPECT_THAT(message_of([&] { graph.wait(); }), HasSubstr("on purpose"));
    }
    EXPECT_EQ(wrong, 0);
  }
}

TEST_F(Lifetimes, FuturesMayBeUsedWhileTheirGraphIsDestroyed) {
  for (int repeat = 0; repeat < repetitions; ++repeat) {
    Block x("x");
    auto graph = std::make_unique<TaskGraph>(with_workers(2));
    std::vector<Future<void>> futures;
    std::vector<Future<long>> results;
    for (int k = 0; k < 8; ++k) {
      futures.push_back(task(*graph, "grow", {updates(x)}, [&] { ++x[0]; }));
      results.push_back(task(*graph, "read", {reads(x)}, [&] { return x[0]; }));
    }
    std::atomic<int> wrong{0};
    Others const users([&] {
      for (auto const& future : futures) {
        std::ignore = future.is_done();
        future.wait();
        future.get();
      }
      for (std::size_t k = 0; k < results.size(); ++k)
        if (results[k].get() != static_cast<long>(k + 1)) ++wrong;
    });
    graph.reset();
    EXPECT_EQ(wrong, 0);
  }
}

TEST_F(Lifetimes, PlansMayBeDroppedWhileTheirGraphIsDestroyed) {
  std::atomic<int> alive{0};
  struct Counted {
    explicit Counted(std::atomic<int>& in) : count(&in) { ++*count; }
    Counted(Counted const& other) : count(other.count) { ++*count; }
    Counted& operator=(Counted const&) = delete;
    ~Counted() { --*count; }
    std::atomic<int>* count;
  };
  for (int repeat = 0; repeat < repetitions; ++repeat) {
    Block x("x");
    auto graph = std::make_unique<TaskGraph>(with_workers(2));
    std::vector<Plan> plans;
    for (int k = 0; k < 6; ++k)
      plans.push_back(Impl::GraphInternals::record(*graph, Label(std::string("plan")), [&] {
        task(*graph, "grow", {updates(x)}, [&x, counted = Counted(alive)] { ++x[0]; });
        if (!plans.empty()) graph->replay(plans.back());
      }));
    graph->replay(plans.back(), 2);
    std::thread dropping([mine = std::move(plans)]() mutable {
      while (!mine.empty()) mine.pop_back();
    });
    graph.reset();
    dropping.join();
    EXPECT_EQ(alive, 0);
    EXPECT_EQ(x[0], 12);
  }
}

TEST_F(Lifetimes, APlanThatOnlyItsOwnFunctorHoldsEndsWithTheGraph) {
  Block x("x");
  auto held = std::make_shared<Plan>();
  std::weak_ptr<Plan> const watch = held;
  {
    TaskGraph graph(with_workers(1));
    *held = Impl::GraphInternals::record(graph, Label(std::string("plan")), [&] {
      task(graph, "grow", {updates(x)}, [&x, held] { ++x[0]; });
    });
    graph.replay(*held);
    held.reset();
  }
  EXPECT_EQ(x[0], 1);
  EXPECT_TRUE(watch.expired());
}

TEST_F(Lifetimes, AFunctorMayDropTheLastHandleOfAnotherPlan) {
  TaskGraph graph(with_workers(2));
  Block x("x");
  for (int repeat = 0; repeat < repetitions; ++repeat) {
    Plan inner = Impl::GraphInternals::record(graph, Label(std::string("inner")), [&] {
      task(graph, "grow", {updates(x)}, [&] { ++x[0]; });
    });
    graph.replay(inner);
    task(graph, "drops", {updates(x)}, [plan = std::move(inner)] {});
  }
  graph.wait();
  EXPECT_EQ(x[0], repetitions);
}

TEST_F(Lifetimes, AThreadThatWaitsForATaskIsThroughBeforeItsGraphIsGone) {
  for (int repeat = 0; repeat < repetitions; ++repeat) {
    auto graph = std::make_unique<TaskGraph>(with_workers(1));
    Gate gate;
    auto const future = task(*graph, "gate", {}, [&] { EXPECT_TRUE(gate.pass()); });
    std::vector<std::thread> waiting;
    for (int k = 0; k < 3; ++k) waiting.emplace_back([&] { future.get(); });
    std::thread opening([&] { gate.open(); });
    graph.reset();
    opening.join();
    for (std::thread& thread : waiting) thread.join();
  }
}

TEST_F(Lifetimes, ATaskScopeOfAGraphThatIsGoneIsRefused) {
  Impl::TaskHandle parent;
  {
    TaskGraph graph(with_workers(1));
    task(graph, "parent", {}, [&] { parent = self(); });
  }
  EXPECT_THAT(message_of([&] { child_of(parent, "late", {}, [] {}); }),
              HasSubstr("the graph of task #1 is not there any more"));
}

}  // namespace
}  // namespace trellis
