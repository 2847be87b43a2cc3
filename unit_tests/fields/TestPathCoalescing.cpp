// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where tasks go, as functions of small graphs: against values worked out by hand, and against all
// ways there are.
#include <fields/impl/Trellis_PathCoalescing.hpp>

#include <gmock/gmock.h>

#include "../core/RandomNumbers.hpp"
#include "../random/Seeds.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <set>
#include <vector>

namespace trellis {
namespace {

using namespace Test;
using Impl::balance_chains;
using Impl::Chains;
using Impl::choose_targets;
using Impl::choose_types;
using Impl::coalesce_paths;
using Impl::Consumers;
using Impl::cost_of;
using Impl::PlacementCosts;
using Impl::TransferCosts;
using testing::ElementsAre;

constexpr int cpu = -1;

TEST(PathCoalescing, JoinsPathsFromTheRoots) {
  enum { A, B, C, D, E };
  Consumers const consumers{{B, C}, {D, E}, {E}, {}, {}};
  EXPECT_THAT(coalesce_paths(consumers, {0, 0, 0, 0, 0}),
              ElementsAre(ElementsAre(A, B, D), ElementsAre(C, E)));
}

TEST(PathCoalescing, EveryDeviceTaskIsInOneChain) {
  EXPECT_THAT(coalesce_paths({{}}, {0}), ElementsAre(ElementsAre(0))) << "an isolated leaf";
  EXPECT_TRUE(coalesce_paths({{1}, {}}, {cpu, cpu}).empty());
  EXPECT_THAT(coalesce_paths({{1}, {2}, {}}, {cpu, 0, 0}), ElementsAre(ElementsAre(1, 2)));
  EXPECT_THAT(coalesce_paths({{1}, {2}, {}}, {0, cpu, 0}),
              ElementsAre(ElementsAre(0), ElementsAre(2)));
  // The only parent of a leaf has a successor already.
  EXPECT_THAT(coalesce_paths({{1, 2}, {}, {}}, {0, 0, 0}),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2)));
  // Task 2 is met from the host first, and heads a chain that 1 then brings.
  EXPECT_THAT(coalesce_paths({{2}, {2}, {3}, {}}, {cpu, 0, 0, 0}),
              ElementsAre(ElementsAre(1, 2, 3)));
  EXPECT_THAT(coalesce_paths({{1}, {}}, {0, 1}), ElementsAre(ElementsAre(0), ElementsAre(1)))
      << "two kinds of devices";
}

TEST(PathCoalescing, OfRandomGraphsChainsArePaths) {
  for (std::uint64_t const seed : random_program::seeds(40)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    std::size_t const tasks = pick(random, 1, 14);
    Consumers consumers(tasks);
    std::vector<int> kinds;
    for (std::size_t k = 0; k < tasks; ++k) {
      kinds.push_back(static_cast<int>(pick(random, 0, 2)) - 1);
      for (std::size_t to = k + 1; to < tasks; ++to)
        if (pick(random, 0, 3) == 0) consumers[k].push_back(static_cast<int>(to));
    }
    Chains const chains = coalesce_paths(consumers, kinds);
    std::vector<int> times(tasks, 0);
    for (auto const& chain : chains)
      for (std::size_t k = 0; k < chain.size(); ++k) {
        auto const task = static_cast<std::size_t>(chain[k]);
        ++times[task];
        ASSERT_EQ(kinds[task], kinds[static_cast<std::size_t>(chain[0])]);
        if (k == 0) continue;
        auto const& of = consumers[static_cast<std::size_t>(chain[k - 1])];
        ASSERT_NE(std::find(of.begin(), of.end(), chain[k]), of.end());
      }
    for (std::size_t k = 0; k < tasks; ++k) ASSERT_EQ(times[k], kinds[k] < 0 ? 0 : 1);
  }
}

TEST(PathCoalescing, ChainsAreSpreadOverDevices) {
  Chains const chains{{0, 1, 2}, {3, 4}, {5}};
  EXPECT_THAT(balance_chains(chains, 2, Balance::round_robin), ElementsAre(1, 0, 1));   // (2, 4)
  EXPECT_THAT(balance_chains(chains, 2, Balance::least_loaded), ElementsAre(1, 0, 0));  // (3, 3)
  EXPECT_THAT(balance_chains(chains, 1, Balance::least_loaded), ElementsAre(0, 0, 0));
}

