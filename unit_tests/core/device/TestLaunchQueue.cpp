// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Devices whose launches take long: a thread that has nothing else to do launches for those that
// submit.
#include "AsyncTest.hpp"

#include <Trellis_Progress.hpp>
#include <base/Trellis_RecursiveLock.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;
using testing::AnyOf;
using testing::ElementsAre;

class LaunchQueue : public Async {
 protected:
  void SetUp() override { device.is_slow = true; }

  /// Calls `submits(graph)` while another thread asks the device, and stays there; most likely it
  /// stands by meanwhile. Then `launched` is still 0. Else another attempt is made.
  template <class Submits, class Checks>
  void while_offers_wait(std::atomic<int>& launched, Submits submits, Checks checks) {
    auto const here = std::this_thread::get_id();
    for (int attempt = 0; attempt < 200; ++attempt) {
      Gate asks, gate, busy;
      std::atomic<int> questions{0};
      device.when_asked = [&] {
        if (std::this_thread::get_id() == here || ++questions != 5) return;
        asks.open();
        gate.pass();
      };
      bool have_waited = false;
      {
        TaskGraph graph(with_workers(2));
        Block x("x");
        kernel(graph, "keeps the device busy", {writes(x)}, [&] { busy.pass(); });
        ASSERT_TRUE(asks.pass());
        launched = 0;
        submits(graph);
        have_waited = launched == 0;
        gate.open();
        busy.open();
        checks(graph, have_waited);
      }
      device.when_asked = nullptr;
      if (have_waited) return;
    }
    FAIL() << "nobody has ever stood by";
  }
};

TEST_F(LaunchQueue, WhoSubmitsDoesNotWaitForALaunch) {
  std::atomic<int> launched{0};
  while_offers_wait(
      launched,
      [&](TaskGraph& graph) {
        for (int k = 0; k < 1000; ++k) kernel(graph, "offered", {}, [] {}, [&] { ++launched; });
      },
      [&](TaskGraph& graph, bool) {
        graph.wait();
        EXPECT_EQ(launched, 1000);
      });
}

/// And not in that in which they have become ready.
TEST_F(LaunchQueue, LaunchesAreInTheOrderOfPrioritiesAndOfTheProgram) {
  std::atomic<int> launched{0};
  Block x("x"), y("y");
  std::vector<std::string> order;  // launches do not overlap
  auto const note = [&](std::string const& name) {
    return [&, name] {
      ++launched;
      order.push_back(name);
    };
  };
  while_offers_wait(
      launched,
      [&](TaskGraph& graph) {
        order.clear();
        kernel(graph, "1", {writes(x)}, [] {}, note("1"));
        kernel(graph, "2", {writes(y)}, [] {}, note("2"));
        kernel(graph, "3, behind 1", {updates(x)}, [] {}, note("3"));
        kernel(graph, "4", {}, [] {}, note("4"));
        kernel(graph, "5, behind 2", {updates(y)}, [] {}, note("5"), {.priority = 2});
        kernel(graph, "6", {}, [] {}, note("6"), {.priority = 1});
      },
      [&](TaskGraph& graph, bool have_waited) {
        graph.wait();
        if (have_waited) {
          // Before the thread goes to code of the user's, here the end of a functor, it launches
          // what becomes ready by a launch right behind that.
          EXPECT_THAT(order, AnyOf(ElementsAre("6", "1", "2", "5", "3", "4"),
                                   ElementsAre("6", "1", "3", "2", "5", "4")));
        }
      });
}

/// Completing tasks and calling functions runs code of the user's, which may take as long as it
/// likes.
TEST_F(LaunchQueue, WhatIsOfferedIsLaunchedThoughTheThreadIsInAFunctionOfTheUsers) {
  for (int round = 0; round < 30; ++round) {
    Gate launched_last;
    std::atomic<bool> blocks{false}, in_time{false};
    TaskGraph graph(with_workers(1 + round % 3));
    Progress progress = graph.add_progress([&] {
      if (!blocks) return true;
      in_time = launched_last.pass(5s);
      return false;
    });
    Block x("x");
    progress.ask();
    for (int k = 0; k < 300; ++k) {
      if (k == 150) blocks = true;
      kernel(graph, "update", {updates(x)}, [&] { ++x[0]; });
    }
    kernel(graph, "last", {updates(x)}, [&] { ++x[0]; }, [&] { launched_last.open(); });
    graph.wait();
    EXPECT_EQ(x[0], 301);
    EXPECT_TRUE(in_time);
  }
}

