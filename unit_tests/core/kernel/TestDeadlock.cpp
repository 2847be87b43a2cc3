// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Waiting inside tasks: what can never end is an error, everything else ends.
#include "BareTask.hpp"
#include "Timing.hpp"

#include <gmock/gmock.h>

#include <optional>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;
using testing::HasSubstr;

class Deadlock : public Timed {};
class NestedWait : public Timed {};

// Hands a future to a task that was submitted before.
template <class T>
class Later {
 public:
  void set(Future<T> future) {
    m_future = std::move(future);
    m_set.open();
  }
  Future<T> const& get() {
    m_set.pass();
    return m_future;
  }

 private:
  Gate m_set;
  Future<T> m_future;
};

TEST_F(Deadlock, ATaskThatWaitsForItsOwnGraphIsTold) {
  TaskGraph graph(with_workers(2));
  task(graph, "impatient", {}, [&] { graph.wait(); });
  Error const error = error_of([&] { graph.wait(); });
  EXPECT_THAT(error.what(),
              testing::AllOf(HasSubstr("\"impatient\""), HasSubstr("waits for its own graph")));
  try {
    std::rethrow_exception(error.cause());
  } catch (Error const& cause) {
    EXPECT_EQ(cause.kind(), Error::Kind::deadlock);
  }
}

// The body of a task that waits: it must get an Error of kind deadlock that names both.
template <class T>
void expect_deadlock(Future<T> const& awaited, char const* waiter, char const* other) {
  Error const error = error_of([&] { awaited.get(); });
  EXPECT_EQ(error.kind(), Error::Kind::deadlock);
  EXPECT_THAT(error.what(), testing::AllOf(HasSubstr(waiter), HasSubstr(other)));
}

// The engine does not know that the others wait for the first. Were its thread to sleep, all might
// be at the lock before the chain has begun.
TEST_F(Deadlock, ATaskThatWaitsWithALockRunsWhatComesBeforeWhatItWaitsFor) {
  for (int workers = 1; workers <= 3; ++workers)
    for (int time = 0; time < 20; ++time) {
      TaskGraph graph(with_workers(workers));
      Block x("x");
      std::once_flag once;
      std::atomic<int> made{0}, used{0};
      auto const initialise = [&] {
        Future<void> last;
        for (int k = 0; k < 4; ++k) last = task(graph, "link", {updates(x)}, [&] { ++made; });
        last.get();
      };
      for (int k = 0; k < 12; ++k)
        task(graph, "user", {}, [&] {
          std::call_once(once, initialise);
          ++used;
        });
      graph.wait();
      ASSERT_EQ(made, 4);
      ASSERT_EQ(used, 12);
    }
}

TEST_F(Deadlock, WaitingForItselfIsAnError) {
  TaskGraph graph(with_workers(2));
  Later<void> self;
  self.set(
      task(graph, "narcissus", {}, [&] { expect_deadlock(self.get(), "narcissus", "narcissus"); }));
  EXPECT_NO_THROW(graph.wait());
}

TEST_F(Deadlock, WaitingForASuccessorIsAnError) {
  TaskGraph graph(with_workers(2));
  Block x("x");
  Later<void> later;
  task(graph, "first", {writes(x)},
       [&] { expect_deadlock(later.get(), "\"first\"", "\"second\""); });
  later.set(task(graph, "second", {reads(x)}, [] {}));
  EXPECT_NO_THROW(graph.wait());
}

TEST_F(Deadlock, WaitingForASuccessorByAfterIsAnError) {
  TaskGraph graph(with_workers(2));
  Later<int> later;
  auto const first =
      task(graph, "first", {}, [&] { expect_deadlock(later.get(), "\"first\"", "\"second\""); });
  later.set(task(graph, "second", {}, [] { return 1; }, {.after = handles(first)}));
  EXPECT_NO_THROW(graph.wait());
}

TEST_F(Deadlock, WaitingForTheEndOfAChainIsAnError) {
  TaskGraph graph(with_workers(2));
  Block x("x");
  Later<void> later;
  task(graph, "first", {writes(x)}, [&] { expect_deadlock(later.get(), "\"first\"", "\"link\""); });
  for (int k = 0; k < 100; ++k) {
    auto const link = task(graph, "link", {updates(x)}, [] {});
    if (k == 99) later.set(link);
  }
  EXPECT_NO_THROW(graph.wait());
}

TEST_F(Deadlock, WaitingForALaterSynchronizingTaskIsAnError) {
  TaskGraph graph(with_workers(2));
  Later<void> later;
  task(graph, "first", {}, [&] { expect_deadlock(later.get(), "\"first\"", "\"all\""); });
  later.set(task(graph, "all", {}, [] {}, {.synchronizing = true}));
  EXPECT_NO_THROW(graph.wait());
}

