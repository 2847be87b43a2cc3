// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where tasks go, as functions of small graphs: against values worked out by hand, and against all
// ways there are.
#include <fields/impl/Trellis_PathCoalescing.hpp>

#include <gmock/gmock.h>

#include "RandomNumbers.hpp"
#include "Seeds.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace trellis {
namespace {

using namespace Test;
using Impl::balance_chains;
using Impl::Chains;
using Impl::choose_targets;
using Impl::coalesce_paths;
using Impl::Consumers;
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

/// Tasks of one field go together, and chains are spread over the devices of a type.
TEST(PathCoalescing, TargetsAreThoseOfTheTypesThatWereChosen) {
  PlacementGraph graph;
  graph.targets = {{"host", 0, true}, {"a", 1, false}, {"b", 1, false}, {"c", 2, false}};
  for (int const unit : {0, 0, 1, 2, 3})
    graph.tasks.push_back({"", graph.tasks.size(), {0, 1, 2, 3}, {}, {}, {}, unit});
  graph.tasks[4].before = {2};
  // The chain of two is the first one, and goes to the second device.
  EXPECT_THAT(choose_targets(graph, {1, 1, 1, 0, 1}, Balance::round_robin),
              ElementsAre(1, 1, 2, 0, 2));
  EXPECT_THAT(choose_targets(graph, {2, 2, 1, 1, 0}, Balance::round_robin),
              ElementsAre(3, 3, 2, 1, 0));
}

}  // namespace
}  // namespace trellis