TEST(TransferCosts, AreALatencyAndABandwidth) {
  TransferCosts costs;
  costs.set_host(0);
  EXPECT_EQ(costs.cost(0, 1, 4096), 0);
  costs.add(0, 1, 1600, 250);  // it has waited
  costs.add(0, 1, 1600, 200);
  EXPECT_DOUBLE_EQ(costs.cost(0, 1, 3200), 400);  // so far only a bandwidth
  costs.add(0, 1, 3200, 300);
  EXPECT_DOUBLE_EQ(costs.cost(0, 1, 0), 100);
  EXPECT_DOUBLE_EQ(costs.cost(0, 1, 16000), 1100);
  EXPECT_DOUBLE_EQ(costs.cost(1, 0, 16000), 1100) << "the other way";
  costs.add(2, 0, 100, 50);
  EXPECT_DOUBLE_EQ(costs.cost(1, 2, 100), 106.25 + 50) << "over the host";
}

/// One host (type 0) and devices of one type each.
struct Problem {
  PlacementGraph graph;
  std::vector<std::vector<double>> times;  ///< by task and type
  double copy = 0;

  explicit Problem(int types = 2) {
    for (int k = 0; k < types; ++k) graph.targets.push_back({"", k, k == 0});
  }
  int field(int home = -1) {
    graph.fields.push_back({8, home});
    return static_cast<int>(graph.fields.size()) - 1;
  }
  void task(std::vector<int> reads, std::vector<int> makes, std::vector<double> time) {
    PlacementGraph::Task task;
    task.number = graph.tasks.size();
    task.unit = static_cast<int>(task.number);
    task.reads = reads;
    task.makes = makes;
    for (std::size_t k = 0; k < time.size(); ++k)
      if (time[k] >= 0) task.eligible.push_back(static_cast<int>(k));
    for (std::size_t k = 0; k < graph.tasks.size(); ++k)
      for (int const made : graph.tasks[k].makes)
        if (std::find(reads.begin(), reads.end(), made) != reads.end())
          task.before.push_back(static_cast<int>(k));
    graph.tasks.push_back(task);
    times.push_back(time);
  }
  [[nodiscard]] PlacementCosts costs() const {
    return {[this](int task, int type) {
              return times[static_cast<std::size_t>(task)][static_cast<std::size_t>(type)];
            },
            [this](int, int, std::size_t) { return copy; }};
  }
  [[nodiscard]] double cost(std::vector<int> const& types) const {
    return cost_of(graph, types, costs());
  }
  [[nodiscard]] std::vector<int> choice() const { return choose_types(graph, costs()); }
};

TEST(Placement, AChainGoesWhereOneTaskWouldNot) {
  Problem one;
  one.copy = 6;
  one.task({one.field(0)}, {one.field(0)}, {10, 1});
  EXPECT_EQ(one.cost({0}), 10);
  EXPECT_EQ(one.cost({1}), 13);
  EXPECT_THAT(one.choice(), ElementsAre(0));
  Problem two;
  two.copy = 6;
  int const between = two.field();
  two.task({two.field(0)}, {between}, {10, 1});
  two.task({between}, {two.field(0)}, {10, 1});
  EXPECT_EQ(two.cost({0, 0}), 20);
  EXPECT_EQ(two.cost({1, 1}), 14);
  EXPECT_THAT(two.choice(), ElementsAre(1, 1));
}

TEST(Placement, OfTheHeatEquation) {
  Problem heat;
  heat.copy = 4.5;
  int const T = heat.field(0), r = heat.field(0);
  std::vector<int> flux;
  for (int k = 0; k < 3; ++k) flux.push_back(heat.field());
  for (int const each : flux) heat.task({T}, {each}, {10, 1});
  heat.task(flux, {r}, {10, 1});
  EXPECT_EQ(heat.cost({0, 0, 0, 0}), 40);
  EXPECT_EQ(heat.cost({1, 0, 0, 0}), 40) << "the break-even of one flux: 1 + 2 * 4.5 = 10";
  EXPECT_EQ(heat.cost({1, 1, 1, 1}), 13);
  EXPECT_THAT(heat.choice(), ElementsAre(1, 1, 1, 1));
}

