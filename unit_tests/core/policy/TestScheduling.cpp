// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scheduling policies: the shipped ones keep their word, a user's own one is obeyed.
#include "BareTask.hpp"
#include "Timing.hpp"

#include <Trellis_PriorityPolicy.hpp>
#include <threads/Trellis_Places.hpp>

#include <algorithm>
#include <deque>
#include <functional>
#include <numeric>
#include <random>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;

class Scheduling : public Timed {};

/// A user's policy: the newest task first.
class Lifo : public SchedulingPolicy {
 public:
  std::string_view name() const override { return "lifo"; }
  void start(int slots) override { m_slots = slots; }
  void push(ReadyTask task, int slot) override {
    std::lock_guard const lock(m_mutex);
    check(slot);
    m_tasks.push_back(task);
    m_labels += task.label();
  }
  ReadyTask finished(std::span<ReadyTask const> ready, int slot) override {
    EXPECT_FALSE(ready.empty());
    EXPECT_TRUE(
        std::is_sorted(ready.begin(), ready.end(), [](auto a, auto b) { return a.id() < b.id(); }));
    EXPECT_GE(slot, 0);
    for (ReadyTask const task : ready) push(task, slot);
    return {};
  }
  ReadyTask pop(int slot) override {
    std::lock_guard const lock(m_mutex);
    check(slot);
    EXPECT_GE(slot, 0);
    if (m_tasks.empty()) return {};
    ReadyTask const task = m_tasks.back();
    m_tasks.pop_back();
    return task;
  }
  bool empty() const override {
    std::lock_guard const lock(m_mutex);
    return m_tasks.empty();
  }
  std::string labels() const {
    std::lock_guard const lock(m_mutex);
    return m_labels;
  }

 private:
  void check(int slot) const {
    EXPECT_GE(slot, -1);
    EXPECT_LT(slot, m_slots) << "start() comes first and names a bound";
  }
  mutable std::mutex m_mutex;
  std::vector<ReadyTask> m_tasks;
  std::string m_labels;
  int m_slots = 0;
};

// The order in which one worker runs tasks that are all ready when it gets to them.
std::vector<int> order_of(std::shared_ptr<SchedulingPolicy> policy,
                          std::vector<int> const& priorities) {
  TaskGraphOptions options = with_workers(1);
  options.policy = std::move(policy);
  TaskGraph graph(options);
  Gate blocked, submitted;
  std::vector<int> order;  // guarded by there being one worker
  task(graph, "b", {}, [&] {
    blocked.open();
    submitted.pass();
  });
  blocked.pass();
  for (std::size_t k = 0; k < priorities.size(); ++k)
    task(graph, "t", {}, [&order, k] { order.push_back(static_cast<int>(k)); },
         {.priority = priorities[k]});
  submitted.open();
  let_the_workers_finish(graph);
  return order;
}

TEST_F(Scheduling, AUsersPolicyIsObeyed) {
  auto const lifo = std::make_shared<Lifo>();
  EXPECT_EQ(order_of(lifo, {0, 0, 0, 0}), (std::vector{3, 2, 1, 0}));
  EXPECT_EQ(lifo->labels(), "btttt");
}

TEST_F(Scheduling, AUsersPolicySeesSuccessorsAndRunsLargeGraphs) {
  TaskGraphOptions options = with_workers(3);
  options.policy = std::make_shared<Lifo>();
  TaskGraph graph(options);
  Block x("x", 8);
  for (int k = 0; k < 4000; ++k) {
    auto const at = static_cast<std::size_t>(k % 8);
    task(graph, "t", {updates(x(at, 1)), reads(x((at + 3) % 8, 1))}, [&x, at] { ++x[at]; });
  }
  graph.wait();
  for (std::size_t k = 0; k < 8; ++k) EXPECT_EQ(x[k], 500);
}