TEST_F(Deadlock, OneOfTwoThatWaitForEachOtherIsTold) {
  for (int workers : {1, 2, 3}) {
    TaskGraph graph(with_workers(workers));
    Later<void> a, b;
    std::atomic<int> told{0};
    auto const wait_for = [&](Later<void>& other) {
      try {
        other.get().wait();
      } catch (Error const& error) {
        EXPECT_EQ(error.kind(), Error::Kind::deadlock);
        ++told;
      }
    };
    a.set(task(graph, "a", {}, [&] { wait_for(b); }));
    b.set(task(graph, "b", {}, [&] { wait_for(a); }));
    graph.wait();
    EXPECT_EQ(told, 1) << workers << " workers";
  }
}

TEST_F(Deadlock, OneOfManyInACircleIsTold) {
  int const count = 10;
  TaskGraph graph(with_workers(2));
  std::vector<Later<void>> tasks(count);
  std::atomic<int> told{0};
  for (int k = 0; k < count; ++k)
    tasks[k].set(task(graph, "link", {}, [&, k] {
      try {
        tasks[(k + 1) % count].get().wait();
      } catch (Error const& error) {
        EXPECT_EQ(error.kind(), Error::Kind::deadlock);
        ++told;
      }
    }));
  graph.wait();
  EXPECT_EQ(told, 1);
}

TEST_F(Deadlock, ACircleOfWaitsAndDependenciesIsAnError) {
  // a waits for c, which depends on b, which waits for a.
  TaskGraph graph(with_workers(2));
  Block x("x");
  Later<void> a, c;
  std::atomic<int> told{0};
  auto const wait_for = [&](Later<void>& other) {
    try {
      other.get().wait();
    } catch (Error const& error) {
      EXPECT_EQ(error.kind(), Error::Kind::deadlock);
      ++told;
    }
  };
  a.set(task(graph, "a", {}, [&] { wait_for(c); }));
  task(graph, "b", {writes(x)}, [&] { wait_for(a); });
  c.set(task(graph, "c", {reads(x)}, [] {}));
  graph.wait();
  EXPECT_EQ(told, 1);
}

TEST_F(Deadlock, AnExclusiveTaskThatWaitsForOneThatNeedsItsResourceIsTold) {
  TaskGraph graph(with_workers(2));
  Block box("box");
  Later<void> later;
  Gate waiting;
  task(graph, "holder", {excludes(box)}, [&] {
    std::this_thread::sleep_for(5ms);  // the other one stands in line by now
    expect_deadlock(later.get(), "\"holder\"", "\"next\"");
  });
  later.set(task(graph, "next", {excludes(box)}, [] {}));
  EXPECT_NO_THROW(graph.wait());
}

TEST_F(Deadlock, AnExclusiveTaskThatWaitsForOneThatWillNeedItsResourceIsTold) {
  // `next` is still pending when `holder` begins to wait for it.
  TaskGraph graph(with_workers(2));
  Block box("box"), x("x");
  Later<void> later;
  Gate told;
  task(graph, "holder", {excludes(box)}, [&] {
    expect_deadlock(later.get(), "\"holder\"", "\"next\"");
    told.open();
  });
  task(graph, "slow", {writes(x)}, [&] { told.pass(500ms); });
  later.set(task(graph, "next", {excludes(box), reads(x)}, [] {}));
  EXPECT_NO_THROW(graph.wait());
}

TEST_F(Deadlock, ACircleThroughAnotherTasksExclusiveResourceIsAnError) {
  // `holder` waits for a successor of `last`; `last` then waits for `next`, which needs what
  // `holder` holds.
  TaskGraph graph(with_workers(3));
  Block box("box"), x("x");
  Later<void> successor, next;
  Gate holds;
  std::atomic<int> told{0};
  auto const wait_for = [&](Later<void>& other) {
    try {
      other.get().wait();
    } catch (Error const& error) {
      EXPECT_EQ(error.kind(), Error::Kind::deadlock);
      ++told;
    }
  };
  task(graph, "holder", {excludes(box)}, [&] {
    holds.open();
    wait_for(successor);
  });
  task(graph, "last", {writes(x)}, [&] {
    holds.pass();
    next.get();
    std::this_thread::sleep_for(20ms);  // `holder` waits and `next` stands in line by now
    wait_for(next);
  });
  successor.set(task(graph, "successor", {reads(x)}, [] {}));
  holds.pass();
  next.set(task(graph, "next", {excludes(box)}, [] {}));
  EXPECT_NO_THROW(graph.wait());
  EXPECT_EQ(told, 1);
}

TEST_F(Deadlock, IsFoundUnderTheSerialOracleToo) {
  Environment const serial("TRELLIS_SERIAL", "1");
  TaskGraph graph;
  Block x("x");
  task(graph, "outer", {writes(x)}, [&] {
    auto const inner = task(graph, "inner", {reads(x)}, [] {});
    expect_deadlock(inner, "\"outer\"", "\"inner\"");
  });
  EXPECT_NO_THROW(graph.wait());
}

