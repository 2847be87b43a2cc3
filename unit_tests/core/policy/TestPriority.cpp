// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The policy that runs first what most is waiting for, and the times that it is told.
#include "AsyncTest.hpp"

#include <Trellis_PriorityPolicy.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <vector>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::SizeIs;

using Names = std::vector<std::string>;

/// What has run, in order.
class Diary {
 public:
  void note(std::string const& name) {
    std::lock_guard const lock(m_mutex);
    m_names.push_back(name);
  }
  [[nodiscard]] Names take() {
    std::lock_guard const lock(m_mutex);
    return std::exchange(m_names, {});
  }

 private:
  std::mutex m_mutex;
  Names m_names;
};

void spin(std::chrono::nanoseconds time) {
  auto const end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

class Priority : public Timed {
 protected:
  std::shared_ptr<experimental::PriorityPolicy> policy = experimental::make_priority_policy();
  Diary diary;

  [[nodiscard]] TaskGraphOptions options(int workers = 1) const {
    TaskGraphOptions result = with_workers(workers);
    result.policy = policy;
    return result;
  }
  void noted(TaskGraph& graph, std::string const& name, std::vector<Touch> const& touches,
             Properties const& properties = {}, std::chrono::nanoseconds time = 0ns) {
    task(
        graph, Label(name), touches,
        [this, name, time] {
          spin(time);
          diary.note(name);
        },
        properties);
  }
  /// What `submit` submits runs when it is over, on the main thread alone: that has the place of
  /// the one worker, which never wakes up.
  template <class F>
  static void run_alone(TaskGraph& graph, F const& submit) {
    task(graph, "submits", {}, [&] { submit(); }, {.main_thread = true});
    graph.wait();
  }
  /// x -> a -> c -> b -> s and a -> s, with three single tasks before them.
  void submit_example(TaskGraph& graph, std::vector<Block>& blocks) {
    for (int k = 1; k <= 3; ++k) noted(graph, "single" + std::to_string(k), {});
    noted(graph, "x", {writes(blocks[0])});
    noted(graph, "a", {reads(blocks[0]), writes(blocks[1])});
    noted(graph, "c", {reads(blocks[1]), writes(blocks[2])});
    noted(graph, "b", {reads(blocks[2]), writes(blocks[3])});
    noted(graph, "s", {reads(blocks[1]), reads(blocks[3])});
  }
  static std::vector<Block> blocks(int count) {
    std::vector<Block> made;
    for (int k = 0; k < count; ++k) made.emplace_back("block" + std::to_string(k));
    return made;
  }
};

TEST_F(Priority, TheMostUrgentFirstAndAmongEqualsTheOldest) {
  TaskGraph graph(options());
  EXPECT_EQ(graph.options().policy->name(), "priority");
  run_alone(graph, [&] {
    for (int k = 0; k < 24; ++k)
      noted(graph, std::to_string(k % 4) + char('a' + k), {}, {.priority = k % 4});
  });
  Names expected;
  for (int priority = 3; priority >= 0; --priority)
    for (int k = 0; k < 24; ++k)
      if (k % 4 == priority) expected.push_back(std::to_string(priority) + char('a' + k));
  EXPECT_THAT(diary.take(), ElementsAreArray(expected));
}

TEST_F(Priority, LabelsMayBeUrgent) {
  policy->set_urgency("b", {5, 0});
  policy->set_urgency("c", {5, 1});
  EXPECT_EQ(policy->urgency("b"), (experimental::Urgency{5, 0}));
  EXPECT_EQ(policy->urgency("d"), std::nullopt);
  TaskGraph graph(options());
  run_alone(graph, [&] {
    for (char const* name : {"a", "b", "c", "d"}) noted(graph, name, {});
    noted(graph, "e", {}, {.priority = 1});
  });
  EXPECT_THAT(diary.take(), ElementsAre("e", "c", "b", "a", "d"));
}

TEST_F(Priority, OfAPlanIsItsHopsAtFirst) {
  policy = experimental::make_priority_policy({.measures = false});
  TaskGraph graph(options());
  std::vector<Block> const data = blocks(4);
  std::vector<Block> copies = data;
  Plan const plan = graph.record([&] { submit_example(graph, copies); });
  ASSERT_THAT(policy->plans(), SizeIs(1));
  EXPECT_THAT(policy->urgency_of_plan(policy->plans()[0]),
              ElementsAre(experimental::Urgency{0, 0}, experimental::Urgency{0, 0},
                          experimental::Urgency{0, 0}, experimental::Urgency{4, 1},
                          experimental::Urgency{3, 2}, experimental::Urgency{2, 1},
                          experimental::Urgency{1, 1}, experimental::Urgency{0, 0}));
  for (int round = 0; round < 3; ++round) {
    run_alone(graph, [&] { graph.replay(plan); });
    EXPECT_THAT(diary.take(),
                ElementsAre("x", "a", "c", "b", "single1", "single2", "single3", "s"));
  }
}

TEST_F(Priority, OfAnIterationOfALoopIsItsHopsAtFirst) {
  policy = experimental::make_priority_policy({.measures = false});
  TaskGraph graph(options());
  std::vector<Block> data = blocks(4);
  for (int k = 0; k < 3; ++k) {
    run_alone(graph, [&] {
      graph.iterate("loop", 1, [&] {
        for (int k = 1; k <= 3; ++k) noted(graph, "single" + std::to_string(k), {});
        noted(graph, "x", {writes(data[0])});
        noted(graph, "a", {reads(data[0]), writes(data[1])});
        noted(graph, "y", {reads(data[1])});
      });
    });
    EXPECT_THAT(diary.take(), ElementsAre("x", "a", "single1", "single2", "single3", "y"));
  }
}

TEST_F(Priority, OfAPlanIsMeasuredFromTheSecondIterationOn) {
  // By hops the chain is urgent; by time the long task is, which comes last.
  TaskGraph graph(options());
  std::vector<Block> data = blocks(2);
  Plan const plan = graph.record([&] {
    noted(graph, "one", {writes(data[0])});
    noted(graph, "two", {reads(data[0]), writes(data[1])});
    noted(graph, "three", {reads(data[1])});
    noted(graph, "long", {}, {}, 20ms);
  });
  auto const replay = [&] { run_alone(graph, [&] { graph.replay(plan); }); };
  replay();
  EXPECT_THAT(diary.take(), ElementsAre("one", "two", "long", "three"));
  // A busy machine may hold up a short task once; that is forgotten.
  Names last;
  for (int round = 0; round < 30 && last != Names{"long", "one", "two", "three"}; ++round) {
    replay();
    last = diary.take();
  }
  EXPECT_THAT(last, ElementsAre("long", "one", "two", "three"));
  std::vector<experimental::Urgency> const found = policy->urgency_of_plan(policy->plans()[0]);
  EXPECT_GE(found[3].rank, 20'000'000);
  EXPECT_GE(found[0].rank, found[1].rank);
  EXPECT_GE(found[1].rank, found[2].rank);
}

TEST_F(Priority, ManyPlansAreNotKeptForEver) {
  TaskGraph graph(options());
  Block x("x");
  Plan const kept = graph.record([&] { noted(graph, "kept", {writes(x)}); });
  for (int k = 0; k < 200; ++k) {
    Plan const plan = graph.record([&] { noted(graph, "t", {writes(x)}); });
    graph.replay(plan);
    graph.replay(kept);
    graph.wait();
  }
  EXPECT_THAT(policy->plans(), SizeIs(64));
  EXPECT_THAT(policy->urgency_of_plan(policy->plans().front()), SizeIs(1))
      << "the one that is used is the oldest";
}

TEST_F(Priority, ExclusiveTasksHaveTheirTurnsByRank) {
  policy = experimental::make_priority_policy({.measures = false});
  TaskGraph graph(options());
  Block box("box");
  std::vector<Block> data = blocks(3);
  Plan const plan = graph.record([&] {
    noted(graph, "first", {excludes(box)});
    noted(graph, "nothing behind it", {excludes(box)});
    noted(graph, "one behind it", {excludes(box), writes(data[0])});
    noted(graph, "two behind it", {excludes(box), writes(data[1])});
    noted(graph, "of one", {reads(data[0])});
    noted(graph, "of two", {reads(data[1]), writes(data[2])});
    noted(graph, "of that", {reads(data[2])});
  });
  run_alone(graph, [&] { graph.replay(plan); });
  Names order = diary.take();
  std::erase_if(order, [](std::string const& name) { return name.starts_with("of"); });
  EXPECT_THAT(order, ElementsAre("first", "two behind it", "one behind it", "nothing behind it"));
}

TEST_F(Priority, IsLearntFromARecordedRun) {
  std::vector<Block> data = blocks(4);
  {
    TaskGraphOptions recording = options();
    recording.record = true;
    recording.policy = nullptr;
    TaskGraph graph(recording);
    submit_example(graph, data);
    graph.wait();
    (void)diary.take();
    policy->learn(graph.dependency_graph());
  }
  EXPECT_GT(policy->urgency("x")->rank, policy->urgency("a")->rank);
  EXPECT_EQ(policy->urgency("a")->consumers, 2u);
  TaskGraph graph(options());
  run_alone(graph, [&] {
    for (char const* name : {"s", "b", "a", "x"}) noted(graph, name, {});
  });
  EXPECT_THAT(diary.take(), ElementsAre("x", "a", "b", "s"));
}

/// Random tasks on few blocks, in a plan, in a loop and one by one, on several workers: each block
/// ends as it does when they run in order.
TEST_F(Priority, RunsRandomProgramsAsTheyAreWritten) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    std::vector<Names> results;
    for (bool const serially : {true, false}) {
      policy = experimental::make_priority_policy();
      TaskGraphOptions asked = options(4);
      asked.serial = serially;
      TaskGraph graph(asked);
      std::mt19937 random(seed);
      std::vector<Block> data = blocks(5);
      auto const some = [&] {
        for (int k = 0; k < 25; ++k) {
          std::size_t const to = random() % data.size();
          std::size_t const from = random() % data.size();
          std::vector<Touch> touches{updates(data[to])};
          if (from != to) touches.push_back(reads(data[from]));
          if (random() % 5 == 0) touches = {excludes(data[to])};
          long* const target = &data[to][0];
          long const* const source = &data[from][0];
          bool const adds = touches.front().mode == Mode::exclusive;
          task(graph, Label("t" + std::to_string(k)), touches,
               [target, source, adds, k] {
                 auto value = static_cast<unsigned long>(*target);
                 if (!adds) value = value * 3 + static_cast<unsigned long>(*source);
                 *target = static_cast<long>(value + static_cast<unsigned long>(k));
               },
               {.priority = static_cast<int>(random() % 3) - 1});
        }
      };
      Plan const plan = graph.record(some);
      graph.replay(plan, 6);
      some();
      std::mt19937 const same = random;
      graph.iterate("loop", 6, [&] {
        random = same;
        some();
      });
      graph.replay(plan, 2);
      graph.wait();
      Names values;
      for (Block& block : data) values.push_back(std::to_string(block[0]));
      results.push_back(values);
    }
    ASSERT_EQ(results[0], results[1]) << "seed " << seed;
  }
}

