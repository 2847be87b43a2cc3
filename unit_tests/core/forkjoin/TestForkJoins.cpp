// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fork-joins: who runs their children, when, and what the advice hears.
#include "ShakeOrchestration.hpp"
#include "ForkJoinTest.hpp"

#include <Trellis_Observation.hpp>
#include <Trellis_Scheduling.hpp>

#include <mutex>
#include <optional>
#include <random>
#include <thread>

namespace trellis::Test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// --- whom a body or a child waits for ------------------------------------------------------------

/// A child that has been started is not held up by the body that collects further ones.
TEST(ForkJoins, ChildrenThatRunMayWaitForEachOther) {
  TaskGraph graph(with(std::make_shared<Noting>(ForkJoinPolicy::parallel), 3));
  fork_join("fork-join", ResourcePolicy(graph), [&](TaskScope& scope) {
    std::atomic<bool> has_started{false};
    auto const slow = host_task("slow", ResourcePolicy(scope),
                                [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); });
    auto const waits = host_task("waits", ResourcePolicy(scope), [&, slow] {
      has_started = true;
      slow.get();
    });
    host_task("other", ResourcePolicy(scope), [] {}).get();
    while (!has_started) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    waits.get();
  });
}

/// The main thread sleeps before the function is asked for, as the fork-join cannot begin yet.
TEST(ForkJoins, WaitForAFunctionOfTheMainThread) {
  Watchdog const watchdog(std::chrono::seconds(60), "a fork-join and a function");
  for (int workers : {1, 2}) {
    TaskGraph graph(with(make_native(), workers));
    std::mutex mutex;
    std::optional<Completion<>> asked;
    Progress progress = graph.add_progress(
        [&] {
          std::lock_guard const lock(mutex);
          if (asked) asked->done();
          asked.reset();
          return false;
        },
        ProgressThread::main);
    Token turn("turn");
    host_task("before", ResourcePolicy(graph, write(turn)),
              [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); });
    bool is_over = false;
    fork_join("fork-join", ResourcePolicy(graph, write(turn)), [&](TaskScope& scope) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      host_task("late", ResourcePolicy(scope), [&](Completion<> completion) {
        {
          std::lock_guard const lock(mutex);
          asked = std::move(completion);
        }
        progress.ask();
      }).then("then", [&] { is_over = true; });
    });
    EXPECT_TRUE(is_over);
  }
}

/// No worker calls the functions of a serial graph. So the thread that waits for a fork-join of
/// another graph does, also when it cannot begin yet and only others run its children.
TEST(ForkJoins, WaitForAFunctionOfASerialGraph) {
  Watchdog const watchdog(std::chrono::seconds(60), "a fork-join and a serial graph");
  for (int workers : {1, 2}) {
    TaskGraphOptions one_by_one;
    one_by_one.serial = true;
    TaskGraph graph(with(make_native(), workers)), serial(one_by_one);
    std::thread::id const here = std::this_thread::get_id();
    std::atomic<bool> is_wanted{false}, is_called{false};
    std::optional<Completion<>> asked;
    Progress progress = serial.add_progress([&] {
      if (!is_wanted) return true;
      is_called = true;
      asked->done();
      return false;
    });
    host_task("late", ResourcePolicy(serial), [&](Completion<> completion) {
      asked = std::move(completion);
      progress.ask();
    });
    Token turn("turn");
    host_task("before", ResourcePolicy(graph, write(turn)),
              [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); });
    fork_join("fork-join", ResourcePolicy(graph, write(turn)), [&](TaskScope& scope) {
      for (int k = 0; k < 4; ++k)
        host_task("child", ResourcePolicy(scope), [&] {
          if (std::this_thread::get_id() == here) return;
          is_wanted = true;
          while (!is_called) std::this_thread::yield();
        });
    });
    is_wanted = true;
    serial.wait();
    EXPECT_TRUE(is_called);
  }
}

