// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A number for each thread: nobody else's while the thread lives, and used again.
#include "Timing.hpp"

#include <threads/Trellis_ThreadSlot.hpp>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>
#include <vector>

namespace trellis {
namespace {

using Impl::thread_slot;
using namespace Test;

class ThreadSlot : public Timed {};

/// Those of `count` threads that live at the same time.
std::set<int> slots_of_threads(int count) {
  std::vector<int> slots(static_cast<std::size_t>(count));
  std::vector<std::thread> threads;
  Rendezvous all(count);
  for (int& slot : slots)
    threads.emplace_back([&] {
      slot = thread_slot();
      EXPECT_TRUE(all.meet());
      EXPECT_EQ(thread_slot(), slot);
    });
  for (std::thread& thread : threads) thread.join();
  return {slots.begin(), slots.end()};
}

TEST_F(ThreadSlot, IsNobodyElsesWhileTheThreadLives) {
  int const own = thread_slot();
  std::set<int> const others = slots_of_threads(40);
  EXPECT_EQ(others.size(), 40U);
  EXPECT_FALSE(others.contains(own));
  EXPECT_EQ(thread_slot(), own);
}

TEST_F(ThreadSlot, IsUsedAgainTheSmallestFirst) {
  std::set<int> const first = slots_of_threads(30);
  for (int k = 0; k < 20; ++k) {
    std::set<int> const again = slots_of_threads(10);
    EXPECT_TRUE(std::equal(again.begin(), again.end(), first.begin()));
  }
}

TEST_F(ThreadSlot, PassesOnWhatWasWrittenUnderIt) {
  // No atomics here: the thread sanitizer sees whether the slots order it.
  std::vector<long> written(Impl::most_thread_slots);
  std::vector<std::thread> makers;
  std::atomic<long> threads{0};
  for (int k = 0; k < 3; ++k)
    makers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        std::thread one([&] {
          ++written[static_cast<std::size_t>(thread_slot())];
          ++threads;
        });
        one.join();
      }
    });
  for (std::thread& maker : makers) maker.join();
  long sum = 0;
  for (long each : written) sum += each;
  EXPECT_EQ(sum, threads);
}

/// Made before the thread has a slot, so it ends after that has been given back.
struct AsksLate {
  ~AsksLate() { *slot = thread_slot(); }
  int* slot = nullptr;
};
TEST_F(ThreadSlot, MayBeAskedForAtTheEndOfTheThread) {
  int late = -1;
  std::thread one([&] {
    thread_local AsksLate asks;
    asks.slot = &late;
    (void)thread_slot();
  });
  one.join();
  EXPECT_GE(late, 0);
  EXPECT_FALSE(slots_of_threads(20).contains(late));  // that one is gone for good
}

}  // namespace
}  // namespace trellis
