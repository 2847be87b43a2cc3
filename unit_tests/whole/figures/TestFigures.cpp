// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The figures of the resource-register paper, as example/figures has them: their exact edges,
// whatever the policy and the number of workers.
#include <Figures.hpp>
#include <Trellis.hpp>
#include <Trellis_Recorded.hpp>
#include <Trellis_Scheduling.hpp>
#include <task/Trellis_Task.hpp>

#include "Timing.hpp"

#include <gmock/gmock.h>

#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <ostream>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace trellis::figure_tests {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::EndsWith;
using enum EdgeReason;

class Figures : public Test::Timed {};

/// By labels, of which "functor " is left out.
struct Edge {
  std::string from;
  std::string to;
  EdgeReason reason;
  bool released = false;
  friend auto operator<=>(Edge const&, Edge const&) = default;
  friend std::ostream& operator<<(std::ostream& out, Edge const& edge) {
    return out << edge.from << " -> " << edge.to << " (" << to_string(edge.reason)
               << (edge.released ? ", released)" : ")");
  }
};
using Edges = std::set<Edge>;
constexpr bool released = true;

std::string short_label(std::string label) {
  std::string const word = "functor ";
  if (auto const place = label.find(word); place != std::string::npos)
    label.erase(place, word.size());
  return label;
}

Edges edges_of(Graph const& graph) {
  Edges edges;
  for (EdgeRecord const& edge : graph.edges()) {
    bool const is_new =
        edges
            .insert({short_label(graph.node(edge.from).label),
                     short_label(graph.node(edge.to).label), edge.reason, edge.released})
            .second;
    EXPECT_TRUE(is_new) << "an edge is there twice";
  }
  return edges;
}

/// Runs the figure again and again and expects these edges in the dependency graph, and beside them
/// these in the scheduling graph.
void expect(
    figures::Facts (*figure)(TaskGraph&), Edges const& dependencies, Edges added = {},
    std::function<void(TaskGraph const&)> const& more = [](TaskGraph const&) {},
    std::shared_ptr<SchedulingPolicy> (*policy)(std::shared_ptr<SchedulingPolicy>) = nullptr) {
  if (*TaskGraph().options().serial) GTEST_SKIP() << "tasks of figures wait for later ones";
  added.insert(dependencies.begin(), dependencies.end());
  static std::uint64_t seed = 0;
  std::function<std::shared_ptr<SchedulingPolicy>()> const policies[] = {
      [] { return make_work_stealing_policy(); }, [] { return make_fifo_policy(); },
      [] { return make_shake_policy(++seed); }};
  for (auto const& make_policy : policies)
    for (int workers = 1; workers <= 3; ++workers)
      for (int repeat = 0; repeat < 3; ++repeat) {
        TaskGraphOptions options;
        options.workers = workers;
        options.record = true;
        options.policy = make_policy();
        if (policy != nullptr) options.policy = policy(options.policy);
        SCOPED_TRACE(std::string(options.policy->name()) + ", " + std::to_string(workers) +
                     " workers, seed " + std::to_string(seed));
        TaskGraph graph(options);
        EXPECT_THAT(figure(graph), Each(EndsWith(": yes")));
        EXPECT_EQ(edges_of(graph.dependency_graph()), dependencies);
        EXPECT_EQ(edges_of(graph.scheduling_graph()), added);
        more(graph);
        if (testing::Test::HasFailure()) return;
      }
}

std::vector<std::string> demotions_of(TaskGraph const& graph, std::string const& label) {
  std::vector<std::string> modes;
  for (DemotionRecord const& demotion : figures::record_of(graph, label).demotions)
    for (AccessRecord const& access : demotion.accesses)
      modes.push_back(access.mode + ' ' + access.resource);
  return modes;
}

std::vector<std::string> children_of(TaskGraph const& graph, std::string const& label) {
  SchedulingGraph const recorded = graph.scheduling_graph();
  std::vector<std::string> labels;
  for (TaskId const child : recorded.children(figures::record_of(graph, label).id))
    labels.push_back(short_label(recorded.node(child).label));
  return labels;
}

TEST_F(Figures, Figure1OrderOfTheCode) {
  expect(figures::figure_1, {{"1", "2", access}, {"2", "3", access}, {"2", "4", access}});
}

TEST_F(Figures, Figure3LoopExtension) {
  Edges edges;
  for (int k = 1; k <= 3; ++k) {
    std::string const loop = "loop " + std::to_string(k) + ' ';
    std::string const next = "loop " + std::to_string(k + 1) + ' ';
    edges.insert({loop + '1', loop + '2', access});
    edges.insert({loop + '2', loop + '3', access});
    edges.insert({loop + '2', loop + '4', access});
    if (k == 3) break;
    edges.insert({loop + '3', next + '1', access});
    edges.insert({loop + '4', next + '1', access});
  }
  expect(figures::figure_3, edges);
}

/// What the engine holds of these functors: how many there are, and the edges that begin at them.
std::pair<int, int> held_of(std::vector<Future<void>> const& functors) {
  std::pair<int, int> held;
  for (Future<void> const& each : functors) {
    Impl::TaskHandle const handle = Impl::FutureInternals::handle(each);
    std::lock_guard const lock(handle.task->lock);
    if (handle.task->live_id.load() != handle.id) continue;  // over, or another one's cell by now
    ++held.first;
    held.second += static_cast<int>(handle.task->successor_count);
  }
  return held;
}

