// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Graphs as data.
#include "GraphTest.hpp"

#include <Trellis_Error.hpp>
#include <Trellis_Graph.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace trellis {
namespace {

using namespace Test;
using Ids = std::vector<TaskId>;

Graph diamond() {
  return {{task(1, "a"), task(2, "b"), task(3, "b"), task(4, "c"), task(7, "alone")},
          {{1, 2, EdgeReason::access},
           {1, 3, EdgeReason::after},
           {3, 4, EdgeReason::synchronizing},
           {2, 4, EdgeReason::access},
           {2, 4, EdgeReason::after},
           {3, 2, EdgeReason::exclusion}}};
}

struct Known {
  char const* name;
  bool is_dependency;
};
/// The compiler warns when a reason is missing.
Known what_is_known_of(EdgeReason reason) {
  switch (reason) {
    case EdgeReason::access:
      return {"access", true};
    case EdgeReason::after:
      return {"after", true};
    case EdgeReason::synchronizing:
      return {"synchronizing", true};
    case EdgeReason::exclusion:
      return {"exclusion", false};
    case EdgeReason::rule:
      return {"rule", false};
    case EdgeReason::demotion:
      return {"demotion", true};
    case EdgeReason::policy:
      return {"policy", false};
  }
  return {"", false};
}
std::vector<EdgeReason> const all_reasons = [] {
  std::vector<EdgeReason> all;
  for (int k = 0; *what_is_known_of(static_cast<EdgeReason>(k)).name != 0; ++k)
    all.push_back(static_cast<EdgeReason>(k));
  return all;
}();

TEST(Graph, EveryStateAndReasonHasItsName) {
  EXPECT_EQ(to_string(TaskState::pending), "pending");
  EXPECT_EQ(to_string(TaskState::ready), "ready");
  EXPECT_EQ(to_string(TaskState::running), "running");
  EXPECT_EQ(to_string(TaskState::done), "done");
  EXPECT_EQ(to_string(TaskState::failed), "failed");
  EXPECT_EQ(to_string(TaskState::cancelled), "cancelled");
  for (EdgeReason const reason : all_reasons)
    EXPECT_EQ(to_string(reason), what_is_known_of(reason).name);
}

TEST(Graph, OnlyWhatASchedulerAddsIsNoDependency) {
  for (EdgeReason const reason : all_reasons)
    EXPECT_EQ(is_dependency(reason), what_is_known_of(reason).is_dependency) << to_string(reason);
}

TEST(Graph, FindsNodesByIdAndByLabel) {
  Graph const graph = diamond();
  EXPECT_EQ(graph.node(7).label, "alone");
  EXPECT_EQ(graph.node(1).label, "a");
  EXPECT_EQ(graph.find("b"), (Ids{2, 3}));
  EXPECT_EQ(graph.find("B"), Ids{});
}

TEST(Graph, NeighboursAreListedOnceAndById) {
  Graph const graph = diamond();
  EXPECT_EQ(graph.predecessors(1), Ids{});
  EXPECT_EQ(graph.predecessors(2), (Ids{1, 3}));
  EXPECT_EQ(graph.predecessors(4), (Ids{2, 3}));
  EXPECT_EQ(graph.successors(1), (Ids{2, 3}));
  EXPECT_EQ(graph.successors(2), Ids{4});
  EXPECT_EQ(graph.successors(3), (Ids{2, 4}));
  EXPECT_EQ(graph.successors(7), Ids{});
}

TEST(Graph, ReachesFollowsPathsOfAtLeastOneEdge) {
  Graph const graph = diamond();
  std::set<std::pair<TaskId, TaskId>> const expected = {{1, 2}, {1, 3}, {1, 4},
                                                        {2, 4}, {3, 2}, {3, 4}};
  for (TaskId const from : {1, 2, 3, 4, 7}) {
    for (TaskId const to : {1, 2, 3, 4, 7}) {
      EXPECT_EQ(graph.reaches(from, to), expected.contains({from, to})) << from << " -> " << to;
    }
  }
}

TEST(Graph, ReachesFindsTheWayBackRoundACycle) {
  Graph const graph(
      {task(1, "a"), task(2, "b"), task(3, "c")},
      {{1, 2, EdgeReason::access}, {2, 1, EdgeReason::exclusion}, {2, 3, EdgeReason::access}});
  EXPECT_TRUE(graph.reaches(1, 1));
  EXPECT_TRUE(graph.reaches(2, 2));
  EXPECT_FALSE(graph.reaches(3, 3));
  EXPECT_FALSE(graph.reaches(3, 1));
}

TEST(Graph, AnUnknownIdIsNamed) {
  auto const text_of = [](auto&& call) -> std::string {
    try {
      call();
    } catch (Error const& error) {
      EXPECT_EQ(error.kind(), Error::Kind::bad_input);
      return error.what();
    }
    return "nothing was thrown";
  };
  Graph const graph = diamond();
  std::string const expected = "no task has the id 5: this graph has 5 tasks with ids from 1 to 7";
  EXPECT_EQ(text_of([&] { (void)graph.node(5); }), expected);
  EXPECT_EQ(text_of([&] { (void)graph.predecessors(5); }), expected);
  EXPECT_EQ(text_of([&] { (void)graph.successors(5); }), expected);
  EXPECT_EQ(text_of([&] { (void)graph.reaches(5, 1); }), expected);
  EXPECT_EQ(text_of([&] { (void)graph.reaches(1, 5); }), expected);
  EXPECT_EQ(text_of([] { (void)Graph().node(0); }),
            "no task has the id 0: this graph has no tasks (it keeps them only when "
            "TaskGraphOptions::record is "
            "set)");
}

TEST(Graph, ContradictoryInputIsRefused) {
  auto const text_of = [](std::vector<TaskRecord> nodes,
                          std::vector<EdgeRecord> edges) -> std::string {
    try {
      Graph const graph(std::move(nodes), std::move(edges));
    } catch (Error const& error) {
      EXPECT_EQ(error.kind(), Error::Kind::bad_input);
      return error.what();
    }
    return "nothing was thrown";
  };
  EXPECT_EQ(text_of({task(3, "x"), task(3, "y")}, {}),
            "two tasks of a graph have the id 3: \"x\" and \"y\"");
  EXPECT_EQ(text_of({task(1, "x")}, {{1, 2, EdgeReason::after}}),
            "an edge leads from task 1 to task 2 (after), but task 2 is not among the nodes of the "
            "graph");
  EXPECT_EQ(text_of({task(2, "x")}, {{1, 2, EdgeReason::access}}),
            "an edge leads from task 1 to task 2 (access), but task 1 is not among the nodes of "
            "the graph");
}

TEST(Graph, ACopyAnswersOnItsOwn) {
  DependencyGraph copy;
  {
    DependencyGraph const original({task(1, "a"), task(2, "b")}, {{1, 2, EdgeReason::access}});
    copy = original;
  }
  EXPECT_EQ(copy.node(2).label, "b");
  EXPECT_EQ(copy.successors(1), Ids{2});
  EXPECT_TRUE(copy.reaches(1, 2));
  EXPECT_EQ(copy.edges(), (std::vector<EdgeRecord>{{1, 2, EdgeReason::access}}));
}

TEST(Graph, AgreesWithTransitiveClosureOnRandomGraphs) {
  std::mt19937 random(7);
  for (int round = 0; round != 50; ++round) {
    std::size_t const n = 1 + random() % 12;
    std::vector<TaskRecord> nodes;
    for (TaskId id = 1; id <= n; ++id) nodes.push_back(task(id * 10, "t"));
    std::vector<EdgeRecord> edges;
    std::vector<std::vector<bool>> direct(n, std::vector<bool>(n));
    for (std::size_t e = random() % (2 * n); e != 0; --e) {
      std::size_t const a = random() % n, b = random() % n;
      edges.push_back(
          {(a + 1) * 10, (b + 1) * 10, a < b ? EdgeReason::access : EdgeReason::exclusion});
      direct[a][b] = true;
    }
    auto closure = direct;
    for (std::size_t k = 0; k != n; ++k)
      for (std::size_t a = 0; a != n; ++a)
        for (std::size_t b = 0; b != n; ++b)
          if (closure[a][k] && closure[k][b]) closure[a][b] = true;
    Graph const graph(std::move(nodes), std::move(edges));
    for (std::size_t a = 0; a != n; ++a) {
      Ids successors, predecessors;
      for (std::size_t b = 0; b != n; ++b) {
        if (direct[a][b]) successors.push_back((b + 1) * 10);
        if (direct[b][a]) predecessors.push_back((b + 1) * 10);
        EXPECT_EQ(graph.reaches((a + 1) * 10, (b + 1) * 10), closure[a][b]);
      }
      EXPECT_EQ(graph.successors((a + 1) * 10), successors);
      EXPECT_EQ(graph.predecessors((a + 1) * 10), predecessors);
    }
  }
}

TEST(Graph, AChainOfManyTasksIsNoProblem) {
  constexpr TaskId n = 100'000;
  std::vector<TaskRecord> nodes;
  std::vector<EdgeRecord> edges;
  for (TaskId id = 1; id <= n; ++id) {
    nodes.push_back(task(id, "link"));
    if (id > 1) edges.push_back({id - 1, id, EdgeReason::access});
  }
  Graph const graph(std::move(nodes), std::move(edges));
  EXPECT_TRUE(graph.reaches(1, n));
  EXPECT_FALSE(graph.reaches(n, 1));
  // Neighbours are looked up, not searched for: a scan of all edges for each would take minutes.
  auto const begin = std::chrono::steady_clock::now();
  std::size_t sum = 0;
  for (TaskId id = 1; id <= n; ++id)
    sum += graph.predecessors(id).size() + graph.successors(id).size();
  EXPECT_EQ(sum, 2 * (n - 1));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

}  // namespace
}  // namespace trellis
