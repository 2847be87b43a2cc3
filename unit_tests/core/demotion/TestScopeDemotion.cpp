// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tasks that give up accesses, or are refined, while other threads submit into their regions and
// look at them from outside.
#include "BareTask.hpp"
#include "ScopeTest.hpp"

#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;
using testing::HasSubstr;

class ScopeDemotion : public Timed {};

// An edge that another task's child gets is not under the lock of the demoting task's region.
TEST_F(ScopeDemotion, ADemotionKeepsTheChildrenOfOthersThatComeAfterTheTask) {
  constexpr std::size_t blocks = 24;
  constexpr int chain = 40;
  for (int round = 0; round < 4 * repetitions; ++round) {
    TaskGraph graph(with_workers(3));
    Block x("x", blocks);
    Gate begin;
    Gate chains;
    std::atomic<bool> over{false};
    std::atomic<bool> demotes{false};
    std::atomic<int> early{0};
    std::vector<Touch> touches;
    for (std::size_t k = 0; k < blocks; ++k) touches.push_back(updates(x(k, 1)));
    Future<void> const demoter = task(graph, "demoter", touches, [&] {
      EXPECT_TRUE(chains.pass());
      demotes = true;
      for (std::size_t k = 0; k < blocks; ++k) release(x(k, 1));
      demotes = false;
      over = true;
    });
    // What a demotion has to walk through.
    for (std::size_t k = 0; k < blocks; ++k)
      for (int n = 0; n < chain; ++n) task(graph, "chain", {updates(x(k, 1))}, [] {});
    for (int k = 0; k < 2; ++k)
      task(graph, "other", {}, [&] {
        chains.open();
        while (!demotes && !over) std::this_thread::yield();
        do {
          child("after", {}, [&] { early += !over; }, {.after = handles(demoter)});
        } while (!over);
      });
    graph.wait();
    EXPECT_EQ(early, 0);
  }
}

// Whoever comes after the body on what it has given up meets no child that its thread submits.
TEST_F(ScopeDemotion, AChildOfABodysOwnThreadIsRefusedOrKeepsItsAccess) {
  constexpr std::size_t cells = 16;
  constexpr int each = 40;
  for (int round = 0; round < 4 * repetitions; ++round) {
    TaskGraph graph(with_workers(3));
    Block x("x", cells);
    std::array<std::atomic<bool>, cells> released{};
    std::array<long, cells> accepted{};
    std::vector<Touch> touches;
    for (std::size_t n = 0; n < cells; ++n) touches.push_back(updates(x(n, 1)));
    task(graph, "parent", touches, [&] {
      Impl::TaskHandle const parent = self();
      Gate begun;
      std::thread submitter([&, parent] {
        for (int k = 0; k < each; ++k)
          for (std::size_t n = 0; n < cells; ++n) {
            bool const late = released[n];
            std::string const text = message_of(
                [&] { child_of(parent, "child", {updates(x(n, 1))}, [&, n] { ++x[n]; }); });
            accepted[n] += text == "no error";
            EXPECT_THAT(text, testing::AnyOf("no error", HasSubstr("a promotion")));
            EXPECT_FALSE(late && text == "no error");
            if (k == each / 4) begun.open();
          }
      });
      EXPECT_TRUE(begun.pass());
      for (std::size_t n = cells; n-- > 0;) {
        for (;;) {
          std::string const text = message_of([&] { release(x(n, 1)); });
          if (text == "no error") break;
          EXPECT_THAT(text, HasSubstr("\"child\""));
          wait_for_children();
        }
        released[n] = true;
      }
      submitter.join();
    });
    for (std::size_t n = 0; n < cells; ++n)
      task(graph, "behind", {updates(x(n, 1))}, [&, n] { x[n] = -x[n]; });
    graph.wait();
    for (std::size_t n = 0; n < cells; ++n) EXPECT_EQ(x[n], -accepted[n]);
  }
}

