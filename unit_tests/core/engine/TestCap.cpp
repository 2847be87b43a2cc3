// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bounded: the number of tasks in flight has a cap, memory follows it, and neither grows with the
// tasks ever submitted.
#include "BareTask.hpp"
#include "Memory.hpp"
#include "Timing.hpp"

#include <algorithm>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;

class Cap : public Timed {};
class Memory : public Timed {};

TEST_F(Cap, IsNeverExceededByAThreadOutsideOfTasks) {
  for (std::size_t cap = 1; cap <= 9; ++cap)
    for (int workers : {1, 2}) {
      TaskGraph graph(capped(workers, cap));
      Block x("x"), y("y");
      for (int k = 0; k < 300; ++k) {
        task(graph, "chain", {updates(x)}, [&, k] { x[0] = x[0] % 1000 * 3 + k; });
        EXPECT_LE(graph.in_flight(), cap);
        task(graph, "sum", {adds(y)}, [&] { std::atomic_ref(y[0]).fetch_add(1); });
        EXPECT_LE(graph.in_flight(), cap);
      }
      graph.wait();
      EXPECT_EQ(graph.in_flight(), 0u);
      long expected = 0;
      for (int k = 0; k < 300; ++k) expected = expected % 1000 * 3 + k;
      EXPECT_EQ(x[0], expected) << cap;
      EXPECT_EQ(y[0], 300) << cap;
    }
}

TEST_F(Cap, AThreadThatSubmitsMoreRunsTasksItself) {
  TaskGraph graph(capped(1, 2));
  auto const main = std::this_thread::get_id();
  Gate worker_is_busy, helped;
  task(graph, "busy", {}, [&] {
    worker_is_busy.open();
    EXPECT_TRUE(helped.pass()) << "nobody helped";
  });
  ASSERT_TRUE(worker_is_busy.pass());
  task(graph, "second", {}, [&] {
    EXPECT_EQ(std::this_thread::get_id(), main);
    helped.open();
  });
  task(graph, "third", {}, [] {});  // there is room for two
  graph.wait();
  EXPECT_TRUE(helped.is_open());
}

TEST_F(Cap, TasksSubmittedInsideATaskMayExceedIt) {
  TaskGraph graph(capped(1, 1));
  std::atomic<int> ran{0};
  std::uint64_t most = 0;
  Block box("box");  // no child can run before the parent is over, whatever threads there are
  task(graph, "parent", {writes(box)}, [&] {
    for (int k = 0; k < 100; ++k) task(graph, "child", {reads(box)}, [&] { ++ran; });
    most = graph.in_flight();
  });
  graph.wait();
  EXPECT_EQ(ran, 100);
  EXPECT_EQ(most, 101u);
}

TEST_F(Cap, ChildrenMayExceedItWhileAnotherThreadSubmits) {
  constexpr std::size_t cells = 4;
  constexpr int children = sanitized ? 100 : 400;
  auto const step = [](long& value, int k) { value = (5 * value + k) % 1009; };
  for (int workers : {1, 2, 4}) {
    TaskGraph graph(capped(workers, 8));
    Block x("x", cells), y("y", cells);
    std::uint64_t most = 0;
    std::thread other([&] {
      for (int k = 0; k < 3 * children; ++k) {
        std::size_t const cell = static_cast<std::size_t>(k) % cells;
        task(graph, "beside", {updates(y(cell, 1))}, [&, cell, k] { step(y[cell], k); });
      }
    });
    for (int round = 0; round < 3; ++round)
      task(graph, "whole", {updates(x)}, [&] {
        Gate submitted;  // until then no child is done, whatever threads there are
        child("first", {updates(x)}, [&] { EXPECT_TRUE(submitted.pass()); });
        for (int k = 0; k < children; ++k) {
          std::size_t const cell = static_cast<std::size_t>(k) % cells;
          child("child", {updates(x(cell, 1))}, [&, cell, k] { step(x[cell], k); });
        }
        most = graph.in_flight();
        submitted.open();
        wait_for_children();
      });
    other.join();
    graph.wait();
    EXPECT_GE(most, static_cast<std::uint64_t>(children)) << workers << " workers";
    std::array<long, cells> expected_x{}, expected_y{};
    for (int k = 0; k < 3 * children; ++k) {
      step(expected_x[static_cast<std::size_t>(k) % cells], k % children);
      step(expected_y[static_cast<std::size_t>(k) % cells], k);
    }
    for (std::size_t n = 0; n < cells; ++n) {
      EXPECT_EQ(x[n], expected_x[n]) << workers << " workers";
      EXPECT_EQ(y[n], expected_y[n]) << workers << " workers";
    }
  }
}

