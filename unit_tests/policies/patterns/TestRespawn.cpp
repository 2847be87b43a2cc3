// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tasks whose bodies run again.
#include <Trellis.hpp>
#include <Trellis_Scheduling.hpp>

#include "Timing.hpp"

#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace trellis {
namespace {

using namespace Test;
using testing::ElementsAre;
using testing::HasSubstr;
using RespawnCell = Kokkos::View<long, Kokkos::HostSpace>;

TaskGraphOptions respawn_workers(int workers) {
  TaskGraphOptions options;
  options.workers = workers;
  return options;
}

template <class F>
std::string respawn_error(F&& f) {
  try {
    f();
  } catch (Error const& error) {
    return error.what();
  }
  return "nothing is thrown";
}

class Respawn : public Timed {};

TEST_F(Respawn, RunsAgainWithItsStateAndHasTheLastResult) {
  for (int const workers : {1, 2}) {
    TaskGraph graph(respawn_workers(workers));
    auto const count = host_task("count", ResourcePolicy(graph), [n = 0](TaskScope& self) mutable {
      if (++n < 100) self.respawn();
      return n;
    });
    EXPECT_EQ(count.get(), 100);
    EXPECT_EQ(count.then([](int n) { return n + 1; }).get(), 101);
  }
}

/// With one worker: the thread is free for what the task waits for.
TEST_F(Respawn, ComesAfterTheTasksThatItNamesAndHoldsNoThread) {
  TaskGraph graph(respawn_workers(1));
  std::vector<int> order;
  auto const whole = host_task("whole", ResourcePolicy(graph), [&, n = 0](TaskScope& self) mutable {
    order.push_back(10 + n);
    if (++n == 4) return;
    auto const one = host_task("one", ResourcePolicy(graph), [&, n] { order.push_back(n); });
    std::vector<Future<void>> const both{one, one.then([] {})};
    if (n == 2)
      self.respawn(after(one));
    else
      self.respawn(after(both));
  });
  whole.get();
  EXPECT_THAT(order, ElementsAre(10, 1, 11, 2, 12, 3, 13));
}

TEST_F(Respawn, ComesAfterAllChildrenSoFar) {
  TaskGraph graph(respawn_workers(3));
  std::array<long, 8> values{};
  auto const sum = host_task("sum", ResourcePolicy(graph), [&, n = 0](TaskScope& self) mutable {
    long all = 0;
    for (long const each : values) {
      EXPECT_EQ(each, n);
      all += each;
    }
    if (n == 20) return all;
    for (long& each : values)
      host_task("child", ResourcePolicy(self), [&each] {
        std::this_thread::yield();
        ++each;
      });
    ++n;
    self.respawn();
    return -1L;
  });
  EXPECT_EQ(sum.get(), 160);
}

/// The main thread follows the chain, as it begins with a task of its own.
TEST_F(Respawn, ABodyThatPollsDoesNotWaitForTheEndOfAChain) {
  TaskGraph graph(respawn_workers(1));
  RespawnCell const x("x");
  long at_the_end = 0;
  host_task("polls", ResourcePolicy(graph, main_thread), [&, x, n = 0](TaskScope& self) mutable {
    if (++n < 40) return self.respawn();
    at_the_end = x();
  });
  host_task("first", ResourcePolicy(graph, read_write(x), main_thread), [x] { ++x(); });
  for (int k = 1; k < 1000; ++k)
    host_task("t", ResourcePolicy(graph, read_write(x)), [x] { ++x(); });
  graph.wait();
  EXPECT_EQ(x(), 1000);
  EXPECT_LE(at_the_end, 500);
}

TEST_F(Respawn, KeepsItsAccessesSoSuccessorsWait) {
  for (int round = 0; round < 20; ++round) {
    TaskGraph graph(respawn_workers(3));
    RespawnCell const x("x"), y("y");
    host_task("whole", ResourcePolicy(graph, read_write(x)), [x, n = 0](TaskScope& self) mutable {
      ++x();
      if (++n < 10) self.respawn();
    });
    auto const after_it = host_task("after", ResourcePolicy(graph, read(x)), [x] { return x(); });
    auto const beside = host_task("beside", ResourcePolicy(graph, write(y)), [] { return 1; });
    EXPECT_EQ(beside.get(), 1);
    EXPECT_EQ(after_it.get(), 10);
  }
}

TEST_F(Respawn, LaterRunsMayDoWhatTheFirstMay) {
  TaskGraph graph(respawn_workers(2));
  Kokkos::View<long*, Kokkos::HostSpace> const x("x", 2);
  auto const left = Kokkos::subview(x, std::pair(0, 1));
  auto const right = Kokkos::subview(x, std::pair(1, 2));
  // Here, because the thread sanitizer does not see how Kokkos counts references.
  RespawnCell const own("own");
  Gate seen;
  TaskId id = 0;
  auto const whole =
      host_task("whole", ResourcePolicy(graph, read_write(x)), [&, n = 0](TaskScope& self) mutable {
        if (n == 0) {
          id = self.id();
          self.local(own);
          host_task("mine", ResourcePolicy(self, write(own)), [&own] { own() = 4; });
        } else {
          EXPECT_EQ(self.id(), id);
          auto const mine =
              host_task("mine", ResourcePolicy(self, read(own)), [&own] { return own(); });
          EXPECT_EQ(mine.get(), 4);
          auto const child = host_task("left", ResourcePolicy(self, write(left)), [left, n] {
            left(0) += n;
            return n;
          });
          EXPECT_EQ(child.get(), n);
          host_task("right", ResourcePolicy(self, write(right)), [right, n] { right(0) += n; });
          self.wait();
          EXPECT_EQ(right(0), left(0));
        }
        if (n == 3) {
          self.demote(read_write(left));
          EXPECT_TRUE(seen.pass());  // a successor runs while this task still does
        }
        if (++n < 5) self.respawn();
      });
  auto const reader = host_task("reader", ResourcePolicy(graph, read(right)), [right, &seen] {
    seen.open();
    return right(0);
  });
  EXPECT_EQ(reader.get(), 1 + 2 + 3);
  // The access that has been given up is given up for the next run, too.
  EXPECT_THAT(respawn_error([&] { whole.get(); }), HasSubstr("asks for write"));
  EXPECT_THROW(graph.wait(), Error);
}

TEST_F(Respawn, StaysOnTheMainThread) {
  TaskGraph graph(respawn_workers(2));
  auto const main = std::this_thread::get_id();
  int runs = 0;
  host_task("main", ResourcePolicy(graph, main_thread), [&](TaskScope& self) {
    EXPECT_EQ(std::this_thread::get_id(), main);
    if (++runs < 5) self.respawn();
  });
  // Meanwhile another thread has the time to take what is not bound.
  for (int k = 0; k < 4; ++k)
    host_task("hold", ResourcePolicy(graph, main_thread), [] { std::this_thread::sleep_for(5ms); });
  graph.wait();
  EXPECT_EQ(runs, 5);
}

TEST_F(Respawn, ABodyThatThrowsDoesNotRunAgain) {
  TaskGraph graph(respawn_workers(2));
  int runs = 0;
  auto const whole = host_task("whole", ResourcePolicy(graph), [&](TaskScope& self) {
    self.respawn();
    if (++runs == 3) throw std::runtime_error("boom");
  });
  bool called = false;
  auto const next = whole.then([&] { called = true; });
  EXPECT_THAT(respawn_error([&] { whole.get(); }),
              testing::AllOf(HasSubstr("\"whole\""), HasSubstr("boom")));
  EXPECT_THROW(next.get(), Error);
  EXPECT_THROW(graph.wait(), Error);
  EXPECT_EQ(runs, 3);
  EXPECT_FALSE(called);
}

TEST_F(Respawn, ItDoesNotRunAgainWhenAChildOrATaskBeforeItHasFailed) {
  TaskGraph graph(respawn_workers(2));
  for (bool const in_child : {false, true}) {
    int runs = 0;
    auto const whole = host_task("whole", ResourcePolicy(graph), [&](TaskScope& self) {
      ++runs;
      auto const fails = [] { throw std::runtime_error("boom"); };
      if (in_child) {
        host_task("bad", ResourcePolicy(self), fails);
        self.respawn();
      } else {
        self.respawn(after(host_task("bad", ResourcePolicy(graph), fails)));
      }
    });
    EXPECT_THAT(respawn_error([&] { whole.get(); }),
                testing::AllOf(HasSubstr("\"whole\""), HasSubstr("\"bad\""), HasSubstr("boom")));
    EXPECT_EQ(runs, 1);
    EXPECT_THROW(graph.wait(), Error);
  }
}

TEST_F(Respawn, WaitingForOneBehindItIsADeadlock) {
  TaskGraph graph(respawn_workers(2));
  RespawnCell const x("x");
  auto const whole = host_task("whole", ResourcePolicy(graph, write(x)), [&](TaskScope& self) {
    self.respawn(after(host_task("behind", ResourcePolicy(graph, read(x)), [] {})));
  });
  EXPECT_THAT(respawn_error([&] { whole.get(); }),
              testing::AllOf(HasSubstr("to run after task \"behind\" (#"),
                             HasSubstr("TestRespawn.cpp:"), HasSubstr("a circle")));
  EXPECT_THROW(graph.wait(), Error);

  // One that an exclusive area of its own keeps from running.
  auto const holder =
      host_task("holder", ResourcePolicy(graph, exclusive(x)), [&](TaskScope& self) {
        self.respawn(after(host_task("excluded", ResourcePolicy(graph, exclusive(x)), [] {})));
      });
  EXPECT_THAT(
      respawn_error([&] { holder.get(); }),
      testing::AllOf(HasSubstr("to run after task \"excluded\" (#"), HasSubstr("a circle")));
  EXPECT_THROW(graph.wait(), Error);
}

TEST_F(Respawn, ItsLastRunMayEndWithAFuture) {
  TaskGraph graph(respawn_workers(2));
  auto const last = host_task("last", ResourcePolicy(graph), [n = 0](TaskScope& self) mutable {
    if (++n < 10) {
      self.respawn();
      return Future<int>();
    }
    return host_task("child", ResourcePolicy(self), [n] { return n; });
  });
  EXPECT_EQ(last.get(), 10);
}

TEST_F(Respawn, WorksInPlansInIterationsAndInChildren) {
  for (int const workers : {1, 3}) {
    TaskGraph graph(respawn_workers(workers));
    RespawnCell const x("x");
    auto const submit = [&](auto& target) {
      return host_task("whole", ResourcePolicy(target, read_write(x)), [x](TaskScope& self) {
        if (++x() % 5 != 0) self.respawn();
        return x();
      });
    };
    Future<long> newest;
    Plan const plan = graph.record("plan", [&] { newest = submit(graph); });
    graph.replay(plan, 6);
    EXPECT_EQ(newest.get(), 30);
    graph.iterate("loop", 6, [&] { submit(graph); });
    graph.wait();
    EXPECT_EQ(x(), 60);
    host_task("outer", ResourcePolicy(graph, read_write(x)), [&](TaskScope& self) {
      for (int k = 0; k < 6; ++k) submit(self);
    });
    graph.wait();
    EXPECT_EQ(x(), 90);
  }
}

/// The body takes its Views and the values of futures again.
TEST_F(Respawn, ItsArgumentsAreThoseOfTheFirstRun) {
  TaskGraph graph(respawn_workers(2));
  RespawnCell const x("x");
  auto const step = host_task("step", ResourcePolicy(graph), [] { return 3; });
  auto const names = host_task("names", ResourcePolicy(graph), [] { return std::string("ab"); });
  auto const whole =
      host_task("whole", ResourcePolicy(graph, value(step), read_write(x), value(names)),
                [](TaskScope& self, int by, RespawnCell const& view, std::string const& text) {
                  view() += by;
                  if (view() < 30) self.respawn();
                  return text + std::to_string(view());
                });
  EXPECT_EQ(whole.get(), "ab30");
}

/// First what came last, and what is urgent: a poll would be first for ever.
class NewestFirst final : public SchedulingPolicy {
 public:
  [[nodiscard]] std::string_view name() const override { return "newest first"; }
  void start(int) override {}
  void push(ReadyTask task, int) override {
    std::lock_guard const lock(m_mutex);
    m_tasks.push_back(task);
  }
  ReadyTask finished(std::span<ReadyTask const> ready, int slot) override {
    for (ReadyTask const task : ready) push(task, slot);
    return {};
  }
  ReadyTask pop(int) override {
    std::lock_guard const lock(m_mutex);
    if (m_tasks.empty()) return {};
    ReadyTask const task = m_tasks.back();
    m_tasks.pop_back();
    return task;
  }
  [[nodiscard]] bool empty() const override {
    std::lock_guard const lock(m_mutex);
    return m_tasks.empty();
  }

