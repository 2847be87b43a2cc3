// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Graphs that are given other numbers of threads between their tasks.
#include "BareTask.hpp"
#include "Memory.hpp"
#include "Timing.hpp"

#include <Trellis_ThisWorker.hpp>
#include <Trellis_ThreadRatio.hpp>
#include <threads/Trellis_Places.hpp>

#include <gmock/gmock.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#ifdef __linux__
#include <sched.h>
#endif

namespace trellis {
namespace {
namespace set_threads {

using namespace Bare;
using namespace Test;
using testing::HasSubstr;

class SetThreads : public Timed {};

/// A host space whose instances are numbers of threads, and know who has made them.
class Pools final : public Impl::SpaceAdapter {
 public:
  struct Pool {
    int threads;
    std::thread::id made_by;
  };
  std::string_view name() const override { return "Pools"; }
  void* make_instance(int threads) override {
    ++m_made;
    return new Pool{threads, std::this_thread::get_id()};
  }
  void destroy_instance(void* instance) noexcept override {
    ++m_destroyed;
    delete static_cast<Pool*>(instance);
  }
  int made() const { return m_made; }
  int destroyed() const { return m_destroyed; }

 private:
  std::atomic<int> m_made{0}, m_destroyed{0};
};

TaskGraphOptions machine(int workers, int threads_per_worker) {
  TaskGraphOptions options = with_workers(workers);
  options.threads_per_worker = threads_per_worker;
  return options;
}
Properties wide(TaskGraph& graph, int threads, Impl::SpaceAdapter* space = nullptr) {
  Properties properties;
  properties.space =
      Impl::GraphInternals::space_with(Impl::GraphInternals::handle(graph), space, threads, "wide");
  return properties;
}
Properties on(Pools& pools) {
  Properties properties;
  properties.space = &pools;
  return properties;
}
std::pair<int, int> threads_of(TaskGraph const& graph) {
  return {graph.workers(), graph.threads_per_worker()};
}
/// So many tasks are under way at the same time, and no more.
void expect_workers(TaskGraph& graph, int workers) {
  Rendezvous all(workers);
  Occupancy occupancy;
  for (int k = 0; k < 4 * workers; ++k)
    task(graph, "together", {}, [&, k] {
      Occupancy::Stay const stay(occupancy);
      if (k < workers) {
        EXPECT_TRUE(all.meet()) << workers << " workers";
      }
      std::this_thread::sleep_for(100us);
    });
  graph.wait();
  EXPECT_LE(occupancy.most(), workers + 1);  // see Workers.TheWaitingThreadIsOneOfThem
}

TEST_F(SetThreads, ChangesHowManyTasksRunAtATime) {
  TaskGraph graph(recorded(4));
  EXPECT_GE(graph.most_workers(), 4);
  int const concurrency = graph.concurrency();
  for (int const workers : {4, 1, 3, 2, 4, 1, 1, 4}) {
    graph.set_threads(workers, 1);
    EXPECT_EQ(threads_of(graph), std::pair(workers, 1));
    EXPECT_EQ(graph.options().workers, workers);
    EXPECT_EQ(graph.trace().workers, workers);
    EXPECT_EQ(graph.concurrency(), concurrency);
    expect_workers(graph, workers);
  }
}

TEST_F(SetThreads, EachThreadMakesItsInstanceAnew) {
  Pools pools;
  {
    TaskGraph graph(machine(2, 2));
    for (auto const& [workers, each] : {std::pair(4, 1), {2, 2}, {1, 4}, {1, 3}, {4, 1}, {3, 2}}) {
      graph.set_threads(workers, each);
      EXPECT_EQ(pools.destroyed(), pools.made());
      for (int k = 0; k < 30; ++k)
        task(
            graph, "task", {},
            [each](void* instance) {
              auto const& pool = *static_cast<Pools::Pool*>(instance);
              EXPECT_EQ(pool.threads, each);
              EXPECT_EQ(pool.made_by, std::this_thread::get_id());
            },
            on(pools));
      graph.wait();
    }
    graph.set_threads(3, 2);  // as it is: nothing happens
    EXPECT_LT(pools.destroyed(), pools.made());
  }
  EXPECT_EQ(pools.destroyed(), pools.made());
}

TEST_F(SetThreads, LeavesNoThreadsBehind) {
  int const before = thread_count();
  TaskGraph graph(with_workers(4));
  expect_workers(graph, 4);
  graph.set_threads(1, 1);
  if (!sanitized) {
    EXPECT_TRUE(thread_count_comes_down_to(before));
  }
  expect_workers(graph, 1);
}

TEST_F(SetThreads, RowsAndIndicesAreThoseOfTheSameWorkers) {
  TaskGraph graph(recorded(3));
  std::mutex mutex;
  std::set<int> indices;
  for (int round = 0; round < 20; ++round) {
    graph.set_threads(1 + round % 3, 1 + round % 2);
    Rendezvous all(graph.workers());
    for (int k = 0; k < graph.workers(); ++k)
      task(graph, "task", {}, [&] {
        EXPECT_TRUE(all.meet());
        std::lock_guard const lock(mutex);
        indices.insert(this_worker::index());
      });
    graph.wait();
  }
  EXPECT_LE(indices.size(), 5U);  // a main thread, and three workers and one that may be late
  Trace const trace = graph.trace();
  EXPECT_EQ(trace.rows[0], "main thread");
  std::set<std::string> names;
  for (std::string const& row : trace.rows)
    if (!row.empty()) {
      EXPECT_TRUE(names.insert(row).second) << row;
    }
  for (TaskRecord const& record : trace.graph.nodes()) EXPECT_TRUE(indices.contains(record.row));
}

TEST_F(SetThreads, IsRefusedWhereItCannotBe) {
  TaskGraphOptions options = machine(2, 2);
  options.name = "pump";
  TaskGraph graph(options);
  auto const text_of = [&](std::function<void()> const& f) {
    Error const error = error_of(f);
    EXPECT_EQ(error.kind(), Error::Kind::bad_input);
    EXPECT_THAT(error.what(), HasSubstr("pump cannot be given"));
    return std::string(error.what());
  };
  EXPECT_THAT(text_of([&] { graph.set_threads(0, 1); }), HasSubstr("one of each at least"));
  EXPECT_THAT(text_of([&] { graph.set_threads(1, -1); }), HasSubstr("one of each at least"));
  EXPECT_THAT(text_of([&] { graph.set_threads(graph.most_workers() + 1, 1); }),
              HasSubstr("room for " + std::to_string(graph.most_workers())));
  Gate gate;
  task(graph, "waits", {}, [&] { gate.pass(); });
  EXPECT_THAT(text_of([&] { graph.set_threads(1, 1); }), HasSubstr("1 task is in flight; wait"));
  task(graph, "waits, too", {}, [&] { gate.pass(); });
  EXPECT_THAT(text_of([&] { graph.set_threads(1, 1); }), HasSubstr("2 tasks are in flight"));
  gate.open();
  graph.wait();
  task(graph, "asks itself", {}, [&] {
    EXPECT_THAT(text_of([&] { graph.set_threads(1, 1); }), HasSubstr("inside one of its tasks"));
  });
  graph.wait();
  std::thread([&] {
    EXPECT_THAT(text_of([&] { graph.set_threads(1, 1); }), HasSubstr("has made the graph"));
  }).join();
  (void)graph.record([&] {
    EXPECT_THAT(text_of([&] { graph.set_threads(1, 1); }), HasSubstr("recording a plan"));
  });
  graph.iterate("loop", 1, [&] {
    EXPECT_THAT(text_of([&] { graph.set_threads(1, 1); }), HasSubstr("an iteration of a loop"));
  });
  EXPECT_EQ(threads_of(graph), std::pair(2, 2));
  graph.set_threads(1, 1);
  expect_workers(graph, 1);
}

TEST_F(SetThreads, OfASerialGraphAreThoseOfItsOneThread) {
  Pools pools;
  TaskGraphOptions options = machine(2, 2);
  options.serial = true;
  TaskGraph graph(options);
  for (auto const& [workers, each] : {std::pair(2, 2), {1, 4}, {2, 1}}) {
    graph.set_threads(workers, each);
    task(
        graph, "task", {},
        [each](void* instance) { EXPECT_EQ(static_cast<Pools::Pool*>(instance)->threads, each); },
        on(pools));
    EXPECT_EQ(threads_of(graph), std::pair(workers, each));
  }
}

TEST_F(SetThreads, PlansGoOn) {
  Pools pools;
  TaskGraph graph(machine(2, 2));
  Block x("x"), y("y");
  std::atomic<int> threads_seen{0};
  Plan const plan = graph.record("plan", [&] {
    task(
        graph, "one", {updates(x)},
        [&](void* instance) {
          ++x[0];
          threads_seen = static_cast<Pools::Pool*>(instance)->threads;
        },
        on(pools));
    task(graph, "wide", {updates(y)}, [&] { ++y[0]; }, wide(graph, 4));
    task(graph, "both", {updates(x), updates(y)}, [&] { x[0] += y[0]; });
  });
  long expected = 0, in_y = 0;
  for (auto const& [workers, each] : {std::pair(2, 2), {4, 1}, {1, 4}, {2, 3}, {2, 2}}) {
    graph.set_threads(workers, each);
    graph.replay(plan, 3);
    graph.wait();
    for (int k = 0; k < 3; ++k) expected += 1 + ++in_y;
    EXPECT_EQ(x[0], expected);
    EXPECT_EQ(threads_seen, each);
  }
  // Nobody has four threads any more.
  graph.set_threads(1, 2);
  graph.replay(plan);
  Error const error = error_of([&] { graph.wait(); });
  EXPECT_EQ(error.kind(), Error::Kind::task_failed);
  EXPECT_THAT(error.what(), HasSubstr("\"wide\""));
  EXPECT_THAT(error.what(), HasSubstr("asks for threads(4)"));
  EXPECT_THAT(error.what(), HasSubstr("1 worker of 2 threads"));
  graph.set_threads(2, 2);
  graph.replay(plan);
  graph.wait();
}

TEST_F(SetThreads, WideTasksTakeAsManyWorkersAsTheyNeedNow) {
  for (int round = 0; round < (sanitized ? 3 : 10); ++round) {
    TaskGraph graph(machine(4, 1));
    Block x("x");
    std::atomic<int> under_way{0};
    Plan const plan = graph.record("plan", [&] {
      for (int k = 0; k < 12; ++k)
        task(
            graph, "wide", {},
            [&, n = 1 + k % 4] {
              int const each = graph.threads_per_worker();
              int const mine = (n - 1) / each + 1;
              EXPECT_LE(under_way += mine, graph.workers());
              std::this_thread::yield();
              under_way -= mine;
            },
            wide(graph, 1 + k % 4));
    });
    for (auto const& [workers, each] : {std::pair(4, 1), {2, 2}, {1, 4}, {4, 1}}) {
      graph.set_threads(workers, each);
      graph.replay(plan, 2);
      // A thread in wait() would be one more, until a worker has ended its task.
      while (graph.in_flight() != 0) std::this_thread::yield();
      graph.wait();
    }
  }
}

TEST_F(SetThreads, ALentPlaceComesBack) {
  // A thread that submits is lent a permit; nobody waits before the numbers change.
  TaskGraph graph(with_workers(3));
  std::atomic<int> ran{0};
  constexpr int rounds = sanitized ? 20 : 100;
  for (int round = 0; round < rounds; ++round) {
    for (int k = 0; k < 8; ++k) task(graph, "short", {}, [&] { ++ran; });
    while (graph.in_flight() != 0) std::this_thread::yield();
    graph.set_threads(1 + round % 3, 1);
    if (round % 20 == 0) expect_workers(graph, graph.workers());
  }
  graph.wait();
  EXPECT_EQ(ran, 8 * rounds);
}

TEST_F(SetThreads, WhatDestructorsSubmitRuns) {
  TaskGraph graph(with_workers(2));
  struct Submits {
    TaskGraph* graph;
    std::atomic<int>* ran;
    Submits(TaskGraph& in, std::atomic<int>& count) : graph(&in), ran(&count) {}
    Submits(Submits const&) = delete;
    Submits& operator=(Submits const&) = delete;
    ~Submits() {
      task(*graph, "late", {}, [count = ran] { ++*count; });
    }
  };
  std::atomic<int> ran{0};
  int wanted = 0;
  Block x("x");
  for (int round = 0; round < 50; ++round) {
    for (int k = 0; k < 4; ++k, ++wanted)
      task(graph, "keeps", {reads(x)}, [object = std::make_shared<Submits>(graph, ran)] {});
    while (graph.in_flight() != 0) std::this_thread::yield();
    try {
      graph.set_threads(1 + round % 2, 1);
    } catch (Error const&) {  // one has just submitted
    }
  }
  graph.wait();
  EXPECT_EQ(ran, wanted);
}

TEST_F(SetThreads, OtherThreadsMayHaveWaited) {
  TaskGraph graph(with_workers(2));
  Block x("x");
  for (int round = 0; round < (sanitized ? 10 : 100); ++round) {
    std::vector<std::thread> others;
    std::atomic<int> through{0};
    for (int k = 0; k < 3; ++k)
      others.emplace_back([&] {
        for (int n = 0; n < 5; ++n) task(graph, "add", {updates(x)}, [&] { ++x[0]; }).wait();
        ++through;
      });
    for (std::thread& other : others) other.join();
    graph.set_threads(1 + round % 2, 1 + round % 3);
  }
  EXPECT_EQ(x[0], 15 * (sanitized ? 10 : 100));
}

/// A random program between changes, under a policy that delays threads: the result is that of the
/// program run one by one.
TEST_F(SetThreads, AtRandomChangesNoResult) {
  for (std::uint64_t seed = 1; seed <= (sanitized ? 4U : 16U); ++seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    TaskGraphOptions options = with_workers(4);
    if (seed % 2 == 0) options.policy = make_shake_policy(seed);
    options.watchdog = 30;
    TaskGraph graph(options);
    std::vector<Block> blocks;
    for (int k = 0; k < 5; ++k) blocks.emplace_back("block " + std::to_string(k));
    std::vector<long> oracle(5, 0);
    std::map<std::pair<int, int>, Plan> plans;
    for (int round = 0; round < 12; ++round) {
      graph.set_threads(1 + static_cast<int>(random() % 4), 1 + static_cast<int>(random() % 3));
      for (int k = 0; k < 30; ++k) {
        auto const from = static_cast<int>(random() % 5), to = static_cast<int>(random() % 5);
        if (from == to) continue;
        auto const f = static_cast<std::size_t>(from), t = static_cast<std::size_t>(to);
        auto const submit = [&] {
          task(graph, "mix", {reads(blocks[f]), updates(blocks[t])},
               [&blocks, f, t] { blocks[t][0] = (3 * blocks[t][0] + blocks[f][0] + 1) % 1000003; });
        };
        if (random() % 3 == 0) {
          auto found = plans.find({from, to});
          if (found == plans.end())
            found = plans.emplace(std::pair(from, to), graph.record("one", submit)).first;
          graph.replay(found->second);
        } else {
          submit();
        }
        oracle[t] = (3 * oracle[t] + oracle[f] + 1) % 1000003;
      }
      graph.wait();
      for (std::size_t k = 0; k < 5; ++k) ASSERT_EQ(blocks[k][0], oracle[k]) << seed;
    }
  }
}

#ifdef __linux__
TEST_F(SetThreads, BoundOnesGetThePlacesOfTheirNumber) {
  if (!Impl::Places::can_bind()) GTEST_SKIP() << "without hwloc nothing can be bound";
  auto const own = [] {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    sched_getaffinity(0, sizeof mask, &mask);
    return CPU_COUNT(&mask);
  };
  int const before = own();
  {
    TaskGraphOptions options = with_workers(2);
    options.bind = "core";
    TaskGraph graph(options);
    int const core = own();
    graph.set_threads(1, 2);
    EXPECT_EQ(own(), std::min(2 * core, before));
    task(graph, "looks", {}, [&] { EXPECT_LE(own(), before); });
    graph.wait();
    graph.set_threads(2, 1);
    EXPECT_EQ(own(), core);
  }
  EXPECT_EQ(own(), before);
}
#endif

/// Times here are as they are: only that each iteration has one decision, and that it is carried
/// out.
TEST_F(SetThreads, ByFeedbackIterationByIteration) {
  auto const meter = make_task_meter();
  TaskGraphOptions options = machine(2, 1);
  options.policy = meter;
  options.record = true;
  TaskGraph graph(options);
  Block x("x");
  auto const iteration = [&] {
    for (int k = 0; k < 6; ++k)
      task(graph, "link " + std::to_string(k), {updates(x)}, [&] {
        ++x[0];
        // Two threads do it in half the time.
        std::this_thread::sleep_for(std::chrono::microseconds(400 / graph.threads_per_worker()));
      });
    graph.wait();
  };
  iteration();
  Graph structure = graph.dependency_graph();
  // It is no host task, whose threads would be of no use.
  std::vector<TaskRecord> nodes = structure.nodes();
  for (TaskRecord& node : nodes) node.pattern = "parallel_for";
  structure = Graph(nodes, structure.edges());
  ThreadFeedback feedback(2);
  EXPECT_TRUE(feedback.adapt(graph, structure, meter->take()));
  EXPECT_EQ(threads_of(graph), std::pair(1, 2));
  iteration();
  TaskCost const took = meter->take();
  for (TaskRecord const& node : nodes) EXPECT_GT(took(node), 0) << node.label;
  (void)feedback.adapt(graph, structure, took);
  EXPECT_EQ(x[0], 12);
}

}  // namespace set_threads
}  // namespace
}  // namespace trellis