TEST_F(Priority, IsChosenByTheEnvironment) {
  setenv("TRELLIS_POLICY", "priority", 1);
  TaskGraphOptions asked = with_workers(1);
  TaskGraph const graph(asked);
  unsetenv("TRELLIS_POLICY");
  EXPECT_EQ(graph.options().policy->name(), "priority");
}

// --- times ---------------------------------------------------------------------------------------

/// Notes the times that a policy is told.
class Stopwatch : public ForwardingPolicy {
 public:
  explicit Stopwatch(bool wants) : ForwardingPolicy(make_work_stealing_policy()), m_wants(wants) {}
  [[nodiscard]] bool wants_times() const override { return m_wants; }
  void ran(ReadyTask task, std::chrono::nanoseconds time) override {
    std::lock_guard const lock(m_mutex);
    m_times.emplace(task.label(), time);
  }
  [[nodiscard]] std::multimap<std::string, std::chrono::nanoseconds> times() const {
    std::lock_guard const lock(m_mutex);
    return m_times;
  }

 private:
  bool const m_wants;
  mutable std::mutex m_mutex;
  std::multimap<std::string, std::chrono::nanoseconds> m_times;
};

class Times : public Async {
 protected:
  std::shared_ptr<Stopwatch> watch = std::make_shared<Stopwatch>(true);
  [[nodiscard]] TaskGraphOptions options(int workers) const {
    TaskGraphOptions result = with_workers(workers);
    result.policy = watch;
    return result;
  }
  [[nodiscard]] std::chrono::nanoseconds time(std::string const& label) const {
    auto const all = watch->times();
    EXPECT_EQ(all.count(label), 1u) << label;
    return all.contains(label) ? all.find(label)->second : 0ns;
  }
};