TEST_F(Cap, HoldsForSeveralThreadsTogether) {
  TaskGraph graph(capped(2, 8));
  std::atomic<int> ran{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int k = 0; k < 200; ++k) {
        task(graph, "task", {}, [&] { ++ran; });
        EXPECT_LE(graph.in_flight(), 8u);
      }
    });
  for (std::thread& thread : threads) thread.join();
  graph.wait();
  EXPECT_EQ(ran, 800);
}

TEST_F(Cap, WhatTheSubmitterOpensLaterDoesNotStopItWhileThereIsRoom) {
  // More than a quarter of the cap waits behind a gate that the submitting thread opens in the end.
  for (std::size_t const cap : {4, 64}) {
    TaskGraph graph(capped(2, cap));
    Block x("x"), y("y");
    Gate begun, gate;
    std::atomic<std::size_t> ran{0};
    task(graph, "gate", {writes(x)}, [&] {
      begun.open();
      EXPECT_TRUE(gate.pass());
    });
    ASSERT_TRUE(begun.pass());  // on a worker, not on this thread
    for (std::size_t k = 0; k < cap / 2; ++k) task(graph, "behind", {reads(x)}, [&] { ++ran; });
    for (std::size_t k = 0; k < 10 * cap; ++k) task(graph, "beside", {updates(y)}, [&] { ++y[0]; });
    gate.open();
    graph.wait();
    EXPECT_EQ(ran, cap / 2);
    EXPECT_EQ(y[0], static_cast<long>(10 * cap));
  }
}

TEST_F(Cap, ALongTaskDoesNotHoldUpASubmitterThatHasRoom) {
  TaskGraph graph(capped(2, 64));
  Block x("x"), y("y");
  Gate begun, submitted;
  task(graph, "long", {writes(x)}, [&] {
    begun.open();
    EXPECT_TRUE(submitted.pass()) << "the submitter slept meanwhile";
  });
  ASSERT_TRUE(begun.pass());  // on a worker, not on this thread
  for (int k = 0; k < 40; ++k) task(graph, "behind", {reads(x)}, [] {});
  // At the cap from time to time; then there is nothing to run for this thread, but room for 24.
  for (int k = 0; k < 2000; ++k) task(graph, "beside", {updates(y)}, [&] { ++y[0]; });
  submitted.open();
  graph.wait();
  EXPECT_EQ(y[0], 2000);
}

TEST_F(Memory, OfAMillionTasksIsThatOfThoseInFlight) {
  int const count = sanitized ? 20'000 : 1'000'000;
  TaskGraph graph(capped(2, 512));
  Block tiles("tiles", 16);
  auto const step = [&](int k) {
    auto const here = static_cast<std::size_t>(k % 16);
    task(graph, "tile", {updates(tiles(here, 1)), reads(tiles((here + 1) % 16, 1))},
         [&tiles, here] { ++tiles[here]; });
  };
  for (int k = 0; k < count / 100; ++k) step(k);
  std::size_t const task_memory = graph.task_memory();
  std::size_t const resident = resident_bytes();
  for (int k = count / 100; k < count; ++k) step(k);
  EXPECT_LE(graph.task_memory(), std::max<std::size_t>(task_memory, 2 * 512 * 1024));
  EXPECT_LT(resident_bytes(), resident + (std::size_t{4} << 20));
  graph.wait();
  long sum = 0;
  for (std::size_t k = 0; k < 16; ++k) sum += tiles[k];
  EXPECT_EQ(sum, count);
  EXPECT_EQ(graph.submitted(), static_cast<std::uint64_t>(count));
}

TEST_F(Memory, OfManyShortLivedResourcesIsThatOfTheLivingOnes) {
  int const count = sanitized ? 10'000 : 200'000;
  TaskGraph graph(capped(2, 64));
  std::vector<std::unique_ptr<Block>> blocks(
      256);  // different addresses at the same time, so that entries pile up
  std::size_t resident = 0;
  for (int k = 0; k < count; ++k) {
    auto& block = blocks[static_cast<std::size_t>(k) % blocks.size()];
    if (k % 256 == 0) graph.wait();
    block = std::make_unique<Block>("block", 8 + static_cast<std::size_t>(k % 37));
    task(graph, "fresh", {writes(*block)}, [&block = *block] { block[0] = 1; });
    if (k == count / 10) resident = resident_bytes();
  }
  graph.wait();
  EXPECT_LT(resident_bytes(), resident + (std::size_t{8} << 20));
}

