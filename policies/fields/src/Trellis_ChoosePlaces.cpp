// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_PriorityPolicy.hpp>
#include <Trellis_WhatIf.hpp>
#include <fields/impl/Trellis_ChoosePlaces.hpp>
#include <fields/impl/Trellis_PathCoalescing.hpp>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace trellis::Impl {

namespace {

/// An iteration with given places: its steps, where each of them runs, and its time there.
class PlacedIteration {
 public:
  PlacedIteration(PlacementGraph const& graph, std::span<int const> places,
                  PlacementCosts const& costs)
      : m_graph(graph), m_placed(place_steps(graph, places)) {
    for (PlacedStep const& step : m_placed.steps) {
      bool const is_task = step.kind == PlacedStep::Kind::task;
      m_costs.push_back(
          is_task ? costs.time(step.task, step.to)
                  : costs.transfer(step.from, step.to, graph.fields[nth(step.field)].bytes));
    }
    find_order();
    find_ranks();
  }

  [[nodiscard]] bool is_stuck() const { return m_placed.stuck >= 0; }
  [[nodiscard]] double work() const { return std::accumulate(m_costs.begin(), m_costs.end(), 0.0); }
  /// Returns a lower bound of the makespan: the longest path, and the work of each lane.
  [[nodiscard]] double bound() const {
    double least = m_ranks.empty() ? 0 : *std::max_element(m_ranks.begin(), m_ranks.end());
    std::vector<double> of_lane(3 * m_graph.targets.size() + 1, 0);
    for (std::size_t step = 0; step < m_costs.size(); ++step)
      of_lane[nth(lane(step) + 1)] += m_costs[step];
    of_lane[0] /= host_lanes();
    return std::max(least, *std::max_element(of_lane.begin(), of_lane.end()));
  }
  /// Returns the makespan of a simulated trace: host tasks run on workers, and each lane is a
  /// device that runs one task at a time.
  [[nodiscard]] double makespan() const {
    std::vector<TaskRecord> nodes;
    std::vector<EdgeRecord> edges;
    std::vector<TaskId> id_of(m_costs.size(), 0);
    for (int const step : m_order) {
      TaskRecord& task = nodes.emplace_back();
      task.id = id_of[nth(step)] = nodes.size();
      int const lane = this->lane(nth(step));
      task.row = lane < 0 ? 0 : host_lanes();
      if (lane >= 0) task.space = "lane " + std::to_string(lane) + '.';
      task.priority = m_priorities[nth(step)];
      for (int const before : m_placed.steps[nth(step)].before)
        edges.push_back({id_of[nth(before)], task.id});
    }
    Trace trace;
    trace.graph = SchedulingGraph(std::move(nodes), std::move(edges));
    trace.threads = 1;
    WhatIf what_if;
    what_if.cost = [&](TaskRecord const& task) { return m_costs[nth(m_order[task.id - 1])]; };
    what_if.as_submitted = false;
    what_if.policy = experimental::make_priority_policy({.measures = false});
    return simulate(trace, {.workers = host_lanes(), .tasks_per_device = 1}, what_if).makespan;
  }