TEST_F(Scheduling, ShippedPoliciesTellHowManyTasksAreReady) {
  for (auto const& policy :
       {make_work_stealing_policy(), make_fifo_policy(),
        std::shared_ptr<SchedulingPolicy>(experimental::make_priority_policy()),
        make_shake_policy(1)}) {
    TaskGraphOptions options = with_workers(1);
    options.policy = policy;
    TaskGraph graph(options);
    Gate blocked, open;
    task(graph, "b", {}, [&] {
      blocked.open();
      open.pass();
    });
    blocked.pass();
    EXPECT_EQ(policy->backlog(), 0U) << policy->name();
    for (int priority : {0, 1, -1, 0, 3}) task(graph, "t", {}, [] {}, {.priority = priority});
    EXPECT_EQ(policy->backlog(), 5U) << policy->name();
    open.open();
    graph.wait();
    EXPECT_EQ(policy->backlog(), 0U) << policy->name();
  }
}

/// By how many tasks the first of a few chains is ever ahead of the last one, on one worker.
class Lead {
 public:
  static constexpr std::size_t chains = 6;

  /// `readers`: of each chain's step, that come before the next one.
  void submit_a_step(TaskGraph& graph, int readers = 0) {
    for (std::size_t k = 0; k < chains; ++k) {
      for (int r = 0; r < readers; ++r) task(graph, "r", {reads(m_block(k, 1))}, [] {});
      task(graph, "t", {updates(m_block(k, 1))}, [this, k] {
        long const done = ++m_block[k];
        for (std::size_t other = 0; other < chains; ++other)
          m_most = std::max(m_most, done - m_block[other]);
      });
    }
  }
  long most() const { return m_most; }
  long steps() { return m_block[chains - 1]; }

 private:
  Block m_block{"x", chains};
  long m_most = 0;
};

TEST_F(Scheduling, ChainsAdvanceSideBySide) {
  for (int readers : {0, 1, 2}) {
    TaskGraph graph(with_workers(1));
    Lead lead;
    Gate blocked, submitted;
    task(graph, "b", {}, [&] {
      blocked.open();
      submitted.pass();
    });
    blocked.pass();
    for (int step = 0; step < 50; ++step) lead.submit_a_step(graph, readers);
    submitted.open();
    let_the_workers_finish(graph);
    EXPECT_EQ(lead.steps(), 50);
    EXPECT_LE(lead.most(), 8) << readers;
  }
}

TEST_F(Scheduling, ChainsOfAPlanAdvanceSideBySide) {
  TaskGraph graph(with_workers(1));
  Lead lead;
  Plan const plan = graph.record("plan", [&] {
    for (int step = 0; step < 5; ++step) lead.submit_a_step(graph);
  });
  Future<void> const replay = graph.replay(plan, 10);
  until_done(replay);
  graph.wait();
  EXPECT_EQ(lead.steps(), 50);
  EXPECT_LE(lead.most(), 8);
}

/// The main thread itself follows the chain: it begins with a task of its own.
TEST_F(Scheduling, TasksOfTheMainThreadDoNotWaitForTheEndOfAChain) {
  TaskGraph graph(with_workers(1));
  Block x("x"), y("y");
  long seen = 0;
  for (int step = 0; step < 400; ++step) {
    std::vector<Touch> touches{updates(x)};
    if (step == 10) touches.push_back(updates(y));
    task(graph, "t", touches, [&] { ++x[0]; }, {.main_thread = step == 0});
  }
  task(graph, "main", {reads(y)}, [&] { seen = x[0]; }, {.main_thread = true});
  graph.wait();
  EXPECT_EQ(x[0], 400);
  EXPECT_GE(seen, 11);
  EXPECT_LE(seen, 20);
}

/// Each submits the next one until a chain is over that the main thread itself is to run.
TEST_F(Scheduling, TasksOfTheMainThreadThatSubmitOthersLetAChainEnd) {
  TaskGraph graph(with_workers(1));
  Block x("x");
  task(graph, "t", {updates(x)}, [&] { ++x[0]; }, {.main_thread = true});
  for (int step = 1; step < 100; ++step) task(graph, "t", {updates(x)}, [&] { ++x[0]; });
  std::function<void()> const again = [&] {
    if (x[0] < 100) task(graph, "again", {}, again, {.main_thread = true});
  };
  task(graph, "again", {}, again, {.main_thread = true});
  graph.wait();
  EXPECT_EQ(x[0], 100);
}

