// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads that submit parts of different tasks at the same time, under locks of their own, and
// whoever looks at these tasks from outside meanwhile.
#include "BareTask.hpp"
#include "Timing.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;
using testing::HasSubstr;

class RegionLocks : public Timed {};

constexpr int repetitions = sanitized ? 3 : 10;

/// A program whose tasks split themselves, to several depths, into parts on areas of one block. Its
/// result depends on the order of any two that share an element.
class Program {
 public:
  static constexpr std::size_t tasks = 24;
  static constexpr std::size_t cells = 64;

  explicit Program(std::uint32_t seed) : m_seed(seed) {}

  /// What is in the block in the end.
  std::vector<long> run(TaskGraphOptions const& options) {
    Block block("block", cells);
    {
      TaskGraph graph(options);
      std::mt19937 random(m_seed);
      for (std::size_t k = 0; k < tasks; ++k) {
        std::size_t const count = 8 + random() % 24;
        std::size_t const first = random() % (cells - count);
        auto const seed = static_cast<std::uint32_t>(random());
        task(graph, "task", {updates(block(first, count))},
             [&block, first, count, seed] { body(block, first, count, seed, 3); });
      }
      if (random() % 2 == 0) graph.wait();  // else the graph ends with all this under way
    }
    std::vector<long> values;
    for (std::size_t k = 0; k < cells; ++k) values.push_back(block[k]);
    return values;
  }

 private:
  static void step(Block& block, std::size_t first, std::size_t count, std::uint32_t seed) {
    for (std::size_t k = first; k < first + count; ++k)
      block[k] = (block[k] * 31 + static_cast<long>(seed % 1009)) % 1000003;
  }
  static void body(Block& block, std::size_t first, std::size_t count, std::uint32_t seed,
                   int depth) {
    std::mt19937 random(seed);
    step(block, first, count, seed);
    std::size_t const parts = 2 + random() % 6;
    for (std::size_t k = 0; k < parts; ++k) {
      std::size_t const some = 1 + random() % count;
      std::size_t const from = first + random() % (count - some + 1);
      auto const own = static_cast<std::uint32_t>(random());
      bool const splits = depth > 0 && random() % 3 == 0;
      auto const run = [&block, from, some, own, depth, splits] {
        splits ? body(block, from, some, own, depth - 1) : step(block, from, some, own);
      };
      switch (random() % 8) {
        case 0:  // reads, and leaves no trace but where it should not have read
          part("reader", {reads(block(from, some))}, [&block, from, some] {
            long sum = 0;
            for (std::size_t n = from; n < from + some; ++n) sum += block[n];
            EXPECT_GE(sum, 0);
          });
          break;
        case 1:
          part("barrier", {updates(block(from, some))}, run, {.synchronizing = true});
          break;
        case 2:
          part("waited for", {updates(block(from, some))}, run).get();
          break;
        case 3:  // any order, each alone
          for (long add : {1, 2, 4})
            part("alone", {excludes(block(from, some))}, [&block, from, some, add] {
              for (std::size_t n = from; n < from + some; ++n) block[n] += add;
            });
          break;
        default:
          part("part", {updates(block(from, some))}, run);
      }
    }
    if (random() % 4 == 0) wait_for_parts();
  }

  std::uint32_t const m_seed;
};

TEST_F(RegionLocks, ProgramsOfPartsGiveWhatTheyGiveInSerialOrder) {
  for (std::uint32_t seed = 1; seed <= repetitions; ++seed) {
    TaskGraphOptions serial = with_workers(1);
    serial.serial = true;
    std::vector<long> const expected = Program(seed).run(serial);
    for (int workers : {1, 2, 4}) {
      ASSERT_EQ(Program(seed).run(with_workers(workers)), expected) << "seed " << seed;
      TaskGraphOptions shaken = with_workers(workers);
      shaken.policy = make_shake_policy(seed);
      ASSERT_EQ(Program(seed).run(shaken), expected) << "seed " << seed;
    }
    ASSERT_EQ(Program(seed).run(recorded(3)), expected) << "seed " << seed;
  }
}

