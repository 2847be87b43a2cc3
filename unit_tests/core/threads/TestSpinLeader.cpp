// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One thread looks for several, which go on when it has ended, or without it.
#include "BareTask.hpp"
#include "Timing.hpp"

#include <Trellis_Plan.hpp>
#include <threads/Trellis_SpinLeader.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <thread>
#include <vector>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;
using namespace std::chrono_literals;
using Impl::SpinLeader;
using Clock = std::chrono::steady_clock;

class SpinLeaderTest : public Timed {};

TEST_F(SpinLeaderTest, ThereIsOneAtATime) {
  SpinLeader leader;
  EXPECT_FALSE(leader.follow(1h));  // at once: nobody is there
  EXPECT_TRUE(leader.begin());
  EXPECT_FALSE(leader.begin());
  leader.end();
  EXPECT_FALSE(leader.follow(1h));
  EXPECT_TRUE(leader.begin());
  leader.end();
}

TEST_F(SpinLeaderTest, WhoFollowsGoesOnWithoutItAfterAWhile) {
  SpinLeader leader;
  ASSERT_TRUE(leader.begin());  // and never ends
  auto const begin = Clock::now();
  EXPECT_TRUE(leader.follow(20ms));
  EXPECT_GE(Clock::now() - begin, 20ms);
}

TEST_F(SpinLeaderTest, AllThatFollowGoOnWhenItEnds) {
  for (int round = 0; round < 20; ++round) {
    SpinLeader leader;
    ASSERT_TRUE(leader.begin());
    std::atomic<int> followers{0};
    std::atomic<int> gone_on{0};
    std::vector<std::thread> threads;
    for (int k = 0; k < 4; ++k)
      threads.emplace_back([&] {
        ++followers;
        leader.follow(1h);
        ++gone_on;
      });
    while (followers < 4) std::this_thread::yield();
    std::this_thread::sleep_for(100us);
    EXPECT_EQ(gone_on, 0);
    leader.end();
    for (std::thread& thread : threads) thread.join();
  }
}

TEST_F(SpinLeaderTest, ManyTakeTurnsAndNobodyMistakesTheNextOneForItsOwn) {
  SpinLeader leader;
  std::atomic<int> leaders{0};
  std::atomic<int> most{0};
  std::atomic<int> watches{0};
  std::vector<std::thread> threads;
  for (int k = 0; k < 4; ++k)
    threads.emplace_back([&] {
      for (int turn = 0; turn < 2000; ++turn) {
        if (!leader.begin()) {
          leader.follow(1h);
          continue;
        }
        int const now = ++leaders;
        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        if (turn % 64 == 0) std::this_thread::yield();
        --leaders;
        ++watches;
        leader.end();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
  EXPECT_GT(watches, 0);
}

/// Nobody but the workers runs tasks here, and nothing tells them that there are no more.
TEST_F(SpinLeaderTest, WorkersThatBackOffRunAllThatIsSubmitted) {
  for (int const workers : {1, 2, 3}) {
    TaskGraph graph(with_workers(workers));
    std::atomic<int> ran{0};
    int submitted = 0;
    for (int burst = 0; burst < 300; ++burst) {
      for (int k = 0, many = 1 + burst * 7 % 200; k < many; ++k, ++submitted)
        task(graph, "short", {}, [&ran] { ++ran; });
      auto const begin = Clock::now();
      while (ran < submitted && Clock::now() - begin < 20s) std::this_thread::yield();
      ASSERT_EQ(ran, submitted) << workers << " workers, burst " << burst;
    }
    graph.wait();
  }
}

/// What becomes ready without being submitted by the thread that they stay behind: children, and
/// runs of a plan. A failure cancels what comes after it, and the thread waits in a body once in a
/// while.
TEST_F(SpinLeaderTest, WorkersThatBackOffRunChildrenAndPlansAndCancelWhatFails) {
  for (int const workers : {1, 2, 3}) {
    TaskGraph graph(with_workers(workers));
    Block x("x", 8);
    Block y("y", 8);
    std::atomic<int> ran{0};
    std::atomic<int> wrong{0};
    int expected = 0;
    Plan const plan = graph.record("plan", [&] {
      for (std::size_t k = 0; k < 8; ++k)
        task(graph, "step", {updates(x(k, 1))}, [&ran] { ++ran; });
    });
    for (int burst = 0; burst < 100; ++burst) {
      auto const short_tasks = [&](int many) {
        for (int k = 0; k < many; ++k, ++expected) task(graph, "short", {}, [&ran] { ++ran; });
      };
      short_tasks(40 + burst);
      task(graph, "whole", {updates(y)}, [&ran, &y] {
        for (std::size_t k = 0; k < 8; ++k) child("child", {updates(y(k, 1))}, [&ran] { ++ran; });
        if (ran % 2 == 0) wait_for_children();
      });
      expected += 8;
      short_tasks(40);
      graph.replay(plan, 2);
      expected += 16;
      short_tasks(40);
      if (burst % 8 == 0) {
        Block z("z");
        task(graph, "fails", {writes(z)}, [] { throw std::runtime_error("meant"); });
        auto const behind = task(graph, "behind", {reads(z)}, [&wrong] { ++wrong; });
        short_tasks(40);
        EXPECT_THROW(behind.get(), Error);
        EXPECT_THROW(graph.wait(), Error);
      }
      auto const begin = Clock::now();
      while (ran < expected && Clock::now() - begin < 20s) std::this_thread::yield();
      ASSERT_EQ(ran, expected) << workers << " workers, burst " << burst;
    }
    graph.wait();
    EXPECT_EQ(wrong, 0);
  }
}

}  // namespace
}  // namespace trellis