/// Gives a successor to others, and blocks with what was there before.
class Passing final : public ForwardingPolicy {
 public:
  Passing() : ForwardingPolicy(make_fifo_policy()) {}
  ReadyTask finished(std::span<ReadyTask const> ready, int slot) override {
    ReadyTask const other = ForwardingPolicy::pop(slot);
    if (other) std::this_thread::sleep_for(20ms);  // all others are asleep by then
    ForwardingPolicy::finished(ready, slot);
    return other;
  }
};

TEST_F(Scheduling, WhatAPolicyPutsBackForAnotherTaskIsRunByOthers) {
  TaskGraphOptions options = with_workers(2);
  options.policy = std::make_shared<Passing>();
  TaskGraph graph(options);
  Block x("x");
  Gate blocked, submitted, met;
  task(graph, "first", {updates(x)}, [&] {
    blocked.open();
    submitted.pass();
  });
  blocked.pass();
  bool in_time = false;
  task(graph, "second", {updates(x)}, [&] { met.open(); });
  Gate begun;
  task(graph, "busy", {}, [&] {
    begun.open();
    std::this_thread::sleep_for(5ms);
  });
  begun.pass();  // the other worker has it
  task(graph, "blocks", {}, [&] { in_time = met.pass(5s); });
  submitted.open();
  let_the_workers_finish(graph);
  EXPECT_TRUE(in_time);
}

/// Halves of halves, and a join of each two.
class Tree {
 public:
  void split(std::size_t first, std::size_t count) {
    if (count == 1) return;
    std::size_t const half = count / 2;
    submit({updates(m_block(first, half))}, [=, this] { split(first, half); });
    submit({updates(m_block(first + half, half))}, [=, this] { split(first + half, half); });
    submit({updates(m_block(first, count))}, [] {});
  }
  int most_waiting() const { return m_most; }
  Block& block() { return m_block; }

 private:
  template <class F>
  void submit(std::vector<Touch> const& touches, F const& body) {
    m_most = std::max(m_most, ++m_waiting);
    child("child", touches, [this, body] {
      --m_waiting;
      body();
    });
  }

  Block m_block{"x", 1 << 12};
  int m_waiting = 0;
  int m_most = 0;
};

TEST_F(Scheduling, ATreeOfChildrenIsNotOpenedInBreadth) {
  TaskGraph graph(with_workers(1));
  Tree tree;
  task(graph, "root", {updates(tree.block())}, [&] { tree.split(0, 1 << 12); });
  let_the_workers_finish(graph);
  EXPECT_LE(tree.most_waiting(), 64);
}

TEST_F(Scheduling, ATreeOfTasksIsNotOpenedInBreadth) {
  TaskGraph graph(with_workers(1));
  int waiting = 0, most = 0, leaves = 0;
  std::function<void(int)> const split = [&](int depth) {
    if (depth == 0) ++leaves;
    for (int half = 0; half < 2 && depth > 0; ++half) {
      most = std::max(most, ++waiting);
      task(graph, "half", {}, [&, depth] {
        --waiting;
        split(depth - 1);
      });
    }
  };
  task(graph, "root", {}, [&] { split(12); });
  let_the_workers_finish(graph);
  EXPECT_EQ(leaves, 1 << 12);
  EXPECT_LE(most, 64);
}

/// Who has got its turn among those that exclude each other has what they wait for.
TEST_F(Scheduling, WhatHasItsExclusiveAreasIsNotPutOff) {
  TaskGraph graph(with_workers(1));
  Block x("x");
  std::string order;
  Gate blocked, submitted;
  task(graph, "first", {excludes(x)}, [&] {
    blocked.open();
    submitted.pass();
  });
  blocked.pass();
  for (int k = 0; k < 6; ++k) task(graph, "older", {}, [&] { order += 'o'; });
  for (int k = 0; k < 12; ++k) task(graph, "exclusive", {excludes(x)}, [&] { order += 'e'; });
  submitted.open();
  let_the_workers_finish(graph);
  EXPECT_EQ(order, "eeeeeeeeeeeeoooooo");
}

