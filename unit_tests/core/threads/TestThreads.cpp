// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Who runs tasks, who submits them, and that any of it may happen at the same time.
#include "BareTask.hpp"
#include "Memory.hpp"
#include "Timing.hpp"

#include <algorithm>
#include <numeric>
#include <set>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;

class Workers : public Timed {};
class Submission : public Timed {};
class Order : public Timed {};
class MainThread : public Timed {};

TEST_F(Workers, RunAsManyTasksAtTheSameTimeAsThereAreOfThem) {
  for (int workers : {1, 2, 3, 5}) {
    TaskGraph graph(with_workers(workers));
    Rendezvous all(workers);
    for (int k = 0; k < workers; ++k)
      task(graph, "together", {}, [&] { EXPECT_TRUE(all.meet()) << workers << " workers"; });
    graph.wait();
  }
}

TEST_F(Workers, TheWaitingThreadIsOneOfThem) {
  for (int workers : {1, 2, 3}) {
    TaskGraph graph(with_workers(workers));
    Occupancy occupancy;
    int const at_once = std::min(workers, 2);
    Rendezvous together(at_once);
    for (int k = 0; k < 60; ++k)
      task(graph, "stay", {}, [&, k] {
        Occupancy::Stay const stay(occupancy);
        if (k < at_once) {
          EXPECT_TRUE(together.meet());
        }
        std::this_thread::sleep_for(500us);
      });
    graph.wait();
    // While a thread enters wait() the worker whose place it takes may finish its current task.
    EXPECT_LE(occupancy.most(), workers + 1);
    EXPECT_GE(occupancy.most(), at_once);
  }
}

TEST_F(Workers, AreStartedWhenThereIsWorkForThem) {
  int const before = thread_count();
  TaskGraph graph(with_workers(4));
  EXPECT_LE(thread_count(), before);  // those of the test before may just be gone
  graph.wait();
  EXPECT_LE(thread_count(), before);
  Rendezvous all(4);
  for (int k = 0; k < 4; ++k) task(graph, "together", {}, [&] { EXPECT_TRUE(all.meet()); });
  graph.wait();
}

TEST_F(Workers, EndWithTheGraph) {
  int const before = thread_count();
  {
    TaskGraph graph(with_workers(4));
    Rendezvous all(4);
    for (int k = 0; k < 4; ++k) task(graph, "together", {}, [&] { EXPECT_TRUE(all.meet()); });
    graph.wait();
  }
  if (!sanitized) {
    EXPECT_TRUE(thread_count_comes_down_to(before));
  }
}

TEST_F(Workers, RunTasksWhileNobodyWaits) {
  TaskGraph graph(with_workers(1));
  Gate ran;
  task(graph, "task", {}, [&] { ran.open(); });
  EXPECT_TRUE(ran.pass());
}

/// A thread that submits is lent a permit, which must not be lost when it goes on with something
/// else.
template <class Pause>
void expect_all_to_meet_while_the_submitter(Pause pause) {
  for (int workers : {2, 3, 5}) {
    TaskGraph graph(with_workers(workers));
    Block x("x");
    for (int round = 0; round < 5; ++round) {
      std::atomic<int> met{0};
      Rendezvous all(workers);
      for (int k = 0; k < 200; ++k) task(graph, "short", {updates(x)}, [] {});
      for (int k = 0; k < workers; ++k)
        task(graph, "together", {}, [&] {
          EXPECT_TRUE(all.meet()) << workers << " workers";
          ++met;
        });
      while (met < workers) pause();
      graph.wait();
    }
  }
}

TEST_F(Workers, AllRunWhileTheSubmitterSleeps) {
  expect_all_to_meet_while_the_submitter([] { std::this_thread::sleep_for(100us); });
}

TEST_F(Workers, AllRunWhileTheSubmitterComputes) {
  expect_all_to_meet_while_the_submitter([] {});
}