TEST_F(LaunchQueue, WhatIsOfferedIsLaunchedThoughTheThreadIsInADestructor) {
  for (int round = 0; round < 30; ++round) {
    Gate launched_last, continues;
    std::atomic<bool> in_time{false};
    {
      TaskGraph graph(with_workers(1 + round % 3));
      Block x("x"), y("y");
      struct Blocks {
        Gate& gate;
        std::atomic<bool>& in_time;
        ~Blocks() { in_time = gate.pass(5s); }
      };
      auto blocks = std::make_shared<Blocks>(launched_last, in_time);
      kernel(graph, "blocks at its end", {writes(x)}, [blocks, &continues] { continues.pass(); });
      blocks.reset();  // not the last one, for it is not over
      continues.open();
      for (int k = 0; k < 300; ++k) kernel(graph, "update", {updates(y)}, [&] { ++y[0]; });
      kernel(graph, "last", {updates(y)}, [&] { ++y[0]; }, [&] { launched_last.open(); });
      graph.wait();
      EXPECT_EQ(y[0], 301);
    }
    EXPECT_TRUE(in_time);
  }
}

/// What is launched there by hand afterwards comes behind it.
TEST_F(LaunchQueue, ATaskOnAStreamOfTheUsersIsLaunchedWhenItsSubmissionReturns) {
  for (int round = 0; round < 50; ++round) {
    FakeDevice::Stream mine;
    TaskGraph graph(with_workers(1 + round % 3));
    Block x("x");
    for (int k = 0; k < 200; ++k) kernel(graph, "update", {updates(x)}, [&] { ++x[0]; });
    for (int k = 0; k < 3; ++k) {
      std::atomic<bool> launched{false};
      kernel(
          graph, "mine", {updates(x)}, [&] { ++x[0]; }, [&] { launched = true; },
          {.instance = &mine});
      EXPECT_TRUE(launched);
      for (int j = 0; j < 20; ++j) kernel(graph, "behind", {updates(x)}, [&] { ++x[0]; });
    }
    graph.wait();
    EXPECT_EQ(x[0], 263);
  }
}

TEST_F(LaunchQueue, AFailedLaunchOfAnotherThreadCancelsWhatDependsOnIt) {
  std::atomic<int> launched{0};
  Block x("x"), y("y");
  Future<void> behind, beside;
  while_offers_wait(
      launched,
      [&](TaskGraph& graph) {
        x[0] = 0;
        kernel(
            graph, "fails", {writes(x)}, [&] { x[0] = 1; },
            [&] {
              ++launched;
              throw std::runtime_error("no");
            });
        behind = kernel(graph, "behind", {updates(x)}, [&] { x[0] = 2; });
        beside = kernel(graph, "beside", {writes(y)}, [&] { y[0] = 3; });
      },
      [&](TaskGraph& graph, bool) {
        EXPECT_THROW(behind.get(), std::runtime_error);
        beside.wait();
        EXPECT_EQ(y[0], 3);
        EXPECT_THROW(graph.wait(), std::runtime_error);
        EXPECT_NE(x[0], 2);
      });
}

TEST_F(LaunchQueue, SeveralThreadsSubmitTheirPartsOfALongProgram) {
  TaskGraphOptions options = with_workers(2);
  options.in_flight = 200;
  TaskGraph graph(options);
  constexpr int threads = 3, length = sanitized ? 300 : 3000;
  std::array<Block, threads> x{Block("a"), Block("b"), Block("c")};
  Block all("all");
  std::vector<std::thread> submitting;
  for (std::size_t t = 0; t < threads; ++t)
    submitting.emplace_back([&, t] {
      for (int k = 0; k < length; ++k) {
        kernel(graph, "own", {updates(x[t])}, [&, t] { ++x[t][0]; });
        if (k % 7 == 0) kernel(graph, "shared", {updates(all), reads(x[t])}, [&] { ++all[0]; });
        if (k % 50 == 0) task(graph, "host", {updates(x[t])}, [&, t] { ++x[t][0]; });
      }
    });
  for (std::thread& each : submitting) each.join();
  graph.wait();
  for (Block& each : x) EXPECT_EQ(each[0], length + (length + 49) / 50);
  EXPECT_EQ(all[0], threads * ((length + 6) / 7));
}

