// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Graphs folded by label and step, and pictures of them.
#include "GraphTest.hpp"

#include <tools/Trellis_Fold.hpp>
#include <tools/Trellis_Layers.hpp>

#include <gmock/gmock.h>

#include <numeric>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace trellis {
namespace {

using namespace Test;
using Impl::Fold;
using Impl::FoldBy;
using Impl::TraceLook;
using testing::HasSubstr;
using testing::Not;

/// Tasks of a few families in all states, and edges of all reasons.
Trace random_trace(std::mt19937& random, std::size_t size) {
  std::vector<TaskRecord> nodes;
  std::set<std::pair<TaskId, TaskId>> ends;
  std::vector<EdgeRecord> edges;
  for (TaskId id = 1; id <= size; ++id) {
    std::string const label = std::string(1, static_cast<char>('a' + random() % 4)) + " " +
                              std::to_string(random() % 5) + " step " +
                              std::to_string(id * 6 / size);
    auto const state = static_cast<TaskState>(random() % 6);
    bool const has_run = state != TaskState::cancelled && state > TaskState::ready;
    nodes.push_back(has_run ? ran(id, label, static_cast<int>(random() % 3), id * 10,
                                  id * 10 + random() % 100, state)
                            : task(id, label, state));
    for (std::size_t k = random() % 4; id > 1 && k != 0; --k)
      if (TaskId const from = 1 + random() % (id - 1); ends.emplace(from, id).second)
        edges.push_back({from, id, static_cast<EdgeReason>(random() % 7), random() % 9 == 0});
  }
  return {SchedulingGraph(std::move(nodes), std::move(edges)), {"w0", "w1", "w2"}};
}

TEST(Fold, KeepsTotals) {
  std::mt19937 random(3);
  for (int round = 0; round != 60; ++round) {
    Trace const trace = random_trace(random, 1 + random() % 150);
    TraceLook const look(trace);
    std::uint64_t time = 0;
    std::vector<std::size_t> states(6, 0);
    for (TaskRecord const& of : trace.graph.nodes()) {
      time += Impl::time_of(of);
      ++states[static_cast<std::size_t>(of.state)];
    }
    std::size_t before = ~std::size_t{0};
    for (FoldBy const by : {FoldBy::task, FoldBy::step, FoldBy::label}) {
      Fold const fold = Impl::fold(look, by);
      EXPECT_LE(fold.nodes.size(), before);
      before = fold.nodes.size();
      std::uint64_t sum = 0;
      std::size_t edges = 0, tasks = 0;
      std::vector<std::size_t> counted(6, 0);
      for (std::size_t n = 0; n != fold.nodes.size(); ++n) {
        Fold::Node const& node = fold.nodes[n];
        sum += node.time;
        edges += node.inner;
        tasks += node.tasks.size();
        for (std::size_t s = 0; s != 6; ++s) counted[s] += node.states[s];
        for (std::size_t const p : node.tasks) {
          EXPECT_EQ(fold.node_of[p], n);
          std::string const pattern =
              Impl::TimelineStyle::split(trace.graph.nodes()[p].label).pattern;
          EXPECT_EQ(
              pattern,
              Impl::TimelineStyle::split(trace.graph.nodes()[node.tasks.front()].label).pattern);
        }
      }
      for (Fold::Edge const& edge : fold.edges) edges += edge.count;
      ASSERT_EQ(tasks, trace.graph.nodes().size());
      ASSERT_EQ(sum, time);
      ASSERT_EQ(counted, states);
      ASSERT_EQ(edges, trace.graph.edges().size());
    }
  }
}

TEST(Fold, OfTasksReachesWhatTheGraphReaches) {
  std::mt19937 random(8);
  for (int round = 0; round != 30; ++round) {
    Trace const trace = random_trace(random, 2 + random() % 40);
    TraceLook const look(trace);
    Fold const fold = Impl::fold(look, FoldBy::task);
    std::vector<EdgeRecord> drawn;
    auto const& nodes = trace.graph.nodes();
    for (Fold::Edge const& edge : fold.edges)
      if (!edge.is_implied) drawn.push_back({nodes[edge.from].id, nodes[edge.to].id});
    Graph const rest(nodes, drawn);
    for (TaskRecord const& a : nodes)
      for (TaskRecord const& b : nodes)
        ASSERT_EQ(trace.graph.reaches(a.id, b.id), rest.reaches(a.id, b.id)) << a.id << ' ' << b.id;
  }
}

TEST(Fold, ByStepNamesWhatItsTasksShare) {
  Trace const trace = stencil(4, 10, 30);
  TraceLook const look(trace);
  Fold const by_step = Impl::fold(look, FoldBy::step);
  ASSERT_EQ(by_step.nodes.size(), 30u);
  EXPECT_EQ(by_step.nodes[7].label, "tile * step 7");
  EXPECT_EQ(by_step.nodes[7].tasks.size(), 10u);
  EXPECT_EQ(by_step.edges.size(), 29u);
  EXPECT_EQ(by_step.edges[0].count, 28u);
  Fold const by_label = Impl::fold(look, FoldBy::label);
  ASSERT_EQ(by_label.nodes.size(), 1u);
  EXPECT_EQ(by_label.nodes[0].label, "tile * step *");
  EXPECT_EQ(by_label.nodes[0].inner, 29u * 28u);
}

TEST(Fold, IsWhatMoreThan200TasksArePicturedBy) {
  Trace const small = stencil(2, 10, 20), large = stencil(2, 10, 21);
  EXPECT_EQ(Impl::pictured_folds(TraceLook(small)).front().by, FoldBy::task);
  EXPECT_EQ(Impl::pictured_folds(TraceLook(large)).front().by, FoldBy::step);
  // Several steps share a node where each step is too much.
  Trace const steps = stencil(2, 2, 300);
  TraceLook const look(steps);
  std::vector<Fold> const folds = Impl::pictured_folds(look);
  ASSERT_EQ(folds.size(), 2u);
  EXPECT_EQ(folds[0].steps, 2u);
  ASSERT_EQ(folds[0].nodes.size(), 150u);
  EXPECT_EQ(folds[0].nodes[3].label, "tile * step 6\u20137");
  EXPECT_EQ(folds[1].by, FoldBy::label);
}

TEST(Fold, OfTooManyLabelsHasANodeForTheOthers) {
  std::vector<TaskRecord> nodes;
  for (TaskId id = 1; id <= 900; ++id) {
    std::string label;
    for (TaskId rest = id / 2; rest != 0; rest /= 26) label += static_cast<char>('a' + rest % 26);
    nodes.push_back(ran(id, label, 0, id, id + 1));
  }
  Trace const trace{SchedulingGraph(std::move(nodes), {}), {"w"}};
  std::vector<Fold> const folds = Impl::pictured_folds(TraceLook(trace));
  ASSERT_EQ(folds.size(), 1u);
  EXPECT_EQ(folds[0].nodes.size(), Impl::most_nodes);
  std::size_t tasks = 0;
  bool has_others = false;
  for (Fold::Node const& node : folds[0].nodes) {
    tasks += node.tasks.size();
    has_others = has_others || node.label.ends_with("other labels");
  }
  EXPECT_EQ(tasks, 900u);
  EXPECT_TRUE(has_others);
}

TEST(Fold, PictureHasANodeForEachAndTheColoursOfTheTimeline) {
  Trace trace = stencil(2, 3, 4);
  TraceLook const look(trace);
  std::string const svg = Impl::graph_svg(look, Impl::fold(look, FoldBy::task));
  EXPECT_EQ(count(svg, "class=\"tg-n"), 12u);
  std::string const timeline = svg_of(trace);
  for (std::size_t at = svg.find(" fill=\"#"); at != svg.npos; at = svg.find(" fill=\"#", at + 1))
    EXPECT_THAT(timeline, HasSubstr(svg.substr(at, 15)));
  EXPECT_THAT(svg, HasSubstr("tg-path"));
}

TEST(Fold, PictureOfALargeTraceIsFolded) {
  std::ostringstream out;
  stencil(2, 50, 20).write_graph_svg(out);
  EXPECT_EQ(count(out.str(), "class=\"tg-n"), 20u);
}

TEST(Fold, PictureHidesImpliedEdges) {
  std::vector<TaskRecord> nodes{ran(1, "a", 0, 1, 2), ran(2, "b", 0, 2, 3), ran(3, "c", 0, 3, 4)};
  Trace const trace{SchedulingGraph(nodes, {{1, 2}, {2, 3}, {1, 3}}), {"w"}};
  TraceLook const look(trace);
  std::string const svg = Impl::graph_svg(look, Impl::fold(look, FoldBy::task));
  EXPECT_EQ(count(svg, "data-from"), 2u);
  EXPECT_THAT(svg, Not(HasSubstr("data-from=\"0\" data-to=\"2\"")));
}

TEST(Fold, PictureShowsWhatDidNotRun) {
  std::vector<TaskRecord> nodes{ran(1, "a", 0, 1, 2, TaskState::failed),
                                task(2, "<b> & \"c\" 'd'", TaskState::cancelled)};
  Trace const trace{SchedulingGraph(nodes, {{1, 2}}), {"w"}};
  TraceLook const look(trace);
  std::string const svg = Impl::graph_svg(look, Impl::fold(look, FoldBy::task));
  EXPECT_THAT(svg, HasSubstr("tg-b tg-f"));
  EXPECT_THAT(svg, HasSubstr("tg-u"));
  EXPECT_THAT(svg, HasSubstr("&lt;b&gt; &amp; &quot;c&quot; 'd'"));
  EXPECT_THAT(svg, HasSubstr("1 cancelled"));
  Trace const empty;
  TraceLook const nothing(empty);
  EXPECT_THAT(Impl::graph_svg(nothing, Impl::fold(nothing, FoldBy::task)),
              HasSubstr("no tasks recorded"));
}

TEST(Fold, PlacesDoNotOverlap) {
  std::mt19937 random(5);
  for (int round = 0; round != 100; ++round) {
    std::size_t const size = 1 + random() % 60;
    std::vector<Impl::Layers::Edge> edges;
    for (std::size_t k = random() % (2 * size); k != 0; --k) {
      std::size_t const a = random() % size, b = random() % size;
      if (a != b) edges.emplace_back(std::min(a, b), std::max(a, b));
    }
    Impl::Layers const layers(size, edges);
    for (auto const& [from, to] : edges) ASSERT_LT(layers.layer(from), layers.layer(to));
    for (std::size_t a = 0; a != size; ++a) {
      ASSERT_GE(layers.across(a), 0);
      ASSERT_LT(layers.layer(a), layers.count());
      for (std::size_t b = 0; b != a; ++b)
        if (layers.layer(a) == layers.layer(b)) {
          ASSERT_GT(std::abs(layers.across(a) - layers.across(b)), 0.999);
        }
    }
  }
}

}  // namespace
}  // namespace trellis