TEST_F(ScopeDemotion, ABodyDemotesWhileItsOwnThreadsSubmitChildren) {
  constexpr std::size_t threads = 3;
  constexpr int each = sanitized ? 40 : 150;
  for (int round = 0; round < repetitions; ++round) {
    TaskGraph graph(with_workers(3));
    Block x("x", threads), y("y");
    Gate seen, changed;
    std::atomic<int> looked{0};
    task(graph, "parent", {updates(x), updates(y)}, [&] {
      y[0] = 1;
      Impl::TaskHandle const parent = self();
      std::vector<std::thread> submitters;
      for (std::size_t t = 0; t < threads; ++t)
        submitters.emplace_back([&, t, parent] {
          for (int k = 0; k < each; ++k) {
            child_of(parent, "own cell", {updates(x(t, 1))},
                     [&, t] { x[t] = x[t] * 3 % 1009 + 1; });
            child_of(parent, "look", {reads(y)}, [&] { looked += y[0] == 1; });
          }
        });
      demote({reads(y)});
      EXPECT_TRUE(seen.pass());
      for (std::thread& submitter : submitters) submitter.join();
      wait_for_children();
      release(y);
      EXPECT_TRUE(changed.pass());
      child("last", {updates(x)}, [&] { x[0] += y[0]; });
    });
    task(graph, "reader", {reads(y)}, [&] {
      EXPECT_EQ(y[0], 1);
      seen.open();
    });
    task(graph, "writer", {updates(y)}, [&] {
      y[0] = 2;
      changed.open();
    });
    graph.wait();
    long expected = 0;
    for (int k = 0; k < each; ++k) expected = expected * 3 % 1009 + 1;
    EXPECT_EQ(looked, static_cast<int>(threads) * each);
    for (std::size_t t = 0; t < threads; ++t) EXPECT_EQ(x[t], expected + (t == 0 ? 2 : 0));
  }
}

TEST_F(ScopeDemotion, DemotionsWhileChildrenOfOthersAreSubmitted) {
  constexpr int count = 40;
  for (int round = 0; round < repetitions; ++round) {
    TaskGraph graph(with_workers(4));
    Block x("x", 8);
    std::atomic<int> running{0};
    for (int k = 0; k < count; ++k) {
      task(graph, "writer", {updates(x)}, [&, k] {
        ++running;
        for (std::size_t n = 0; n < 8; ++n)
          child("child", {updates(x(n, 1))}, [&, n, k] { x[n] = x[n] * 7 % 1009 + k; });
        wait_for_children();
        demote({reads(x)});
        for (std::size_t n = 0; n < 8; ++n)
          child("read again", {reads(x(n, 1))}, [&, n] { EXPECT_GE(x[n], 0); });
        wait_for_children();
        release(x);
        child("without", {}, [&] { --running; });
      });
      task(graph, "reader", {reads(x)}, [&] {
        long seen[2] = {0, 0};
        for (int half : {0, 1})
          child("half", {reads(x(static_cast<std::size_t>(4 * half), 4))}, [&seen, half, &x] {
            for (int n = 0; n < 4; ++n) seen[half] += x[static_cast<std::size_t>(4 * half + n)];
          });
        wait_for_children();
        EXPECT_EQ(seen[0], seen[1]) << "all elements go the same way";
        demote({reads(x(0, 4))});
        child("rest", {reads(x(0, 1))}, [&x, of_half = seen[0]] { EXPECT_EQ(4 * x[0], of_half); });
      });
    }
    graph.wait();
    long expected = 0;
    for (int k = 0; k < count; ++k) expected = expected * 7 % 1009 + k;
    for (std::size_t n = 0; n < 8; ++n) EXPECT_EQ(x[n], expected);
    EXPECT_EQ(running, 0);
  }
}

// Those that hold exclusive areas may demote, end and be reused while a search asks for them.
TEST_F(ScopeDemotion, SearchesAmongExclusiveTasksThatComeAndGo) {
  constexpr int count = 60;
  for (int round = 0; round < repetitions; ++round) {
    TaskGraph graph(with_workers(4));
    Block x("x", 4);
    std::atomic<int> alone[4] = {};
    std::atomic<int> ran{0};
    for (int k = 0; k < count; ++k) {
      auto const n = static_cast<std::size_t>(k % 4);
      Future<void> const small =
          task(graph, "small", {}, [&] { child("child", {}, [&] { ++ran; }); });
      task(graph, "holder", {excludes(x(n, 1))}, [&, n, small] {
        EXPECT_EQ(alone[n]++, 0);
        Future<void> const inner = child("inner", {excludes(x(n, 1))}, [&, n, small] {
          small.get();
          x[n] += 1;
          ++ran;
        });
        for (int p = 0; p < 4; ++p) child("free", {}, [&] { ++ran; });
        inner.get();
        EXPECT_EQ(--alone[n], 0);
        release(x(n, 1));
        for (int p = 0; p < 4; ++p) child("free", {}, [&] { ++ran; });
      });
    }
    graph.wait();
    EXPECT_EQ(ran, count * 10);
    for (std::size_t n = 0; n < 4; ++n) EXPECT_EQ(x[n], count / 4);
  }
}

