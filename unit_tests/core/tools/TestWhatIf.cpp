// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Recorded graphs in virtual time: known graphs on other machines, and bounds on random ones.
#include "GraphTest.hpp"
#include "KnownGraphs.hpp"

#include <Trellis_Analysis.hpp>
#include <Trellis_Error.hpp>
#include <Trellis_PriorityPolicy.hpp>
#include <Trellis_WhatIf.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace trellis {
namespace {

using namespace Test;
using testing::HasSubstr;

WhatIf with_cost(TaskCost cost) {
  WhatIf what_if;
  what_if.cost = std::move(cost);
  what_if.as_submitted = false;
  return what_if;
}
TaskCost constant(double cost) {
  return [cost](TaskRecord const&) { return cost; };
}
double makespan(Graph const& graph, int workers, TaskCost cost = unit_cost()) {
  return simulate(graph, {.workers = workers}, with_cost(std::move(cost))).makespan;
}

TEST(WhatIf, ThreadsForOperatorsWinWhereTasksAreInARow) {
  // 1 -> 2 -> 3 -> 4 and 1 -> 5 on 8 threads, operators that use each thread to the full.
  Graph const graph = numbered(5, {{1, 2}, {2, 3}, {3, 4}, {1, 5}});
  EXPECT_EQ(makespan(graph, 1, constant(1.0 / 8)), 0.625);
  EXPECT_EQ(makespan(graph, 2, constant(1.0 / 4)), 1.0);
  EXPECT_EQ(makespan(graph, 2), 4) << "two workers are enough";
  EXPECT_EQ(makespan(graph, 8), 4);
}

TEST(WhatIf, ThreadsForTasksOrForOperatorsAreTheSameWhereBothAreParallel) {
  Graph const graph = numbered(3, {});
  EXPECT_EQ(makespan(graph, 3), 1);
  EXPECT_DOUBLE_EQ(makespan(graph, 1, constant(1.0 / 3)), 1);
}

TEST(WhatIf, OfKnownGraphs) {
  EXPECT_EQ(makespan(numbered(8, {}), 4), 2);
  EXPECT_EQ(makespan(numbered(8, {}), 3), 3);
  EXPECT_EQ(makespan(chain(6), 4), 6);
  EXPECT_EQ(makespan(equations(16, 6), 1), 112);
  EXPECT_EQ(makespan(equations(16, 6), 112), 2);
  EXPECT_EQ(makespan(shared_product(8), 4), 3);
  EXPECT_EQ(simulate(Graph(), {.workers = 2}).makespan, 0);
}

TEST(WhatIf, APolicyDecides) {
  // A long chain 2 -> 3 -> 4 and three single tasks before it on two workers: first come first
  // served takes 5, the longest path first 3.
  Graph const graph({task(1, "single"), task(5, "single"), task(6, "single"), task(7, "first"),
                     task(8, "second"), task(9, "third")},
                    {{7, 8}, {8, 9}});
  WhatIf what_if = with_cost(unit_cost());
  what_if.policy = make_fifo_policy();
  EXPECT_EQ(simulate(graph, {.workers = 2}, what_if).makespan, 4);
  auto const policy = experimental::make_priority_policy();
  std::vector<TaskRank> const of_tasks = ranks(graph, unit_cost());
  for (std::size_t k = 0; k < of_tasks.size(); ++k)
    policy->set_urgency(graph.nodes()[k].label, {static_cast<std::int64_t>(of_tasks[k].rank), 0});
  what_if.policy = policy;
  EXPECT_EQ(simulate(graph, {.workers = 2}, what_if).makespan, 3);
}

TEST(WhatIf, PrioritiesOfTasksCount) {
  std::vector<TaskRecord> nodes{task(1, "a"), task(2, "b"), task(3, "c")};
  nodes[2].priority = 1;
  Schedule const schedule = simulate(Graph(nodes, {}), {.workers = 1}, with_cost(unit_cost()));
  EXPECT_EQ(schedule.runs[2].begin, 0);
  EXPECT_EQ(schedule.runs[0].begin, 1);
}

TEST(WhatIf, AgreesWithTheBoundsOfListSchedulingOnRandomGraphs) {
  std::mt19937 random(3);
  for (int round = 0; round < 150; ++round) {
    std::size_t const size = 1 + random() % 40;
    std::vector<EdgeRecord> edges;
    for (TaskId to = 2; to <= size; ++to)
      for (TaskId from = to > 6 ? to - 6 : 1; from < to; ++from)
        if (random() % 4 == 0) edges.push_back({from, to});
    std::map<TaskId, double> costs;
    for (TaskId id = 1; id <= size; ++id) costs[id] = 1 + random() % 5;
    Graph const graph = numbered(size, edges);
    auto const cost = [&](TaskRecord const& task) { return costs[task.id]; };
    GraphAnalysis const analysis = analyse(graph, cost);
    int const workers = 1 + static_cast<int>(random() % 5);
    WhatIf what_if = with_cost(cost);
    switch (random() % 4) {
      case 0:
        what_if.policy = make_fifo_policy();
        break;
      case 1:
        what_if.policy = make_shake_policy(random());
        break;
      case 2:
        what_if.policy = experimental::make_priority_policy();
        break;
      default:
        break;
    }
    Schedule const schedule = simulate(graph, {.workers = workers}, what_if);
    // Graham: no list schedule is longer, none shorter.
    ASSERT_GE(schedule.makespan, std::max(analysis.span, analysis.work / workers) - 1e-9) << round;
    if (what_if.policy == nullptr || what_if.policy->name() != "shake") {
      ASSERT_LE(schedule.makespan,
                analysis.work / workers + (1 - 1.0 / workers) * analysis.span + 1e-9)
          << round;
    }
    for (EdgeRecord const& edge : graph.edges())
      ASSERT_LE(schedule.runs[edge.from - 1].end, schedule.runs[edge.to - 1].begin) << round;
    for (std::size_t a = 0; a < size; ++a)
      for (std::size_t b = 0; b < a; ++b)
        ASSERT_TRUE(schedule.runs[a].row != schedule.runs[b].row ||
                    schedule.runs[a].end <= schedule.runs[b].begin ||
                    schedule.runs[b].end <= schedule.runs[a].begin)
            << round;
    if (workers == 1) {
      ASSERT_EQ(schedule.makespan, analysis.work);
    }
  }
}

TaskRecord with_access(TaskRecord record, std::string mode, std::uint64_t resource,
                       std::string area = "whole") {
  record.accesses.push_back(
      {"r" + std::to_string(resource), std::move(mode), std::move(area), resource, false});
  return record;
}

TEST(WhatIf, ExclusiveTasksTakeTurnsAnewAndByPriority) {
  // Recorded in the order 1, 2, 3. 3 is urgent.
  std::vector<TaskRecord> nodes;
  for (TaskId id = 1; id <= 3; ++id) nodes.push_back(with_access(task(id, "t"), "exclusive", 1));
  nodes[2].priority = 5;
  Graph const graph(nodes, {{1, 2, EdgeReason::exclusion}, {2, 3, EdgeReason::exclusion}});
  Schedule const schedule = simulate(graph, {.workers = 3}, with_cost(unit_cost()));
  EXPECT_EQ(schedule.makespan, 3) << "one at a time";
  EXPECT_LT(schedule.runs[2].begin, schedule.runs[1].begin);
}

TEST(WhatIf, PhilosophersEatTwoAtATime) {
  std::vector<TaskRecord> nodes;
  std::vector<EdgeRecord> edges;
  for (TaskId id = 1; id <= 5; ++id) {
    nodes.push_back(
        with_access(with_access(task(id, "eat"), "exclusive", id), "exclusive", id % 5 + 1));
    if (id > 1) edges.push_back({id - 1, id, EdgeReason::exclusion});
  }
  Graph const graph(nodes, edges);
  Schedule const schedule = simulate(graph, {.workers = 5}, with_cost(unit_cost()));
  EXPECT_EQ(schedule.makespan, 3);
  for (std::size_t k = 0; k < 5; ++k)
    EXPECT_NE(schedule.runs[k].begin, schedule.runs[(k + 1) % 5].begin) << "share a fork";
}

TEST(WhatIf, ATaskOfSeveralWorkersWaitsForThem) {
  std::vector<TaskRecord> nodes{task(1, "a"), task(2, "wide"), task(3, "b"), task(4, "c")};
  nodes[1].workers = 2;
  auto const cost = [](TaskRecord const& task) { return task.id == 1 ? 3.0 : 1.0; };
  WhatIf what_if = with_cost(cost);
  what_if.policy = make_fifo_policy();
  Schedule const schedule = simulate(Graph(nodes, {}), {.workers = 2}, what_if);
  EXPECT_EQ(schedule.runs[1].begin, 3) << "nothing else begins meanwhile";
  EXPECT_EQ(schedule.runs[2].begin, 4);
  EXPECT_EQ(schedule.makespan, 5);
  WhatIf again = with_cost(cost);
  EXPECT_EQ(simulate(Graph(nodes, {}), {.workers = 1}, again).makespan, 7)
      << "with one worker it takes twice as long";
}

TEST(WhatIf, TasksOfTheMainThreadRunThere) {
  std::vector<TaskRecord> nodes;
  for (TaskId id = 1; id <= 4; ++id) {
    nodes.push_back(task(id, "t"));
    nodes.back().main_thread = id > 1;
  }
  Schedule const schedule = simulate(Graph(nodes, {}), {.workers = 4}, with_cost(unit_cost()));
  EXPECT_EQ(schedule.makespan, 3);
  for (std::size_t k = 1; k < 4; ++k) EXPECT_EQ(schedule.runs[k].row, 0);
}

TEST(WhatIf, OverheadCountsForEachTask) {
  EXPECT_EQ(simulate(chain(4), {.workers = 1, .overhead = 0.5}, with_cost(unit_cost())).makespan,
            6);
}

TEST(WhatIf, ChildrenRunWithinTheirParent) {
  std::vector<TaskRecord> nodes{task(1, "parent"), task(2, "p"), task(3, "p"), task(4, "next")};
  nodes[1].parent = nodes[2].parent = 1;
  Graph const graph(nodes, {{1, 4}});
  EXPECT_EQ(makespan(graph, 2), 3);
  EXPECT_EQ(makespan(graph, 1), 4);
  Schedule const schedule = simulate(graph, {.workers = 2}, with_cost(unit_cost()));
  EXPECT_EQ(schedule.runs[0].body_end, 1);
  EXPECT_EQ(schedule.runs[0].end, 2);
}

// --- devices -------------------------------------------------------------------------------------

/// Tasks on a device, each on a stream of its own, one at a time; and a host task behind them.
Trace device_trace() {
  std::vector<TaskRecord> nodes;
  std::vector<EdgeRecord> edges;
  for (TaskId id = 1; id <= 4; ++id) {
    nodes.push_back(ran(id, "kernel", 1 + static_cast<int>(id), 1000 * id, 1000 * id + 1000));
    nodes.back().space = "Cuda";
    nodes.back().submitted_ns = 10;
    edges.push_back({id, 5});
  }
  nodes.push_back(ran(5, "host", 0, 5000, 5500));
  nodes.back().submitted_ns = 10;
  return {SchedulingGraph(nodes, edges),
          {"main thread", "worker 1", "Cuda stream 0", "Cuda stream 1", "Cuda stream 2",
           "Cuda stream 3"},
          1,
          2};
}

TEST(WhatIf, OneDeviceMore) {
  Trace const trace = device_trace();
  EXPECT_EQ(simulate(trace).makespan, 4500);
  EXPECT_EQ(simulate(trace, {.devices = 1}).makespan, 4500);
  EXPECT_EQ(simulate(trace, {.devices = 2}).makespan, 2500);
  EXPECT_EQ(simulate(trace, {.devices = 8}).makespan, 1500);
  EXPECT_EQ(simulate(trace, {.tasks_per_device = 4}).makespan, 1500);
  EXPECT_EQ(simulate(trace, {.workers = 8}).makespan, 4500) << "workers do not help";
}

TEST(WhatIf, AChainStaysOnItsDevice) {
  std::vector<TaskRecord> nodes;
  for (TaskId id = 1; id <= 4; ++id) {
    nodes.push_back(ran(id, "kernel", 1, 1000 * id, 1000 * id + 1000));
    nodes.back().space = "Cuda device " + std::to_string(id % 2);
  }
  Trace const trace{
      SchedulingGraph(nodes, {{1, 3}, {2, 4}}), {"main thread", "Cuda stream 0"}, 1, 1};
  Schedule const schedule = simulate(trace, {.devices = 2});
  EXPECT_EQ(schedule.runs[0].row, schedule.runs[2].row);
  EXPECT_EQ(schedule.runs[1].row, schedule.runs[3].row);
  EXPECT_EQ(schedule.rows,
            (std::vector<std::string>{"worker 0", "Cuda device 0", "Cuda device 1"}));
}

// --- submission ----------------------------------------------------------------------------------

TEST(WhatIf, TasksAreSubmittedAsFarApartAsTheyWere) {
  std::vector<TaskRecord> nodes;
  for (TaskId id = 1; id <= 4; ++id) {
    nodes.push_back(ran(id, "t", 1, 1000 * id + 5000, 1000 * id + 6000));
    nodes.back().submitted_ns = 5000 + 300 * id;
  }
  Graph const graph(nodes, {});
  EXPECT_EQ(simulate(graph, {.workers = 1}).makespan, 4000);
  EXPECT_EQ(simulate(graph, {.workers = 9}).makespan, 1900) << "the last one came after 900";
  WhatIf at_once;
  at_once.as_submitted = false;
  EXPECT_EQ(simulate(graph, {.workers = 9}, at_once).makespan, 1000);
}

TEST(WhatIf, AThreadThatWaitedWaitsAgain) {
  // Two tasks; when both were complete, after 40 more, two more.
  std::vector<TaskRecord> nodes{ran(1, "a", 0, 1000, 2000), ran(2, "a", 0, 2000, 3000),
                                ran(3, "b", 0, 3040, 4040), ran(4, "b", 0, 4040, 5040)};
  nodes[0].submitted_ns = nodes[1].submitted_ns = 1000;
  nodes[2].submitted_ns = nodes[3].submitted_ns = 3040;
  Graph const graph(nodes, {});
  EXPECT_EQ(simulate(graph, {.workers = 1}).makespan, 4040);
  EXPECT_EQ(simulate(graph, {.workers = 2}).makespan, 2040);
}

// --- what comes of it ----------------------------------------------------------------------------

TEST(WhatIf, AScheduleIsATrace) {
  Trace const trace = stencil(2, 6, 10);
  Schedule const schedule = simulate(trace, {.workers = 4});
  Trace const predicted = predicted_trace(trace, schedule);
  EXPECT_EQ(predicted.rows.size(), 4u);
  std::uint64_t end = 0;
  for (TaskRecord const& task : predicted.graph.nodes()) end = std::max(end, task.finished_ns);
  EXPECT_NEAR(static_cast<double>(end), schedule.makespan, 0.5);
  EXPECT_TRUE(contains(svg_of(predicted), "4 workers busy"));
  EXPECT_NEAR(analyse(predicted.graph).work, analyse(trace.graph).work, 60);
}

TEST(WhatIf, FasterLabels) {
  Graph const graph(
      {ran(1, "tile 1,2", 0, 0, 100), ran(2, "tile 3,4", 0, 100, 200), ran(3, "sum", 0, 200, 300)},
      {});
  auto const cost = faster(graph, "tile *,*", 2);
  EXPECT_EQ(cost(graph.node(1)), 50);
  EXPECT_EQ(cost(graph.node(2)), 50);
  EXPECT_EQ(cost(graph.node(3)), 100);
  EXPECT_EQ(faster(graph, "tile 1,2", 4, unit_cost())(graph.node(1)), 0.25);
  EXPECT_THROW((void)faster(graph, "sum", 0), Error);
}

TEST(WhatIf, PredictionsAreATable) {
  std::ostringstream out;
  out.imbue(std::locale(std::locale::classic(), new Grouping));
  write_predictions(out, device_trace());
  std::string const text = out.str();
  EXPECT_THAT(text, testing::ContainsRegex("as it was recorded +5\\.49"));
  EXPECT_THAT(text, testing::ContainsRegex("the same machine +4\\.5 .*s +1\\.000 +1\\.00 x"));
  EXPECT_THAT(text, testing::ContainsRegex("one device more +2\\.5 .*s +0\\.556 +1\\.80 x"));
  EXPECT_THAT(text, testing::ContainsRegex("\"kernel\" twice as fast +2\\.5 .*s"));
  EXPECT_THAT(text, testing::ContainsRegex("2 workers +4\\.5"));
}

TEST(WhatIf, WhatMakesNoSenseIsRefused) {
  EXPECT_THROW((void)simulate(chain(2), {.workers = -1}), Error);
  EXPECT_THROW((void)simulate(chain(2), {.workers = 1, .devices = -1}), Error);
  EXPECT_THROW((void)simulate(chain(2), {.workers = 1, .overhead = -1}), Error);
  EXPECT_THROW((void)simulate(numbered(2, {{1, 2}, {2, 1}}), {.workers = 1}), Error);
  struct Keeps : ForwardingPolicy {
    Keeps() : ForwardingPolicy(make_fifo_policy()) {}
    ReadyTask pop(int) override { return {}; }
  };
  WhatIf what_if;
  what_if.policy = std::make_shared<Keeps>();
  try {
    (void)simulate(chain(2), {.workers = 1}, what_if);
    ADD_FAILURE() << "no error";
  } catch (Error const& error) {
    EXPECT_THAT(error.what(), HasSubstr("the policy fifo never gives out 2 of the tasks"));
  }
}

}  // namespace
}  // namespace trellis
