// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tasks that the program asks to stop.
#include <Trellis.hpp>

#include "Timing.hpp"

#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace trellis {
namespace {

using namespace Test;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using CancelCell = Kokkos::View<long, Kokkos::HostSpace>;

TaskGraphOptions cancel_workers(int workers) {
  TaskGraphOptions options;
  options.workers = workers;
  return options;
}

/// What `get()` throws.
template <class T>
Error cancelled(Future<T> const& future) {
  try {
    future.get();
  } catch (Error const& error) {
    EXPECT_EQ(error.kind(), Error::Kind::cancelled) << error.what();
    return error;
  }
  ADD_FAILURE() << "it was not cancelled";
  return {Error::Kind::closed, ""};
}

class Cancel : public Timed {
 protected:
  /// A task that others come after, until `gate` is open.
  Future<void> closed(TaskGraph& graph) {
    return host_task("gate", ResourcePolicy(graph), [this] { EXPECT_TRUE(gate.pass()); });
  }
  Gate gate;
};

TEST_F(Cancel, APendingTaskNeverRunsNorDoesWhatDependsOnIt) {
  TaskGraph graph(cancel_workers(2));
  CancelCell const x("x"), y("y");
  auto const before = closed(graph);
  auto const one = host_task("one", ResourcePolicy(graph, write(x), after(before)), [x] {
    x() = 1;
    return 1;
  });
  auto const behind = host_task("behind", ResourcePolicy(graph, read_write(x)), [x] { x() += 10; });
  auto const next = one.then("next", [x](int) { x() += 100; });
  auto const other =
      host_task("other", ResourcePolicy(graph, write(y), after(before)), [y] { y() = 1; });
  graph.cancel(one);
  graph.cancel(one);  // as often as one likes
  EXPECT_FALSE(one.is_done());
  gate.open();
  Error const error = cancelled(one);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("\"one\""), HasSubstr("TestCancel.cpp"),
                                  HasSubstr("the program asked for it")));
  EXPECT_EQ(error.cause(), nullptr);
  EXPECT_THAT(cancelled(behind).what(), AllOf(HasSubstr("\"behind\""), HasSubstr("\"one\"")));
  EXPECT_THAT(cancelled(next).what(), AllOf(HasSubstr("\"next\""), HasSubstr("\"one\"")));
  // Submitted later, it depends on it all the same.
  auto const late = host_task("late", ResourcePolicy(graph, read(x)), [] {});
  cancelled(late);
  other.get();
  graph.wait();  // does not throw: it is what the program asked for
  EXPECT_EQ(x(), 0);
  EXPECT_EQ(y(), 1);
  // From here on the graph is as good as new; the value never comes.
  host_task("again", ResourcePolicy(graph, write(x)), [x] { x() = 5; }).get();
  EXPECT_EQ(x(), 5);
  cancelled(one);
}

TEST_F(Cancel, ABodyThatRunsMayAskAndCountsAsCancelled) {
  TaskGraph graph(cancel_workers(2));
  Gate started;
  auto const one = host_task("one", ResourcePolicy(graph), [&](TaskScope& self) {
    EXPECT_FALSE(self.stop_requested());
    started.open();
    while (!self.stop_requested()) std::this_thread::yield();
    return 1;
  });
  bool called = false;
  auto const next = one.then([&](int) { called = true; });
  EXPECT_TRUE(started.pass());
  graph.cancel(one);
  cancelled(one);
  cancelled(next);
  graph.wait();
  EXPECT_FALSE(called);
}

TEST_F(Cancel, ABodyMayLeaveByAnException) {
  TaskGraph graph(cancel_workers(2));
  Gate started;
  auto const one = host_task("one", ResourcePolicy(graph), [&](TaskScope& self) {
    started.open();
    while (!self.stop_requested()) std::this_thread::yield();
    throw std::runtime_error("stopped in the middle");
  });
  EXPECT_TRUE(started.pass());
  graph.cancel(one);
  Error const error = cancelled(one);
  EXPECT_THAT(error.what(), HasSubstr("stopped in the middle"));
  EXPECT_THROW(std::rethrow_exception(error.cause()), std::runtime_error);
  graph.wait();
}

