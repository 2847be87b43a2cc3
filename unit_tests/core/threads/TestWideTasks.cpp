// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tasks that ask for a number of threads.
#include "BareTask.hpp"
#include "Timing.hpp"

#include <Trellis_SchedulingPolicy.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <sstream>
#include <thread>
#include <utility>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;

class WideTasks : public Timed {};

/// How often threads meet by chance.
constexpr int times = sanitized ? 4 : 20;

/// A host space whose instances are numbers of threads.
class Pools final : public Impl::SpaceAdapter {
 public:
  explicit Pools(bool parallel = true) : m_parallel(parallel) {}
  std::string_view name() const override { return "Pools"; }
  bool is_parallel() const override { return m_parallel; }
  void* make_instance(int threads) override {
    ++m_made;
    return new int(threads);
  }
  void destroy_instance(void* instance) noexcept override {
    ++m_destroyed;
    delete static_cast<int*>(instance);
  }
  int made() const { return m_made; }
  int destroyed() const { return m_destroyed; }

 private:
  bool const m_parallel;
  std::atomic<int> m_made{0}, m_destroyed{0};
};

Properties wide(TaskGraph& graph, int threads, Impl::SpaceAdapter* space = nullptr) {
  Properties properties;
  properties.space =
      Impl::GraphInternals::space_with(Impl::GraphInternals::handle(graph), space, threads, "wide");
  return properties;
}

TaskGraphOptions machine(int workers, int threads_per_worker) {
  TaskGraphOptions options = with_workers(workers);
  options.threads_per_worker = threads_per_worker;
  return options;
}

/// The permits of the bodies that are under way, and how many of these are wide. Both are read at
/// once.
class Crowd {
 public:
  struct Stay {
    Stay(Crowd& in, int permits)
        : places(in), mine(static_cast<std::uint64_t>(permits) + (permits > 1 ? one_wide : 0)) {
      std::uint64_t const now = places.m_now.fetch_add(mine) + mine;
      int const taken = static_cast<int>(now % one_wide);
      raise(places.m_most, taken);
      if (now >= one_wide) raise(places.m_most_beside_wide, taken);
    }
    ~Stay() { places.m_now -= mine; }
    Crowd& places;
    std::uint64_t const mine;
  };
  [[nodiscard]] int most() const { return m_most; }
  /// At moments when a wide body is under way.
  [[nodiscard]] int most_beside_wide() const { return m_most_beside_wide; }

 private:
  static constexpr std::uint64_t one_wide = 1 << 20;
  static void raise(std::atomic<int>& most, int to) {
    int seen = most;
    while (seen < to && !most.compare_exchange_weak(seen, to)) {
    }
  }
  std::atomic<std::uint64_t> m_now{0};
  std::atomic<int> m_most{0};
  std::atomic<int> m_most_beside_wide{0};
};

// --- what a task gets ----------------------------------------------------------------------------

TEST_F(WideTasks, GetAnInstanceWithTheirThreads) {
  for (int const workers : {1, 2, 3})
    for (int const each : {1, 2, 3}) {
      Pools pools;
      TaskGraph graph(machine(workers, each));
      for (int n = 1; n <= workers * each; ++n)
        for (int k = 0; k < 3; ++k)
          task(
              graph, "wide", {},
              [n](void* instance) { EXPECT_EQ(*static_cast<int*>(instance), n); },
              wide(graph, n, &pools));
      Properties plain;
      plain.space = &pools;
      task(
          graph, "plain", {},
          [each](void* instance) { EXPECT_EQ(*static_cast<int*>(instance), each); }, plain);
      graph.wait();
    }
}

/// There may be more threads than workers, as one stands in for another that gathers.
TEST_F(WideTasks, MakeThePoolOfEachSizeOncePerThread) {
  Pools pools;
  std::mutex mutex;
  std::map<std::pair<std::thread::id, int>, std::set<void*>> seen;
  {
    TaskGraph graph(machine(2, 2));
    for (int k = 0; k < 500; ++k)
      task(
          graph, "wide", {},
          [&, n = 1 + k % 4](void* instance) {
            std::lock_guard const lock(mutex);
            seen[{std::this_thread::get_id(), n}].insert(instance);
          },
          wide(graph, 1 + k % 4, &pools));
    graph.wait();
    for (auto const& [where, instances] : seen) EXPECT_EQ(instances.size(), 1u) << where.second;
    EXPECT_GE(pools.made(), 4);
    EXPECT_EQ(pools.made(), static_cast<int>(seen.size()));
    EXPECT_EQ(pools.destroyed(), 0);
  }
  EXPECT_EQ(pools.destroyed(), pools.made());
}

