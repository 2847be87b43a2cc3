// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads that submit children of different tasks at the same time, under locks of their own.
#include "BareTask.hpp"
#include "ScopeTest.hpp"

#include <Trellis_SchedulingPolicy.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;

class ScopeLocks : public Timed {};

/// A program whose tasks split themselves, to several depths, into children on areas of one block.
/// Its result depends on the order of any two that share an element.
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
    std::size_t const children = 2 + random() % 6;
    for (std::size_t k = 0; k < children; ++k) {
      std::size_t const some = 1 + random() % count;
      std::size_t const from = first + random() % (count - some + 1);
      auto const own = static_cast<std::uint32_t>(random());
      bool const splits = depth > 0 && random() % 3 == 0;
      auto const run = [&block, from, some, own, depth, splits] {
        splits ? body(block, from, some, own, depth - 1) : step(block, from, some, own);
      };
      switch (random() % 8) {
        case 0:  // reads, and leaves no trace but where it should not have read
          child("reader", {reads(block(from, some))}, [&block, from, some] {
            long sum = 0;
            for (std::size_t n = from; n < from + some; ++n) sum += block[n];
            EXPECT_GE(sum, 0);
          });
          break;
        case 1:
          child("barrier", {updates(block(from, some))}, run, {.synchronizing = true});
          break;
        case 2:
          child("waited for", {updates(block(from, some))}, run).get();
          break;
        case 3:  // any order, each alone
          for (long add : {1, 2, 4})
            child("alone", {excludes(block(from, some))}, [&block, from, some, add] {
              for (std::size_t n = from; n < from + some; ++n) block[n] += add;
            });
          break;
        default:
          child("child", {updates(block(from, some))}, run);
      }
    }
    if (random() % 4 == 0) wait_for_children();
  }

  std::uint32_t const m_seed;
};