TEST_F(Cancel, ATaskThatIsCompleteKeepsWhatItHas) {
  TaskGraph graph(cancel_workers(2));
  auto const one = host_task("one", ResourcePolicy(graph), [] { return 1; });
  one.wait();
  graph.cancel(one);
  EXPECT_EQ(one.get(), 1);
  EXPECT_EQ(one.then([](int n) { return n; }).get(), 1);
  graph.wait();
}

TEST_F(Cancel, ItsChildrenStop) {
  TaskGraph graph(cancel_workers(2));
  Gate started;
  std::atomic<int> ran{0};
  auto const whole = host_task("whole", ResourcePolicy(graph), [&](TaskScope& self) {
    auto const first = host_task("first", ResourcePolicy(self), [&](TaskScope& child) {
      ++ran;
      started.open();
      while (!child.stop_requested()) std::this_thread::yield();
    });
    for (int k = 0; k < 20; ++k)
      host_task("later", ResourcePolicy(self, after(first)), [&] { ++ran; });
  });
  EXPECT_TRUE(started.pass());
  graph.cancel(whole);
  EXPECT_THAT(cancelled(whole).what(), HasSubstr("\"whole\""));
  graph.wait();
  EXPECT_EQ(ran, 1);
}

/// As when a child fails.
TEST_F(Cancel, AChildThatIsCancelledCancelsItsParent) {
  TaskGraph graph(cancel_workers(2));
  int ran = 0;
  std::string seen;
  auto const whole = host_task("whole", ResourcePolicy(graph), [&](TaskScope& self) {
    Gate go;
    auto const first = host_task("first", ResourcePolicy(self), [&] { EXPECT_TRUE(go.pass()); });
    auto const child = host_task("child", ResourcePolicy(self, after(first)), [&] { ++ran; });
    graph.cancel(child);
    go.open();
    try {
      self.wait();
    } catch (Error const& error) {
      EXPECT_EQ(error.kind(), Error::Kind::cancelled);
      seen = error.what();
      throw;
    }
  });
  EXPECT_THAT(cancelled(whole).what(), AllOf(HasSubstr("\"whole\""), HasSubstr("\"child\"")));
  EXPECT_THAT(seen, HasSubstr("\"child\""));
  graph.wait();
  EXPECT_EQ(ran, 0);
}

TEST_F(Cancel, ATaskThatIsToRunAgainDoesNot) {
  TaskGraph graph(cancel_workers(2));
  auto const before = closed(graph);
  std::atomic<int> runs{0};
  Gate started;
  auto const whole = host_task("whole", ResourcePolicy(graph), [&](TaskScope& self) {
    ++runs;
    self.respawn(after(before));
    started.open();
  });
  EXPECT_TRUE(started.pass());
  graph.cancel(whole);
  gate.open();
  cancelled(whole);
  graph.wait();
  EXPECT_EQ(runs, 1);
}

/// Tasks that would run again for ever end, as a whole, as children and in a replay, also when it
/// is one like them that asks, and only one thread is there.
TEST_F(Cancel, BodiesThatPollStop) {
  enum class As { task, child, replay, main_thread };
  for (int const workers : {1, 2, 3})
    for (As const as : {As::task, As::child, As::replay, As::main_thread})
      for (bool const has_children : {false, true}) {
        TaskGraph graph(cancel_workers(workers));
        CancelCell const x("x");
        std::atomic<long> runs{0}, behind{0};
        auto const polls = [&runs, has_children](TaskScope& self) {
          ++runs;
          if (has_children) host_task("child", ResourcePolicy(self), [] {});
          self.respawn();
        };
        Future<void> whole;
        if (as == As::replay) {
          Plan const plan = graph.record("plan", [&] {
            host_task("poll", ResourcePolicy(graph, write(x)), polls);
            host_task("behind it", ResourcePolicy(graph, read(x)), [&] { ++behind; });
          });
          whole = graph.replay(plan, 3);
        } else if (as == As::child) {
          whole = host_task("parent", ResourcePolicy(graph, write(x)), [&](TaskScope& self) {
            for (int k = 0; k < 3; ++k) host_task("poll", ResourcePolicy(self), polls);
          });
        } else if (as == As::main_thread) {
          whole = host_task("poll", ResourcePolicy(graph, write(x), main_thread), polls);
        } else {
          whole = host_task("poll", ResourcePolicy(graph, write(x)), polls);
        }
        auto const next = host_task("behind", ResourcePolicy(graph, read(x)), [&] { ++behind; });
        host_task("asks", ResourcePolicy(graph), [&](TaskScope& self) {
          if (runs < 50) return self.respawn();
          graph.cancel(whole);
        });
        cancelled(whole);
        long const at_the_end = runs;
        cancelled(next);
        graph.wait();
        EXPECT_EQ(runs, at_the_end);
        EXPECT_EQ(behind, 0);
        EXPECT_EQ(host_task("later", ResourcePolicy(graph, read(x)), [] { return 5; }).get(), 5);
      }
}