/// Two tasks of one field go together, and a task stays where it is eligible.
TEST(Placement, KeepsToWhatIsPossible) {
  Problem problem(3);
  int const q = problem.field(), r = problem.field(0);
  problem.task({}, {q}, {10, 1, 2});
  problem.task({}, {q}, {10, 20, 2});
  problem.task({q}, {r}, {10, -1, -1});
  problem.graph.tasks[1].unit = 0;
  EXPECT_THAT(problem.choice(), ElementsAre(2, 2, 0));
  EXPECT_THAT(choose_targets(problem.graph, {2, 2, 0}, Balance::round_robin), ElementsAre(2, 2, 0));
}

/// Of graphs in which each task is a chain, the choice is that of all assignments there are.
TEST(Placement, IsTheBestOfAllWays) {
  for (std::uint64_t const seed : random_program::seeds(30)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    int const types = static_cast<int>(pick(random, 2, 3));
    Problem problem(types);
    problem.copy = static_cast<double>(pick(random, 0, 12));
    std::vector<int> fields{problem.field(0)};
    std::size_t const tasks = pick(random, 1, 6);
    for (std::size_t k = 0; k < tasks; ++k) {
      std::vector<int> reads;
      for (int const field : fields)
        if (pick(random, 0, 1) == 0) reads.push_back(field);
      std::vector<double> time;
      for (int type = 0; type < types; ++type)
        time.push_back(
            type > 0 && pick(random, 0, 3) == 0 ? -1 : static_cast<double>(pick(random, 1, 20)));
      int const made = problem.field(pick(random, 0, 2) == 0 ? 0 : -1);
      problem.task(reads, {made}, time);
      fields.push_back(made);
    }
    double const chosen = problem.cost(problem.choice());
    double least = std::numeric_limits<double>::infinity();
    // Chains are those of tasks with one choice: all of one chain on one type.
    std::vector<int> kinds(tasks, 0);
    for (std::size_t k = 0; k < tasks; ++k)
      for (int const each : problem.graph.tasks[k].eligible) kinds[k] += 1 << each;
    Consumers consumers(tasks);
    for (std::size_t k = 0; k < tasks; ++k)
      for (int const before : problem.graph.tasks[k].before)
        consumers[static_cast<std::size_t>(before)].push_back(static_cast<int>(k));
    Chains const chains = coalesce_paths(consumers, kinds);
    std::vector<int> now(tasks, 0);
    auto const all_ways = [&](auto const& self, std::size_t chain) -> void {
      if (chain == chains.size()) {
        least = std::min(least, problem.cost(now));
        return;
      }
      for (int const type :
           problem.graph.tasks[static_cast<std::size_t>(chains[chain][0])].eligible) {
        for (int const task : chains[chain]) now[static_cast<std::size_t>(task)] = type;
        self(self, chain + 1);
      }
    };
    all_ways(all_ways, 0);
    ASSERT_EQ(chosen, least);
  }
}

/// Too many chains for all ways: no worse than all on the host, or as much as may be on a device.
TEST(Placement, OfManyChainsIsNoWorseThanOneType) {
  Problem problem;
  problem.copy = 3;
  int const T = problem.field(0);
  for (int k = 0; k < 40; ++k)
    problem.task({T}, {problem.field(0)}, {static_cast<double>(k % 7), 1});
  auto const types = problem.choice();
  double expected = 0;  // each alone: 4 with its copy, and one copy of T for all
  for (int k = 0; k < 40; ++k) expected += std::min(k % 7, 4);
  EXPECT_LE(problem.cost(types), expected + 3);
  EXPECT_LT(problem.cost(types), problem.cost(std::vector<int>(40, 0)) + 1e-9);
}

}  // namespace
}  // namespace trellis