TEST_F(WideTasks, WithTheThreadsOfAWorkerAreLikeOthers) {
  Pools pools;
  TaskGraph graph(machine(2, 3));
  EXPECT_EQ(wide(graph, 3, &pools).space, &pools);
  for (int n = 1; n <= 3; ++n) EXPECT_EQ(wide(graph, n).space, nullptr);
  EXPECT_NE(wide(graph, 2, &pools).space, &pools);
  EXPECT_EQ(wide(graph, 2, &pools).space, wide(graph, 2, &pools).space);
}

TEST_F(WideTasks, HaveNoInstanceWithoutASpace) {
  TaskGraph graph(machine(2, 2));
  for (int n = 1; n <= 4; ++n)
    task(graph, "host", {}, [](void* instance) { EXPECT_EQ(instance, nullptr); }, wide(graph, n));
  graph.wait();
}

TEST_F(WideTasks, AreRefusedWhereNobodyHasTheirThreads) {
  TaskGraphOptions options = machine(2, 3);
  options.name = "graph \"g\"";
  TaskGraph graph(options);
  Pools serial(false);
  for (int const n : {-1, 0, 7, 1 << 30}) {
    Error const error = error_of([&] { wide(graph, n); });
    EXPECT_EQ(error.kind(), Error::Kind::bad_input);
    std::string const text = error.what();
    for (std::string const& part :
         {std::string("task \"wide\" ("), "asks for threads(" + std::to_string(n) + ')',
          std::string("2 workers of 3 threads"), std::string("may have 1 to 6"),
          std::string("TRELLIS_WORKERS"), std::string("TRELLIS_THREADS_PER_WORKER")})
      EXPECT_NE(text.find(part), std::string::npos) << text << "\nhas no: " << part;
  }
  std::string const text = message_of([&] { wide(graph, 2, &serial); });
  EXPECT_NE(text.find("asks for threads(2), but Pools has one thread"), std::string::npos) << text;
  EXPECT_EQ(wide(graph, 1, &serial).space, &serial);
  TaskGraph one(machine(1, 1));
  EXPECT_NE(message_of([&] { wide(one, 2); }).find("1 worker of 1 thread,"), std::string::npos);
}

TEST_F(WideTasks, RunInSerialGraphsToo) {
  Environment const serial("TRELLIS_SERIAL", "1");
  Pools pools;
  TaskGraph graph(machine(4, 1));
  Block x("x");
  for (int k = 0; k < 8; ++k)
    task(
        graph, "wide", {updates(x)},
        [&x, k](void* instance) {
          EXPECT_EQ(*static_cast<int*>(instance), 1 + k % 4);
          EXPECT_EQ(x[0]++, k);
        },
        wide(graph, 1 + k % 4, &pools));
  graph.wait();
  EXPECT_EQ(x[0], 8);
}

// --- permits -------------------------------------------------------------------------------------

TEST_F(WideTasks, LeaveNoWorkerBesideThemThatTheyNeed) {
  for (int const workers : {2, 3, 4})
    for (int round = 0; round < times; ++round) {
      TaskGraph graph(machine(workers, 2));
      Crowd places;
      for (int k = 0; k < 60; ++k) {
        int const permits = k % 3 == 0 ? 1 + (k / 3) % workers : 1;
        task(
            graph, "task", {},
            [&places, permits] {
              Crowd::Stay const stay(places, permits);
              compute_for(20us);
            },
            wide(graph, 2 * permits));
      }
      let_the_workers_finish(graph);
      EXPECT_LE(places.most(), workers);
    }
}