TEST_F(ScopeLocks, ProgramsOfChildrenGiveWhatTheyGiveInSerialOrder) {
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

// What they submit has larger numbers than the task, too, so that of several failures of a task the
// first counts.
TEST_F(ScopeLocks, SeveralThreadsOfABodySubmitChildren) {
  constexpr int threads = 4;
  constexpr int each = sanitized ? 50 : 200;
  TaskGraph graph(with_workers(3));
  Block x("x", threads);
  Block all("all");
  std::vector<TaskId> wrong;
  for (int round = 0; round < repetitions; ++round)
    task(graph, "outer", {updates(x), updates(all)}, [&] {
      child("inner", {updates(x), updates(all)}, [&] {
        Impl::TaskHandle const parent = self();
        std::vector<std::thread> submitters;
        for (int t = 0; t < threads; ++t)
          submitters.emplace_back([&, t, parent] {
            for (int k = 0; k < each; ++k) {
              auto const cell = static_cast<std::size_t>(t);
              Future<void> const one = child_of(parent, "own cell", {updates(x(cell, 1))},
                                                [&, cell] { x[cell] = x[cell] * 3 % 1009 + 1; });
              EXPECT_GT(one.id(), parent.id);
              child_of(parent, "sum", {excludes(all)}, [&] { ++all[0]; });
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

// Children are counted apart by the thread of the body and by all others, see OpenChildren.
TEST_F(ScopeLocks, ATaskEndsAfterAllItsChildrenWhoeverSubmitsAndRunsThem) {
  constexpr int rounds = sanitized ? 200 : 2000;
  for (int workers : {1, 2, 4}) {
    TaskGraph graph(with_workers(workers));
    Block sum("sum");
    std::mt19937 random(7);
    for (int round = 0; round < rounds; ++round) {
      auto const seed = static_cast<std::uint32_t>(random());
      int expected = 0;
      std::atomic<int> done{0};
      auto const leaf = [&done] { ++done; };
      task(graph, "parent", {writes(sum)}, [&, seed] {
        Impl::TaskHandle const parent = self();
        std::mt19937 choice(seed);
        std::vector<Future<void>> own;
        std::thread other;
        if (choice() % 16 == 0) {
          other = std::thread([&] {
            for (int k = 0; k < 3; ++k) child_of(parent, "of a thread", {}, leaf);
          });
          expected += 3;
        }
        for (int k = static_cast<int>(choice() % 6); k > 0; --k) switch (choice() % 4) {
            case 0:  // one that gives its parent another one
              own.push_back(child("child", {}, [&, parent] {
                child_of(parent, "of a child", {}, leaf);
                ++done;
              }));
              expected += 2;
              break;
            case 1:
              own.push_back(child("split", {}, [&] {
                child("inner", {}, leaf);
                child("inner", {}, leaf).wait();
                ++done;
              }));
              expected += 3;
              break;
            case 2:
              if (!own.empty()) own[choice() % own.size()].wait();
              break;
            default:
              own.push_back(child("leaf", {}, leaf));
              ++expected;
          }
        if (other.joinable()) other.join();
        if (choice() % 3 == 0) {
          wait_for_children();
          EXPECT_EQ(done, expected);
        }
      });
      task(graph, "next", {reads(sum)}, [&] { EXPECT_EQ(done, expected); }).wait();
    }
  }
}

TEST_F(ScopeLocks, WaitsAcrossRegions) {
  constexpr std::size_t count = 50;
  for (int round = 0; round < repetitions; ++round) {
    TaskGraph graph(with_workers(4));
    Block order("order");
    std::vector<Future<long>> firsts(count);
    std::atomic<int> seconds{0};
    for (std::size_t k = 0; k < count; ++k)
      task(graph, "task", {updates(order)}, [&, k] {
        firsts[k] = child("first", {}, [&, k] { return k == 0 ? 1 : firsts[k - 1].get() + 1; });
        release(order);  // the next task begins, beside this one
        if (k == 0) return;
        child("second", {},
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

enum class Turn { none, alone };

TEST_F(ScopeLocks, RulesHoldAmongTheChildrenOfEachTask) {
  constexpr int parents = 20;
  for (int round = 0; round < repetitions; ++round) {
    TaskGraph graph(with_workers(4));
    graph.add_rule<Turn>("alone", Constraint::exclusive,
                         [](Turn a, Turn b) { return a == Turn::alone && b == Turn::alone; });
    graph.add_rule<int>("in turn", Constraint::ordered,
                        [](int a, int b) { return a == 1 && b == 1; });
    std::vector<std::vector<int>> order(parents);
    std::atomic<int> ran{0};
    for (std::size_t k = 0; k < parents; ++k)
      task(graph, "parent", {}, [&, k] {
        auto const alone = std::make_shared<std::atomic<int>>(0);
        for (int n = 0; n < 10; ++n) {
          child("in turn", {}, [&, k, n] { order[k].push_back(n); }, tagged(1));
          child(
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
    EXPECT_EQ(ran, parents * 10);
    for (std::vector<int> const& each : order) {
      EXPECT_EQ(each.size(), 10U);
      EXPECT_TRUE(std::is_sorted(each.begin(), each.end()));
    }
  }
}

TEST_F(ScopeLocks, PlansAndIterationsWhoseTasksHaveChildren) {
  constexpr int rounds = 30;
  constexpr std::size_t cells = 6;
  auto const body = [](TaskGraph& graph, Block& x) {
    for (std::size_t k = 0; k < cells; ++k)
      task(graph, "task", {updates(x(k, 1))}, [&x, k] {
        child("one", {updates(x(k, 1))}, [&x, k] { x[k] = x[k] * 5 % 1009 + 1; });
        child("two", {updates(x(k, 1))}, [&x, k] {
          child("inner", {updates(x(k, 1))}, [&x, k] { x[k] += 3; });
          wait_for_children();
          x[k] *= 2;
        });
      });
    task(graph, "all", {updates(x)}, [&x] {
      for (std::size_t k = 0; k + 1 < cells; ++k)
        child("shift", {updates(x(k, 2))}, [&x, k] { x[k] = (x[k] + x[k + 1]) % 1009; });
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

TEST_F(ScopeLocks, TheGraphMayEndWithChildrenUnderWay) {
  for (int round = 0; round < 20 * repetitions; ++round) {
    std::atomic<int> ran{0};
    {
      TaskGraph graph(with_workers(1 + round % 4));
      for (int k = 0; k < 4; ++k)
        task(graph, "task", {}, [&] {
          for (int n = 0; n < 8; ++n)
            child("child", {}, [&] {
              child("inner", {}, [&] { ++ran; });
              child("inner", {}, [&] { ++ran; }).get();
            });
        });
    }
    EXPECT_EQ(ran, 4 * 8 * 2);
  }
}

// Memory of tasks goes from those who submit to the graph to those who submit children, and back.
TEST_F(ScopeLocks, MemoryOfTasksIsBounded) {
  constexpr int rounds = sanitized ? 1000 : 10000;
  TaskGraph graph(capped(4, 64));
  task(graph, "task", {}, [] {});
  graph.wait();
  std::size_t const least = graph.task_memory();
  for (int k = 0; k < rounds; ++k)
    for (int n = 0; n < 32; ++n)
      task(graph, "task", {}, [] {
        for (int p = 0; p < 4; ++p) child("child", {}, [] {});
      });
  graph.wait();
  EXPECT_LE(graph.task_memory(), 16 * least);
}

}  // namespace
}  // namespace trellis
