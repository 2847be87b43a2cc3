// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How parallel a graph is: known graphs, and brute force over random ones.
#include "GraphTest.hpp"
#include "KnownGraphs.hpp"

#include <Trellis_Analysis.hpp>
#include <Trellis_Error.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace trellis {
namespace {

using namespace Test;
using testing::ElementsAre;
using testing::HasSubstr;
using Ids = std::vector<TaskId>;

// The graphs of the field's literature, with the values that arithmetic on paper gives.

TEST(Analysis, OfAChainWithOneTaskBesideIt) {
  // 1 -> 2 -> 3 -> 4, and 5 beside it: five units of work, four of them in a row.
  Graph const graph = numbered(5, {{1, 2}, {2, 3}, {3, 4}, {1, 5}});
  GraphAnalysis const found = analyse(graph, unit_cost());
  EXPECT_EQ(found.tasks, 5u);
  EXPECT_EQ(found.work, 5);
  EXPECT_EQ(found.span, 4);
  EXPECT_EQ(found.max_speedup(), 1.25);
  EXPECT_NEAR(found.parallel_fraction(), 0.25, 1e-12);
  EXPECT_NEAR(found.parallel_fraction(8), 0.228571428571, 1e-9);
  EXPECT_EQ(found.critical_path, (Ids{1, 2, 3, 4}));
}

TEST(Analysis, OfTasksThatNothingOrders) {
  GraphAnalysis const found = analyse(numbered(8, {}), unit_cost());
  EXPECT_EQ(found.max_speedup(), 8);
  EXPECT_EQ(found.parallel_fraction(), 1);
  GraphAnalysis const more = analyse(numbered(24, {}), unit_cost());
  EXPECT_NEAR(more.parallel_fraction(8), 1.095238, 1e-6) << "more than 1 says that eight are few";
}

TEST(Analysis, OfAChain) {
  GraphAnalysis const found = analyse(chain(7), unit_cost());
  EXPECT_EQ(found.max_speedup(), 1);
  EXPECT_EQ(found.parallel_fraction(), 0);
  EXPECT_EQ(found.critical_path, (Ids{1, 2, 3, 4, 5, 6, 7}));
}

TEST(Analysis, OfSixteenEquationsOfSixFluxes) {
  GraphAnalysis const found = analyse(equations(16, 6), unit_cost());
  EXPECT_EQ(found.work, 112);
  EXPECT_EQ(found.span, 2);
  EXPECT_EQ(found.max_speedup(), 56);
  // (1 - 1/56) / (1 - 1/112). 0.9911 would be that of 111 tasks.
  EXPECT_DOUBLE_EQ(found.parallel_fraction(), 110.0 / 111);
  EXPECT_NEAR(found.parallel_fraction(111), 0.9911, 5e-5);
}

TEST(Analysis, OfAProductThatEightShare) {
  Graph const graph = shared_product(8);
  GraphAnalysis const cheap = analyse(graph, unit_cost());
  EXPECT_EQ(cheap.max_speedup(), 4.5);
  EXPECT_DOUBLE_EQ(cheap.parallel_fraction(), 0.875);
  GraphAnalysis const costly =
      analyse(graph, [](TaskRecord const& task) { return task.label == "product" ? 8.0 : 1.0; });
  EXPECT_NEAR(costly.max_speedup(), 1.78, 5e-3);
  EXPECT_NEAR(costly.parallel_fraction(), 0.492, 5e-4);
  EXPECT_EQ(costly.critical_path, (Ids{1, 2}));
}

TEST(Analysis, HopsAreTheLongestPathAndNotTheShortest) {
  // x -> a -> c -> b -> s and a -> s: a search by breadth from s would say 2 for x.
  Graph const graph({task(1, "x"), task(2, "a"), task(3, "c"), task(4, "b"), task(5, "s")},
                    {{1, 2}, {2, 3}, {3, 4}, {4, 5}, {2, 5}});
  EXPECT_THAT(hops(graph), ElementsAre(4, 3, 2, 1, 0));
  std::vector<TaskRank> const found = ranks(graph, unit_cost());
  EXPECT_EQ(found[0].rank, 5);
  EXPECT_EQ(found[1].consumers, 2u);
}

TEST(Analysis, OfNothing) {
  GraphAnalysis const found = analyse(Graph(), unit_cost());
  EXPECT_EQ(found.work, 0);
  EXPECT_EQ(found.span, 0);
  EXPECT_EQ(found.max_speedup(), 1);
  EXPECT_EQ(found.parallel_fraction(), 0);
  EXPECT_TRUE(found.critical_path.empty());
  EXPECT_TRUE(hops(Graph()).empty());
  GraphAnalysis const one = analyse(numbered(1, {}), unit_cost());
  EXPECT_EQ(one.parallel_fraction(), 0);
}

TEST(Analysis, TasksWithoutCostDoNotCount) {
  Graph const graph = numbered(4, {{1, 2}, {2, 3}, {2, 4}});
  GraphAnalysis const found =
      analyse(graph, [](TaskRecord const& task) { return task.id == 2 ? 0.0 : 1.0; });
  EXPECT_EQ(found.tasks, 3u);
  EXPECT_EQ(found.critical_path, (Ids{1, 3}));
}

TEST(Analysis, EdgesMayCost) {
  Graph const graph = numbered(4, {{1, 2}, {1, 3}, {2, 4}, {3, 4}});
  auto const cost = [](EdgeRecord const& edge) { return edge.to == 3 ? 2.0 : 0.0; };
  GraphAnalysis const found = analyse(graph, unit_cost(), cost);
  EXPECT_EQ(found.span, 5);
  EXPECT_EQ(found.critical_path, (Ids{1, 3, 4}));
  EXPECT_EQ(ranks(graph, unit_cost(), cost)[0].rank, 5);
}

/// The costliest path from a task, by trying all.
double costliest(Graph const& graph, TaskId from, TaskCost const& cost, EdgeCost const& edge_cost) {
  double most = 0;
  for (EdgeRecord const& edge : graph.edges())
    if (edge.from == from)
      most = std::max(most, edge_cost(edge) + costliest(graph, edge.to, cost, edge_cost));
  return cost(graph.node(from)) + most;
}
std::size_t most_hops(Graph const& graph, TaskId from) {
  std::size_t most = 0;
  for (TaskId const next : graph.successors(from))
    most = std::max(most, 1 + most_hops(graph, next));
  return most;
}

TEST(Analysis, AgreesWithAllPathsOfRandomGraphs) {
  std::mt19937 random(7);
  for (int round = 0; round < 400; ++round) {
    std::size_t const size = 1 + random() % 11;
    // Edges lead from earlier to later ones in a random order of their own: those of exclusion and
    // of policies may lead back in the order of submission.
    std::vector<TaskId> order;
    for (TaskId id = 1; id <= size; ++id) order.push_back(id);
    std::shuffle(order.begin(), order.end(), random);
    std::vector<EdgeRecord> edges;
    for (std::size_t a = 0; a < size; ++a)
      for (std::size_t b = a + 1; b < size; ++b)
        if (random() % 3 == 0) {
          edges.push_back({order[a], order[b], EdgeReason::exclusion});
          if (random() % 5 == 0) edges.push_back({order[a], order[b], EdgeReason::rule});
        }
    std::vector<TaskRecord> nodes;
    std::vector<double> costs(size + 1);
    for (TaskId id = 1; id <= size; ++id) {
      nodes.push_back(task(id, "t"));
      costs[id] = random() % 4;
    }
    Graph const graph(nodes, edges);
    auto const cost = [&](TaskRecord const& task) { return costs[task.id]; };
    auto const edge_cost = [](EdgeRecord const& edge) {
      return static_cast<double>((edge.from * 7 + edge.to * 3) % 3);
    };
    double span = 0, work = 0;
    std::vector<TaskRank> const found = ranks(graph, cost, edge_cost);
    std::vector<std::size_t> const of_hops = hops(graph);
    for (TaskId id = 1; id <= size; ++id) {
      double const rank = costliest(graph, id, cost, edge_cost);
      ASSERT_EQ(found[id - 1].rank, rank) << "round " << round << ", task " << id;
      ASSERT_EQ(of_hops[id - 1], most_hops(graph, id)) << "round " << round << ", task " << id;
      ASSERT_EQ(found[id - 1].consumers, graph.successors(id).size());
      span = std::max(span, rank);
      work += costs[id];
    }
    GraphAnalysis const analysis = analyse(graph, cost, edge_cost);
    ASSERT_EQ(analysis.span, span) << round;
    ASSERT_EQ(analysis.work, work) << round;
    // Without costs of edges the path is made of its tasks alone.
    GraphAnalysis const bare = analyse(graph, cost);
    double sum = 0;
    for (std::size_t k = 0; k < bare.critical_path.size(); ++k) {
      sum += costs[bare.critical_path[k]];
      if (k > 0) {
        ASSERT_TRUE(graph.reaches(bare.critical_path[k - 1], bare.critical_path[k])) << round;
      }
    }
    ASSERT_EQ(sum, bare.span) << round;
  }
}

TEST(Analysis, ACircleIsAnErrorThatNamesIt) {
  Graph const graph({task(1, "a"), task(2, "b"), task(3, "c"), task(4, "d")},
                    {{1, 2}, {2, 3, EdgeReason::policy}, {3, 2, EdgeReason::exclusion}, {3, 4}});
  for (auto const& f : {std::function<void()>([&] { (void)analyse(graph, unit_cost()); }),
                        std::function<void()>([&] { (void)hops(graph); })}) {
    try {
      f();
      ADD_FAILURE() << "no error";
    } catch (Error const& error) {
      EXPECT_EQ(error.kind(), Error::Kind::bad_input);
      EXPECT_THAT(error.what(), testing::AnyOf(HasSubstr("\"b\" (#2) -> \"c\" (#3) -> \"b\""),
                                               HasSubstr("\"c\" (#3) -> \"b\" (#2) -> \"c\"")));
      EXPECT_THAT(error.what(), testing::Not(HasSubstr("\"d\"")));
    }
  }
}

TEST(Analysis, ANegativeCostIsAnError) {
  try {
    (void)analyse(chain(2), [](TaskRecord const&) { return -1.0; });
    ADD_FAILURE() << "no error";
  } catch (Error const& error) {
    EXPECT_THAT(error.what(), HasSubstr("the cost of task \"t1\" (#1)"));
  }
}

// --- tasks with children, demotions --------------------------------------------------------------

TaskRecord child(TaskRecord record, TaskId parent, std::uint64_t submitted = 0) {
  record.parent = parent;
  record.submitted_ns = submitted;
  return record;
}

TEST(Analysis, AChildComesAfterTheBodyOfItsParentAndBeforeItsEnd) {
  // No times: the body first. 1 owns 2 -> 3; 4 waits for 1.
  Graph const graph(
      {task(1, "parent"), child(task(2, "p"), 1), child(task(3, "q"), 1), task(4, "z")},
      {{2, 3}, {1, 4}});
  GraphAnalysis const found = analyse(graph, unit_cost());
  EXPECT_EQ(found.span, 4);
  EXPECT_EQ(found.critical_path, (Ids{1, 2, 3, 4}));
  EXPECT_THAT(hops(graph), ElementsAre(3, 2, 1, 0));
}

TEST(Analysis, AChildStartsWhenItsParentHadSubmittedIt) {
  // The parent's body takes 100; after 30 of it comes a child that takes 50, after 80 one of 40.
  TaskRecord parent = ran(1, "parent", 0, 1000, 1120);
  parent.returned_ns = 1100;
  Graph const graph({parent, child(ran(2, "early", 1, 1030, 1080), 1, 1030),
                     child(ran(3, "late", 1, 1080, 1120), 1, 1080)},
                    {});
  GraphAnalysis const found = analyse(graph);
  EXPECT_EQ(found.work, 190);
  EXPECT_EQ(found.span, 120) << "80 of the body, then 40";
  EXPECT_EQ(found.critical_path, (Ids{1, 3}));
}

TEST(Analysis, ABodyThatWaitsForItsChildrenGoesOnBehindThem) {
  // Submits a child at once, sleeps 60 while that runs elsewhere, then takes 40.
  TaskRecord parent = ran(1, "parent", 0, 1000, 1110);
  parent.returned_ns = 1110;
  parent.waited_ns = 60;
  Graph const graph({parent, child(ran(2, "child", 1, 1010, 1070), 1, 1010)}, {});
  GraphAnalysis const found = analyse(graph);
  EXPECT_EQ(found.work, 110);
  EXPECT_EQ(found.span, 110) << "10, the child's 60, 40";
  // A child that takes half as long makes it 80.
  auto const measured = measured_cost(graph);
  EXPECT_EQ(
      analyse(graph, [&](TaskRecord const& each) { return each.id == 2 ? 30.0 : measured(each); })
          .span,
      80);
}

TEST(Analysis, WhatRanAboveABodyIsNotItsOwn) {
  TaskRecord parent = ran(1, "parent", 0, 1000, 1100);
  parent.returned_ns = 1100;
  TaskRecord above = child(ran(2, "above", 0, 1020, 1070), 1, 1010);
  above.returned_ns = 1070;
  Graph const graph({parent, above, child(ran(3, "above that", 0, 1030, 1040), 2, 1025)}, {});
  auto const cost = measured_cost(graph);
  EXPECT_EQ(cost(graph.node(1)), 50);
  EXPECT_EQ(cost(graph.node(2)), 40);
  EXPECT_EQ(cost(graph.node(3)), 10);
}

TEST(Analysis, AQueuedDeviceTaskBeginsBehindTheOneBeforeIt) {
  Graph const graph({ran(1, "first", 5, 1000, 1100), ran(2, "second", 5, 1010, 1150)}, {{1, 2}});
  auto const cost = measured_cost(graph);
  EXPECT_EQ(cost(graph.node(1)), 100);
  EXPECT_EQ(cost(graph.node(2)), 50);
}

TEST(Analysis, AReplayIsNothingButItsChildren) {
  TaskRecord replay = ran(1, "plan", 0, 1000, 1200);
  replay.pattern = "replay";
  Graph const graph({replay, child(ran(2, "a", 0, 1000, 1080), 1, 900),
                     child(ran(3, "b", 0, 1080, 1200), 1, 900)},
                    {{2, 3}});
  GraphAnalysis const found = analyse(graph);
  EXPECT_EQ(found.tasks, 2u);
  EXPECT_EQ(found.work, 200);
  EXPECT_EQ(found.span, 200);
  EXPECT_EQ(analyse(graph, unit_cost()).work, 2);
}

TEST(Analysis, ALateCompletionIsOnThePathButTheThreadIsNot) {
  TaskRecord late = ran(1, "message", 0, 1000, 1500);
  late.completes_later = true;
  late.returned_ns = 1010;
  Graph const graph({late, ran(2, "next", 0, 1500, 1600)}, {{1, 2}});
  EXPECT_EQ(analyse(graph).span, 600);
}

TEST(Analysis, AReleasedEdgeOrdersOnlyWhatCameBeforeTheDemotion) {
  TaskRecord first = ran(1, "first", 0, 1000, 1100);
  first.demotions = {{1040, {}}};
  std::vector<TaskRecord> const nodes = {first, ran(2, "second", 1, 1040, 1200)};
  EdgeRecord edge{1, 2, EdgeReason::access, true};
  EXPECT_EQ(analyse(Graph(nodes, {edge})).span, 200) << "40 and 160";
  edge.released = false;
  EXPECT_EQ(analyse(Graph(nodes, {edge})).span, 260);
  // Demoted before it began: no order is left.
  std::vector<TaskRecord> pending = nodes;
  pending[0].demotions[0].time_ns = 500;
  edge.released = true;
  EXPECT_EQ(analyse(Graph(pending, {edge})).span, 160);
}

TEST(Analysis, WhatHasNotRunCostsNothing) {
  Graph const graph(
      {ran(1, "a", 0, 1000, 1100), task(2, "b"), ran(3, "c", 0, 1100, 1150, TaskState::failed),
       ran(4, "d", -1, 0, 1150, TaskState::cancelled)},
      {{1, 2}, {1, 3}, {3, 4}});
  GraphAnalysis const found = analyse(graph);
  EXPECT_EQ(found.tasks, 2u);
  EXPECT_EQ(found.span, 150);
}

// --- as a table ----------------------------------------------------------------------------------

std::string table_of(Graph const& graph) {
  std::ostringstream out;
  out.imbue(std::locale(std::locale::classic(), new Grouping));
  write_analysis(out, graph);
  return out.str();
}

TEST(Analysis, ItsTableSaysWorkSpanAndPath) {
  Graph const graph({ran(1, "fill 1", 0, 1'000, 2'000), ran(2, "fill 2", 1, 1'000, 2'500),
                     ran(3, "sum", 0, 2'500, 3'000)},
                    {{1, 3}, {2, 3}});
  std::string const text = table_of(graph);
  EXPECT_THAT(text, HasSubstr("work               3 \u00B5s on one worker"));
  EXPECT_THAT(text,
              HasSubstr("span               2 \u00B5s on any number: the critical path, 2 tasks"));
  EXPECT_THAT(text, HasSubstr("at most 1.50, so no more than 2 workers can pay"));
  EXPECT_THAT(text, HasSubstr("parallel fraction  0.5000"));
  EXPECT_THAT(text,
              testing::ContainsRegex("fill \\* +2 +2\\.5 .*s +83\\.3 % +1\\.5 .*s +1 +75\\.0 %"));
  EXPECT_THAT(text,
              testing::ContainsRegex("fill 2 +2 +1\\.5 .*s +75\\.0 %\n +sum +3 +500 ns +25\\.0 %"));
}

TEST(Analysis, OfATraceSaysWhatEachThreadDid) {
  TaskRecord waits = ran(3, "c", 1, 3'000, 5'000);
  waits.waited_ns = 1'000;
  Trace trace;
  trace.graph = SchedulingGraph({ran(1, "a", 0, 1'000, 2'000), ran(2, "b", 0, 4'000, 5'000), waits},
                                {{1, 2}});
  trace.rows = {"main thread", "worker 0", "worker 1", "worker 2", "a stream"};
  trace.workers = trace.threads = 4;
  // The first begins before the first task, the last two after the last one. The third never ran.
  trace.sleeps = {{1, 0, 2'500}, {0, 2'000, 3'500}, {3, 4'000, 9'000}, {2, 6'000, 7'000}};
  std::ostringstream out;
  write_analysis(out, trace);
  std::string const text = out.str();
  EXPECT_THAT(text, HasSubstr("parallel fraction"));
  EXPECT_THAT(text, testing::ContainsRegex("main thread +2 [^,]*, 50\\.0 % +1\\.5 [^,]*, 37\\.5 % +"
                                           "500 ns, 12\\.5 %"));
  EXPECT_THAT(text, testing::ContainsRegex("worker 0 +1 [^,]*, 25\\.0 % +2\\.5 [^,]*, 62\\.5 % +"
                                           "500 ns, 12\\.5 %"));
  EXPECT_THAT(text, testing::ContainsRegex("worker 2 +0 ns, 0\\.0 % +1 [^,]*, 100\\.0 % +0 ns"));
  EXPECT_THAT(text, testing::Not(HasSubstr("worker 1")));
  EXPECT_THAT(text, testing::Not(HasSubstr("a stream")));
}

TEST(Analysis, ItsTableStaysShort) {
  std::string const text = table_of(stencil(4, 30, 300).graph);
  EXPECT_LT(count(text, "\n"), 80u);
  EXPECT_THAT(text, HasSubstr(" more tasks\n"));
  EXPECT_THAT(table_of(Graph()), HasSubstr("0, 0 of them took time"));
}

}  // namespace
}  // namespace trellis