/// While a thread enters wait() there may be one more for a moment, but not beside a wide task.
TEST_F(WideTasks, LeaveNoWaitingThreadBesideThem) {
  for (int const workers : {2, 3, 4})
    for (int round = 0; round < times; ++round) {
      TaskGraph graph(with_workers(workers));
      Crowd places;
      std::vector<Future<void>> futures;
      for (int k = 0; k < 60; ++k) {
        int const permits = k % 4 == 0 ? 1 + (k / 4) % workers : 1;
        futures.push_back(task(
            graph, "task", {},
            [&places, permits] {
              Crowd::Stay const stay(places, permits);
              compute_for(20us);
            },
            wide(graph, permits)));
      }
      std::thread other([&] {
        for (std::size_t k = 0; k < futures.size(); k += 7) futures[k].wait();
      });
      for (std::size_t k = 3; k < futures.size(); k += 5) futures[k].wait();
      graph.wait();
      other.join();
      EXPECT_LE(places.most_beside_wide(), workers);
    }
}

TEST_F(WideTasks, RunBesideOthersWhereThereIsRoom) {
  TaskGraph graph(with_workers(4));
  Rendezvous all(3);
  task(graph, "wide", {}, [&] { EXPECT_TRUE(all.meet()); }, wide(graph, 2));
  for (int k = 0; k < 2; ++k) task(graph, "narrow", {}, [&] { EXPECT_TRUE(all.meet()); });
  graph.wait();
  Rendezvous both(2);
  for (int k = 0; k < 2; ++k)
    task(graph, "wide", {}, [&] { EXPECT_TRUE(both.meet()); }, wide(graph, 2));
  graph.wait();
}

TEST_F(WideTasks, GiveTheirPermitsBack) {
  for (int const workers : {2, 3, 5}) {
    TaskGraph graph(with_workers(workers));
    for (int round = 0; round < times; ++round) {
      task(graph, "wide", {}, [] {}, wide(graph, workers));
      if (round % 2 == 0) {
        task(graph, "fails", {}, [] { throw std::runtime_error("x"); }, wide(graph, workers));
        EXPECT_THROW(graph.wait(), Error);
      }
      graph.wait();
      Rendezvous all(workers);
      for (int k = 0; k < workers; ++k)
        task(graph, "together", {}, [&] { EXPECT_TRUE(all.meet()) << workers << " workers"; });
      graph.wait();
    }
  }
}

TEST_F(WideTasks, OfSeveralGraphsDoNotWaitForEachOther) {
  TaskGraph a(with_workers(2)), b(with_workers(2));
  Rendezvous both(2);
  task(a, "wide", {}, [&] { EXPECT_TRUE(both.meet()); }, wide(a, 2));
  task(b, "wide", {}, [&] { EXPECT_TRUE(both.meet()); }, wide(b, 2));
  let_the_workers_finish(a);
  let_the_workers_finish(b);
}

/// The main thread waits in a task of one graph for one of another graph, which waits for the
/// first.
TEST_F(WideTasks, FindThePlacesOfBodiesThatWaitForOtherGraphs) {
  for (bool const by_worker : {true, false})
    for (int const threads : {1, 2})
      for (int round = 0; round < times; ++round) {
        TaskGraph a(with_workers(2)), b(with_workers(2));
        Properties main = wide(a, threads);
        main.main_thread = true;
        task(
            a, "main", {},
            [&] {
              Gate begun;
              Future<void> const other = task(b, "other", {}, [&] {
                begun.open();
                task(a, "wide", {}, [] {}, wide(a, 2)).wait();
              });
              EXPECT_TRUE(!by_worker || begun.pass());
              other.wait();
            },
            main);
        a.wait();
      }
}

/// One that takes no more than its thread has need not be let on by anybody, even if that thread is
/// none of those that are counted: it refines a task, and destroys the body that the task had.
TEST_F(WideTasks, OfOnePlaceAreNotGathered) {
  Pools pools;
  for (int round = 0; round < times; ++round) {
    TaskGraph graph(machine(1, 2));
    Gate begun, ends;
    Future<void> const before = task(graph, "before", {}, [&] {
      begun.open();
      EXPECT_TRUE(ends.pass());
    });
    EXPECT_TRUE(begun.pass());
    std::shared_ptr<void> at_end(nullptr, [&](void*) {
      Properties main = wide(graph, 1, &pools);
      main.main_thread = true;
      std::thread opens([&] {
        std::this_thread::sleep_for(1ms);
        ends.open();
      });
      task(graph, "main", {}, [](void*) { std::this_thread::sleep_for(2ms); }, main).wait();
      opens.join();
    });
    Properties after;
    after.after = handles(before);
    Future<void> const behind = task(graph, "behind", {}, [at_end] {}, after);
    at_end.reset();
    EXPECT_TRUE(
        Impl::GraphInternals::refine(Impl::FutureInternals::handle(behind), [](auto const&) {}));
    graph.wait();
  }
}

