// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Analysis.hpp>
#include <Trellis_Error.hpp>
#include <Trellis_PriorityPolicy.hpp>
#include <tools/Trellis_Precedence.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

namespace trellis {
namespace {

using Impl::Precedence;

double checked(double cost, TaskRecord const& task) {
  if (cost >= 0) return cost;
  throw Error(Error::Kind::bad_input, "the cost of task \"" + task.label + "\" (#" +
                                          std::to_string(task.id) + ") is " + std::to_string(cost) +
                                          ", which is no cost");
}

/// A graph with a number for each of its tasks and for each of its arcs.
struct Weighted {
  Graph const& graph;
  Precedence const order;
  std::vector<std::size_t> const events;
  std::vector<double> cost;
  EdgeCost const& edge_cost;

  Weighted(Graph const& of, TaskCost const& of_task, EdgeCost const& of_edge)
      : graph(of), order(of), events(order.in_order()), edge_cost(of_edge) {
    cost.reserve(order.size());
    for (TaskRecord const& task : graph.nodes()) cost.push_back(checked(of_task(task), task));
  }
  [[nodiscard]] double weight(Precedence::Arc const& arc) const {
    return Precedence::weight(arc, cost, edge_cost);
  }
  /// Returns, by event, the weight of the heaviest path from there to the end.
  [[nodiscard]] std::vector<double> to_the_end() const {
    std::vector<double> longest(2 * order.size(), 0);
    for (std::size_t k = events.size(); k-- > 0;) {
      std::size_t const event = events[k];
      std::size_t const task = event / 2;
      double& here = longest[event];
      if (event == Precedence::begin_of(task))
        here = cost[task] + longest[Precedence::end_of(task)];
      for (Precedence::Arc const& arc : order.from(task))
        if (Precedence::first_event(arc) == event)
          here = std::max(here, weight(arc) + longest[Precedence::second_event(arc)]);
    }
    return longest;
  }
};

/// Follows the weights from the heaviest event on. If several paths are the heaviest, it takes the
/// one whose tasks were submitted first.
std::vector<TaskId> heaviest_path(Weighted const& weighted, std::vector<double> const& longest) {
  std::vector<TaskId> path;
  if (longest.empty()) return path;
  std::vector<bool> has_before(longest.size(), false);
  for (Precedence::Arc const& arc : weighted.order.arcs())
    has_before[Precedence::second_event(arc)] = true;
  constexpr std::size_t none = ~std::size_t{0};
  std::size_t event = none;
  for (std::size_t task = 0; task < weighted.order.size(); ++task) {
    std::size_t const begin = Precedence::begin_of(task);
    if (!has_before[begin] && (event == none || longest[begin] > longest[event])) event = begin;
  }
  while (event != none) {
    std::size_t const task = event / 2;
    std::size_t next = none;
    bool spends = false;  // whether the step takes some of the task's own cost
    auto const consider = [&](std::size_t other, double weight, bool of_task) {
      if (longest[event] != weight + longest[other]) return;
      if (next != none && next / 2 <= other / 2) return;
      next = other;
      spends = of_task;
    };
    for (Precedence::Arc const& arc : weighted.order.from(task))
      if (Precedence::first_event(arc) == event) {
        double const weight = weighted.weight(arc);
        consider(Precedence::second_event(arc), weight,
                 arc.kind == Precedence::Kind::progress && weight > 0);
      }
    if (event == Precedence::begin_of(task)) {
      std::size_t const end = Precedence::end_of(task);
      bool const is_tight = longest[event] == weighted.cost[task] + longest[end];
      if (next == none || (is_tight && weighted.cost[task] > 0)) {
        next = end;
        spends = weighted.cost[task] > 0;
      }
      if (spends) path.push_back(weighted.graph.nodes()[task].id);
    }
    event = next;
  }
  return path;
}

}  // namespace

TaskCost unit_cost() {
  return [](TaskRecord const& task) {
    return task.pattern == "replay" || task.pattern == "iterate" ? 0.0 : 1.0;
  };
}

TaskCost Impl::cost_of(Graph const& graph, std::vector<double> const& costs) {
  auto const of = std::make_shared<std::unordered_map<TaskId, double>>();
  for (std::size_t p = 0; p < costs.size(); ++p) of->emplace(graph.nodes()[p].id, costs[p]);
  return [of](TaskRecord const& task) {
    auto const found = of->find(task.id);
    return found != of->end() ? found->second : 0.0;
  };
}

TaskCost measured_cost(Graph const& graph) {
  std::vector<double> costs;
  for (Impl::TaskTimes const& each : Impl::measured_times(graph)) costs.push_back(each.all());
  return Impl::cost_of(graph, costs);
}

GraphAnalysis analyse(Graph const& graph, TaskCost const& cost, EdgeCost const& edge_cost) {
  Weighted const weighted(graph, cost, edge_cost);
  GraphAnalysis found;
  for (double const each : weighted.cost) {
    found.tasks += each > 0;
    found.work += each;
  }
  std::vector<double> const longest = weighted.to_the_end();
  if (!longest.empty()) found.span = *std::max_element(longest.begin(), longest.end());
  found.critical_path = heaviest_path(weighted, longest);
  return found;
}

GraphAnalysis analyse(Graph const& graph) {
  return analyse(graph, measured_cost(graph));
}

std::vector<TaskRank> ranks(Graph const& graph, TaskCost const& cost, EdgeCost const& edge_cost) {
  Weighted const weighted(graph, cost, edge_cost);
  std::vector<double> const longest = weighted.to_the_end();
  std::vector<TaskRank> found;
  found.reserve(weighted.order.size());
  for (std::size_t p = 0; p < weighted.order.size(); ++p) {
    TaskId const id = graph.nodes()[p].id;
    found.push_back({id, longest[Precedence::begin_of(p)], graph.successors(id).size()});
  }
  return found;
}

std::vector<std::size_t> hops(Graph const& graph) {
  TaskCost const cost = unit_cost();
  std::vector<TaskRank> const found = ranks(graph, cost);
  std::vector<std::size_t> edges;
  edges.reserve(found.size());
  for (std::size_t p = 0; p < found.size(); ++p)
    edges.push_back(static_cast<std::size_t>(found[p].rank - cost(graph.nodes()[p])));
  return edges;
}

}  // namespace trellis

namespace trellis::experimental {

void PriorityPolicy::learn(Graph const& graph) {
  struct Sum {
    double rank = 0;
    double consumers = 0;
    double tasks = 0;
  };
  std::map<std::string_view, Sum> sums;
  std::vector<TaskRank> const of_tasks = ranks(graph, measured_cost(graph));
  for (std::size_t k = 0; k < of_tasks.size(); ++k) {
    Sum& sum = sums[graph.nodes()[k].label];
    sum.rank += of_tasks[k].rank;
    sum.consumers += static_cast<double>(of_tasks[k].consumers);
    ++sum.tasks;
  }
  for (auto const& [label, sum] : sums)
    set_urgency(label, {std::llround(sum.rank / sum.tasks),
                        static_cast<std::uint32_t>(std::llround(sum.consumers / sum.tasks))});
}

}  // namespace trellis::experimental
