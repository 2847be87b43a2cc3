// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Orders and peaks against brute force.
#include <fields/impl/Trellis_MemoryOrder.hpp>

#include "RandomNumbers.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace trellis {
namespace {

using Impl::find_order;
using Impl::MemoryGraph;
using Impl::peak_of;
using Impl::peaks_of;
using Test::pick;
using Test::Random;

template <class T>
std::size_t at(T k) {
  return static_cast<std::size_t>(k);
}
void link(MemoryGraph& graph, int piece, int maker, int user) {
  graph.tasks[at(user)].uses.push_back(piece);
  auto& before = graph.tasks[at(user)].before;
  if (std::find(before.begin(), before.end(), maker) == before.end()) before.push_back(maker);
}

/// 16 equations of 6 fluxes and a right-hand side, the fluxes of one after those of the other.
MemoryGraph fluxes(int equations, int each) {
  MemoryGraph graph;
  graph.tasks.resize(at(equations * (each + 1)));
  for (int k = 0; k < equations; ++k)
    for (int flux = 0; flux < each; ++flux) {
      int const piece = static_cast<int>(graph.pieces.size());
      graph.pieces.push_back({1, 0});
      graph.tasks[at(piece)].makes.push_back(piece);
      link(graph, piece, piece, equations * each + k);
    }
  return graph;
}

/// What is live, told apart from how the subject counts: tasks that are over and those under way.
std::size_t live_bytes(MemoryGraph const& graph, int place, std::set<int> const& over,
                       std::set<int> const& running) {
  std::size_t bytes = 0;
  for (int piece = 0; piece < static_cast<int>(graph.pieces.size()); ++piece) {
    bool is_made = false, is_needed = false;
    for (int task = 0; task < static_cast<int>(graph.tasks.size()); ++task) {
      MemoryGraph::Task const& of = graph.tasks[at(task)];
      bool const makes = std::find(of.makes.begin(), of.makes.end(), piece) != of.makes.end();
      bool const uses = std::find(of.uses.begin(), of.uses.end(), piece) != of.uses.end();
      is_made = is_made || (makes && (over.count(task) + running.count(task)) > 0);
      is_needed = is_needed || ((makes || uses) && over.count(task) == 0);
    }
    if (is_made && is_needed && graph.pieces[at(piece)].place == place)
      bytes += graph.pieces[at(piece)].bytes;
  }
  return bytes;
}

bool may_run(MemoryGraph const& graph, int task, std::set<int> const& over) {
  for (int const before : graph.tasks[at(task)].before)
    if (over.count(before) == 0) return false;
  return true;
}

/// All states that are reached when tasks start in this order, with so many workers.
std::size_t worst(MemoryGraph const& graph, int place, std::vector<int> const& order,
                  std::size_t next, std::set<int> const& over, std::set<int> const& running,
                  int workers) {
  std::size_t most = live_bytes(graph, place, over, running);
  for (int const task : running) {
    std::set<int> over_then = over, running_then = running;
    over_then.insert(task);
    running_then.erase(task);
    most = std::max(most, worst(graph, place, order, next, over_then, running_then, workers));
  }
  if (next < order.size() && static_cast<int>(running.size()) < workers &&
      may_run(graph, order[next], over)) {
    std::set<int> running_then = running;
    running_then.insert(order[next]);
    most = std::max(most, worst(graph, place, order, next + 1, over, running_then, workers));
  }
  return most;
}

/// The least peak over all orders.
std::size_t least(MemoryGraph const& graph, std::set<int> const& over) {
  if (over.size() == graph.tasks.size()) return 0;
  std::size_t best = ~std::size_t{0};
  for (int task = 0; task < static_cast<int>(graph.tasks.size()); ++task) {
    if (over.count(task) != 0 || !may_run(graph, task, over)) continue;
    std::set<int> then = over;
    then.insert(task);
    std::size_t here = 0;
    for (int place = 0; place < graph.places; ++place)
      here = std::max(here, live_bytes(graph, place, over, {task}));
    best = std::min(best, std::max(here, least(graph, then)));
  }
  return best;
}

MemoryGraph random_graph(Random& random, int most_tasks, int places) {
  MemoryGraph graph;
  graph.places = places;
  int const tasks = static_cast<int>(pick(random, 1, at(most_tasks)));
  graph.tasks.resize(at(tasks));
  std::vector<int> names(at(tasks));  // so that the order of the tasks says nothing
  std::iota(names.begin(), names.end(), 0);
  std::shuffle(names.begin(), names.end(), random);
  for (int k = 0; k < tasks; ++k) {
    int const maker = names[at(k)];
    for (std::uint64_t pieces = pick(random, 0, 2); pieces > 0; --pieces) {
      int const piece = static_cast<int>(graph.pieces.size());
      graph.pieces.push_back(
          {pick(random, 1, 4), static_cast<int>(pick(random, 0, at(places - 1)))});
      graph.tasks[at(maker)].makes.push_back(piece);
      // Another task may make another part of it.
      if (pick(random, 0, 3) == 0) {
        int const other = names[at(pick(random, 0, at(tasks - 1)))];
        if (other != maker) graph.tasks[at(other)].makes.push_back(piece);
      }
      for (int user = k + 1; user < tasks; ++user)
        if (pick(random, 0, 2) == 0) link(graph, piece, maker, names[at(user)]);
    }
  }
  return graph;
}

TEST(MemoryOrder, SixteenEquationsNeedTheFluxesOfOne) {
  MemoryGraph const graph = fluxes(16, 6);
  std::vector<int> all(graph.tasks.size());
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(peak_of(graph, all), 96U);  // what priorities by depth do
  EXPECT_EQ(peak_of(graph, find_order(graph, ~std::size_t{0})), 6U);
}

TEST(MemoryOrder, AChainNeedsTwo) {
  MemoryGraph graph;
  graph.tasks.resize(11);
  for (int k = 0; k < 10; ++k) {
    graph.pieces.push_back({1, 0});
    graph.tasks[at(k)].makes.push_back(k);
    link(graph, k, k, k + 1);
  }
  auto const order = find_order(graph, ~std::size_t{0});
  for (int workers = 1; workers < 4; ++workers) EXPECT_EQ(peak_of(graph, order, workers), 2U);
}

TEST(MemoryOrder, PeaksAreThoseOfBruteForce) {
  Random random(1);
  int inexact = 0;
  for (int round = 0; round < 60; ++round) {
    MemoryGraph const graph = random_graph(random, 6, 2);
    auto const order = find_order(graph, ~std::size_t{0});
    ASSERT_EQ(order.size(), graph.tasks.size());
    for (int workers = 1; workers <= 3; ++workers)
      for (int place = 0; place < graph.places; ++place) {
        std::size_t const exact = worst(graph, place, order, 0, {}, {}, workers);
        std::size_t const said = peaks_of(graph, order, workers)[at(place)];
        if (workers == 1)
          ASSERT_EQ(said, exact);
        else
          ASSERT_GE(said, exact);
        inexact += said != exact ? 1 : 0;
      }
  }
  EXPECT_LT(inexact, 36);  // of 360
}

TEST(MemoryOrder, TheSearchFindsTheBestOrder) {
  Random random(2);
  int better = 0;
  for (int round = 0; round < 60; ++round) {
    MemoryGraph const graph = random_graph(random, 6, 1 + round % 2);
    std::size_t const best = least(graph, {});
    std::size_t const simple = peak_of(graph, find_order(graph, ~std::size_t{0}));
    auto const order = find_order(graph, 0);
    ASSERT_EQ(peak_of(graph, order), best);
    ASSERT_GE(simple, best);
    better += simple > best ? 1 : 0;
    std::set<int> over;
    for (int const task : order) {
      ASSERT_TRUE(may_run(graph, task, over));
      over.insert(task);
    }
    ASSERT_EQ(over.size(), graph.tasks.size());
  }
  EXPECT_GT(better, 0);  // else the search would be tested by nothing
}

}  // namespace
}  // namespace trellis