/// Who looks for a task after a pause needs a while, as if its core had been asleep.
class SlowToWake final : public ForwardingPolicy {
 public:
  explicit SlowToWake(bool tells) : ForwardingPolicy(make_work_stealing_policy()), m_tells(tells) {}

  ReadyTask pop(int slot) override {
    thread_local std::chrono::steady_clock::time_point last{};
    if (std::chrono::steady_clock::now() - last > 2ms) std::this_thread::sleep_for(3ms);
    last = std::chrono::steady_clock::now();
    return ForwardingPolicy::pop(slot);
  }
  std::size_t backlog() const override { return m_tells ? ForwardingPolicy::backlog() : 0; }

 private:
  bool m_tells;
};

/// How long it takes until so many workers run a task each.
std::chrono::nanoseconds until_all_run(int workers, bool policy_tells) {
  TaskGraphOptions options = with_workers(workers);
  options.policy = std::make_shared<SlowToWake>(policy_tells);
  TaskGraph graph(options);
  std::chrono::nanoseconds best = 1h;
  for (int k = 0; k < 3; ++k) {  // the first time they are started, then woken
    Rendezvous all(workers);
    auto const begin = std::chrono::steady_clock::now();
    for (int n = 0; n < workers; ++n) task(graph, "t", {}, [&] { EXPECT_TRUE(all.meet()); });
    graph.wait();
    best = std::min<std::chrono::nanoseconds>(best, std::chrono::steady_clock::now() - begin);
    std::this_thread::sleep_for(5ms);  // they go to sleep
  }
  return best;
}

TEST_F(Scheduling, WokenThreadsWakeTwoEach) {
  // 3 ms * 15 one after the other; 3 ms * 4 where each wakes two.
  std::string times;
  struct Pretending {
    explicit Pretending(int cores) { Impl::pretend_cores(cores); }
    ~Pretending() { Impl::pretend_cores(0); }
  } const pretending(16);
  for (int attempt = 0; attempt < 10; ++attempt) {  // the machine may be busy
    auto const one_by_one = until_all_run(16, false);
    auto const two_each = until_all_run(16, true);
    if (2 * two_each < one_by_one) return;
    times += ' ' + std::to_string(one_by_one.count()) + '/' + std::to_string(two_each.count());
  }
  FAIL() << "nanoseconds, one by one and two each:" << times;
}

TEST_F(Scheduling, AUsersPolicyNeverSeesTasksOfTheMainThread) {
  TaskGraphOptions options = with_workers(1);
  auto const lifo = std::make_shared<Lifo>();
  options.policy = lifo;
  TaskGraph graph(options);
  task(graph, "m", {}, [] {}, {.main_thread = true});
  task(graph, "f", {}, [] {});
  graph.wait();
  EXPECT_EQ(lifo->labels(), "f");
}

TEST_F(Scheduling, FifoKeepsTheOrderOfSubmissionWhateverThePriorities) {
  std::vector<int> const priorities = {0, 3, -1, 0, 7, 0, 0, 1};
  std::vector<int> expected(priorities.size());
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(order_of(make_fifo_policy(), priorities), expected);
}

TEST_F(Scheduling, TheDefaultRunsHigherPrioritiesFirstAndNegativeOnesLast) {
  EXPECT_EQ(order_of(make_work_stealing_policy(), {0, 2, -1, 5, 0, 2, -3}),
            (std::vector{3, 1, 5, 0, 4, 2, 6}));
}

TEST_F(Scheduling, APriorityIsHonouredAmongSuccessorsToo) {
  TaskGraph graph(with_workers(1));
  Block x("x");
  std::vector<int> order;
  Gate submitted;
  task(graph, "root", {writes(x)}, [&] { submitted.pass(); });
  for (int k = 0; k < 5; ++k)
    task(graph, "reader", {reads(x)}, [&order, k] { order.push_back(k); },
         {.priority = k == 3   ? 1
                      : k == 1 ? -1
                               : 0});
  submitted.open();
  let_the_workers_finish(graph);
  EXPECT_EQ(order.front(), 3);
  EXPECT_EQ(order.back(), 1);
}

