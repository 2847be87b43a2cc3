// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Properties and rules of the user's own, the order that exclusive tasks get, and who may watch.
#include "BareTask.hpp"
#include "Timing.hpp"

#include <Trellis_Observer.hpp>
#include <Trellis_SchedulingPolicy.hpp>

#include <gmock/gmock.h>

#include <deque>
#include <map>
#include <mutex>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Rules : public Timed {};
class ExclusionOrder : public Timed {};
class Observer : public Timed {};

enum class Kind { other, input, output };
struct Phase {
  int number = 0;
  friend bool operator==(Phase const&, Phase const&) = default;
};

TEST_F(Rules, OrderedTasksKeepTheirOrder) {
  TaskGraph graph(recorded(3));
  graph.add_rule<Kind>("input first", Constraint::ordered, [](Kind earlier, Kind later) {
    return earlier == Kind::input && later == Kind::output;
  });
  Gate gate;
  std::atomic<int> inputs{0};
  for (char const* name : {"i", "j"})
    task(
        graph, name, {},
        [&] {
          EXPECT_TRUE(gate.pass());
          ++inputs;
        },
        tagged(Kind::input));
  Future<void> const free = task(graph, "free", {}, [] {});
  task(graph, "o", {}, [&] { EXPECT_EQ(inputs, 2); }, tagged(Kind::output));
  task(graph, "p", {}, [] {}, tagged(Kind::output));
  until_done(free);
  gate.open();
  graph.wait();
  EXPECT_THAT(edges_of(graph.scheduling_graph()),
              ElementsAre("i>o rule", "i>p rule", "j>o rule", "j>p rule"));
  EXPECT_THAT(graph.dependency_graph().edges(), IsEmpty()) << "a rule is no dependency";
}

TEST_F(Rules, TasksWithoutTheTagHaveItsDefault) {
  TaskGraph graph(recorded(2));
  graph.add_rule<Phase>(
      "phases", Constraint::ordered,
      [](Phase const& earlier, Phase const& later) { return earlier.number < later.number; });
  task(graph, "a", {}, [] {});
  task(graph, "b", {}, [] {}, tagged(Phase{1}));
  task(graph, "c", {}, [] {}, tagged(Phase{1}));
  task(graph, "d", {}, [] {}, tagged(Phase{2}));
  task(graph, "e", {}, [] {});
  graph.wait();
  EXPECT_THAT(edges_of(graph.scheduling_graph()),
              ElementsAre("a>b rule", "a>c rule", "a>d rule", "b>d rule", "c>d rule"));
}

TEST_F(Rules, AClassThatIsOrderedIsAChain) {
  TaskGraph graph(recorded(2));
  graph.add_rule<Phase>("serial", Constraint::ordered,
                        [](Phase const& a, Phase const& b) { return a == b; });
  for (int k = 0; k < 4; ++k) task(graph, std::to_string(k), {}, [] {}, tagged(Phase{k % 2}));
  graph.wait();
  EXPECT_THAT(edges_of(graph.scheduling_graph()), ElementsAre("0>2 rule", "1>3 rule"));
}

TEST_F(Rules, ExclusiveTasksNeverRunAtTheSameTime) {
  TaskGraph graph(recorded(3));
  graph.add_rule<Kind>("one disk", Constraint::exclusive,
                       [](Kind a, Kind b) { return a != Kind::other && b != Kind::other; });
  Occupancy occupancy;
  for (int k = 0; k < 40; ++k)
    task(
        graph, "disk", {}, [&] { Occupancy::Stay const stay(occupancy); },
        tagged(k % 2 == 0 ? Kind::input : Kind::output));
  Rendezvous both(2);
  for (int k = 0; k < 2; ++k) task(graph, "free", {}, [&] { EXPECT_TRUE(both.meet()); });
  graph.wait();
  EXPECT_EQ(occupancy.most(), 1);
  SchedulingGraph const recorded = graph.scheduling_graph();
  EXPECT_EQ(recorded.edges().size(), 39U);
  for (EdgeRecord const& edge : recorded.edges()) EXPECT_EQ(edge.reason, EdgeReason::exclusion);
}

