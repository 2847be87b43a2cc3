// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How threads are divided: known graphs in virtual time, and random ones beside an oracle.
#include "GraphTest.hpp"
#include "KnownGraphs.hpp"

#include <Trellis_Analysis.hpp>
#include <Trellis_Error.hpp>
#include <Trellis_ThreadRatio.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace trellis {
/// For messages of the tests.
void PrintTo(ThreadRatio const& ratio, std::ostream* out) {
  *out << '(' << ratio.workers << ',' << ratio.threads << ')';
}

namespace {
namespace thread_ratio {

using namespace Test;
using testing::ElementsAre;

TaskCost constant(double cost) {
  return [cost](TaskRecord const&) { return cost; };
}
/// Fig. 3.15 of the source: 1 -> 2 -> 3 -> 4 and 1 -> 5.
Graph mostly_a_chain() {
  return numbered(5, {{1, 2}, {2, 3}, {3, 4}, {1, 5}});
}

TEST(ThreadRatios, HaveNoMoreWorkersThanTasksCanUse) {
  using R = ThreadRatio;
  EXPECT_THAT(thread_ratios(8, 1.25), ElementsAre(R{2, 4}, R{1, 8}));
  EXPECT_THAT(thread_ratios(8, 1), ElementsAre(R{1, 8}));
  EXPECT_THAT(thread_ratios(8, 1e9), ElementsAre(R{8, 1}, R{4, 2}, R{2, 4}, R{1, 8}));
  EXPECT_THAT(thread_ratios(3, 3), ElementsAre(R{3, 1}, R{1, 3}));
  EXPECT_THAT(thread_ratios(7, 5.5), ElementsAre(R{6, 1}, R{3, 2}, R{2, 3}, R{1, 7}));
  EXPECT_THAT(thread_ratios(2, 2.0 + 1e-12), ElementsAre(R{2, 1}, R{1, 2}));
  EXPECT_THAT(thread_ratios(4, 2.0 + 1e-12), ElementsAre(R{2, 2}, R{1, 4})) << "rounding";
  EXPECT_THAT(thread_ratios(1, 100), ElementsAre(R{1, 1}));
  EXPECT_THROW((void)thread_ratios(0, 1), Error);
  EXPECT_THROW(ThreadFeedback(0), Error);
}

TEST(ThreadFeedback, OperatorsWinWhereTasksAreInARow) {
  Graph const graph = mostly_a_chain();
  GraphAnalysis const analysis = analyse(graph, unit_cost());
  EXPECT_EQ(analysis.work, 5);
  EXPECT_EQ(analysis.span, 4);
  EXPECT_EQ(analysis.max_speedup(), 1.25);
  ThreadFeedback feedback(8);
  EXPECT_THROW((void)feedback.predicted({1, 8}), Error);
  EXPECT_EQ(feedback.passed(graph, unit_cost(), {8, 1}), (ThreadRatio{1, 8}));
  EXPECT_EQ(feedback.predicted({1, 8}), 0.625);
  EXPECT_EQ(feedback.predicted({2, 4}), 1.0);
  EXPECT_EQ(feedback.predicted({8, 1}), 4.0);
  // The operators are as good as was thought, and it stays.
  EXPECT_EQ(feedback.passed(graph, constant(1.0 / 8), {1, 8}), (ThreadRatio{1, 8}));
}

TEST(ThreadFeedback, GoesBackWhereMoreThreadsAreOfNoUse) {
  Graph const graph = mostly_a_chain();
  ThreadFeedback feedback(8);
  ASSERT_EQ(feedback.passed(graph, unit_cost(), {8, 1}), (ThreadRatio{1, 8}));
  // 5 * 0.5 = 2.5 with eight threads, and a guess of 1.0 for two workers of four.
  EXPECT_EQ(feedback.passed(graph, constant(0.5), {1, 8}), (ThreadRatio{2, 4}));
  // That is 4 * 0.9 = 3.6.
  EXPECT_EQ(feedback.passed(graph, constant(0.9), {2, 4}), (ThreadRatio{1, 8}));
  for (int iteration = 0; iteration < 5; ++iteration)
    EXPECT_EQ(feedback.passed(graph, constant(0.5), {1, 8}), (ThreadRatio{1, 8})) << "at rest";
}

TEST(ThreadFeedback, StaysWhereBothAreAsGood) {
  Graph const graph = numbered(3, {});  // Fig. 3.14
  ThreadFeedback feedback(3);
  EXPECT_EQ(feedback.passed(graph, unit_cost(), {3, 1}), (ThreadRatio{3, 1}));
  EXPECT_EQ(feedback.passed(graph, constant(1.0 / 3), {1, 3}), (ThreadRatio{1, 3}));
  EXPECT_DOUBLE_EQ(feedback.predicted({3, 1}), 1);
  EXPECT_DOUBLE_EQ(feedback.predicted({1, 3}), 1);
}

TEST(ThreadFeedback, MeasuresOneThreadFirstWhereThereIsAChoice) {
  ThreadFeedback feedback(8);
  EXPECT_EQ(feedback.passed(numbered(6, {}), unit_cost(), {1, 8}), (ThreadRatio{6, 1}));
  EXPECT_EQ(feedback.passed(chain(6), unit_cost(), {1, 8}), (ThreadRatio{1, 8})) << "there is none";
  EXPECT_EQ(feedback.passed(chain(6), unit_cost(), {2, 4}), (ThreadRatio{1, 1}));
}

TEST(ThreadFeedback, MovesForMoreThanFivePerCentOnly) {
  // A chain: (1,1) takes 4, and (1,2) 4 times what its operators need.
  Graph const graph = chain(4);
  for (auto const& [with_two, moves] :
       {std::pair(0.94, true), std::pair(0.951, false), std::pair(0.96, false)}) {
    ThreadFeedbackOptions options;
    options.guess = [each = with_two](TaskRecord const&, double took, int, int has) {
      return has == 2 ? took * each : took;
    };
    ThreadFeedback feedback(2, options);
    EXPECT_EQ(feedback.passed(graph, unit_cost(), {2, 1}),
              moves ? (ThreadRatio{1, 2}) : (ThreadRatio{2, 1}))
        << with_two;
  }
  ThreadFeedbackOptions none;
  none.least_gain = 0;
  none.guess = [](TaskRecord const&, double took, int, int has) { return took - 0.001 * has; };
  EXPECT_EQ(ThreadFeedback(2, none).passed(graph, unit_cost(), {2, 1}), (ThreadRatio{1, 2}));
}

TEST(ThreadFeedback, BothEndsWinOnTheProgramsThatFavourThem) {
  // Two threads, of which an operator uses 90 %.
  auto const took = [](int threads) { return constant(threads == 1 ? 1 : 1 / 1.8); };
  for (auto const& [graph, best] :
       {std::pair(numbered(8, {}), ThreadRatio{2, 1}), std::pair(chain(8), ThreadRatio{1, 2}),
        std::pair(equations(8, 6), ThreadRatio{2, 1})})
    for (ThreadRatio const& start : {ThreadRatio{1, 1}, ThreadRatio{2, 1}, ThreadRatio{1, 2}}) {
      ThreadFeedback feedback(2);
      ThreadRatio ratio = start;
      for (int iteration = 0; iteration < 4; ++iteration)
        ratio = feedback.passed(graph, took(ratio.threads), ratio);
      EXPECT_EQ(ratio, best);
    }
}

TEST(ThreadFeedback, TakesAMovingAverage) {
  Graph const graph = chain(2);
  ThreadFeedback feedback(1);
  (void)feedback.passed(graph, constant(4), {1, 1});
  (void)feedback.passed(graph, constant(8), {1, 1});
  EXPECT_EQ(feedback.predicted({1, 1}), 12);
  (void)feedback.passed(graph, constant(8), {1, 1});
  EXPECT_EQ(feedback.predicted({1, 1}), 14);
  (void)feedback.passed(chain(3), constant(1), {1, 1});
  EXPECT_EQ(feedback.predicted({1, 1}), 3) << "another iteration";
  (void)feedback.passed(Graph(), constant(1), {1, 1});
  EXPECT_EQ(feedback.predicted({1, 1}), 0);
}

TEST(ThreadFeedback, KnowsWhatDoesNotUseTheThreadsOfAWorker) {
  std::vector<TaskRecord> nodes{task(1, "host"), task(2, "wide"), task(3, "for")};
  nodes[0].pattern = "host_task";
  nodes[1].threads = 4;
  nodes[1].workers = 4;
  ThreadFeedback feedback(4);
  (void)feedback.passed(Graph(nodes, {{1, 2}, {2, 3}}), unit_cost(), {4, 1});
  EXPECT_EQ(feedback.predicted({1, 4}), 1 + 1 + 0.25);
  EXPECT_EQ(feedback.predicted({2, 2}), 1 + 1 + 0.5) << "the wide one has both workers";
}

/// Whoever is free takes the ready task with the longest path behind it, and of several the one
/// that was submitted first.
double list_oracle(std::size_t size, std::vector<EdgeRecord> const& edges,
                   std::map<TaskId, double> const& cost, int workers) {
  std::vector<double> path(size + 1, 0);
  for (TaskId id = size; id >= 1; --id) {
    for (EdgeRecord const& edge : edges)
      if (edge.from == id) path[id] = std::max(path[id], path[edge.to]);
    path[id] += cost.at(id);
  }
  std::vector<double> end(size + 1, -1);
  std::vector<double> free(static_cast<std::size_t>(workers), 0);
  double now = 0;
  for (std::size_t left = size; left > 0;) {
    TaskId next = 0;
    for (TaskId id = 1; id <= size; ++id) {
      if (end[id] >= 0) continue;
      bool const ready = std::all_of(edges.begin(), edges.end(), [&](EdgeRecord const& edge) {
        return edge.to != id || (end[edge.from] >= 0 && end[edge.from] <= now);
      });
      if (ready && (next == 0 || path[id] > path[next])) next = id;
    }
    auto const worker = std::min_element(free.begin(), free.end());
    if (next != 0 && *worker <= now) {
      *worker = end[next] = now + cost.at(next);
      --left;
      continue;
    }
    double later = 1e300;  // the next time at which anything ends
    for (double const time : free)
      if (time > now) later = std::min(later, time);
    now = later;
  }
  return *std::max_element(end.begin(), end.end());
}

TEST(ListMakespan, IsThatOfAnOracleOnRandomGraphs) {
  std::mt19937 random(9);
  for (int round = 0; round < 200; ++round) {
    std::size_t const size = 1 + random() % 25;
    std::vector<EdgeRecord> edges;
    for (TaskId to = 2; to <= size; ++to)
      for (TaskId from = to > 5 ? to - 5 : 1; from < to; ++from)
        if (random() % 3 == 0) edges.push_back({from, to});
    std::map<TaskId, double> costs;
    for (TaskId id = 1; id <= size; ++id) costs[id] = static_cast<double>(1 + random() % 6);
    Graph const graph = numbered(size, edges);
    auto const cost = [&](TaskRecord const& each) { return costs[each.id]; };
    for (int workers = 1; workers <= 4; ++workers)
      ASSERT_EQ(list_makespan(graph, workers, cost), list_oracle(size, edges, costs, workers))
          << round << ", " << workers << " workers";
  }
}

TEST(TasksAfter, AreAPartOfTheGraph) {
  Graph const graph = chain(6);
  Graph const last = tasks_after(graph, 3);
  ASSERT_EQ(last.nodes().size(), 3U);
  EXPECT_EQ(last.nodes()[0].label, "t4");
  EXPECT_THAT(last.edges(), ElementsAre(EdgeRecord{4, 5}, EdgeRecord{5, 6}));
  EXPECT_TRUE(tasks_after(graph, 6).nodes().empty());
}

}  // namespace thread_ratio
}  // namespace
}  // namespace trellis