/// Without a record, and long: what is over leaves no functor, no edge and no memory behind, and
/// later functors get no edge to it.
TEST_F(Figures, Figure3EdgesGoWithTheirFunctors) {
  TaskGraphOptions options;
  options.workers = 2;
  TaskGraph graph(options);
  if (*graph.options().serial) GTEST_SKIP() << "functors wait for later ones";
  constexpr std::uint64_t loops = 300;
  Token const green("green");
  std::deque<trellis::Test::Gate> next_loop_is_there;
  std::vector<Future<void>> functors;
  auto const add_loop = [&] {
    auto const add = [&](auto const& green_as, auto body) {
      functors.push_back(host_task("functor", ResourcePolicy(graph, green_as), std::move(body)));
    };
    trellis::Test::Gate& is_there = next_loop_is_there.emplace_back();
    add(read_write(green), [&is_there] { EXPECT_TRUE(is_there.pass()); });
    add(read_write(green), [] {});
    add(read(green), [] {});
    add(read(green), [] {});
  };
  add_loop();
  EXPECT_EQ(graph.edges(), 3);
  EXPECT_EQ(held_of(functors), std::pair(4, 3));
  std::size_t memory = 0;
  for (std::uint64_t loop = 2; loop <= loops; ++loop) {
    add_loop();
    EXPECT_EQ(graph.edges(), 5 * loop - 2) << "two lead to its first functor, three on from there";
    EXPECT_EQ(held_of(functors), std::pair(8, 8));
    next_loop_is_there[loop - 2].open();
    while (graph.in_flight() > 4) std::this_thread::yield();
    EXPECT_EQ(held_of(functors), std::pair(4, 3))
        << "the other five have gone with loop " << loop - 1;
    if (loop == loops / 2) memory = graph.task_memory();
    if (testing::Test::HasFailure()) break;
  }
  EXPECT_EQ(graph.task_memory(), memory);
  std::uint64_t const edges = graph.edges();
  Future<void> const late =
      host_task("late", ResourcePolicy(graph, trellis::after(functors.front())), [] {});
  while (!late.is_done()) std::this_thread::yield();
  EXPECT_EQ(graph.edges(), edges);
  next_loop_is_there.back().open();
  graph.wait();
  EXPECT_EQ(held_of(functors), std::pair(0, 0));
}

TEST_F(Figures, Figure4Splitting) {
  expect(figures::figure_4,
         {{"1", "2", access},
          {"2", "3", access},
          {"2.1", "2.2", access},
          {"2.1", "2.3", access},
          {"3", "4", access}},
         {}, [](TaskGraph const& graph) {
           EXPECT_THAT(children_of(graph, "functor 2"), ElementsAre("2.1", "2.2", "2.3"));
           EXPECT_THAT(children_of(graph, "functor 3"), ElementsAre("3.1", "3.2"));
         });
}

TEST_F(Figures, Figure5Demotion) {
  expect(figures::figure_5,
         {{"1", "2", access},
          {"2", "3", access},
          {"2.1", "2.2", access, released},
          {"2.2", "2.3", access, released}},
         {}, [](TaskGraph const& graph) {
           EXPECT_THAT(children_of(graph, "functor 2"), ElementsAre("2.1", "2.2", "2.3"));
           EXPECT_THAT(demotions_of(graph, "functor 2.1"), ElementsAre("none green"));
           EXPECT_THAT(demotions_of(graph, "functor 2.2"), ElementsAre("read green"));
         });
}

TEST_F(Figures, Figure6SeveralResources) {
  expect(figures::figure_6,
         {{"1", "3", access}, {"2", "3", access}, {"2", "5", access}, {"3", "4", access}});
}

TEST_F(Figures, Figure7AddedEdgeBesideAUselessOne) {
  expect(
      figures::figure_7, {{"1", "2", access}, {"2", "3", access}, {"2", "4", access}},
      {{"4", "3", policy}}, [](TaskGraph const&) {}, figures::figure_7_policy);
}

TEST_F(Figures, Figure8MainThread) {
  expect(figures::figure_8, {{"1", "2", access}, {"2", "3", access}, {"2", "4", access}}, {},
         [](TaskGraph const& graph) {
           EXPECT_TRUE(figures::record_of(graph, "functor 3").main_thread);
           EXPECT_FALSE(figures::record_of(graph, "functor 4").main_thread);
         });
}

TEST_F(Figures, Figure9Synchronizing) {
  expect(figures::figure_9,
         {{"1", "2", access},
          {"1", "3", synchronizing},
          {"2", "3", access},
          {"2", "3", synchronizing},
          {"2", "4", access},
          {"3", "4", synchronizing}},
         {}, [](TaskGraph const& graph) {
           EXPECT_TRUE(figures::record_of(graph, "functor 3").synchronizing);
           EXPECT_FALSE(figures::record_of(graph, "functor 4").synchronizing);
         });
}

TEST_F(Figures, Figure10ExclusiveTwoSolutions) {
  Edges const dependencies = {{"1", "3", access}, {"2", "4", access}};
  auto const nothing_more = [](TaskGraph const&) {};
  expect(figures::figure_10_solution_1, dependencies, {{"3", "4", exclusion}, {"3", "4", policy}},
         nothing_more, figures::figure_10_policy_1);
  expect(figures::figure_10_solution_2, dependencies, {{"4", "3", exclusion}, {"4", "3", policy}},
         nothing_more, figures::figure_10_policy_2);
}

}  // namespace
}  // namespace trellis::figure_tests