TEST_F(RegionLocks, NumbersGrowFromATaskToItsPartsAndAmongThese) {
  TaskGraph graph(with_workers(4));
  std::atomic<int> parts{0};
  std::function<void(TaskId, int)> split = [&](TaskId own, int depth) {
    ++parts;
    TaskId before = own;
    auto const submit = [&, depth] {
      TaskId const id = part("part", {}, [] {}).id();
      EXPECT_GT(id, before);
      before = id;
      if (depth == 0) return;
      auto const number = std::make_shared<std::atomic<TaskId>>(0);
      Future<void> const splits = part("splits", {}, [&split, number, depth] {
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
  EXPECT_EQ(parts, 20 * (1 + 3 + 9));
}

// What they submit has larger numbers than the task, too, so that of several failures of a task the
// first counts.
TEST_F(RegionLocks, SeveralThreadsOfABodySubmitParts) {
  constexpr int threads = 4;
  constexpr int each = sanitized ? 50 : 200;
  TaskGraph graph(with_workers(3));
  Block x("x", threads);
  Block all("all");
  std::vector<TaskId> wrong;
  for (int round = 0; round < repetitions; ++round)
    task(graph, "outer", {updates(x), updates(all)}, [&] {
      part("inner", {updates(x), updates(all)}, [&] {
        Impl::TaskHandle const owner = self();
        std::vector<std::thread> submitters;
        for (int t = 0; t < threads; ++t)
          submitters.emplace_back([&, t, owner] {
            for (int k = 0; k < each; ++k) {
              auto const cell = static_cast<std::size_t>(t);
              Future<void> const one = part_of(owner, "own cell", {updates(x(cell, 1))},
                                               [&, cell] { x[cell] = x[cell] * 3 % 1009 + 1; });
              EXPECT_GT(one.id(), owner.id);
              part_of(owner, "sum", {excludes(all)}, [&] { ++all[0]; });
            }
          });
        for (std::thread& submitter : submitters) submitter.join();
      });
    });
  graph.wait();
  long expected = 0;
  for (int k = 0; k < repetitions * each; ++k) expected = expected * 3 % 1009 + 1;
  for (std::size_t t = 0; t < threads; ++t) EXPECT_EQ(x[t], expected);
  EXPECT_EQ(all[0], repetitions * threads * each);
}

TEST_F(RegionLocks, WhatABodyThrowsGoesBeforeFailuresOfPartsThatItsThreadsSubmit) {
  for (int round = 0; round < repetitions; ++round) {
    TaskGraph graph(with_workers(2));
    Future<void> const outer = task(graph, "outer", {}, [&] {
      // The numbers of the worker are far above those of the graph then.
      for (int k = 0; k < 200; ++k) part("filler", {}, [] {});
      wait_for_parts();
      part("inner", {}, [] {
        Impl::TaskHandle const owner = self();
        std::thread([owner] {
          Future<void> const failed =
              part_of(owner, "failing part", {}, [] { throw std::runtime_error("of the part"); });
          until_done(failed);
        }).join();
        throw std::runtime_error("of the body");
      });
    });
    EXPECT_THAT(error_of([&] { outer.get(); }).what(), HasSubstr("of the body"));
    error_of([&] { graph.wait(); });
  }
}

TEST_F(RegionLocks, WhatARecordedTaskThrowsGoesBeforeFailuresOfItsParts) {
  TaskGraph graph(with_workers(2));
  Plan const plan = graph.record([&] {
    task(graph, "recorded", {}, [] {
      Future<void> const failed =
          part("failing part", {}, [] { throw std::runtime_error("of the part"); });
      until_done(failed);
      throw std::runtime_error("of the body");
    });
  });
  for (int round = 0; round < 3 * repetitions; ++round) {
    // So that the graph's numbers are above those of the workers, or below.
    for (int k = 0; k < 70; ++k) task(graph, "filler", {}, [] { part("part", {}, [] {}); });
    Future<void> const replay = graph.replay(plan);
    EXPECT_THAT(error_of([&] { replay.get(); }).what(), HasSubstr("of the body"));
    error_of([&] { graph.wait(); });
  }
}

// An edge that another task's part gets is not under the lock of the demoting task's region.
TEST_F(RegionLocks, ADemotionKeepsThePartsOfOthersThatComeAfterTheTask) {
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
          part("after", {}, [&] { early += !over; }, {.after = handles(demoter)});
        } while (!over);
      });
    graph.wait();
    EXPECT_EQ(early, 0);
  }
}

