// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layouts of fields in one piece of memory: what may share bytes, and how much there is in all,
// against brute force.
#include <fields/impl/Trellis_MemoryLayout.hpp>

#include "RandomNumbers.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

namespace trellis {
namespace {

using Impl::find_order;
using Impl::lay_out;
using Impl::lay_out_within;
using Impl::MemoryGraph;
using Impl::MemoryLayout;
using Impl::peaks_of;
using Test::pick;
using Test::Random;

template <class T>
std::size_t index(T k) {
  return static_cast<std::size_t>(k);
}

struct Life {
  std::vector<std::size_t> makers, users;  ///< positions; who makes it uses it, too
};
std::vector<Life> lives(MemoryGraph const& graph, std::vector<int> const& order) {
  std::vector<Life> all(graph.pieces.size());
  for (std::size_t k = 0; k < order.size(); ++k) {
    MemoryGraph::Task const& task = graph.tasks[index(order[k])];
    for (int const piece : task.makes) {
      all[index(piece)].makers.push_back(k);
      all[index(piece)].users.push_back(k);
    }
    for (int const piece : task.uses) all[index(piece)].users.push_back(k);
  }
  return all;
}
/// Is there a path of edges from the one task to the other?
bool leads_to(MemoryGraph const& graph, int from, int to) {
  for (int const before : graph.tasks[index(to)].before)
    if (before == from || leads_to(graph, from, before)) return true;
  return false;
}
bool share(MemoryGraph const& graph, MemoryLayout const& layout, std::size_t a, std::size_t b) {
  auto const& one = graph.pieces[a];
  auto const& other = graph.pieces[b];
  return one.place == other.place && layout.offsets[a] < layout.offsets[b] + other.bytes &&
         layout.offsets[b] < layout.offsets[a] + one.bytes;
}

/// Tasks in an order in which they can run, with edges from those that make to those that use.
MemoryGraph random_lives(Random& random, std::size_t most_tasks, std::size_t most_bytes,
                         int places) {
  MemoryGraph graph;
  graph.places = places;
  std::size_t const tasks = pick(random, 1, most_tasks);
  graph.tasks.resize(tasks);
  for (std::size_t k = 0; k < tasks; ++k) {
    for (std::uint64_t pieces = pick(random, 0, 2); pieces > 0; --pieces) {
      int const piece = static_cast<int>(graph.pieces.size());
      graph.pieces.push_back(
          {pick(random, 1, most_bytes), static_cast<int>(pick(random, 0, index(places - 1)))});
      std::vector<std::size_t> makers{k};
      if (k + 1 < tasks && pick(random, 0, 3) == 0)
        makers.push_back(pick(random, k + 1, tasks - 1));
      for (std::size_t const maker : makers) graph.tasks[maker].makes.push_back(piece);
      for (std::size_t user = makers.back() + 1; user < tasks; ++user) {
        if (pick(random, 0, 3) != 0) continue;
        graph.tasks[user].uses.push_back(piece);
        for (std::size_t const maker : makers)
          graph.tasks[user].before.push_back(static_cast<int>(maker));
      }
    }
  }
  return graph;
}
std::vector<int> in_order(MemoryGraph const& graph) {
  std::vector<int> order(graph.tasks.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

TEST(MemoryLayout, SharesBytesOnlyBetweenThoseThatNeverMeet) {
  Random random(1);
  int shared = 0, apart = 0;
  for (int k = 0; k < 1000; ++k) {
    MemoryGraph const graph = random_lives(random, 9, 5, 2);
    std::vector<int> const order = in_order(graph);
    std::size_t const window = pick(random, 0, 6);
    std::size_t const alignments[] = {1, 4};
    MemoryLayout const layout = lay_out(graph, order, alignments, window);
    auto const all = lives(graph, order);
    for (std::size_t a = 0; a < all.size(); ++a) {
      ASSERT_EQ(layout.offsets[a] % alignments[graph.pieces[a].place], 0U);
      ASSERT_LE(layout.offsets[a] + graph.pieces[a].bytes,
                layout.bytes[index(graph.pieces[a].place)]);
      for (std::size_t b = 0; b < all.size(); ++b) {
        if (a == b || all[a].makers.front() > all[b].makers.front()) continue;
        if (!share(graph, layout, a, b)) {
          ++apart;
          continue;
        }
        ++shared;
        for (std::size_t const user : all[a].users)
          for (std::size_t const maker : all[b].makers) {
            ASSERT_LT(user, maker);
            ASSERT_TRUE(maker - user >= window || leads_to(graph, order[user], order[maker]))
                << "pieces " << a << " and " << b << ", tasks " << user << " and " << maker;
          }
      }
    }
  }
  EXPECT_GT(shared, 500);
  EXPECT_GT(apart, 500);
}

TEST(MemoryLayout, OfPiecesOfOneSizeIsWhatIsLiveAtOneTime) {
  Random random(2);
  std::size_t const alignments[] = {1};
  for (int k = 0; k < 300; ++k) {
    MemoryGraph const graph = random_lives(random, 12, 1, 1);
    std::vector<int> const order = find_order(graph, ~std::size_t{0});
    EXPECT_EQ(lay_out(graph, order, alignments, 0).bytes[0], peaks_of(graph, order)[0]);
  }
}

/// The least that any layout has: the best one of all in which each piece, in some order, goes to
/// the lowest bytes that are free, since pushing down the pieces of a best one gives such a one.
std::size_t least_layout(MemoryGraph const& graph, std::vector<Life> const& all) {
  std::vector<std::size_t> turns(graph.pieces.size());
  std::iota(turns.begin(), turns.end(), std::size_t{0});
  std::size_t best = ~std::size_t{0};
  do {
    std::vector<std::pair<std::size_t, std::size_t>> at(turns.size());
    std::size_t end = 0;
    for (std::size_t k = 0; k < turns.size(); ++k) {
      std::size_t const piece = turns[k];
      auto const collides = [&](std::size_t offset) {
        for (std::size_t other = 0; other < k; ++other) {
          std::size_t const rival = turns[other];
          bool const meet = all[piece].makers.front() <= all[rival].users.back() &&
                            all[rival].makers.front() <= all[piece].users.back();
          if (meet && offset < at[rival].second &&
              at[rival].first < offset + graph.pieces[piece].bytes)
            return true;
        }
        return false;
      };
      std::size_t offset = 0;
      while (collides(offset)) ++offset;
      at[piece] = {offset, offset + graph.pieces[piece].bytes};
      end = std::max(end, at[piece].second);
    }
    best = std::min(best, end);
  } while (std::next_permutation(turns.begin(), turns.end()));
  return best;
}

TEST(MemoryLayout, IsTheLeastOrHardlyMore) {
  Random random(3);
  std::size_t const alignments[] = {1};
  int same = 0, runs = 0;
  while (runs < 200) {
    MemoryGraph const graph = random_lives(random, 7, 6, 1);
    if (graph.pieces.size() > 6 || graph.pieces.size() < 3) continue;
    ++runs;
    std::vector<int> const order = in_order(graph);
    auto const all = lives(graph, order);
    std::size_t const bytes = lay_out(graph, order, alignments, 0).bytes[0];
    std::size_t const best = least_layout(graph, all);
    ASSERT_GE(bytes, best);
    ASSERT_GE(best, peaks_of(graph, order)[0]);
    ASSERT_LE(bytes * 4, best * 5);
    same += bytes == best ? 1 : 0;
    // What a pool of blocks by size has: of each size, the most that are live at one time.
    std::map<std::size_t, std::size_t> most;
    for (std::size_t k = 0; k < order.size(); ++k) {
      std::map<std::size_t, std::size_t> live;
      for (std::size_t piece = 0; piece < all.size(); ++piece)
        if (all[piece].makers.front() <= k && k <= all[piece].users.back())
          ++live[graph.pieces[piece].bytes];
      for (auto const& [size, count] : live) most[size] = std::max(most[size], count);
    }
    std::size_t pool = 0;
    for (auto const& [size, count] : most) pool += size * count;
    ASSERT_LE(bytes, pool);
  }
  EXPECT_GE(same, 195);
}

TEST(MemoryLayout, ChainsBesideEachOtherShareNothingThatHindersThem) {
  // Four chains of eight, one after the other: of each piece only the next task is a user.
  MemoryGraph graph;
  constexpr int chains = 4, links = 8;
  for (int k = 0; k < chains * links; ++k) {
    graph.pieces.push_back({1, 0});
    MemoryGraph::Task& task = graph.tasks.emplace_back();
    task.makes.push_back(k);
    if (k % links == 0) continue;
    task.uses.push_back(k - 1);
    task.before.push_back(k - 1);
  }
  std::vector<int> const order = in_order(graph);
  std::size_t const alignments[] = {1};
  EXPECT_EQ(lay_out(graph, order, alignments, 0).bytes[0], 2U);
  EXPECT_EQ(lay_out(graph, order, alignments, chains * links).bytes[0], 2U * chains);
  std::size_t const rooms[] = {5};
  MemoryLayout const some = lay_out_within(graph, order, alignments, chains * links, rooms);
  EXPECT_GT(some.bytes[0], 2U);
  EXPECT_LE(some.bytes[0], 5U);
  std::size_t const none[] = {1};
  EXPECT_EQ(lay_out_within(graph, order, alignments, chains * links, none).bytes[0], 2U);
}

TEST(MemoryLayout, OfNothingIsNothing) {
  std::size_t const alignments[] = {64};
  EXPECT_EQ(lay_out({}, {}, alignments, 4).bytes[0], 0U);
  MemoryGraph graph;
  graph.tasks.resize(1);
  graph.pieces.push_back({0, 0});
  graph.tasks[0].makes.push_back(0);
  EXPECT_EQ(lay_out(graph, {0}, alignments, 4).bytes[0], 0U);
}

}  // namespace
}  // namespace trellis