 private:
  [[nodiscard]] int host_lanes() const {
    int const host = host_of(m_graph);
    return host < 0 ? 1 : std::max(1, m_graph.targets[nth(host)].lanes);
  }
  /// Returns the lane of a step; -1 for a worker of the host. The receiving device makes a copy
  /// between devices.
  [[nodiscard]] int lane(std::size_t number) const {
    PlacedStep const& step = m_placed.steps[number];
    bool const is_to_host = m_graph.targets[nth(step.to)].is_host;
    if (step.kind == PlacedStep::Kind::task) return is_to_host ? -1 : 3 * step.to;
    return is_to_host ? 3 * step.from + 2 : 3 * step.to + 1;
  }
  /// Orders the steps: each after its predecessors, otherwise unchanged.
  void find_order() {
    std::vector<PlacedStep> const& steps = m_placed.steps;
    m_after.resize(steps.size());
    std::vector<std::size_t> left(steps.size(), 0);
    for (std::size_t step = 0; step < steps.size(); ++step) {
      left[step] = steps[step].before.size();
      if (left[step] == 0) m_order.push_back(static_cast<int>(step));
      for (int const before : steps[step].before)
        m_after[nth(before)].push_back(static_cast<int>(step));
    }
    for (std::size_t k = 0; k < m_order.size(); ++k)
      for (int const after : m_after[nth(m_order[k])])
        if (--left[nth(after)] == 0) m_order.push_back(after);
  }
  /// Computes for each step the time of the longest path that begins with it, also as a whole
  /// number.
  void find_ranks() {
    m_ranks.assign(m_costs.size(), 0);
    for (auto step = m_order.rbegin(); step != m_order.rend(); ++step) {
      double behind = 0;
      for (int const after : m_after[nth(*step)]) behind = std::max(behind, m_ranks[nth(after)]);
      m_ranks[nth(*step)] = m_costs[nth(*step)] + behind;
    }
    std::vector<double> sorted = m_ranks;
    std::sort(sorted.begin(), sorted.end());
    for (double const rank : m_ranks)
      m_priorities.push_back(
          static_cast<int>(std::lower_bound(sorted.begin(), sorted.end(), rank) - sorted.begin()));
  }

  PlacementGraph const& m_graph;
  PlacedSteps const m_placed;
  std::vector<double> m_costs;  ///< by step
  std::vector<std::vector<int>> m_after;
  std::vector<int> m_order;
  std::vector<double> m_ranks;
  std::vector<int> m_priorities;
};

/// Tries ways to assign chains to types of targets.
class Choosing {
 public:
  Choosing(PlacementGraph const& graph, PlacementCosts const& costs, Balance balance)
      : m_graph(graph), m_costs(costs), m_balance(balance), m_types(graph.tasks.size(), 0) {
    std::vector<std::set<int>> choices;
    for (auto const& task : graph.tasks) {
      auto& types = choices.emplace_back();
      for (int const target : task.eligible) types.insert(graph.targets[nth(target)].type);
      m_all_types.insert(types.begin(), types.end());
    }
    m_chains = chains_of(graph, choices);
    for (auto const& chain : m_chains) {
      auto const& may_be = choices[nth(chain.front())];
      m_ways.emplace_back(may_be.begin(), may_be.end());
    }
  }

  std::vector<int> run() {
    look_at_beginnings();
    double ways = 1;
    for (auto const& way : m_ways) ways *= static_cast<double>(way.size());
    constexpr double few = 4096;
    if (ways <= few)
      look_at_all();
    else
      climb();
    return m_best.has_value() ? m_best->places : std::vector<int>();
  }

 private:
  struct Found {
    PlacementValue value;
    std::vector<int> types;
    std::vector<int> places;
  };

  void put(std::size_t chain, int type) {
    for (int const task : m_chains[chain]) m_types[nth(task)] = type;
  }
  [[nodiscard]] bool may_be(std::size_t chain, int type) const {
    return std::find(m_ways[chain].begin(), m_ways[chain].end(), type) != m_ways[chain].end();
  }
  /// Returns true if the present types are better than the best so far. Cheap checks come first;
  /// whether the places fit comes last.
  bool consider() {
    std::vector<int> const places = choose_targets(m_graph, m_types, m_balance);
    PlacedIteration const iteration(m_graph, places, m_costs);
    if (iteration.is_stuck()) return false;
    PlacementValue value{iteration.bound(), iteration.work()};
    if (m_best.has_value() && value >= m_best->value) return false;
    ++m_looks;
    value.makespan = iteration.makespan();
    if (m_best.has_value() && value >= m_best->value) return false;
    if (missing_bytes(m_graph, places) != 0) return false;
    m_best = Found{value, m_types, places};
    return true;
  }