TEST_F(Times, OfEachTaskThatHasRun) {
  TaskGraph graph(options(2));
  Block x("x");
  task(graph, "short", {writes(x)}, [] { spin(2ms); });
  task(graph, "long", {updates(x)}, [] { spin(8ms); });
  task(graph, "fails", {updates(x)}, [] { throw 1; });
  task(graph, "is cancelled", {reads(x)}, [] {});
  EXPECT_THROW(graph.wait(), Error);
  EXPECT_THAT(watch->times(), SizeIs(2));
  EXPECT_GE(time("short"), 2ms);
  EXPECT_GE(time("long"), 8ms);
}

TEST_F(Times, OfATaskWithChildrenReachToTheLastOfThem) {
  TaskGraph graph(options(2));
  Block x("x");
  task(graph, "whole", {writes(x)}, [&] { child("child", {writes(x)}, [] { spin(5ms); }); });
  graph.wait();
  EXPECT_GE(time("child"), 5ms);
  EXPECT_GE(time("whole"), time("child"));
}

TEST_F(Times, OfEachRoundOfAPlanAndOfTheReplay) {
  TaskGraph graph(options(2));
  Block x("x");
  Plan const plan =
      graph.record("plan", [&] { task(graph, "step", {updates(x)}, [] { spin(1ms); }); });
  graph.replay(plan, 5);
  graph.wait();
  auto const all = watch->times();
  EXPECT_EQ(all.count("step"), 5u);
  for (auto [at, end] = all.equal_range("step"); at != end; ++at) EXPECT_GE(at->second, 1ms);
  EXPECT_GE(time("plan"), 5ms);
}

TEST_F(Times, OfADeviceAreThoseOfTheDevice) {
  TaskGraph graph(options(1));
  Block x("x");
  kernel(graph, "first", {writes(x)}, [] { std::this_thread::sleep_for(200ms); });
  kernel(graph, "second", {updates(x)}, [] { std::this_thread::sleep_for(5ms); });
  graph.wait();
  EXPECT_GE(time("first"), 190ms);
  EXPECT_GE(time("second"), 4ms);
  EXPECT_LT(time("second"), 150ms) << "from its own begin, and not from its launch";
}

TEST_F(Times, ArePassedOnAndNotTakenWhereNobodyWantsThem) {
  ForwardingPolicy const around(watch);
  EXPECT_TRUE(around.wants_times());
  watch = std::make_shared<Stopwatch>(false);
  TaskGraph graph(options(1));
  task(graph, "t", {}, [] {});
  graph.wait();
  EXPECT_THAT(watch->times(), SizeIs(0));
}

}  // namespace
}  // namespace trellis