TEST_F(Rules, HoldAmongChildrenOfOneTask) {
  TaskGraph graph(recorded(2));
  graph.add_rule<Phase>("serial", Constraint::ordered,
                        [](Phase const& a, Phase const& b) { return a == b && a.number > 0; });
  for (char const* name : {"x", "y"})
    task(graph, name, {}, [name] {
      child(std::string(name) + "1", {}, [] {}, tagged(Phase{1}));
      child(std::string(name) + "2", {}, [] {}, tagged(Phase{1}));
    });
  graph.wait();
  EXPECT_THAT(edges_of(graph.scheduling_graph()), ElementsAre("x1>x2 rule", "y1>y2 rule"));
}

TEST_F(Rules, AreMadeBeforeTheFirstTask) {
  TaskGraph graph(with_workers(1));
  task(graph, "first", {}, [] {});
  Error const error = error_of([&] {
    graph.add_rule<Kind>("too late", Constraint::ordered, [](Kind, Kind) { return true; });
  });
  EXPECT_THAT(error.what(), AllOf(HasSubstr("\"too late\""), HasSubstr("already has tasks")));
}

TEST_F(Rules, ManyTagValuesTakeConstantMemory) {
  TaskGraph graph(with_workers(2));
  int compared = 0;
  graph.add_rule<Phase>("serial", Constraint::ordered, [&](Phase const& a, Phase const& b) {
    ++compared;
    return a == b;
  });
  for (int k = 0; k < 3000; ++k) {
    task(graph, "t", {}, [] {}, tagged(Phase{k}));
    if (k % 100 == 0) graph.wait();
  }
  graph.wait();
  EXPECT_LT(compared, 3000 * 800) << "values that no task in flight has are forgotten";
}

TEST_F(Rules, ASchedulingPolicySeesTheTags) {
  class Watching : public SchedulingPolicy {
   public:
    std::string_view name() const override { return "watching"; }
    void start(int) override {}
    void push(ReadyTask task, int) override {
      std::lock_guard const lock(m_mutex);
      seen.push_back(task.tag<Phase>().number);
      m_tasks.push_back(task);
    }
    ReadyTask finished(std::span<ReadyTask const> ready, int slot) override {
      for (ReadyTask const task : ready) push(task, slot);
      return {};
    }
    ReadyTask pop(int) override {
      std::lock_guard const lock(m_mutex);
      if (m_tasks.empty()) return {};
      ReadyTask const task = m_tasks.front();
      m_tasks.pop_front();
      return task;
    }
    bool empty() const override {
      std::lock_guard const lock(m_mutex);
      return m_tasks.empty();
    }
    std::vector<int> seen;

   private:
    mutable std::mutex m_mutex;
    std::deque<ReadyTask> m_tasks;
  };
  auto const policy = std::make_shared<Watching>();
  TaskGraphOptions options = with_workers(1);
  options.policy = policy;
  TaskGraph graph(options);
  task(graph, "a", {}, [] {}, tagged(Phase{3}));
  task(graph, "b", {}, [] {});
  graph.wait();
  EXPECT_THAT(policy->seen, ElementsAre(3, 0));
}

// --- the order of exclusive tasks ----------------------------------------------------------------

TEST_F(ExclusionOrder, IsRecordedAlsoWhenNobodyHadToWait) {
  Block x("x");
  TaskGraph graph(recorded(2));
  for (char const* name : {"a", "b", "c"}) task(graph, name, {excludes(x)}, [] {}).wait();
  EXPECT_THAT(edges_of(graph.scheduling_graph()), ElementsAre("a>b exclusion", "b>c exclusion"));
  EXPECT_THAT(graph.dependency_graph().edges(), IsEmpty());
}