TEST(ForkJoins, ThatCannotBeWaitedForDoNotRunLater) {
  TaskGraph graph(with(make_native(), 2));
  Kokkos::View<int, Kokkos::HostSpace> x("x");
  std::atomic<int> bodies{0};
  auto const caller = host_task("caller", ResourcePolicy(graph, read_write(x)), [&, x] {
    try {
      fork_join("waits for its caller", ResourcePolicy(graph, read_write(x)),
                [&](TaskScope&) { ++bodies; });
      ADD_FAILURE() << "it has not thrown";
    } catch (Error const& error) {
      EXPECT_EQ(error.kind(), Error::Kind::deadlock);
    }
  });
  caller.get();
  graph.wait();
  EXPECT_EQ(bodies, 0);

  std::string told;
  std::atomic<bool> is_told{false};
  Progress progress = graph.add_progress([&] {
    try {
      fork_join("in a progress function", ResourcePolicy(graph), [&](TaskScope&) { ++bodies; });
    } catch (Error const& error) {
      told = error.what();
      is_told = true;
    }
    return false;
  });
  progress.ask();
  auto const until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!is_told && std::chrono::steady_clock::now() < until) {
    host_task(ResourcePolicy(graph), [] {});
    graph.wait();
  }
  ASSERT_TRUE(is_told);
  EXPECT_THAT(told, HasSubstr("progress function"));
  graph.wait();
  EXPECT_EQ(bodies, 0);
}

/// Whoever submits a fork-join is slow: others see it first.
class SlowToReturn final : public ForwardingPolicy {
 public:
  explicit SlowToReturn(std::atomic<bool>& pushed)
      : ForwardingPolicy(make_fifo_policy()), m_pushed(pushed) {}
  void push(ReadyTask task, int slot) override {
    ForwardingPolicy::push(task, slot);
    if (task.label() != "fork-join") return;
    m_pushed = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }

 private:
  std::atomic<bool>& m_pushed;
};

/// The caller of a fork-join and its body wait for each other. It is the body that is told, as it
/// does not begin before its caller waits: an error that `fork_join` throws would leave a body
/// behind that refers to what its caller had.
TEST(ForkJoins, WhoseBodiesWaitForTheirCallersAreToldThere) {
  Watchdog const watchdog(std::chrono::seconds(120), "a body that waits for its caller");
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    std::atomic<bool> is_known{false};
    std::atomic<bool> is_pushed{false};
    std::atomic<bool> is_left{false};
    std::atomic<int> told{0};
    TaskGraphOptions options = with(make_native(), 3);
    options.policy =
        seed == 0 ? std::make_shared<SlowToReturn>(is_pushed) : make_shake_policy(seed);
    TaskGraph graph(options);
    host_task("runs it", ResourcePolicy(graph), [&] {
      while (!is_pushed && told == 0) std::this_thread::yield();
    });
    Future<void> caller;
    caller = host_task("caller", ResourcePolicy(graph), [&] {
      while (!is_known) std::this_thread::yield();
      try {
        fork_join("fork-join", ResourcePolicy(graph), [&](TaskScope&) {
          EXPECT_FALSE(is_left);
          try {
            caller.wait();
          } catch (Error const& error) {
            EXPECT_EQ(error.kind(), Error::Kind::deadlock);
          }
          EXPECT_FALSE(is_left) << "what the body refers to is gone";
          ++told;
        });
      } catch (Error const&) {
        ADD_FAILURE() << "its body may have begun";
      }
      is_left = true;
    });
    is_known = true;
    graph.wait();
    EXPECT_EQ(told, 1);
  }
}