TEST_F(Memory, OfAreasThatNobodyComesBackToIsBounded) {
  // Each task brings an area that was never seen before: a new tile, a fresh View.
  int const third = sanitized ? 5'000 : 60'000;
  TaskGraph graph(capped(2, 64));
  std::uintptr_t address = 1 << 20;  // only addresses: nobody looks there
  auto const largest_in_a_third = [&] {
    std::size_t largest = 0;
    for (int k = 0; k < third; ++k) {
      address += 64;
      task(graph, "fresh",
           {writes({Impl::Area::contiguous(reinterpret_cast<void*>(address), 8), "x", address,
                    address + 8})},
           [] {});
      if (k % 1000 == 0) largest = std::max(largest, resident_bytes());
    }
    return largest;
  };
  // A thread that loses its core in the middle of a task keeps the areas from then on, so one more
  // may be needed. Without a bound each would be larger than the one before it.
  std::size_t before = largest_in_a_third();
  std::size_t now = largest_in_a_third();
  auto const has_grown = [&] { return now > before + before / 10 + (std::size_t{1} << 20); };
  for (int more = 0; more < 4 && (more == 0 || has_grown()); ++more)
    before = std::exchange(now, largest_in_a_third());
  EXPECT_FALSE(has_grown()) << before << " and then " << now << " bytes";
}

TEST_F(Memory, OfAReadSharedByManyTasksDoesNotGrow) {
  // 10^5 readers of one resource and no writer: the finished ones must be forgotten.
  int const count = sanitized ? 20'000 : 500'000;
  TaskGraph graph(capped(2, 64));
  Block x("x");
  for (int k = 0; k < count / 10; ++k) task(graph, "reader", {reads(x)}, [] {});
  std::size_t const resident = resident_bytes();
  for (int k = 0; k < count; ++k) task(graph, "reader", {reads(x)}, [] {});
  EXPECT_LT(resident_bytes(), resident + (std::size_t{2} << 20));
}

TEST_F(Memory, ALongChainThatWaitsIsNoProblem) {
  TaskGraph graph(capped(2, 20'000));
  Gate gate;
  Block x("x");
  task(graph, "gate", {writes(x)}, [&] { EXPECT_TRUE(gate.pass()); });
  for (int k = 0; k < 15'000; ++k) task(graph, "link", {updates(x)}, [&] { ++x[0]; });
  gate.open();
  graph.wait();
  EXPECT_EQ(x[0], 15'000);
}

TEST_F(Memory, ManySuccessorsOfOneTaskAreNoProblem) {
  TaskGraph graph(capped(2, 20'000));
  Gate gate;
  Block x("x");
  std::atomic<int> ran{0};
  task(graph, "gate", {writes(x)}, [&] {
    EXPECT_TRUE(gate.pass());
    x[0] = 1;
  });
  for (int k = 0; k < 10'000; ++k)
    task(graph, "reader", {reads(x)}, [&] { ran += static_cast<int>(x[0]); });
  auto const last = task(graph, "writer", {writes(x)}, [&] { return ran.load(); });
  gate.open();
  EXPECT_EQ(last.get(), 10'000);
}

TEST_F(Memory, ManyAccessesOfOneTaskAreNoProblem) {
  TaskGraph graph(with_workers(2));
  Block x("x", 1000);
  std::vector<Touch> all;
  for (std::size_t k = 0; k < 200; ++k) all.push_back(updates(x(5 * k, 1)));
  for (int repeat = 0; repeat < 5; ++repeat)
    task(graph, "all", all, [&] {
      for (std::size_t k = 0; k < 200; ++k) ++x[5 * k];
    });
  for (std::size_t k = 0; k < 200; ++k)
    EXPECT_EQ(task(graph, "one", {reads(x(5 * k, 1))}, [&x, k] { return x[5 * k]; }).get(), 5);
}

TEST_F(Memory, LargeAndOveralignedBodiesAreKeptWell) {
  TaskGraph graph(with_workers(2));
  struct alignas(128) Large {
    std::array<double, 200> values{};
  };
  Large large;
  large.values[199] = 7;
  auto const number = task(graph, "large", {}, [large] {
    return reinterpret_cast<std::uintptr_t>(&large) % 128 == 0 ? large.values[199] : -1;
  });
  EXPECT_EQ(number.get(), 7);
}

}  // namespace
}  // namespace trellis