// --- events --------------------------------------------------------------------------------------

/// Runs everything at its launch.
class InstantDevice : public Impl::DeviceAdapter {
 public:
  std::string_view name() const override { return "Instant"; }
  void* make_instance(int /*threads*/) override { return new int(0); }
  void destroy_instance(void* instance) noexcept override { delete static_cast<int*>(instance); }
  bool can_wait_for(Impl::DeviceAdapter const& other) const override { return &other == this; }
  void* record_event(void* instance, bool /*timed*/) override {
    ++recorded;
    return instance;
  }
  void enqueue_wait(void* /*instance*/, void* /*event*/) override { ++waits; }
  bool has_passed(void* /*event*/) override { return passes; }

  std::atomic<int> recorded{0}, waits{0};
  std::atomic<bool> passes{true};
};

/// How soon that is known depends on how often the device is asked.
TEST_F(LaunchQueue, IndependentTasksShareEventsWhereTheDeviceKeepsUp) {
  constexpr int tasks = 20'000;
  int fewest = tasks;
  for (int attempt = 0; attempt < 20 && fewest > tasks / 2; ++attempt) {
    InstantDevice instant;
    TaskGraphOptions options = with_workers(2);
    options.streams = 1;
    TaskGraph graph(options);
    Block x("x", tasks);
    for (std::size_t k = 0; k < tasks; ++k)
      task(graph, "one", {writes(x(k, 1))}, [&, k](void*) { x[k] = 1; }, {.space = &instant});
    graph.wait();
    fewest = std::min<int>(fewest, instant.recorded);
    for (std::size_t k = 0; k < tasks; ++k) ASSERT_EQ(x[k], 1);
  }
  EXPECT_LE(fewest, tasks / 2);
}

/// What comes behind one of them does not wait for others.
TEST_F(LaunchQueue, TasksHaveEventsOfTheirOwnWhereTheDeviceIsBehind) {
  constexpr int tasks = 500;
  InstantDevice late;
  late.passes = false;
  TaskGraphOptions options = with_workers(2);
  options.streams = 4;
  TaskGraph graph(options);
  Block x("x", tasks);
  std::atomic<int> launched{0};
  for (std::size_t k = 0; k < tasks; ++k)
    task(graph, "one", {writes(x(k, 1))},
         [&, k](void*) {
           x[k] = 1;
           ++launched;
         },
         {.space = &late});
  while (launched < tasks) std::this_thread::yield();
  std::this_thread::sleep_for(1ms);
  late.passes = true;
  graph.wait();
  EXPECT_GE(late.recorded, tasks - options.streams.value());
}

// --- the lock ------------------------------------------------------------------------------------

TEST(RecursiveLock, IsOneThreadsAtATime) {
  Impl::RecursiveLock lock;
  constexpr int threads = 3, rounds = sanitized ? 2'000 : 20'000;
  long count = 0;
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      for (int k = 0; k < rounds; ++k) {
        std::lock_guard const outer(lock);
        long const before = count;
        std::unique_lock inner(lock, std::defer_lock);
        if ((k + t) % 2 == 0) inner.lock();
        if (k % 1000 == 0) std::this_thread::sleep_for(100us);
        count = before + 1;
      }
    });
  for (std::thread& each : all) each.join();
  EXPECT_EQ(count, threads * rounds);
}

TEST(RecursiveLock, IsFreeWhenItHasBeenUnlockedAsOftenAsLocked) {
  Impl::RecursiveLock lock;
  auto const free_elsewhere = [&] {
    bool is_free = false;
    std::thread([&] {
      is_free = lock.try_lock();
      if (is_free) lock.unlock();
    }).join();
    return is_free;
  };
  EXPECT_TRUE(free_elsewhere());
  lock.lock();
  EXPECT_TRUE(lock.try_lock());
  EXPECT_FALSE(free_elsewhere());
  lock.unlock();
  EXPECT_FALSE(free_elsewhere());
  lock.unlock();
  EXPECT_TRUE(free_elsewhere());
}

}  // namespace
}  // namespace trellis