// --- nobody starves ------------------------------------------------------------------------------

/// So that what the policy prefers is no reason.
TaskGraphOptions in_order_of_arrival(int workers) {
  TaskGraphOptions options = with_workers(workers);
  options.policy = make_fifo_policy();
  return options;
}

/// Tasks that each submit the next one until they are told to stop.
class Stream {
 public:
  Stream(TaskGraph& graph, Properties properties, int at_once = 1)
      : m_graph(graph), m_properties(std::move(properties)) {
    for (int k = 0; k < at_once; ++k) next();
  }
  ~Stream() { stop(); }
  void stop() { m_goes_on = false; }

 private:
  void next() {
    task(
        m_graph, "stream", {},
        [this] {
          compute_for(5us);
          if (m_goes_on) next();
        },
        m_properties);
  }
  TaskGraph& m_graph;
  Properties const m_properties;
  std::atomic<bool> m_goes_on{true};
};

TEST_F(WideTasks, RunInAStreamOfNarrowOnes) {
  for (int const workers : {2, 4})
    for (int round = 0; round < times; ++round) {
      TaskGraph graph(in_order_of_arrival(workers));
      Stream narrow(graph, {}, workers + 1);
      for (int n = 2; n <= workers; ++n) {
        Gate ran;
        task(graph, "wide", {}, [&] { ran.open(); }, wide(graph, n));
        EXPECT_TRUE(ran.pass());
        task(graph, "wide", {}, [] {}, wide(graph, n)).wait();
      }
      narrow.stop();
      graph.wait();
    }
}

/// It is lent a permit, and does not come to the cap, where it would wait.
TEST_F(WideTasks, RunWhileAThreadSubmitsAllTheTime) {
  for (int const workers : {2, 3})
    for (int round = 0; round < times; ++round) {
      TaskGraphOptions options = in_order_of_arrival(workers);
      options.in_flight = 1 << 20;
      TaskGraph graph(options);
      auto const end = std::chrono::steady_clock::now() + 2s;
      auto const submit_until = [&](auto const& is_over) {
        while (!is_over() && std::chrono::steady_clock::now() < end) {
          task(graph, "narrow", {}, [] {});
          compute_for(5us);
        }
      };
      int some = 0;
      submit_until([&] { return ++some == 50; });
      std::atomic<bool> ran{false};
      task(graph, "wide", {}, [&] { ran = true; }, wide(graph, workers));
      submit_until([&] { return ran.load(); });
      EXPECT_TRUE(ran);
      graph.wait();
    }
}

TEST_F(WideTasks, LetNarrowOnesAndThoseOfTheMainThreadPass) {
  for (int round = 0; round < times; ++round) {
    TaskGraph graph(in_order_of_arrival(3));
    Stream streams(graph, wide(graph, 3), 3);
    std::atomic<int> left{20};
    std::function<void(int)> on = [&](int k) {
      Properties main;
      main.main_thread = k % 2 == 0;
      task(
          graph, "other", {},
          [&, k] {
            if (--left > 0) on(k + 1);
            if (left <= 0) streams.stop();
          },
          main);
    };
    on(0);
    graph.wait();
    EXPECT_EQ(left, 0);
  }
}

/// The main thread has a task of its own all the time.
TEST_F(WideTasks, RunInAStreamOfTasksOfTheMainThread) {
  for (int const workers : {2, 3})
    for (int round = 0; round < times; ++round) {
      TaskGraph graph(in_order_of_arrival(workers));
      Properties main;
      main.main_thread = true;
      Stream of_main(graph, main, 2);
      task(graph, "begin", {},
           [&] { task(graph, "wide", {}, [&] { of_main.stop(); }, wide(graph, workers)); });
      graph.wait();
    }
}