TEST_F(Cancel, AReplayStopsBetweenItsTasks) {
  for (bool const has_started : {false, true}) {
    TaskGraph graph(cancel_workers(2));
    Gate hold, started;
    auto const before =
        host_task("before", ResourcePolicy(graph), [&] { EXPECT_TRUE(hold.pass()); });
    std::atomic<int> runs{0}, behind{0};
    bool stops = true;
    CancelCell const x("x");
    Future<int> recorded;
    Plan const plan = graph.record("plan", [&] {
      recorded = host_task("one", ResourcePolicy(graph, read_write(x)), [&](TaskScope& self) {
        started.open();
        while (stops && !self.stop_requested()) std::this_thread::yield();
        return ++runs;
      });
      recorded.then([&](int) { ++behind; });
    });
    EXPECT_THAT(error_of([&] { graph.cancel(recorded); }).what(), HasSubstr("replay(...)"));
    if (!has_started) host_task("hold", ResourcePolicy(graph, write(x), after(before)), [] {});
    Future<void> const replay = graph.replay(plan, 100);
    auto const next = host_task("next", ResourcePolicy(graph, read(x)), [] {});
    EXPECT_TRUE(!has_started || started.pass());
    graph.cancel(replay);
    hold.open();
    cancelled(replay);
    cancelled(next);
    EXPECT_THROW(recorded.get(), Error);
    graph.wait();
    EXPECT_EQ(runs, has_started ? 1 : 0);
    EXPECT_EQ(behind, 0);
    stops = false;
    graph.replay(plan, 10);
    graph.wait();
    EXPECT_EQ(behind, 10);
    EXPECT_EQ(recorded.get(), has_started ? 11 : 10);
  }
}

TEST_F(Cancel, ATaskOfAnIterationMayBeCancelled) {
  TaskGraph graph(cancel_workers(2));
  CancelCell const x("x");
  auto const before = closed(graph);
  host_task("hold", ResourcePolicy(graph, write(x), after(before)), [] {});
  std::vector<Future<void>> tasks;
  for (int k = 0; k < 2; ++k)
    graph.iterate("loop", 3, [&] {
      tasks.push_back(host_task("add", ResourcePolicy(graph, read_write(x)), [x] { ++x(); }));
    });
  graph.cancel(tasks[4]);
  gate.open();
  for (int k = 0; k < 4; ++k) tasks[static_cast<std::size_t>(k)].get();
  cancelled(tasks[4]);
  cancelled(tasks[5]);
  graph.wait();
  EXPECT_EQ(x(), 4);
}

TEST_F(Cancel, OneThatWaitsForAnExclusiveAreaLetsOthersPass) {
  TaskGraph graph(cancel_workers(3));
  CancelCell const x("x");
  Gate started, go;
  int ran = 0;
  host_task("holder", ResourcePolicy(graph, exclusive(x)), [&] {
    started.open();
    EXPECT_TRUE(go.pass());
  });
  EXPECT_TRUE(started.pass());
  auto const one = host_task("one", ResourcePolicy(graph, exclusive(x)), [&] { ran += 1; });
  auto const two = host_task("two", ResourcePolicy(graph, exclusive(x)), [&] { ran += 10; });
  graph.cancel(one);
  go.open();
  cancelled(one);
  two.get();
  graph.wait();
  EXPECT_EQ(ran, 10);
}