/// A fork-join that has to wait for a task does not queue behind all that has been ready before,
/// nor behind the rest of the chain that the task belongs to.
TEST(ForkJoins, ThatHaveHadToWaitGoBeforeOtherTasks) {
  Watchdog const watchdog(std::chrono::seconds(60), "a fork-join behind a producer");
  for (int const how : {0, 1, 2, 3})
    for (auto const& policy : {make_fifo_policy(), make_work_stealing_policy()}) {
      bool const inside = how % 2 == 1;
      bool const is_chain = how / 2 == 1;
      constexpr int fillers = 100;
      TaskGraphOptions options = with(make_native(), 1);
      options.policy = policy;
      TaskGraph graph(options);
      Token data("data");
      Token links("links", fillers + 1);
      std::atomic<bool> is_open{false};
      std::atomic<int> ran{0};
      std::atomic<int> ran_before{-1};
      auto const caller = [&] {
        fork_join("fork-join", ResourcePolicy(graph, read(data)),
                  [&](TaskScope&) { ran_before = ran.load(); });
      };
      std::thread thread;
      host_task("producer", ResourcePolicy(graph, write(data), read_write(links.part(0))), [&] {
        while (!is_open) std::this_thread::yield();
      });
      if (inside) {  // a task of another graph
        thread = std::thread([&] {
          TaskGraphOptions other;
          other.workers = 1;
          TaskGraph of_caller(other);
          host_task("caller", ResourcePolicy(of_caller), caller).get();
        });
      } else {
        thread = std::thread(caller);
      }
      while (graph.submitted() < 2) std::this_thread::yield();
      for (int k = 0; k < fillers; ++k) {
        auto const link = static_cast<std::size_t>(is_chain ? 0 : k + 1);
        host_task("filler", ResourcePolicy(graph, read_write(links.part(link))), [&] { ++ran; });
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the caller sleeps by now
      is_open = true;
      thread.join();
      EXPECT_LE(ran_before, 1);
      graph.wait();
      EXPECT_EQ(ran, fillers);
    }
}

/// A policy need not find what is awaited.
class FindsNothing final : public ForwardingPolicy {
 public:
  FindsNothing() : ForwardingPolicy(make_fifo_policy()) {}
  ReadyTask pop_wanted(int, Impl::FunctionRef<bool(ReadyTask)>) override { return {}; }
};
TEST(ForkJoins, UnderAPolicyThatFindsNoAwaitedTask) {
  Watchdog const watchdog(std::chrono::seconds(60), "a policy without pop_wanted");
  for (int workers : {1, 2})
    for (ForkJoinPolicy const how : {ForkJoinPolicy::serial, ForkJoinPolicy::parallel}) {
      TaskGraphOptions options = with(std::make_shared<Noting>(how, how), workers);
      options.policy = std::make_shared<FindsNothing>();
      TaskGraph graph(options);
      std::atomic<int> children{0};
      for (int round = 0; round < 10; ++round)
        fork_join("outer", ResourcePolicy(graph), [&](TaskScope& outer) {
          for (int k = 0; k < 3; ++k)
            host_task("child", ResourcePolicy(outer), [&](TaskScope& self) {
              fork_join("inner", ResourcePolicy(self), [&](TaskScope& inner) {
                for (int m = 0; m < 3; ++m)
                  host_task("leaf", ResourcePolicy(inner), [&] { ++children; });
              });
              host_task("rest", ResourcePolicy(self), [&] { ++children; }).get();
            });
        });
      EXPECT_EQ(children, 10 * 3 * 4);
    }
}

/// But other tasks have their turn, too, where fork-joins never end.
TEST(ForkJoins, ThatAreForkedAgainAndAgainLetOthersRun) {
  Watchdog const watchdog(std::chrono::seconds(60), "a task beside fork-joins without end");
  for (auto const& policy : {make_fifo_policy(), make_work_stealing_policy()}) {
    TaskGraphOptions options = with(make_native(), 1);
    options.policy = policy;
    TaskGraph graph(options);
    std::atomic<bool> is_over{false};
    std::vector<std::thread> callers;
    for (int k = 0; k < 3; ++k)
      callers.emplace_back([&] {
        Token mine("mine");
        while (!is_over) {
          host_task("before", ResourcePolicy(graph, write(mine)), [] {});
          fork_join("fork-join", ResourcePolicy(graph, read(mine)), [](TaskScope&) {});
        }
      });
    for (int k = 0; k < 50; ++k)
      host_task("other", ResourcePolicy(graph), [&, k] {
        if (k == 49) is_over = true;
      });
    for (std::thread& each : callers) each.join();
    graph.wait();
  }
}

TEST(ForkJoins, CountThoseOfOtherGraphs) {
  auto const inner_advice = std::make_shared<Noting>(ForkJoinPolicy::parallel);
  TaskGraph outer(with(make_native(), 2));
  TaskGraph inner(with(inner_advice, 2));
  fork_join("outer", ResourcePolicy(outer), [&](TaskScope& scope) {
    host_task("child", ResourcePolicy(scope),
              [&] { fork_join("inner", ResourcePolicy(inner), [](TaskScope&) {}); });
  });
  EXPECT_EQ(inner_advice->heard().front(), "starts 1");
}

// --- who runs them, and when ---------------------------------------------------------------------

TEST(ForkJoins, SeriallyRunOnTheCallingThreadInOrder) {
  TaskGraph graph(with(std::make_shared<Noting>(ForkJoinPolicy::serial), 3));
  std::vector<int> order;
  std::vector<std::thread::id> threads;
  std::thread::id body;
  fork_join("fork-join", ResourcePolicy(graph), [&](TaskScope& scope) {
    body = std::this_thread::get_id();
    for (int k = 0; k < 40; ++k)
      host_task("child", ResourcePolicy(scope), [&, k] {
        order.push_back(k);
        threads.push_back(std::this_thread::get_id());
      });
  });
  ASSERT_EQ(order.size(), 40u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  EXPECT_THAT(threads, testing::Each(body));
}

/// Flaw of the source: the waiting thread picks up free tasks instead of the fork-join's own.
TEST(ForkJoins, TheWaitingThreadRunsItsOwnChildrenAndNoFreeTasks) {
  Watchdog const watchdog(std::chrono::seconds(60), "own children first");
  for (int round = 0; round < 30; ++round) {
    TaskGraph graph(with(make_native(), 1));
    std::atomic<bool> open{false}, is_busy{false};
    host_task("gate", ResourcePolicy(graph), [&] {
      is_busy = true;
      while (!open) std::this_thread::yield();
    });
    while (!is_busy) std::this_thread::yield();
    std::atomic<int> free_tasks{0};
    for (int k = 0; k < 100; ++k) host_task("free", ResourcePolicy(graph), [&] { ++free_tasks; });
    int children = 0;
    fork_join("fork-join", ResourcePolicy(graph), [&](TaskScope& scope) {
      for (int k = 0; k < 10; ++k) host_task("child", ResourcePolicy(scope), [&] { ++children; });
    });
    EXPECT_EQ(children, 10);
    EXPECT_EQ(free_tasks, 0);
    open = true;
  }
}

/// Flaw of the source: it polls, and starves the producers that it waits for.
TEST(ForkJoins, TheWaitingThreadLetsProducersRun) {
  Watchdog const watchdog(std::chrono::seconds(60), "producers are starved");
  for (int round = 0; round < 30; ++round) {
    TaskGraph graph(with(make_bsp(), 1));
    std::atomic<int> count{0};
    std::vector<Future<void>> chain;
    for (int k = 0; k < 5; ++k)
      chain.push_back(k == 0
                          ? host_task("enclave", ResourcePolicy(graph, fusable), [&] { ++count; })
                          : host_task("producer", ResourcePolicy(graph, after(chain.back())),
                                      [&] { ++count; }));
    fork_join("fork-join", ResourcePolicy(graph), [&](TaskScope& scope) {
      host_task("consumer", ResourcePolicy(scope), [&] { chain.back().get(); });
      host_task("consumer", ResourcePolicy(scope, after(chain.back())),
                [&] { EXPECT_EQ(count, 5); });
    });
    EXPECT_EQ(count, 5);
  }
}

/// A thread that the body has made submits a child while the body waits for its children.
TEST(ForkJoins, MayGetChildrenWhileTheBodyWaits) {
  TaskGraph graph({.workers = 2});
  std::atomic<bool> has_begun{false}, has_submitted{false};
  int ran = 0;
  fork_join("fork-join", ResourcePolicy(graph), [&](TaskScope& self) {
    host_task("first", ResourcePolicy(self), [&] {
      has_begun = true;
      while (!has_submitted) std::this_thread::yield();
    });
    std::jthread other([&] {
      while (!has_begun) std::this_thread::yield();
      host_task("late", ResourcePolicy(self), [&] { ++ran; });
      has_submitted = true;
    });
    self.wait();
    other.join();
    EXPECT_EQ(ran, 1);
  });
  EXPECT_EQ(ran, 1);
}

TEST(ForkJoins, HoldEnclavesBackUntilTheyAreOver) {
  auto const observed = std::make_shared<Observed>(make_bsp());
  TaskGraph graph(with(observed, 2));
  int kept = 0;  // rounds
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> children{0}, early{0}, enclaves{0};
    fork_join("sweep", ResourcePolicy(graph), [&](TaskScope& scope) {
      for (int k = 0; k < 16; ++k)
        host_task("child", ResourcePolicy(scope), [&] {
          host_task("enclave", ResourcePolicy(graph, fusable), [&] {
            early += children < 16;
            ++enclaves;
          });
          ++children;
        });
    });
    graph.wait();
    EXPECT_EQ(enclaves, 16);
    kept += early <= 2;  // the last children were ending
  }
  // Where the system lets a child wait for its core, they are let go all the same.
  EXPECT_GE(kept, 12);
}

TEST(ForkJoins, EndWithTheAdviceThatTheyBeganWith) {
  auto const first = std::make_shared<Noting>(ForkJoinPolicy::parallel);
  auto const second = std::make_shared<Noting>(ForkJoinPolicy::parallel);
  TaskGraph graph(with(first, 2));
  fork_join("fork-join", ResourcePolicy(graph), [&](TaskScope& scope) {
    graph.orchestrate(second);
    host_task("child", ResourcePolicy(scope), [] {});
  });
  EXPECT_THAT(first->heard(), ElementsAre("starts 0", "fork-join 0 of 1", "hold back", "ends 0"));
  EXPECT_THAT(second->heard(), IsEmpty());
}

TEST(ForkJoins, InSerialGraphsCallTheHooks) {
  auto const advice = std::make_shared<Noting>(ForkJoinPolicy::parallel);
  TaskGraphOptions options = with(advice);
  options.serial = true;
  TaskGraph graph(options);
  std::vector<int> order;
  fork_join("fork-join", ResourcePolicy(graph), [&](TaskScope& scope) {
    for (int k = 0; k < 5; ++k)
      host_task("child", ResourcePolicy(scope), [&, k] { order.push_back(k); });
  });
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(advice->heard(), ElementsAre("starts 0", "fork-join 0 of 5", "hold back", "ends 0"));
}

TEST(ForkJoins, OfSeveralThreadsAndGraphs) {
  Watchdog const watchdog(std::chrono::seconds(100), "fork-joins of several threads");
  for (int workers = 1; workers <= 2; ++workers) {
    auto const shake = std::make_shared<ShakeOrchestration>(5);
    TaskGraph graph(with(shake, workers));
    TaskGraph other(with(shake, workers));
    std::atomic<int> children{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        for (int round = 0; round < 30; ++round)
          fork_join("fork-join", ResourcePolicy(t % 2 == 0 ? graph : other), [&](TaskScope& scope) {
            for (int k = 0; k < 5; ++k)
              host_task("child", ResourcePolicy(scope, fusable), [&] { ++children; });
            host_task("crosses", ResourcePolicy(scope), [&, t] {
              fork_join("elsewhere", ResourcePolicy(t % 2 == 0 ? other : graph),
                        [&](TaskScope& inner) {
                          host_task("child", ResourcePolicy(inner), [&] { ++children; });
                        });
            });
          });
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(children, 4 * 30 * 6);
    EXPECT_EQ(shake->open(), 0);
  }
}

TEST(ForkJoins, AtTheCap) {
  TaskGraphOptions options = with(make_fuse_immediately(4), 1);
  options.in_flight = 1;
  TaskGraph graph(options);
  std::atomic<int> count{0};
  for (int round = 0; round < 20; ++round) {
    host_task("task", ResourcePolicy(graph, fusable), [&] { ++count; });
    fork_join("fork-join", ResourcePolicy(graph), [&](TaskScope& scope) {
      for (int k = 0; k < 5; ++k) host_task("child", ResourcePolicy(scope), [&] { ++count; });
    });
  }
  graph.wait();
  EXPECT_EQ(count, 120);
}

TEST(ForkJoins, MayBeCancelled) {
  TaskGraph graph(with(make_native(), 2));
  std::atomic<int> children{0};
  Future<void> outer;
  std::atomic<bool> is_there{false};
  outer = host_task("outer", ResourcePolicy(graph), [&](TaskScope& self) {
    while (!is_there) std::this_thread::yield();
    fork_join("fork-join", ResourcePolicy(self), [&](TaskScope& scope) {
      for (int k = 0; k < 5; ++k) host_task("child", ResourcePolicy(scope), [&] { ++children; });
      graph.cancel(outer);
    });
  });
  is_there = true;
  EXPECT_THROW(outer.get(), Error);
  EXPECT_EQ(children, 0);
}

/// What its caller cannot be complete before: a child that comes after it, or after what comes
/// after it, and a wait for it.
TEST(ForkJoins, TellCirclesThroughTheirCallers) {
  Watchdog const watchdog(std::chrono::seconds(60), "circles");
  Kokkos::View<int*, Kokkos::HostSpace> x("x", 1);
  using Body = std::function<void(TaskGraph&, TaskScope&, Future<void> const&)>;
  std::vector<Body> const bodies{
      [](TaskGraph&, TaskScope& scope, Future<void> const& caller) {
        host_task("child", ResourcePolicy(scope, after(caller)), [] {});
      },
      [](TaskGraph& graph, TaskScope& scope, Future<void> const& caller) {
        auto const later = host_task("later", ResourcePolicy(graph, after(caller)), [] {});
        host_task("child", ResourcePolicy(scope, after(later)), [] {});
      },
      [x](TaskGraph& graph, TaskScope& scope, Future<void> const&) {
        auto const reads = host_task("reads", ResourcePolicy(graph, read(x)), [] {});
        host_task("child", ResourcePolicy(scope, after(reads)), [] {});
      },
      [](TaskGraph&, TaskScope&, Future<void> const& caller) { caller.get(); }};
  for (int const workers : {1, 2, 3})
    for (bool const is_child : {true, false})
      for (Body const& body : bodies) {
        TaskGraph graph(with(make_native(), workers));
        Future<void> outer;
        std::atomic<bool> is_there{false};
        outer = host_task("outer", ResourcePolicy(graph, write(x)), [&](TaskScope& self) {
          while (!is_there) std::this_thread::yield();
          auto const run = [&](auto const& policy) {
            fork_join("fork-join", policy, [&](TaskScope& scope) { body(graph, scope, outer); });
          };
          if (is_child)
            run(ResourcePolicy(self));
          else
            run(ResourcePolicy(graph));
        });
        is_there = true;
        EXPECT_THAT(error_of([&] { outer.get(); }).what(),
                    testing::AnyOf(HasSubstr("a circle"), HasSubstr("cannot be complete before")));
        EXPECT_THROW(graph.wait(), Error);
      }
}

// --- strategies ----------------------------------------------------------------------------------

TEST(Strategies, AreMadeByName) {
  for (char const* const name :
       {"native", "bsp", "backfill", "fuse_immediately:16", "fuse_late:3", "all_on_device:2",
        "round_robin:4", "round_robin:4:3", "learning", "learning:18446744073709551615"})
    EXPECT_EQ(make_orchestration(name)->name(), name);
  for (char const* const name :
       {"", "nativ", "bsp:1", "fuse_late", "fuse_late:0", "fuse_late:-1", "fuse_late:x",
        "fuse_late:3:4", "all_on_device", "all_on_device:-1", "round_robin:0",
        "learning:", "round_robin:4:", "native:"})
    EXPECT_THROW(static_cast<void>(make_orchestration(name)), Error) << name;
  EXPECT_THROW(static_cast<void>(make_fuse_late(0)), Error);
  EXPECT_THROW(static_cast<void>(make_all_on_device(-1)), Error);
  EXPECT_THROW(static_cast<void>(make_round_robin(3, -1)), Error);
}

TEST(Strategies, LearningTriesEachAndGoesOnWithTheFastOnes) {
  auto const learning = make_learning(3);
  // How much it holds back tells which one it follows: all but native do.
  int native = 0, turns = 0;
  for (int k = 0; k < 16 * 200; ++k) {
    learning->fork_join_starts(0);
    bool const is_native = learning->hold_back(TaskKind(nullptr, nullptr, 0)) == 0 &&
                           learning->fuse(TaskKind()).when == FuseInstruction::When::when_idle;
    if (k < 16) EXPECT_TRUE(is_native) << k;
    if (k == 16) EXPECT_FALSE(is_native);
    if (k >= 16 * 7) {
      native += is_native;
      ++turns;
    }
    // Everything but native takes long.
    if (!is_native && k % 16 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    learning->fork_join_ends(0);
  }
  EXPECT_GT(native, turns / 3);
}

// --- at random -----------------------------------------------------------------------------------

/// A tree of fork-joins over tiles: what is left depends on the order.
void grow(std::mt19937_64& random, TaskGraph& graph, TaskScope& scope,
          Kokkos::View<std::uint64_t*, Kokkos::HostSpace> const& x, int depth) {
  int const n = static_cast<int>(x.extent(0));
  for (int k = 0; k < 6; ++k) {
    int const at = static_cast<int>(random() % static_cast<std::uint64_t>(n));
    auto const tile = Kokkos::subview(x, std::pair(at, std::min(n, at + 2)));
    std::uint64_t const salt = random();
    auto const step = [tile, salt] {
      for (std::size_t i = 0; i < tile.extent(0); ++i)
        tile(i) = tile(i) * 6364136223846793005u + salt;
    };
    switch (random() % 5) {
      case 0:
        scope.wait();
        break;
      case 1: {
        std::uint64_t const seed = random();
        host_task("nests", ResourcePolicy(scope, read_write(x)),
                  [&graph, x, seed, depth](TaskScope& self) {
                    std::mt19937_64 inner_random(seed);
                    fork_join("inner", ResourcePolicy(self, read_write(x)), [&](TaskScope& inner) {
                      if (depth < 3) grow(inner_random, graph, inner, x, depth + 1);
                    });
                  });
        break;
      }
      case 2:
        host_task("waited for", ResourcePolicy(scope, read_write(tile)), step).get();
        break;
      default:
        host_task("step", ResourcePolicy(scope, fusable, read_write(tile)), step);
    }
  }
}

std::vector<std::uint64_t> run_fork_joins(std::uint64_t seed, bool serial, int workers) {
  TaskGraphOptions options;
  options.serial = serial;
  options.workers = workers;
  if (!serial) options.orchestration = any_orchestration(seed);
  if (!serial && seed % 2 == 0) options.policy = make_shake_policy(seed);
  Kokkos::View<std::uint64_t*, Kokkos::HostSpace> x("x", 12);
  std::mt19937_64 random(seed);
  TaskGraph graph(options);
  for (int k = 0; k < 6; ++k) {
    if (!serial) graph.orchestrate(any_orchestration(seed + static_cast<std::uint64_t>(k) * 13));
    fork_join("fork-join", ResourcePolicy(graph, read_write(x)),
              [&](TaskScope& scope) { grow(random, graph, scope, x, 0); });
  }
  graph.wait();
  return {x.data(), x.data() + x.extent(0)};
}

TEST(ForkJoins, LeaveWhatASerialRunLeaves) {
  int seeds = 40;
  if (char const* const text = std::getenv("TRELLIS_TEST_SEEDS")) seeds = std::atoi(text);
  for (int seed = 1; seed <= seeds; ++seed) {
    Watchdog const watchdog(std::chrono::seconds(60), "seed " + std::to_string(seed));
    auto const number = static_cast<std::uint64_t>(seed);
    EXPECT_EQ(run_fork_joins(number, false, 1 + seed % 3), run_fork_joins(number, true, 1))
        << "seed " << seed;
  }
}

// --- counters ------------------------------------------------------------------------------------

/// Children of fork-joins that are in flight: from a fork to its join, whatever runs them. Those of
/// a child that is no fork-join are not among them.
TEST(ForkJoinCounters, CountTheChildrenInFlight) {
  for (ForkJoinPolicy const policy : {ForkJoinPolicy::parallel, ForkJoinPolicy::serial}) {
    TaskGraphOptions options = with(std::make_shared<Noting>(policy), 2);
    options.statistics = "";  // counters, and no file
    TaskGraph graph(options);
    auto const now = [&] { return graph.statistics(); };
    EXPECT_EQ(now().fork_join_children, 0);
    std::atomic<std::int64_t> inner{0}, beside{0};
    fork_join("outer", ResourcePolicy(graph), [&](TaskScope& scope) {
      EXPECT_EQ(now().fork_join_children, 0);
      for (int k = 0; k < 3; ++k) host_task("child", ResourcePolicy(scope), [] {});
      EXPECT_EQ(now().fork_join_children, 3);  // they are held
      scope.wait();
      EXPECT_EQ(now().fork_join_children, 0);
      host_task("nested", ResourcePolicy(scope), [&](TaskScope& self) {
        host_task("no child of a fork-join", ResourcePolicy(self), [] {});
        beside = now().fork_join_children;
        fork_join("inner", ResourcePolicy(self), [&](TaskScope& in) {
          for (int k = 0; k < 4; ++k) host_task("child", ResourcePolicy(in), [] {});
          inner = now().fork_join_children;
        });
      });
    });
    graph.wait();
    EXPECT_EQ(beside, 1);
    EXPECT_EQ(inner, 1 + 4);
    EXPECT_EQ(now().fork_join_children, 0);
    EXPECT_EQ(now().fork_joins, 0);
  }
}

}  // namespace
}  // namespace trellis::Test