 private:
  mutable std::mutex m_mutex;
  std::vector<ReadyTask> m_tasks;
};

/// How a body polls.
enum class Poll { at_once, after_a_child, after_a_task, count };

/// Polls until `happened`. `options...`: of its policy.
template <class... Options>
Future<void> submit_poll(TaskGraph& graph, Poll how, std::atomic<bool>& happened,
                         Options const&... options) {
  return host_task("poll", ResourcePolicy(graph, options...), [&, how](TaskScope& self) {
    if (happened) return;
    if (how == Poll::after_a_child) host_task("child", ResourcePolicy(self), [] {});
    if (how == Poll::after_a_task)
      self.respawn(after(host_task("task", ResourcePolicy(graph), [] {})));
    else
      self.respawn();
  });
}

/// Whoever polls for what another task does lets that one run, though nothing orders the two, and
/// whatever their priorities, policies and places are.
TEST_F(Respawn, LetsOthersRunBetween) {
  for (int const workers : {1, 2})
    for (int const of_poll : {0, -1, 1})
      for (int const of_event : {0, -1, 1})
        for (int how = 0; how < static_cast<int>(Poll::count); ++how)
          for (bool const own_policy : {false, true}) {
            TaskGraphOptions options = respawn_workers(workers);
            if (own_policy) options.policy = std::make_shared<NewestFirst>();
            TaskGraph graph(options);
            std::atomic<bool> happened{false};
            std::vector<Future<void>> polls;
            for (int k = 0; k < 3; ++k)
              polls.push_back(
                  submit_poll(graph, static_cast<Poll>(how), happened, priority(of_poll)));
            for (int k = 0; k < 100; ++k) host_task("other", ResourcePolicy(graph), [] {});
            host_task("event", ResourcePolicy(graph, priority(of_event)), [&](TaskScope& self) {
              host_task("child", ResourcePolicy(self), [&] { happened = true; });
            });
            if (own_policy) polls[1].get();
            graph.wait();
            EXPECT_TRUE(happened);
          }
}

TEST_F(Respawn, LetsOthersRunBetweenOnTheMainThread) {
  for (int const workers : {1, 2})
    for (int how = 0; how < static_cast<int>(Poll::count); ++how) {
      TaskGraph graph(respawn_workers(workers));
      std::atomic<bool> there{false};
      std::atomic<bool> here{false};
      submit_poll(graph, static_cast<Poll>(how), there, main_thread);
      submit_poll(graph, static_cast<Poll>(how), here, main_thread);
      submit_poll(graph, static_cast<Poll>(how), here);
      for (int k = 0; k < 100; ++k) host_task("other", ResourcePolicy(graph), [] {});
      host_task("event", ResourcePolicy(graph), [&] { there = true; });
      host_task("event here", ResourcePolicy(graph, main_thread), [&] { here = true; });
      graph.wait();
    }
}

/// What a task waits for may poll for what that wait does not need.
TEST_F(Respawn, LetsOthersRunBetweenWhileATaskWaitsForIt) {
  for (int const workers : {1, 2})
    for (bool const on_main : {false, true})
      for (int how = 0; how < static_cast<int>(Poll::count); ++how) {
        TaskGraph graph(respawn_workers(workers));
        std::atomic<bool> happened{false};
        std::atomic<bool> waits{false};
        Gate submitted;
        Future<void> poll;
        auto const body = [&] {
          EXPECT_TRUE(submitted.pass());
          waits = true;
          poll.get();
          return happened.load();
        };
        auto const waiter = on_main ? host_task("waiter", ResourcePolicy(graph, main_thread), body)
                                    : host_task("waiter", ResourcePolicy(graph), body);
        poll = on_main ? submit_poll(graph, static_cast<Poll>(how), happened, main_thread)
                       : submit_poll(graph, static_cast<Poll>(how), happened);
        host_task("event", ResourcePolicy(graph), [&](TaskScope& self) {
          if (waits)
            happened = true;
          else
            self.respawn();
        });
        submitted.open();
        EXPECT_TRUE(waiter.get());
      }
}

/// In each round of a plan, in iterations, and among the children of a task.
TEST_F(Respawn, LetsOthersRunBetweenInRoundsAndChildren) {
  for (int const workers : {1, 2})
    for (int how = 0; how < static_cast<int>(Poll::count); ++how) {
      TaskGraph graph(respawn_workers(workers));
      std::atomic<bool> happened{false};
      std::atomic<int> events{0};
      auto const poll = static_cast<Poll>(how) == Poll::after_a_task ? Poll::after_a_child
                                                                     : static_cast<Poll>(how);
      auto const round = [&](auto& within) {
        auto const begin = host_task("begin", ResourcePolicy(within), [&] { happened = false; });
        auto const polls =
            host_task("poll", ResourcePolicy(within, after(begin)), [&, poll](TaskScope& self) {
              if (happened) return;
              if (poll == Poll::after_a_child) host_task("child", ResourcePolicy(self), [] {});
              self.respawn();
            });
        auto const event = host_task("event", ResourcePolicy(within, after(begin)), [&] {
          happened = true;
          ++events;
        });
        host_task("end", ResourcePolicy(within, after(polls, event), synchronizing), [] {});
      };
      Plan const plan = graph.record("plan", [&] { round(graph); });
      graph.replay(plan, 5);
      graph.wait();
      EXPECT_EQ(events, 5);
      graph.iterate("iterations", 5, [&] { round(graph); });
      graph.wait();
      EXPECT_EQ(events, 10);
      host_task("parent", ResourcePolicy(graph), [&](TaskScope& self) { round(self); });
      graph.wait();
      EXPECT_EQ(events, 11);
    }
}

/// What polls for something that is submitted later keeps nobody at the cap, as long as there is
/// room beside it. (It counts as the task, its next run and what that comes after.)
TEST_F(Respawn, LetsOthersRunBetweenAtTheCap) {
  for (int const workers : {1, 2})
    for (int const polls : {1, 2, 5})
      for (bool const on_main : {false, true})
        for (int how = 0; how < static_cast<int>(Poll::count); ++how) {
          TaskGraphOptions options = respawn_workers(workers);
          options.in_flight = static_cast<std::size_t>(4 * polls);
          TaskGraph graph(options);
          std::atomic<bool> happened{false};
          for (int k = 0; k < polls; ++k)
            if (on_main)
              submit_poll(graph, static_cast<Poll>(how), happened, main_thread);
            else
              submit_poll(graph, static_cast<Poll>(how), happened);
          std::atomic<int> others{0};
          for (int k = 0; k < 40; ++k) host_task("other", ResourcePolicy(graph), [&] { ++others; });
          host_task("event", ResourcePolicy(graph), [&] { happened = true; });
          graph.wait();
          EXPECT_EQ(others, 40);
        }
}

/// Steps of one task among many others, which keep coming, do not wait for all of these.
TEST_F(Respawn, IsNotTheLastForEver) {
  TaskGraphOptions options = respawn_workers(1);
  TaskGraph graph(options);
  std::atomic<bool> ended{false};
  std::atomic<int> others{0};
  auto const steps = host_task("steps", ResourcePolicy(graph), [&, n = 0](TaskScope& self) mutable {
    if (++n < 50) return self.respawn();
    ended = true;
  });
  for (int k = 0; k < 8; ++k)
    host_task("another", ResourcePolicy(graph), [&](TaskScope& self) {
      ++others;
      if (!ended) host_task("one more", ResourcePolicy(graph), [&] { ++others; });
      if (!ended) self.respawn();
    });
  steps.get();
  graph.wait();
  EXPECT_LT(others, 50 * 100);
}

/// Those who run again to add up what their children have made: what was begun last goes first,
/// else all calls of one level would be there at once.
TEST_F(Respawn, RecursionKeepsFewTasksInFlight) {
  TaskGraph graph(respawn_workers(1));
  struct Sum {
    TaskGraph& graph;
    std::atomic<std::size_t> most{0};
    void look() {
      std::size_t const now = graph.task_memory();
      for (std::size_t before = most; before < now && !most.compare_exchange_weak(before, now);) {
      }
    }
    Future<long> of(TaskScope& within, int depth) {
      return host_task(
          "sum", ResourcePolicy(within),
          [this, depth, a = Future<long>(), b = Future<long>()](TaskScope& self) mutable -> long {
            if (depth == 0) return 1;
            if (a.valid()) return a.get() + b.get();
            look();
            a = of(self, depth - 1);
            b = of(self, depth - 1);
            self.respawn();
            return 0;
          });
    }
  } sum{graph};
  std::size_t small = 0;
  for (int const depth : {10, 14}) {
    auto const all = host_task("all", ResourcePolicy(graph),
                               [&, f = Future<long>()](TaskScope& self) mutable -> long {
                                 if (f.valid()) return f.get();
                                 f = sum.of(self, depth);
                                 self.respawn();
                                 return 0;
                               });
    EXPECT_EQ(all.get(), 1L << depth);
    if (depth == 10) small = sum.most;
  }
  EXPECT_LE(sum.most, small + (std::size_t{1} << 20));  // all calls: 13 MiB and more
}

/// Memory follows what is in flight, not how often a body runs.
TEST_F(Respawn, NothingGrowsWithTheNumberOfRuns) {
  TaskGraph graph(respawn_workers(2));
  int const many = sanitized ? 2000 : 50000;
  std::size_t memory = 0;
  auto const whole = host_task("whole", ResourcePolicy(graph), [&, n = 0](TaskScope& self) mutable {
    if (n % 3 == 0) host_task("child", ResourcePolicy(self), [] {});
    if (n == many / 10) memory = graph.task_memory();
    if (++n < many) self.respawn();
    return n;
  });
  EXPECT_EQ(whole.get(), many);
  EXPECT_LE(graph.task_memory(), memory + (std::size_t{1} << 20));
}

TEST_F(Respawn, RefineHasNoBodyToRunAgain) {
  TaskGraph graph(respawn_workers(1));
  Gate gate;
  auto const first = host_task("first", ResourcePolicy(graph), [&] { EXPECT_TRUE(gate.pass()); });
  auto const second = host_task("second", ResourcePolicy(graph, after(first)), [] {});
  EXPECT_TRUE(refine(second, [](TaskScope& self) { self.respawn(); }));
  gate.open();
  EXPECT_THAT(respawn_error([&] { second.get(); }), HasSubstr("none to run again"));
  EXPECT_THROW(graph.wait(), Error);
}

}  // namespace
}  // namespace trellis