TEST_F(Workers, AllRunWhenTheSubmitterIsGone) {
  for (int workers : {2, 3}) {
    TaskGraph graph(with_workers(workers));
    Block x("x");
    Rendezvous all(workers);
    std::atomic<int> met{0};
    std::thread([&] {
      for (int k = 0; k < 200; ++k) task(graph, "short", {updates(x)}, [] {});
      for (int k = 0; k < workers; ++k)
        task(graph, "together", {}, [&] {
          EXPECT_TRUE(all.meet());
          ++met;
        });
    }).join();
    while (met < workers) std::this_thread::sleep_for(100us);
    graph.wait();
  }
}

/// The one beside the submitter has a long task, and never looks; another one is blocked.
TEST_F(Workers, OneThatIsBlockedIsReplacedWhileTheSubmitterSleeps) {
  for (int workers : {2, 3}) {
    TaskGraph graph(with_workers(workers));
    Block x("x");
    for (int round = 0; round < 5; ++round) {
      Gate begun, awaited_ran;
      std::atomic<bool> over{false};
      Future<void> awaited;
      Gate submitted;
      task(graph, "waits", {}, [&] {
        begun.open();
        EXPECT_TRUE(submitted.pass());
        awaited.wait();
        over = true;
      });
      EXPECT_TRUE(begun.pass());
      for (int k = 0; k < 200; ++k) task(graph, "short", {updates(x)}, [] {});
      for (int k = 1; k < workers; ++k)
        task(graph, "long", {}, [&] { EXPECT_TRUE(awaited_ran.pass()); });
      awaited = task(graph, "awaited", {}, [&] { awaited_ran.open(); });
      submitted.open();
      while (!over) std::this_thread::sleep_for(100us);
      graph.wait();
    }
  }
}

/// While it submits, no more threads run tasks than are asked for. Where the machine takes the core
/// away from it, its place goes to a worker, so this holds most of the time only: the best of some
/// rounds counts.
TEST_F(Workers, ASubmitterIsOneOfThem) {
  if (sanitized) return;  // it does not submit fast enough
  TaskGraph graph(with_workers(2));
  double best = 0;
  for (int round = 0; round < 10; ++round) {
    std::atomic<int> inside{0}, alone{0}, all{0};
    for (int k = 0; k < 1000; ++k) {  // below the cap
      task(graph, "sleeps", {}, [&] {
        alone += inside.fetch_add(1) == 0;
        ++all;
        std::this_thread::sleep_for(20us);
        --inside;
      });
      compute_for(5us);
    }
    best = std::max(best, double(alone) / std::max(1, all.load()));
    graph.wait();
  }
  EXPECT_GT(best, 0.8);
}

TEST_F(Workers, WakeUpAgainAfterALongSleep) {
  TaskGraph graph(with_workers(2));
  for (int k = 0; k < 5; ++k) {
    std::this_thread::sleep_for(5ms);
    Gate ran;
    task(graph, "task", {}, [&] { ran.open(); });
    EXPECT_TRUE(ran.pass());
  }
}

TEST_F(Workers, ThereAreAnyNumberOfThreadsWaiting) {
  TaskGraph graph(with_workers(2));
  Gate gate;
  Block x("x");
  task(graph, "gate", {writes(x)}, [&] { gate.pass(); });
  auto const number = task(graph, "number", {updates(x)}, [] { return 4; });
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&, t] {
      if (t % 2 == 0)
        graph.wait();
      else
        EXPECT_EQ(number.get(), 4);
      EXPECT_TRUE(number.is_done());
    });
  std::this_thread::sleep_for(2ms);
  gate.open();
  for (std::thread& thread : threads) thread.join();
}

TEST_F(Workers, AreStartedAlsoAfterManyThreadsHaveWaitedAtOnce) {
  constexpr int count = 300;  // more than may run tasks at the same time
  TaskGraph graph(with_workers(2));
  for (int repeat = 0; repeat < 2; ++repeat) {
    Block x("x");
    Gate gate;
    task(graph, "gate", {writes(x)}, [&] { EXPECT_TRUE(gate.pass()); });
    auto const number = task(graph, "number", {updates(x)}, [] { return 4; });
    std::atomic<int> entered{0}, right{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < count; ++t)
      threads.emplace_back([&, t] {
        ++entered;
        if (t % 2 == 0) graph.wait();
        right += number.get() == 4;
      });
    while (entered < count) std::this_thread::yield();
    std::this_thread::sleep_for(20ms);
    gate.open();
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(right, count);
  }
  Gate ran;  // nobody waits now, so a worker has to run it
  task(graph, "task", {}, [&] { ran.open(); });
  EXPECT_TRUE(ran.pass());
}