TEST_F(RegionLocks, DemotionsWhilePartsOfOthersAreSubmitted) {
  constexpr int count = 40;
  for (int round = 0; round < repetitions; ++round) {
    TaskGraph graph(with_workers(4));
    Block x("x", 8);
    std::atomic<int> running{0};
    for (int k = 0; k < count; ++k) {
      task(graph, "writer", {updates(x)}, [&, k] {
        ++running;
        for (std::size_t n = 0; n < 8; ++n)
          part("part", {updates(x(n, 1))}, [&, n, k] { x[n] = x[n] * 7 % 1009 + k; });
        wait_for_parts();
        demote({reads(x)});
        for (std::size_t n = 0; n < 8; ++n)
          part("read again", {reads(x(n, 1))}, [&, n] { EXPECT_GE(x[n], 0); });
        wait_for_parts();
        release(x);
        part("without", {}, [&] { --running; });
      });
      task(graph, "reader", {reads(x)}, [&] {
        long seen[2] = {0, 0};
        for (int half : {0, 1})
          part("half", {reads(x(static_cast<std::size_t>(4 * half), 4))}, [&seen, half, &x] {
            for (int n = 0; n < 4; ++n) seen[half] += x[static_cast<std::size_t>(4 * half + n)];
          });
        wait_for_parts();
        EXPECT_EQ(seen[0], seen[1]) << "all elements go the same way";
        demote({reads(x(0, 4))});
        part("rest", {reads(x(0, 1))}, [&x, of_half = seen[0]] { EXPECT_EQ(4 * x[0], of_half); });
      });
    }
    graph.wait();
    long expected = 0;
    for (int k = 0; k < count; ++k) expected = expected * 7 % 1009 + k;
    for (std::size_t n = 0; n < 8; ++n) EXPECT_EQ(x[n], expected);
    EXPECT_EQ(running, 0);
  }
}