TEST_F(ExclusionOrder, IsThatInWhichTheyBecomeReady) {
  for (bool swapped : {false, true}) {
    Block x("x");
    Block hold_first("first");
    Block hold_second("second");
    TaskGraph graph(recorded(3));
    Gate first;
    Gate second;
    task(graph, "hold first", {writes(hold_first)}, [&] { first.pass(); });
    task(graph, "hold second", {writes(hold_second)}, [&] { second.pass(); });
    Future<void> const a = task(graph, "a", {excludes(x), reads(hold_first)}, [] {});
    Future<void> const b = task(graph, "b", {excludes(x), reads(hold_second)}, [] {});
    (swapped ? second : first).open();
    until_done(swapped ? b : a);
    (swapped ? first : second).open();
    graph.wait();
    EXPECT_THAT(
        edges_of(graph.scheduling_graph()),
        ElementsAre(swapped ? "b>a exclusion" : "a>b exclusion", "hold first>a", "hold second>b"));
  }
}

TEST_F(ExclusionOrder, LeavesOutWhatIsADependencyAnyway) {
  Block x("x", 2);
  TaskGraph graph(recorded(2));
  task(graph, "a", {excludes(x)}, [] {});
  task(graph, "w", {writes(x)}, [] {});
  task(graph, "b", {excludes(x)}, [] {}).wait();  // or "left" may be ready before it
  task(graph, "left", {excludes(x(0, 1))}, [] {}).wait();
  task(graph, "right", {excludes(x(1, 1))}, [] {}).wait();
  task(graph, "all", {excludes(x)}, [] {});
  graph.wait();
  EXPECT_THAT(edges_of(graph.dependency_graph()),
              ElementsAre("a>w", "w>all", "w>b", "w>left", "w>right"));
  std::vector<std::string> const edges = edges_of(graph.scheduling_graph());
  EXPECT_THAT(edges, testing::IsSupersetOf({"b>left exclusion", "b>right exclusion",
                                            "left>all exclusion", "right>all exclusion"}));
  EXPECT_THAT(edges, testing::Not(testing::Contains("left>right exclusion")));
  EXPECT_THAT(edges, testing::Not(testing::Contains("a>b exclusion")));
}

// --- observers -----------------------------------------------------------------------------------

TEST_F(Observer, SeesEveryStateOfEveryTaskInOrder) {
  std::mutex mutex;
  std::map<TaskId, std::string> seen;
  std::map<TaskId, TaskId> parents;
  TaskGraphOptions options = with_workers(3);
  options.observer = [&](TaskEvent const& event) {
    std::lock_guard const lock(mutex);
    std::string& states = seen[event.id];
    if (states.empty()) states = event.label;
    states += ' ' + std::string(to_string(event.state));
    parents[event.id] = event.parent;
  };
  TaskGraph graph(options);
  Block x("x");
  task(graph, "good", {updates(x)}, [&] { child("child", {}, [] {}); });
  task(graph, "bad", {updates(x)}, [] { throw std::runtime_error("no luck"); });
  task(graph, "behind", {updates(x)}, [] {});
  EXPECT_THROW(graph.wait(), Error);
  for (int k = 0; k < 300; ++k) task(graph, "t", {k % 3 == 0 ? updates(x) : excludes(x)}, [] {});
  graph.wait();
  TaskId child_id = 0;
  for (auto const& [id, states] : seen) {
    if (states.starts_with("bad"))
      EXPECT_EQ(states, "bad pending ready running failed");
    else if (states.starts_with("behind"))
      EXPECT_EQ(states, "behind pending ready cancelled");
    else
      EXPECT_THAT(states, testing::EndsWith(" pending ready running done"));
    if (states.starts_with("child")) child_id = id;
  }
  EXPECT_EQ(seen.size(), 304U);
  EXPECT_EQ(parents[child_id], 1U);
}

TEST_F(Observer, MaySubmitAndMayNotThrow) {
  TaskGraphOptions options = with_workers(2);
  std::atomic<int> ran{0};
  TaskGraph* here = nullptr;
  options.observer = [&](TaskEvent const& event) {
    if (event.label == "first" && event.state == TaskState::done)
      task(*here, "second", {}, [&] { ++ran; });
    if (event.label == "second") throw std::runtime_error("ignored");
  };
  TaskGraph graph(options);
  here = &graph;
  testing::internal::CaptureStderr();
  task(graph, "first", {}, [&] { ++ran; });
  graph.wait();
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("the observer of TaskGraph threw"));
  EXPECT_EQ(ran, 2);
}

}  // namespace
}  // namespace trellis