TEST_F(Workers, GraphsComeAndGo) {
  long sum = 0;
  for (int k = 0; k < 200; ++k) {
    TaskGraph graph(with_workers(1 + k % 3));
    Block x("x");
    for (int n = 0; n < k % 7; ++n) task(graph, "task", {updates(x)}, [&] { ++x[0]; });
    if (k % 2 == 0) graph.wait();
    auto const last = task(graph, "last", {reads(x)}, [&] { return x[0]; });
    sum += last.get();
  }
  EXPECT_EQ(sum, 594);
}

TEST_F(Submission, FromSeveralThreadsKeepsEachThreadsOrder) {
  int const threads = 4, each = 500;
  TaskGraph graph(with_workers(2));
  Block shared("shared");
  std::vector<Block> own;
  for (int t = 0; t < threads; ++t) own.emplace_back("own", each + 1);
  std::vector<std::thread> submitters;
  for (int t = 0; t < threads; ++t)
    submitters.emplace_back([&, t] {
      Block& mine = own[static_cast<std::size_t>(t)];
      for (int k = 0; k < each; ++k)
        task(graph, "append", {updates(mine), updates(shared)}, [&mine, &shared, k] {
          auto const at = static_cast<std::size_t>(++mine[0]);
          mine[at] = k;
          ++shared[0];  // not atomic: the tasks are ordered
        });
    });
  for (std::thread& submitter : submitters) submitter.join();
  graph.wait();
  EXPECT_EQ(shared[0], threads * each);
  for (Block& block : own)
    for (int k = 0; k < each; ++k) ASSERT_EQ(block[static_cast<std::size_t>(k + 1)], k);
}

TEST_F(Submission, FromSeveralThreadsThatAlsoWait) {
  TaskGraph graph(with_workers(2));
  std::vector<std::thread> submitters;
  for (int t = 0; t < 3; ++t)
    submitters.emplace_back([&] {
      Block x("x");
      for (int k = 1; k <= 100; ++k) {
        task(graph, "step", {updates(x)}, [&] { ++x[0]; });
        auto const here = task(graph, "look", {reads(x)}, [&] { return x[0]; });
        EXPECT_EQ(here.get(), k);
        if (k % 10 == 0) graph.wait();
      }
    });
  for (std::thread& submitter : submitters) submitter.join();
}

TEST_F(Submission, FromInsideTasksIsAwaitedToo) {
  TaskGraph graph(with_workers(2));
  std::atomic<int> leaves{0};
  std::function<void(int)> grow = [&](int level) {
    if (level == 0) {
      ++leaves;
      return;
    }
    for (int k = 0; k < 2; ++k) task(graph, "branch", {}, [&, level] { grow(level - 1); });
  };
  task(graph, "root", {}, [&] { grow(9); });
  graph.wait();
  EXPECT_EQ(leaves, 512);
}

TEST_F(Submission, WhileTasksRunFindsTheirAccesses) {
  // The submitting thread and the workers meet at every stage of a task's life.
  for (int repeat = 0; repeat < (sanitized ? 5 : 50); ++repeat) {
    TaskGraph graph(with_workers(2));
    Block x("x", 4);
    for (int k = 0; k < 200; ++k) {
      auto const at = static_cast<std::size_t>(k % 4);
      task(graph, "update", {updates(x(at, 1))}, [&x, at] { ++x[at]; });
      if (k % 16 == 15)
        task(graph, "rotate", {updates(x)}, [&x] {
          long const first = x[0];
          for (std::size_t n = 0; n < 3; ++n) x[n] = x[n + 1];
          x[3] = first;
        });
    }
    long const sum =
        task(graph, "sum", {reads(x)}, [&] { return x[0] + x[1] + x[2] + x[3]; }).get();
    EXPECT_EQ(sum, 200);
  }
}