TEST_F(Deadlock, MoreWaitingTasksThanThreadsCanBeMadeIsAnErrorThatSaysSo) {
  TaskGraph graph(with_workers(2));
  int const waiting = 140;
  std::atomic<int> told{0};
  Gate gate;
  auto const gated = task(graph, "gated", {}, [&] { EXPECT_TRUE(gate.pass()); });
  for (int k = 0; k < waiting; ++k)
    task(graph, "waits", {}, [&] {
      try {
        gated.get();
      } catch (Error const& error) {
        EXPECT_EQ(error.kind(), Error::Kind::deadlock);
        EXPECT_THAT(error.what(), HasSubstr("128 tasks of one graph wait inside their bodies"));
        ++told;
      }
    });
  while (told < waiting - 128) std::this_thread::yield();
  gate.open();
  EXPECT_NO_THROW(graph.wait());
  EXPECT_EQ(told, waiting - 128);
}

TEST_F(NestedWait, AChainOf50EndsWithAnyNumberOfWorkers) {
  for (int workers : {1, 2, 4}) {
    TaskGraph graph(with_workers(workers));
    std::function<int(int)> descend = [&](int level) -> int {
      if (level == 50) return 0;
      return 1 + task(graph, "inner", {}, [&, level] { return descend(level + 1); }).get();
    };
    EXPECT_EQ(task(graph, "outer", {}, [&] { return descend(0); }).get(), 50)
        << workers << " workers";
  }
}

TEST_F(NestedWait, ManyChainsAtOnceEnd) {
  for (int workers : {1, 2, 3}) {
    TaskGraph graph(with_workers(workers));
    std::function<int(int)> fibonacci = [&](int n) -> int {
      if (n < 2) return n;
      auto const left = task(graph, "left", {}, [&, n] { return fibonacci(n - 1); });
      auto const right = task(graph, "right", {}, [&, n] { return fibonacci(n - 2); });
      return left.get() + right.get();
    };
    EXPECT_EQ(task(graph, "outer", {}, [&] { return fibonacci(8); }).get(), 21);
  }
}

TEST_F(NestedWait, ForAnEarlierTaskIsFine) {
  TaskGraph graph(with_workers(1));
  Block x("x");
  auto const number = task(graph, "number", {writes(x)}, [] {
    std::this_thread::sleep_for(1ms);
    return 5;
  });
  EXPECT_EQ(task(graph, "twice", {}, [=] { return 2 * number.get(); }).get(), 10);
}

TEST_F(NestedWait, ForADoneTaskReturnsAtOnce) {
  TaskGraph graph(with_workers(1));
  auto const number = task(graph, "number", {}, [] { return 5; });
  graph.wait();
  EXPECT_EQ(task(graph, "same", {}, [=] { return number.get(); }).get(), 5);
}

TEST_F(NestedWait, GoesOnAsSoonAsTheOtherTaskIsDone) {
  TaskGraph graph(with_workers(1));
  int const others = 200;
  std::atomic<int> done{0};
  auto const outer = task(graph, "outer", {}, [&] {
    auto const inner = task(graph, "inner", {}, [] {});
    for (int k = 0; k < others; ++k)
      task(graph, "other", {}, [&] {
        std::this_thread::sleep_for(500us);
        ++done;
      });
    inner.wait();
    return done.load();
  });
  EXPECT_LT(outer.get(), others / 2) << "and not when everything else is";
}

TEST_F(NestedWait, ForATaskBoundToTheMainThreadEndsWhereverItWaits) {
  for (int workers : {1, 2}) {
    TaskGraph graph(with_workers(workers));
    auto const main = std::this_thread::get_id();
    for (bool outer_on_main : {false, true}) {
      auto const outer =
          task(graph, "outer", {},
               [&] {
                 auto const inner =
                     task(graph, "inner", {}, [&] { return std::this_thread::get_id() == main; },
                          {.main_thread = true});
                 return inner.get();
               },
               {.main_thread = outer_on_main});
      EXPECT_TRUE(outer.get()) << workers << " workers";
    }
  }
}

TEST_F(NestedWait, WorksUnderTheSerialOracle) {
  Environment const serial("TRELLIS_SERIAL", "1");
  TaskGraph graph;
  Block x("x");
  auto const outer = task(graph, "outer", {}, [&] {
    task(graph, "first", {writes(x)}, [&] { x[0] = 3; });
    auto const inner = task(graph, "inner", {reads(x)}, [&] { return x[0]; });
    return inner.get();
  });
  EXPECT_EQ(outer.get(), 3);
}

TEST_F(NestedWait, InOneGraphForATaskOfAnotherEnds) {
  TaskGraph one(with_workers(1)), other(with_workers(1));
  auto const outer = task(one, "outer", {}, [&] {
    auto const inner = task(other, "inner", {}, [] { return 5; });
    other.wait();
    return inner.get();
  });
  EXPECT_EQ(outer.get(), 5);
}

}  // namespace
}  // namespace trellis