TEST_F(Cancel, TasksOfTheMainThreadAreNotRun) {
  TaskGraph graph(cancel_workers(2));
  bool called = false;
  auto const one = host_task("one", ResourcePolicy(graph, main_thread), [&] { called = true; });
  graph.cancel(one);
  graph.wait();
  cancelled(one);
  EXPECT_FALSE(called);
}

/// Whether it had been complete before or not.
TEST_F(Cancel, ASynchronizingTaskBehindItIsCancelled) {
  for (bool const first : {false, true}) {
    TaskGraph graph(cancel_workers(2));
    Gate go;
    auto const before = host_task("before", ResourcePolicy(graph), [&] { EXPECT_TRUE(go.pass()); });
    auto const one = host_task("one", ResourcePolicy(graph, after(before)), [] {});
    graph.cancel(one);
    if (first) {
      go.open();
      one.wait();
    }
    auto const all = host_task("all", ResourcePolicy(graph, synchronizing), [] {});
    go.open();
    cancelled(all);
    graph.wait();
  }
}

TEST_F(Cancel, FailuresAreReportedBesideIt) {
  TaskGraph graph(cancel_workers(2));
  auto const before = closed(graph);
  auto const one = host_task("one", ResourcePolicy(graph, after(before)), [] {});
  one.then([] { ADD_FAILURE(); });
  host_task("bad", ResourcePolicy(graph, after(before)), [] { throw std::runtime_error("boom"); });
  graph.cancel(one);
  gate.open();
  EXPECT_THAT(error_of([&] { graph.wait(); }).what(),
              AllOf(HasSubstr("boom"), Not(HasSubstr("cancelled")), Not(HasSubstr("more"))));
}