TEST_F(Submission, IntoSeveralGraphsSideBySideKeepsThemApart) {
  TaskGraph a(with_workers(1)), b(with_workers(2)), c(with_workers(1));
  std::vector<Block> blocks;
  for (int k = 0; k < 3; ++k) blocks.emplace_back("block");
  TaskGraph* const graphs[] = {&a, &b, &c};
  for (int k = 0; k < 600; ++k) {
    Block& block = blocks[static_cast<std::size_t>(k % 3)];
    task(*graphs[k % 3], "step", {updates(block)}, [&block] { ++block[0]; });
  }
  for (std::size_t k = 0; k < 3; ++k) {
    graphs[k]->wait();
    EXPECT_EQ(blocks[k][0], 200);
    EXPECT_EQ(graphs[k]->submitted(), 200u);
  }
}

TEST_F(Submission, ABlockedGraphDoesNotHoldUpAnother) {
  TaskGraph blocked(with_workers(1)), other(with_workers(1));
  Gate gate;
  Block x("x");
  task(blocked, "gate", {writes(x)}, [&] { gate.pass(); });
  EXPECT_EQ(task(other, "same block", {writes(x)}, [] { return 1; }).get(), 1)
      << "graphs know nothing of each other";
  gate.open();
}

TEST_F(Submission, AFailureOfOneGraphIsNotThatOfAnother) {
  TaskGraph one(with_workers(1)), other(with_workers(1));
  Block x("x");
  task(one, "bad", {writes(x)}, [] { throw std::runtime_error("boom"); });
  task(other, "good", {reads(x)}, [] {});
  EXPECT_NO_THROW(other.wait());
  EXPECT_THROW(one.wait(), Error);
}

TEST_F(Order, DisjointAreasOverlapInTime) {
  TaskGraph graph(with_workers(2));
  Block x("x", 10);
  for (auto const& modes : {std::pair{Mode::write, Mode::write},
                            {Mode::write, Mode::read},
                            {Mode::exclusive, Mode::exclusive}}) {
    Rendezvous both(2);
    task(graph, "left", {{modes.first, x(0, 5)}}, [&] { EXPECT_TRUE(both.meet()); });
    task(graph, "right", {{modes.second, x(5, 5)}}, [&] { EXPECT_TRUE(both.meet()); });
    graph.wait();
  }
}

// For each pair of modes on one area: overlap exactly where the table says so; exclusive ones
// exclude each other.
TEST_F(Order, IndependentModesOverlapInTimeAndOthersDoNot) {
  Mode const modes[] = {Mode::read,       Mode::write,     Mode::read_write, Mode::atomic_add,
                        Mode::atomic_mul, Mode::exclusive, Mode::none};
  TaskGraph graph(with_workers(2));
  Block x("x", 2);
  for (Mode const first : modes)
    for (Mode const second : modes) {
      bool const may_overlap = !MatrixAccess<IOMatrix>(first).is_dependent_of(second) &&
                               !(first == Mode::exclusive && second == Mode::exclusive);
      Rendezvous both(2);
      auto const patience = may_overlap ? std::chrono::milliseconds(20s) : 5ms;
      std::atomic<int> met{0};
      std::atomic<int> order{0};
      int when[2];
      task(graph, "first", {{first, x}}, [&] {
        when[0] = ++order;
        met += both.meet(patience);
      });
      task(graph, "second", {{second, x(1, 1)}}, [&] {
        when[1] = ++order;
        met += both.meet(patience);
      });
      graph.wait();
      if (may_overlap) {
        EXPECT_EQ(met, 2) << to_string(first) << ", " << to_string(second);
      } else {
        EXPECT_EQ(met, 1) << to_string(first) << ", " << to_string(second)
                          << ": only the second finds the other one gone";
        if (first != Mode::exclusive || second != Mode::exclusive) {
          EXPECT_LT(when[0], when[1]);
        }
      }
    }
}