/// What no body may count on, and what many will: the main thread is there for its tasks.
TEST_F(WideTasks, DoNotHoldUpTasksOfTheMainThreadWhileTheyRun) {
  for (int round = 0; round < times; ++round) {
    TaskGraph graph(with_workers(2));
    Gate begun, of_main;
    Properties main;
    main.main_thread = true;
    task(
        graph, "wide", {},
        [&] {
          begun.open();
          task(graph, "main", {}, [&] { of_main.open(); }, main);
          EXPECT_TRUE(of_main.pass());
        },
        wide(graph, 2));
    EXPECT_TRUE(begun.pass()) << "a worker has it";
    graph.wait();
  }
}

TEST_F(WideTasks, MayBeBoundToTheMainThread) {
  for (int round = 0; round < times; ++round) {
    TaskGraph graph(in_order_of_arrival(3));
    Stream narrow(graph, {}, 4);
    std::thread::id const here = std::this_thread::get_id();
    for (int k = 0; k < 10; ++k) {
      Properties main = wide(graph, 1 + k % 3);
      main.main_thread = true;
      task(graph, "main", {}, [here] { EXPECT_EQ(std::this_thread::get_id(), here); }, main);
    }
    Properties last = wide(graph, 3);
    last.synchronizing = true;
    last.main_thread = true;
    narrow.stop();
    task(graph, "last", {}, [] {}, last);
    graph.wait();
  }
}

// --- bodies that wait ----------------------------------------------------------------------------

TEST_F(WideTasks, GiveTheirPermitsAwayWhileTheyWait) {
  for (int const workers : {2, 3})
    for (int round = 0; round < times; ++round) {
      TaskGraph graph(with_workers(workers));
      task(
          graph, "wide", {},
          [&] {
            Rendezvous all(workers);
            std::vector<Future<void>> others;
            for (int n = 0; n < workers; ++n)
              others.push_back(task(graph, "other", {}, [&] { EXPECT_TRUE(all.meet()); }));
            for (Future<void> const& other : others) other.wait();
          },
          wide(graph, workers));
      graph.wait();
    }
}

/// Wide tasks with wide children with wide children, more than there are threads.
TEST_F(WideTasks, NestToAnyDepth) {
  for (int const workers : {2, 3, 4})
    for (int round = 0; round < times; ++round) {
      TaskGraph graph(with_workers(workers));
      std::atomic<int> leaves{0};
      std::function<void(int)> grow = [&](int depth) {
        if (depth == 0) {
          ++leaves;
          return;
        }
        for (int k = 0; k < 3; ++k)
          child(
              "child", {}, [&, depth] { grow(depth - 1); }, wide(graph, 1 + (depth + k) % workers));
        if (depth % 2 == 0) wait_for_children();
      };
      for (int k = 0; k < 3; ++k)
        task(graph, "root", {}, [&] { grow(3); }, wide(graph, 1 + k % workers));
      if (round % 2 == 0) let_the_workers_finish(graph);
      graph.wait();
      EXPECT_EQ(leaves, 3 * 27);
    }
}

TEST_F(WideTasks, LeaveTheirPermitsToTheirChildrenWhileTheyWait) {
  for (int const workers : {2, 3})
    for (int round = 0; round < times; ++round) {
      TaskGraph graph(with_workers(workers));
      Rendezvous all(workers);
      task(
          graph, "wide", {},
          [&] {
            for (int k = 0; k < workers; ++k) child("child", {}, [&] { EXPECT_TRUE(all.meet()); });
            wait_for_children();
          },
          wide(graph, workers));
      if (round % 2 == 0) let_the_workers_finish(graph);
      graph.wait();
    }
}

TEST_F(WideTasks, CountAsTheirChildrenDoWhileTheyWaitForThese) {
  TaskGraph graph(with_workers(4));
  Crowd places;
  for (int k = 0; k < 10; ++k)
    task(
        graph, "wide", {},
        [&] {
          for (int n = 1; n <= 4; ++n)
            child(
                "child", {},
                [&places, n] {
                  Crowd::Stay const stay(places, n);
                  compute_for(20us);
                },
                wide(graph, n));
          wait_for_children();
        },
        wide(graph, 3));
  let_the_workers_finish(graph);
  EXPECT_LE(places.most(), 4);
}

// --- with everything else ------------------------------------------------------------------------