TEST_F(Cancel, TheEndOfAGraphSaysNothing) {
  testing::internal::CaptureStderr();
  {
    TaskGraph graph(cancel_workers(2));
    auto const before = closed(graph);
    auto const one = host_task("one", ResourcePolicy(graph, after(before)), [] { ADD_FAILURE(); });
    one.then([] { ADD_FAILURE(); });
    graph.cancel(one);
    gate.open();
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(Cancel, AFutureOfAnotherGraphIsRefused) {
  TaskGraph graph(cancel_workers(1)), other(cancel_workers(1));
  auto const foreign = host_task("one", ResourcePolicy(other), [] {});
  EXPECT_EQ(error_of([&] { graph.cancel(foreign); }).kind(), Error::Kind::bad_input);
  EXPECT_EQ(error_of([&] { graph.cancel(Future<int>()); }).kind(), Error::Kind::bad_input);
  foreign.get();
}

TEST_F(Cancel, ATaskMayCancelOthersAndItself) {
  for (bool const serial : {false, true}) {
    TaskGraphOptions options = cancel_workers(2);
    options.serial = serial;
    TaskGraph graph(options);
    bool called = false;
    Future<void> own, other;
    auto const outer = host_task("outer", ResourcePolicy(graph), [&](TaskScope& self) {
      Gate go;
      CancelCell const x("x");
      auto const first = host_task("first", ResourcePolicy(graph, write(x)),
                                   [&, serial] { EXPECT_TRUE(serial || go.pass()); });
      other = host_task("other", ResourcePolicy(graph, read(x)), [&] { called = true; });
      graph.cancel(other);
      go.open();
      first.wait();
      auto const child = host_task("child", ResourcePolicy(self),
                                   [&](TaskScope& inner) { EXPECT_FALSE(inner.stop_requested()); });
      child.get();
    });
    outer.get();
    cancelled(other);
    Gate known;
    own = host_task("own", ResourcePolicy(graph), [&](TaskScope& self) {
      if (serial) return;
      EXPECT_TRUE(known.pass());
      graph.cancel(own);
      EXPECT_TRUE(self.stop_requested());
    });
    known.open();
    if (serial)
      own.get();
    else
      cancelled(own);
    graph.wait();
    EXPECT_FALSE(called);
  }
}

/// Whoever comes first: the task has its value or is cancelled, and what depends on it alike.
TEST_F(Cancel, AChildMayStopTheSearchThatItIsAChildOf) {
  for (bool const serial : {false, true})
    for (int const depth : {1, 3}) {
      TaskGraphOptions options = cancel_workers(2);
      options.serial = serial;
      TaskGraph graph(options);
      std::atomic<int> ran{0};
      std::function<void(TaskScope&, int, Future<void>)> search;
      search = [&](TaskScope& self, int levels, Future<void> const& all) {
        for (int k = 0; k < 10; ++k)
          host_task("try", ResourcePolicy(self, synchronizing), [&, levels, all](TaskScope& inner) {
            if (levels > 1) return search(inner, levels - 1, all);
            if (++ran == 5) graph.cancel(all);
          });
      };
      auto const whole = host_task("search", ResourcePolicy(graph), [&](TaskScope& self) {
        EXPECT_EQ(self.future().id(), self.id());
        EXPECT_FALSE(self.future().is_done());
        EXPECT_THROW(self.future().wait(), Error);
        search(self, depth, self.future());
      });
      whole.wait();
      EXPECT_THAT(cancelled(whole).what(), HasSubstr("search"));
      EXPECT_EQ(ran, 5) << "serial " << serial << " depth " << depth;
      auto const next = host_task("next", ResourcePolicy(graph), [] { return 7; });
      EXPECT_EQ(next.get(), 7);
    }
}

/// Of a recorded task it is the future that recording it gave: the replay's is to be cancelled.
TEST_F(Cancel, AScopesFutureInAPlanIsThatOfTheRecordedTask) {
  TaskGraph graph(cancel_workers(2));
  Future<void> recorded;
  std::atomic<int> refused{0}, ran{0};
  Plan const plan = graph.record("plan", [&] {
    recorded = host_task("whole", ResourcePolicy(graph), [&](TaskScope& self) {
      EXPECT_EQ(self.future().id(), recorded.id());
      EXPECT_EQ(recorded.id(), self.id());
      for (int k = 0; k < 3; ++k)
        host_task("child", ResourcePolicy(self), [&, all = self.future()] {
          if (std::string(error_of([&] { graph.cancel(all); }).what()).find("replay(...)") !=
              std::string::npos)
            ++refused;
          ++ran;
        });
    });
  });
  graph.replay(plan, 4);
  graph.wait();
  EXPECT_EQ(ran, 12);
  EXPECT_EQ(refused, 12);
}

TEST_F(Cancel, MayComeAtAnyTime) {
  int const rounds = sanitized ? 200 : 2000;
  TaskGraph graph(cancel_workers(3));
  std::atomic<int> stopped{0}, kept{0};
  for (int round = 0; round < rounds; ++round) {
    CancelCell const x("x");
    auto const body = [x, n = 0](TaskScope& self) mutable {
      ++x();
      if (++n < 3) self.respawn();
      return host_task("child", ResourcePolicy(self), [x] { return x(); });
    };
    auto const one = host_task("one", ResourcePolicy(graph, read_write(x)), body);
    auto const next = one.then([](long n) { return n; });
    for (int k = round % 40; k > 0; --k) std::this_thread::yield();
    graph.cancel(one);
    bool one_is_kept = true, next_is_kept = true;
    try {
      EXPECT_EQ(one.get(), 3);
    } catch (Error const& error) {
      EXPECT_EQ(error.kind(), Error::Kind::cancelled) << error.what();
      one_is_kept = false;
    }
    try {
      EXPECT_EQ(next.get(), 3);
    } catch (Error const& error) {
      EXPECT_EQ(error.kind(), Error::Kind::cancelled) << error.what();
      next_is_kept = false;
    }
    EXPECT_EQ(one_is_kept, next_is_kept);
    ++(one_is_kept ? kept : stopped);
    if (round % 50 == 0) graph.wait();
  }
  graph.wait();
  EXPECT_EQ(stopped + kept, rounds);  // how many of each is up to chance
}

}  // namespace
}  // namespace trellis