// Searches for circles walk through tasks of all regions, while these are refined, submitted, run
// and reused.
TEST_F(ScopeDemotion, RefinementsWhileOthersSearchForCircles) {
  constexpr int count = 60;
  for (int round = 0; round < repetitions; ++round) {
    TaskGraph graph(with_workers(4));
    Block x("x", 2);
    std::atomic<int> sum{0};
    std::atomic<int> told{0};
    std::vector<Future<void>> tasks;
    Gate begin;
    task(graph, "gate", {updates(x)}, [&] { EXPECT_TRUE(begin.pass()); });
    for (int k = 0; k < count; ++k)
      tasks.push_back(task(graph, "task", {updates(x)}, [&] { sum += 3; }));
    for (int k = 0; k < 4; ++k)
      task(graph, "other", {}, [&, k] {
        begin.open();
        for (int n = 0; n < count / 4; ++n) {
          auto const one = static_cast<std::size_t>(4 * n + k);
          // Both kinds of error describe a task that somebody may be refining.
          Future<void> const own = child("own", {}, [&] {
            try {
              auto const inner = child("inner", {}, [] {}, {.after = handles(tasks[one])});
              inner.get();
            } catch (Error const&) {
              ++told;
            }
          });
          tasks[(one * 7) % count].get();
          own.get();
        }
      });
    std::thread refiner([&] {
      for (int k = 0; k < count; ++k)
        refine(tasks[static_cast<std::size_t>(k)], [&](Impl::TaskHandle const& parent) {
          for (std::size_t n = 0; n < 2; ++n)
            child_of(parent, "half", {updates(x(n, 1))}, [&, n] {
              ++x[n];
              ++sum;
            });
          child_of(parent, "both", {updates(x)}, [&] { ++sum; });
        });
    });
    graph.wait();
    refiner.join();
    graph.wait();
    EXPECT_EQ(sum, 3 * count);
    EXPECT_EQ(told, 0);
    EXPECT_EQ(x[0], x[1]);
  }
}

// A message about a circle describes tasks of other regions; while they are refined, and when they
// are over.
TEST_F(ScopeDemotion, CirclesAreToldWhileTheTasksAreRefined) {
  constexpr int count = 40;
  for (int round = 0; round < repetitions; ++round) {
    TaskGraph graph(with_workers(4));
    Block x("x");
    std::vector<Future<void>> tasks;
    Gate complete;
    std::atomic<int> told{0};
    std::atomic<int> ran{0};
    std::atomic<int> askers{0};
    task(graph, "first", {updates(x)}, [&] {
      EXPECT_TRUE(complete.pass());
      for (int k = 0; k < count; ++k)
        child("asker", {}, [&, k] {
          ++askers;
          try {
            tasks[static_cast<std::size_t>(k)].get();
          } catch (Error const& error) {
            EXPECT_THAT(error.what(), HasSubstr("cannot be complete before"));
            EXPECT_THAT(error.what(), HasSubstr("task \"behind\""));
            ++told;
          }
        });
    });
    for (int k = 0; k < count; ++k)
      tasks.push_back(task(graph, "behind", {updates(x)}, [&] { ++ran; }));
    complete.open();
    for (int k = count; k-- > 0;)
      refine(tasks[static_cast<std::size_t>(k)], [&](Impl::TaskHandle const& parent) {
        child_of(parent, "child", {updates(x)}, [&] { ++ran; });
      });
    graph.wait();
    EXPECT_EQ(told, count);
    EXPECT_EQ(ran, count);
  }
}

// Whoever has the future of a collected task may refine it as soon as it has been submitted.
TEST_F(ScopeDemotion, TasksOfAnIterationAreRefinedByAnotherThread) {
  constexpr int rounds = 60;
  constexpr std::size_t count = 6;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    TaskGraph graph(with_workers(3));
    Block x("x", count);
    std::atomic<int> ran{0};
    std::atomic<int> refined{0};
    for (int k = 0; k < rounds; ++k) {
      std::vector<Future<void>> tasks(count);
      std::atomic<bool> there{false};
      std::thread refiner([&] {
        while (!there) std::this_thread::yield();
        for (std::size_t n = count; n-- > 0;)
          refined += refine(tasks[n], [&, n](Impl::TaskHandle const& parent) {
            child_of(parent, "child", {updates(x(n, 1))}, [&, n] {
              ++x[n];
              ++ran;
            });
          });
      });
      graph.iterate("loop", 1 + k % 2, [&](std::uint64_t iteration) {
        for (std::size_t n = 0; n < count; ++n) {
          Future<void> const one = task(graph, "task", {updates(x(n, 1))}, [&, n] {
            ++x[n];
            ++ran;
          });
          if (iteration == 0) tasks[n] = one;
        }
        there = true;
      });
      refiner.join();
      graph.wait();
      ASSERT_EQ(ran.exchange(0), static_cast<int>(count) * (1 + k % 2));
    }
    for (std::size_t n = 0; n < count; ++n) EXPECT_EQ(x[n], rounds + rounds / 2);
  }
}

}  // namespace
}  // namespace trellis