TEST_F(WideTasks, ThatFailCancelWhatDependsOnThem) {
  for (int round = 0; round < times; ++round) {
    TaskGraph graph(with_workers(3));
    Block x("x");
    task(graph, "bad", {writes(x)}, [] { throw std::runtime_error("boom"); }, wide(graph, 3));
    bool ran = false;
    auto const after = task(graph, "after", {reads(x)}, [&] { ran = true; }, wide(graph, 2));
    EXPECT_NE(message_of([&] { after.get(); }).find("boom"), std::string::npos);
    EXPECT_NE(message_of([&] { graph.wait(); }).find("task \"bad\""), std::string::npos);
    EXPECT_FALSE(ran);
    task(graph, "next", {}, [] {}, wide(graph, 3));
    EXPECT_NO_THROW(graph.wait());
  }
}

/// It has been taken from the policy and waits for permits when it is cancelled.
TEST_F(WideTasks, AreCancelledWhileTheyGather) {
  for (int round = 0; round < times; ++round) {
    TaskGraph graph(with_workers(2));
    Gate begun, end;
    task(graph, "long", {}, [&] {
      begun.open();
      EXPECT_TRUE(end.pass());
    });
    EXPECT_TRUE(begun.pass());
    std::atomic<bool> ran{false};
    auto const wide_one = task(graph, "wide", {}, [&] { ran = true; }, wide(graph, 2));
    if (round % 2 == 0) std::this_thread::sleep_for(2ms);
    graph.cancel(wide_one);
    end.open();
    EXPECT_EQ(error_of([&] { wide_one.get(); }).kind(), Error::Kind::cancelled);
    EXPECT_FALSE(ran);
    EXPECT_NO_THROW(graph.wait());
    Rendezvous both(2);
    for (int k = 0; k < 2; ++k) task(graph, "together", {}, [&] { EXPECT_TRUE(both.meet()); });
    graph.wait();
  }
}

TEST_F(WideTasks, ExcludeEachOther) {
  for (int round = 0; round < times; ++round) {
    TaskGraph graph(with_workers(3));
    Block x("x");
    for (int k = 0; k < 50; ++k)
      task(graph, "turn", {excludes(x)}, [&] { ++x[0]; }, wide(graph, 1 + k % 3));
    graph.wait();
    EXPECT_EQ(x[0], 50);
  }
}

TEST_F(WideTasks, KeepTheirThreadsInPlans) {
  Pools pools;
  TaskGraph graph(with_workers(3));
  Block x("x");
  std::atomic<int> beside{0};
  Plan const plan = graph.record([&] {
    for (int n = 1; n <= 3; ++n)
      task(
          graph, "wide", {updates(x)},
          [&x, n](void* instance) {
            EXPECT_EQ(*static_cast<int*>(instance), n);
            ++x[0];
          },
          wide(graph, n, &pools));
    for (int k = 0; k < 4; ++k) task(graph, "beside", {}, [&] { ++beside; }, wide(graph, 2));
  });
  for (int k = 0; k < 10; ++k) graph.replay(plan, 5);
  graph.wait();
  EXPECT_EQ(x[0], 150);
  EXPECT_EQ(beside, 200);
}

TEST_F(WideTasks, KeepTheirThreadsInLoops) {
  Pools pools;
  TaskGraph graph(with_workers(3));
  Block x("x");
  std::uint64_t const iterations = 60;
  IterateReport const report = graph.iterate("loop", iterations, [&](std::uint64_t k) {
    // Every tenth iteration asks for others: it is another one.
    int const n = k % 10 == 9 ? 3 : 2;
    for (int t = 0; t < 4; ++t)
      task(
          graph, "wide", {updates(x)},
          [&x, n](void* instance) {
            EXPECT_EQ(*static_cast<int*>(instance), n);
            ++x[0];
          },
          wide(graph, n, &pools));
  });
  graph.wait();
  EXPECT_EQ(x[0], 240);
  EXPECT_GT(report.replayed, 0U);
}

TEST_F(WideTasks, ThatAreRefinedLeaveTheThreadsToTheirChildren) {
  for (int round = 0; round < times; ++round) {
    TaskGraph graph(with_workers(2));
    Gate gate;
    Block x("x", 2);
    task(graph, "before", {writes(x)}, [&] { EXPECT_TRUE(gate.pass()); });
    auto const whole =
        task(graph, "whole", {updates(x)}, [] { ADD_FAILURE() << "refined"; }, wide(graph, 2));
    Rendezvous both(2);
    EXPECT_TRUE(refine(whole, [&](Impl::TaskHandle const& parent) {
      for (std::size_t k = 0; k < 2; ++k)
        child_of(parent, "half", {updates(x(k, 1))}, [&] { EXPECT_TRUE(both.meet()); });
    }));
    gate.open();
    graph.wait();
  }
}