TEST_F(Scheduling, TheDefaultKeepsTheFirstSuccessorOnItsWorker) {
  TaskGraph graph(recorded(3));
  int const chains = 3, length = 40;
  std::vector<Block> blocks;
  for (int c = 0; c < chains; ++c) blocks.emplace_back("block");
  Rendezvous all(chains);  // so that each chain begins on a worker of its own
  // A thread outside of all tasks would count as a worker, and one of them would step aside.
  task(graph, "submits", {}, [&] {
    for (int c = 0; c < chains; ++c)
      task(graph, "head", {writes(blocks[static_cast<std::size_t>(c)])}, [&] { all.meet(); });
    for (int k = 1; k < length; ++k)
      for (int c = 0; c < chains; ++c)
        task(graph, "link", {updates(blocks[static_cast<std::size_t>(c)])}, [] {});
  });
  let_the_workers_finish(graph);
  SchedulingGraph const recorded_graph = graph.scheduling_graph();
  for (EdgeRecord const& edge : recorded_graph.edges())
    EXPECT_EQ(recorded_graph.node(edge.from).row, recorded_graph.node(edge.to).row)
        << edge.from << " -> " << edge.to;
}

TEST_F(Scheduling, FreeWorkersTakeTasksFromBusyOnes) {
  // All tasks become ready on one worker, which then waits for another to run some of them.
  TaskGraph graph(with_workers(2));
  Block x("x");
  Rendezvous both(2);
  task(graph, "root", {writes(x)}, [] {});
  for (int k = 0; k < 2; ++k) task(graph, "reader", {reads(x)}, [&] { EXPECT_TRUE(both.meet()); });
  graph.wait();
}

TEST_F(Scheduling, ShakeRunsEverythingAndNotInOrder) {
  bool any_out_of_order = false;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    auto order = order_of(make_shake_policy(seed), std::vector<int>(30, 0));
    any_out_of_order = any_out_of_order || !std::is_sorted(order.begin(), order.end());
    std::sort(order.begin(), order.end());
    for (int k = 0; k < 30; ++k) EXPECT_EQ(order[static_cast<std::size_t>(k)], k);
  }
  EXPECT_TRUE(any_out_of_order);
}

TEST_F(Scheduling, EveryPolicyKeepsTheDependencies) {
  std::mt19937 random(7);
  for (int repeat = 0; repeat < 20; ++repeat)
    for (auto const& policy : {make_work_stealing_policy(), make_fifo_policy(),
                               make_shake_policy(static_cast<std::uint64_t>(repeat)),
                               std::shared_ptr<SchedulingPolicy>(std::make_shared<Lifo>())}) {
      TaskGraphOptions options = with_workers(3);
      options.policy = policy;
      TaskGraph graph(options);
      Block x("x", 6);
      std::vector<long> expected(6, 0);
      for (int k = 0; k < 60; ++k) {
        auto const from = random() % 6, to = random() % 6;
        task(graph, "copy", {reads(x(from, 1)), updates(x(to, 1))},
             [&x, from, to, k] { x[to] = x[to] % 1000 * 2 + x[from] + k; });
        expected[to] = expected[to] % 1000 * 2 + expected[from] + k;
      }
      graph.wait();
      for (std::size_t k = 0; k < 6; ++k) EXPECT_EQ(x[k], expected[k]) << policy->name();
    }
}

TEST_F(Scheduling, APolicyServesOneGraphOnly) {
  TaskGraphOptions options = with_workers(1);
  options.policy = make_fifo_policy();
  TaskGraph one(options);
  EXPECT_EQ(error_of([&] { TaskGraph other(options); }).kind(), Error::Kind::bad_input)
      << "tasks of one graph would run in the other";
}

}  // namespace
}  // namespace trellis