// Searches for circles walk through tasks of all regions, while these are refined, submitted, run
// and reused.
TEST_F(RegionLocks, RefinementsWhileOthersSearchForCircles) {
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
          Future<void> const own = part("own", {}, [&] {
            try {
              auto const inner = part("inner", {}, [] {}, {.after = handles(tasks[one])});
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
        refine(tasks[static_cast<std::size_t>(k)], [&](Impl::TaskHandle const& owner) {
          for (std::size_t n = 0; n < 2; ++n)
            part_of(owner, "half", {updates(x(n, 1))}, [&, n] {
              ++x[n];
              ++sum;
            });
          part_of(owner, "both", {updates(x)}, [&] { ++sum; });
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
TEST_F(RegionLocks, CirclesAreToldWhileTheTasksAreRefined) {
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
        part("asker", {}, [&, k] {
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
      refine(tasks[static_cast<std::size_t>(k)], [&](Impl::TaskHandle const& owner) {
        part_of(owner, "part", {updates(x)}, [&] { ++ran; });
      });
    graph.wait();
    EXPECT_EQ(told, count);
    EXPECT_EQ(ran, count);
  }
}

// Those that hold exclusive areas may demote, end and be reused while a search asks for them.
TEST_F(RegionLocks, SearchesAmongExclusiveTasksThatComeAndGo) {
  constexpr int count = 60;
  for (int round = 0; round < repetitions; ++round) {
    TaskGraph graph(with_workers(4));
    Block x("x", 4);
    std::atomic<int> alone[4] = {};
    std::atomic<int> ran{0};
    for (int k = 0; k < count; ++k) {
      auto const n = static_cast<std::size_t>(k % 4);
      Future<void> const small =
          task(graph, "small", {}, [&] { part("part", {}, [&] { ++ran; }); });
      task(graph, "holder", {excludes(x(n, 1))}, [&, n, small] {
        EXPECT_EQ(alone[n]++, 0);
        Future<void> const inner = part("inner", {excludes(x(n, 1))}, [&, n, small] {
          small.get();
          x[n] += 1;
          ++ran;
        });
        for (int p = 0; p < 4; ++p) part("free", {}, [&] { ++ran; });
        inner.get();
        EXPECT_EQ(--alone[n], 0);
        release(x(n, 1));
        for (int p = 0; p < 4; ++p) part("free", {}, [&] { ++ran; });
      });
    }
    graph.wait();
    EXPECT_EQ(ran, count * 10);
    for (std::size_t n = 0; n < 4; ++n) EXPECT_EQ(x[n], count / 4);
  }
}

TEST_F(RegionLocks, WaitsAcrossRegions) {
  constexpr std::size_t count = 50;
  for (int round = 0; round < repetitions; ++round) {
    TaskGraph graph(with_workers(4));
    Block order("order");
    std::vector<Future<long>> firsts(count);
    std::atomic<int> seconds{0};
    for (std::size_t k = 0; k < count; ++k)
      task(graph, "task", {updates(order)}, [&, k] {
        firsts[k] = part("first", {}, [&, k] { return k == 0 ? 1 : firsts[k - 1].get() + 1; });
        release(order);  // the next task begins, beside this one
        if (k == 0) return;
        part("second", {},
             [&, k] {
               EXPECT_TRUE(firsts[k - 1].is_done());
               ++seconds;
             },
             {.after = handles(firsts[k - 1])});
      });
    graph.wait();
    EXPECT_EQ(firsts.back().get(), static_cast<long>(count));
    EXPECT_EQ(seconds, static_cast<int>(count) - 1);
  }
}

TEST_F(RegionLocks, FailuresInPartsCancelWhatDependsAndNothingElse) {
  constexpr int count = 60;
  for (int round = 0; round < repetitions; ++round) {
    TaskGraph graph(with_workers(4));
    Block x("x", count);
    std::atomic<int> ran{0};
    std::vector<Future<void>> owners;
    std::vector<Future<void>> behind;
    for (std::size_t k = 0; k < count; ++k) {
      owners.push_back(task(graph, "owner", {updates(x(k, 1))}, [&, k] {
        part("first", {updates(x(k, 1))}, [k] {
          if (k % 3 == 0) throw std::runtime_error("failed on purpose");
        });
        part("behind it", {updates(x(k, 1))}, [&, k] { x[k] = 1; });
        part("free", {}, [&] { ++ran; });
      }));
      behind.push_back(task(graph, "behind", {reads(x(k, 1))}, [&] { ++ran; }));
    }
    Error const error = error_of([&] { graph.wait(); });
    EXPECT_THAT(error.what(), HasSubstr(std::to_string(count / 3 - 1) + " more failed"));
    EXPECT_EQ(ran, count + count - count / 3);
    for (std::size_t k = 0; k < count; ++k) {
      EXPECT_EQ(x[k], k % 3 == 0 ? 0 : 1);
      if (k % 3 != 0) continue;
      EXPECT_THAT(error_of([&] { owners[k].get(); }).what(), HasSubstr("a part of it failed"));
      EXPECT_EQ(error_of([&] { behind[k].get(); }).kind(), Error::Kind::cancelled);
    }
  }
}

// A part of a refined task may fail before the others have been told that they may start.
TEST_F(RegionLocks, APartThatFailsAtOnceDoesNotCancelTheOtherPartsOfARefinedTask) {
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
    refine(refined, [&](Impl::TaskHandle const& owner) {
      part_of(owner, "part", {}, [] { throw std::runtime_error("failed on purpose"); },
              {.after = handles(other)});
      for (int k = 0; k < count; ++k) part_of(owner, "part", {}, [&] { ++ran; });
    });
    gate.open();
    error_of([&] { graph.wait(); });
    EXPECT_EQ(ran, count);
  }
}

TEST_F(RegionLocks, ARecordHasAllEdgesAndItsNumbersHaveNoGaps) {
  constexpr int owners = 20;
  constexpr int parts = 10;
  for (int round = 0; round < repetitions; ++round) {
    TaskGraph graph(recorded(4));
    Block x("x", owners);
    for (std::size_t k = 0; k < owners; ++k)
      task(graph, "owner", {updates(x(k, 1))}, [&, k] {
        for (int n = 0; n < parts; ++n)
          part("part", {updates(x(k, 1))}, [&, k, n] { x[k] = x[k] * 3 + n; });
      });
    graph.wait();
    DependencyGraph const graph_of = graph.dependency_graph();
    EXPECT_EQ(graph_of.nodes().size(), owners * (parts + 1U));
    EXPECT_EQ(graph_of.edges().size(), owners * (parts - 1U));
    EXPECT_LE(graph.edges(),
              owners * (parts - 1U));  // those to tasks that were done are not counted
    EXPECT_EQ(graph.submitted(), owners * (parts + 1U));
    for (TaskId id = 1; id <= owners * (parts + 1U); ++id) EXPECT_EQ(graph_of.node(id).id, id);
    for (TaskRecord const& node : graph_of.nodes())
      if (node.label == "owner") {
        EXPECT_EQ(graph_of.parts(node.id).size(), parts * 1U);
      }
  }
}

enum class Turn { none, alone };

TEST_F(RegionLocks, RulesHoldAmongThePartsOfEachTask) {
  constexpr int owners = 20;
  for (int round = 0; round < repetitions; ++round) {
    TaskGraph graph(with_workers(4));
    graph.add_rule<Turn>("alone", Constraint::exclusive,
                         [](Turn a, Turn b) { return a == Turn::alone && b == Turn::alone; });
    graph.add_rule<int>("in turn", Constraint::ordered,
                        [](int a, int b) { return a == 1 && b == 1; });
    std::vector<std::vector<int>> order(owners);
    std::atomic<int> ran{0};
    for (std::size_t k = 0; k < owners; ++k)
      task(graph, "owner", {}, [&, k] {
        auto const alone = std::make_shared<std::atomic<int>>(0);
        for (int n = 0; n < 10; ++n) {
          part("in turn", {}, [&, k, n] { order[k].push_back(n); }, tagged(1));
          part(
              "alone", {},
              [&, alone] {
                EXPECT_EQ((*alone)++, 0);
                ++ran;
                EXPECT_EQ(--*alone, 0);
              },
              tagged(Turn::alone));
        }
      });
    graph.wait();
    EXPECT_EQ(ran, owners * 10);
    for (std::vector<int> const& each : order) {
      EXPECT_EQ(each.size(), 10U);
      EXPECT_TRUE(std::is_sorted(each.begin(), each.end()));
    }
  }
}

TEST_F(RegionLocks, PlansAndPassesWhoseTasksHaveParts) {
  constexpr int rounds = 30;
  constexpr std::size_t cells = 6;
  auto const body = [](TaskGraph& graph, Block& x) {
    for (std::size_t k = 0; k < cells; ++k)
      task(graph, "task", {updates(x(k, 1))}, [&x, k] {
        part("one", {updates(x(k, 1))}, [&x, k] { x[k] = x[k] * 5 % 1009 + 1; });
        part("two", {updates(x(k, 1))}, [&x, k] {
          part("inner", {updates(x(k, 1))}, [&x, k] { x[k] += 3; });
          wait_for_parts();
          x[k] *= 2;
        });
      });
    task(graph, "all", {updates(x)}, [&x] {
      for (std::size_t k = 0; k + 1 < cells; ++k)
        part("shift", {updates(x(k, 2))}, [&x, k] { x[k] = (x[k] + x[k + 1]) % 1009; });
    });
  };
  auto const serially = [&] {
    TaskGraphOptions options = with_workers(1);
    options.serial = true;
    Block x("x", cells);
    TaskGraph graph(options);
    for (int k = 0; k < rounds; ++k) body(graph, x);
    graph.wait();
    return std::vector<long>{x[0], x[1], x[2], x[3], x[4], x[5]};
  }();
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    Block by_plan("x", cells);
    Block by_loop("x", cells);
    Block directly("x", cells);
    {
      TaskGraph graph(with_workers(4));
      Plan const plan = graph.record([&] { body(graph, by_plan); });
      graph.replay(plan, rounds);
      std::thread other([&] { graph.iterate("loop", rounds, [&] { body(graph, by_loop); }); });
      for (int k = 0; k < rounds; ++k) body(graph, directly);
      other.join();
      if (repetition % 2 == 0) graph.wait();
    }
    for (std::size_t k = 0; k < cells; ++k) {
      EXPECT_EQ(by_plan[k], serially[k]);
      EXPECT_EQ(by_loop[k], serially[k]);
      EXPECT_EQ(directly[k], serially[k]);
    }
  }
}

// Whoever has the future of a collected task may refine it as soon as it has been submitted.
TEST_F(RegionLocks, TasksOfAPassAreRefinedByAnotherThread) {
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
          refined += refine(tasks[n], [&, n](Impl::TaskHandle const& owner) {
            part_of(owner, "part", {updates(x(n, 1))}, [&, n] {
              ++x[n];
              ++ran;
            });
          });
      });
      graph.iterate("loop", 1 + k % 2, [&](std::uint64_t pass) {
        for (std::size_t n = 0; n < count; ++n) {
          Future<void> const one = task(graph, "task", {updates(x(n, 1))}, [&, n] {
            ++x[n];
            ++ran;
          });
          if (pass == 0) tasks[n] = one;
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

TEST_F(RegionLocks, TheGraphMayEndWithPartsUnderWay) {
  for (int round = 0; round < 20 * repetitions; ++round) {
    std::atomic<int> ran{0};
    {
      TaskGraph graph(with_workers(1 + round % 4));
      for (int k = 0; k < 4; ++k)
        task(graph, "task", {}, [&] {
          for (int n = 0; n < 8; ++n)
            part("part", {}, [&] {
              part("inner", {}, [&] { ++ran; });
              part("inner", {}, [&] { ++ran; }).get();
            });
        });
    }
    EXPECT_EQ(ran, 4 * 8 * 2);
  }
}

// Memory of tasks goes from those who submit to the graph to those who submit parts, and back.
TEST_F(RegionLocks, MemoryOfTasksIsBounded) {
  constexpr int rounds = sanitized ? 1000 : 10000;
  TaskGraph graph(capped(4, 64));
  task(graph, "task", {}, [] {});
  graph.wait();
  std::size_t const least = graph.task_memory();
  for (int k = 0; k < rounds; ++k)
    for (int n = 0; n < 32; ++n)
      task(graph, "task", {}, [] {
        for (int p = 0; p < 4; ++p) part("part", {}, [] {});
      });
  graph.wait();
  EXPECT_LE(graph.task_memory(), 16 * least);
}

// In a functor's copy the lock is held under which the functor's task is submitted.
TEST_F(RegionLocks, ACopyThatWaitsForThePartsOfItsOwnerIsTold) {
  struct Waits {
    std::shared_ptr<std::string> text;
    std::shared_ptr<std::atomic<bool>> armed;
    Waits(std::shared_ptr<std::string> its_text, std::shared_ptr<std::atomic<bool>> is_armed)
        : text(std::move(its_text)), armed(std::move(is_armed)) {}
    Waits(Waits const& other) : text(other.text), armed(other.armed) { use(); }
    Waits(Waits&& other) : text(other.text), armed(other.armed) { use(); }
    void use() const {
      if (!armed->exchange(false)) return;
      *text = message_of([] { wait_for_parts(); });
    }
    void operator()() const {}
  };
  TaskGraph graph(with_workers(2));
  auto const text = std::make_shared<std::string>();
  auto const armed = std::make_shared<std::atomic<bool>>(false);
  Block x("x");
  task(graph, "owner", {updates(x)}, [&] {
    until_done(part("first", {updates(x)}, [] {}));
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
    Impl::GraphDoor::submit_part(
        self(), Impl::TaskSpec(Label("second"), ops, sizeof(Waits), alignof(Waits), construct));
  });
  graph.wait();
  EXPECT_THAT(*text, HasSubstr("uses the graph to which a task is just being submitted"));
}

}  // namespace
}  // namespace trellis