TEST_F(WideTasks, AreRecordedWithTheirThreads) {
  TaskGraphOptions options = machine(2, 2);
  options.record = true;
  Pools pools;
  TaskGraph graph(options);
  task(graph, "wide", {}, [](void*) {}, wide(graph, 3, &pools));
  task(graph, "small", {}, [](void*) {}, wide(graph, 1, &pools));
  task(graph, "host", {}, [] {}, wide(graph, 4));
  task(graph, "plain", {}, [] {});
  graph.wait();
  Trace const trace = graph.trace();
  auto const record = [&](std::string_view label) {
    return trace.graph.node(trace.graph.find(label).at(0));
  };
  EXPECT_EQ(record("wide").threads, 3);
  EXPECT_EQ(record("wide").workers, 2);
  EXPECT_EQ(record("wide").space, "Pools");
  EXPECT_EQ(record("small").threads, 1);
  EXPECT_EQ(record("small").workers, 1);
  EXPECT_EQ(record("host").threads, 4);
  EXPECT_EQ(record("host").space, "host");
  EXPECT_EQ(record("plain").threads, 0);
  EXPECT_EQ(record("plain").workers, 1);
  std::ostringstream dot, json;
  trace.graph.write_dot(dot);
  EXPECT_NE(dot.str().find(", 3 threads"), std::string::npos) << dot.str();
  EXPECT_NE(dot.str().find(", 1 thread\\n"), std::string::npos) << dot.str();
  trace.write_chrome_json(json);
  EXPECT_NE(json.str().find("\"threads\":3"), std::string::npos) << json.str();
}

// --- all at once ---------------------------------------------------------------------------------

/// Bodies that compute, submit, and wait for each other or for children, wide and narrow, by
/// several threads: everything ends, and each chain is in order.
TEST_F(WideTasks, EndWhateverTheyDo) {
  for (int round = 0; round < 3 * times; ++round) {
    int const workers = 1 + round % 4;
    TaskGraphOptions options = with_workers(workers);
    if (round % 3 == 0) options.in_flight = 16;
    if (round % 5 == 1) options.policy = make_fifo_policy();
    if (round % 5 == 2) options.policy = make_shake_policy(static_cast<std::uint64_t>(round));
    TaskGraph graph(options);
    std::vector<Block> blocks;
    for (int k = 0; k < 3; ++k) blocks.emplace_back("block");
    std::atomic<int> bodies{0};
    std::atomic<int> expected{0};
    auto const submit = [&](std::uint64_t seed) {
      std::mt19937_64 random(seed);
      auto const below = [&random](int n) {
        return static_cast<int>(random() % static_cast<std::uint64_t>(n));
      };
      Future<void> before;
      for (int k = 0; k < 60; ++k) {
        Properties properties = wide(graph, 1 + below(workers));
        properties.main_thread = seed % 3 == 0 && below(8) == 0;
        properties.priority = below(3) - 1;
        Block& block = blocks[static_cast<std::size_t>(below(3))];
        int const what = below(6);
        int const width = 1 + below(workers);
        std::vector<Touch> touches = {below(4) == 0 ? excludes(block) : updates(block)};
        if (what >= 3) touches = {};
        ++expected;
        auto const body = [&graph, &bodies, &expected, what, width, before] {
          ++bodies;
          if (what == 0) compute_for(10us);
          if (what == 3 && before.valid()) before.wait();
          if (what != 1 && what != 4) return;
          for (int n = 0; n < 3; ++n) {
            ++expected;
            child("child", {}, [&bodies] { ++bodies; }, wide(graph, n % 2 == 0 ? width : 1));
          }
          if (what == 4) wait_for_children();
        };
        before = task(graph, "task", touches, body, properties);
        if (below(20) == 0) before.wait();
      }
    };
    auto const seed = static_cast<std::uint64_t>(round) * 3;
    std::thread other([&] { submit(seed + 1); });
    submit(seed);
    graph.wait();
    other.join();
    graph.wait();
    EXPECT_EQ(bodies, expected);
  }
}

}  // namespace
}  // namespace trellis