TEST_F(Order, ASynchronizingTaskRunsAlone) {
  TaskGraph graph(with_workers(2));
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::atomic<int> before{0}, after{0};
    for (int k = 0; k < 10; ++k) task(graph, "before", {}, [&] { ++before; });
    task(graph, "all", {},
         [&] {
           EXPECT_EQ(before, 10);
           std::this_thread::sleep_for(100us);
           EXPECT_EQ(after, 0);
         },
         {.synchronizing = true});
    for (int k = 0; k < 10; ++k) task(graph, "after", {}, [&] { ++after; });
    graph.wait();
    EXPECT_EQ(after, 10);
  }
}

TEST_F(Order, AfterOrdersTasksThatShareNothing) {
  TaskGraph graph(with_workers(2));
  for (int repeat = 0; repeat < 50; ++repeat) {
    int value = 0;  // not atomic: the tasks are ordered
    auto const first = task(graph, "first", {}, [&] {
      std::this_thread::sleep_for(50us);
      value = 1;
    });
    auto const number = task(graph, "number", {}, [&] { return 2; });
    auto const last =
        task(graph, "last", {}, [&] { return value; }, {.after = handles(first, number)});
    EXPECT_EQ(last.get(), 1);
  }
}

TEST_F(Order, ExclusiveTasksNeverOverlapAndAllRun) {
  TaskGraph graph(with_workers(3));
  Block box("box", 3);
  Occupancy left, right;
  long sum = 0;  // guarded by exclusion
  for (int k = 0; k < 300; ++k) {
    if (k % 3 == 0)
      task(graph, "left", {excludes(box(0, 1))}, [&] { Occupancy::Stay const stay(left); });
    else if (k % 3 == 1)
      task(graph, "right", {excludes(box(2, 1))}, [&] { Occupancy::Stay const stay(right); });
    else
      task(graph, "both", {excludes(box)}, [&] {
        Occupancy::Stay const in_left(left), in_right(right);
        ++sum;
      });
  }
  graph.wait();
  EXPECT_EQ(left.most(), 1);
  EXPECT_EQ(right.most(), 1);
  EXPECT_EQ(sum, 100);
}

TEST_F(MainThread, TasksBoundToItRunThereAndOthersAnywhere) {
  TaskGraph graph(with_workers(2));
  auto const main = std::this_thread::get_id();
  Block x("x");
  std::atomic<int> elsewhere{0};
  for (int k = 0; k < 50; ++k) {
    task(graph, "bound", {updates(x)}, [&] { elsewhere += std::this_thread::get_id() != main; },
         {.main_thread = true});
    task(graph, "free", {updates(x)}, [&] { ++x[0]; });
  }
  graph.wait();
  EXPECT_EQ(elsewhere, 0);
  EXPECT_EQ(x[0], 50);
}

TEST_F(MainThread, IsTheOneThatMadeTheGraphNotTheOneThatSubmits) {
  TaskGraph graph(with_workers(2));
  auto const main = std::this_thread::get_id();
  std::atomic<int> elsewhere{0};
  std::thread([&] {
    for (int k = 0; k < 10; ++k)
      task(graph, "bound", {}, [&] { elsewhere += std::this_thread::get_id() != main; },
           {.main_thread = true});
  }).join();
  graph.wait();
  EXPECT_EQ(elsewhere, 0);
}

TEST_F(MainThread, RunsItsTasksAlsoWhileItWaitsForAFuture) {
  TaskGraph graph(with_workers(1));
  Block x("x");
  task(graph, "bound", {updates(x)}, [&] { x[0] = 1; }, {.main_thread = true});
  EXPECT_EQ(task(graph, "look", {reads(x)}, [&] { return x[0]; }).get(), 1);
}

TEST_F(MainThread, DoesNotRunItsTasksOutsideOfWaits) {
  TaskGraph graph(with_workers(1));
  bool ran = false;
  task(graph, "bound", {}, [&] { ran = true; }, {.main_thread = true});
  std::this_thread::sleep_for(5ms);
  EXPECT_FALSE(ran);
  graph.wait();
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace trellis
