// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_FIGURES_FIGURES_HPP
#define TRELLIS_EXAMPLE_FIGURES_FIGURES_HPP

#include <Trellis.hpp>
#include <Trellis_Recorded.hpp>
#include <Trellis_Scheduling.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

/// The figures of the resource-register paper, one function in one file each. Every function takes
/// a fresh graph that records, adds the functors of its figure and waits for them. Then you can
/// inspect the graphs.
namespace figures {

/// What a figure shows besides its graphs, in sentences like "functor 3 ran on the main thread:
/// yes".
using Facts = std::vector<std::string>;

Facts figure_1(trellis::TaskGraph& graph);
Facts figure_3(trellis::TaskGraph& graph);
Facts figure_4(trellis::TaskGraph& graph);
Facts figure_5(trellis::TaskGraph& graph);
Facts figure_6(trellis::TaskGraph& graph);
Facts figure_7(trellis::TaskGraph& graph);
Facts figure_8(trellis::TaskGraph& graph);
Facts figure_9(trellis::TaskGraph& graph);
Facts figure_10_solution_1(trellis::TaskGraph& graph);
Facts figure_10_solution_2(trellis::TaskGraph& graph);

/// Returns the policy that schedules the functors of figures 7 and 10, on top of another policy.
std::shared_ptr<trellis::SchedulingPolicy> figure_7_policy(
    std::shared_ptr<trellis::SchedulingPolicy> base);
std::shared_ptr<trellis::SchedulingPolicy> figure_10_policy_1(
    std::shared_ptr<trellis::SchedulingPolicy> base);
std::shared_ptr<trellis::SchedulingPolicy> figure_10_policy_2(
    std::shared_ptr<trellis::SchedulingPolicy> base);

inline std::string fact(std::string const& sentence, bool holds) {
  return sentence + (holds ? ": yes" : ": no");
}

/// True if so many functors are in flight, and no more. A complete one leaves that count a moment
/// later.
inline bool comes_down_to(trellis::TaskGraph const& graph, std::uint64_t count) {
  auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (graph.in_flight() > count && std::chrono::steady_clock::now() < end)
    std::this_thread::yield();
  return graph.in_flight() == count;
}

/// Returns the recorded edges that begin at a functor that is not complete, as facts. The others
/// are gone, with the functors that they began at.
inline Facts edges_left(trellis::TaskGraph const& graph) {
  trellis::DependencyGraph const recorded = graph.dependency_graph();
  Facts left;
  for (trellis::EdgeRecord const& edge : recorded.edges())
    if (recorded.node(edge.from).state != trellis::TaskState::done)
      left.push_back(fact("then " + recorded.node(edge.from).label + " -> " +
                              recorded.node(edge.to).label + " was left",
                          true));
  return left;
}

/// Returns the record of the only functor with this label.
inline trellis::TaskRecord record_of(trellis::TaskGraph const& graph, std::string const& label) {
  trellis::SchedulingGraph const recorded = graph.scheduling_graph();
  return recorded.node(recorded.find(label).at(0));
}

/// True if, by the recorded times, the second functor started only when the first one was complete.
inline bool is_over_before(trellis::TaskGraph const& graph, std::string const& first,
                           std::string const& second) {
  return record_of(graph, first).finished_ns <= record_of(graph, second).started_ns;
}

/// True if, by the recorded times, one functor ran from start to end while the other one was
/// running.
inline bool ran_during(trellis::TaskGraph const& graph, std::string const& one,
                       std::string const& other) {
  trellis::TaskRecord const inner = record_of(graph, one);
  trellis::TaskRecord const outer = record_of(graph, other);
  return outer.started_ns <= inner.started_ns && inner.finished_ns <= outer.finished_ns;
}

}  // namespace figures

#endif