  /// Tries the first chains on one type, and the others on another one.
  void look_at_beginnings() {
    for (int const first : m_all_types)
      for (int const second : m_all_types)
        for (std::size_t count = 0; count < m_chains.size(); ++count) {
          if ((first == second || m_chains.size() == 1) && count > 0) break;
          for (std::size_t chain = 0; chain < m_chains.size(); ++chain) {
            int const type = chain < count ? first : second;
            put(chain, may_be(chain, type) ? type : m_ways[chain].front());
          }
          consider();
        }
  }
  void look_at_all() {
    std::vector<std::size_t> digits(m_chains.size(), 0);
    for (std::size_t chain = 0; chain < m_chains.size(); ++chain) put(chain, m_ways[chain].front());
    for (;;) {
      consider();
      std::size_t chain = 0;
      for (; chain < m_chains.size(); ++chain) {
        digits[chain] = (digits[chain] + 1) % m_ways[chain].size();
        put(chain, m_ways[chain][digits[chain]]);
        if (digits[chain] != 0) break;
      }
      if (chain == m_chains.size()) return;
    }
  }
  /// Moves single chains, and connected groups of chains, as long as the value improves.
  void climb() {
    if (!m_best.has_value()) return;
    std::vector<std::vector<std::size_t>> moves = parts();
    for (std::size_t chain = 0; chain < m_chains.size(); ++chain) moves.push_back({chain});
    constexpr int most_looks = 2048;
    m_looks = 0;
    for (bool is_better = true; is_better && m_looks < most_looks;) {
      is_better = false;
      for (auto const& move : moves)
        for (int const type : m_all_types) {
          if (m_looks >= most_looks) return;
          m_types = m_best->types;
          for (std::size_t const chain : move)
            if (may_be(chain, type)) put(chain, type);
          if (m_types != m_best->types && consider()) is_better = true;
        }
    }
  }
  /// Returns groups of chains that are connected by dependencies of their tasks.
  [[nodiscard]] std::vector<std::vector<std::size_t>> parts() const {
    std::vector<std::size_t> chain_of(m_graph.tasks.size(), 0);
    for (std::size_t chain = 0; chain < m_chains.size(); ++chain)
      for (int const task : m_chains[chain]) chain_of[nth(task)] = chain;
    std::vector<std::size_t> part_of(m_chains.size());
    std::iota(part_of.begin(), part_of.end(), std::size_t{0});
    for (std::size_t task = 0; task < m_graph.tasks.size(); ++task)
      for (int const before : m_graph.tasks[task].before) {
        std::size_t const one = part_of[chain_of[task]], other = part_of[chain_of[nth(before)]];
        if (one != other) std::replace(part_of.begin(), part_of.end(), other, one);
      }
    std::vector<std::vector<std::size_t>> parts(m_chains.size());
    for (std::size_t chain = 0; chain < m_chains.size(); ++chain)
      parts[part_of[chain]].push_back(chain);
    std::erase_if(parts, [](auto const& part) { return part.size() < 2; });
    return parts;
  }

  PlacementGraph const& m_graph;
  PlacementCosts const& m_costs;
  Balance const m_balance;
  std::set<int> m_all_types;
  Chains m_chains;
  std::vector<std::vector<int>> m_ways;  ///< possible types, by chain
  std::vector<int> m_types;              ///< type, by task
  std::optional<Found> m_best;
  int m_looks = 0;  ///< number of schedules, which take most of the time
};

}  // namespace

PlacementValue value_of(PlacementGraph const& graph, std::span<int const> places,
                        PlacementCosts const& costs) {
  PlacedIteration const iteration(graph, places, costs);
  return {iteration.makespan(), iteration.work()};
}

std::vector<int> choose_places(PlacementGraph const& graph, PlacementCosts const& costs,
                               Balance balance) {
  std::vector<int> const chosen = Choosing(graph, costs, balance).run();
  if (!chosen.empty() || graph.tasks.empty()) return chosen;
  std::vector<int> wanted;
  for (auto const& task : graph.tasks) wanted.push_back(task.eligible.front());
  return find_fitting(graph, wanted);
}

}  // namespace trellis::Impl
