// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RandomNumbers.hpp"

#include <access/Trellis_AreaIndex.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <set>
#include <vector>

namespace {

using trellis::Impl::Area;
using trellis::Impl::AreaIndex;
using trellis::Test::pick;
using trellis::Test::Random;

constexpr std::uintptr_t begin_of_all = (std::uintptr_t{1} << 30) + 128;

struct Item {
  Area area;
};

/// Rows, columns and blocks of an array of doubles, last index fastest, whose extents after the
/// first are given.
Area block(std::uint64_t plane, std::uint64_t row, std::array<std::uint64_t, 3> first,
           std::array<std::uint64_t, 3> extent) {
  std::uint64_t const strides[] = {plane, row, 1};
  std::uint64_t const offset = first[0] * plane + first[1] * row + first[2];
  return Area::strided(reinterpret_cast<void const*>(begin_of_all + 8 * offset), 8, 3,
                       extent.data(), strides);
}

/// Of the 1e4 x 1e4 matrix.
Area tile(std::uint64_t i, std::uint64_t j, std::uint64_t rows, std::uint64_t columns) {
  return block(100000000, 10000, {0, i, j}, {1, rows, columns});
}

struct Answer {
  std::size_t candidates = 0;
  std::size_t looked_at = 0;
};

/// Asks, and checks the answer against all the items.
template <class Items>
Answer ask(AreaIndex const& index, Items const& items, Area const& query) {
  std::set<void const*> found;
  Answer answer;
  answer.looked_at = index.for_each_candidate(query, [&](void* item) {
    ++answer.candidates;
    EXPECT_TRUE(found.insert(item).second) << "an item comes twice";
  });
  std::size_t expected = 0, true_found = 0;
  for (Item const& item : items)
    if (overlaps(item.area, query)) ++expected, true_found += found.count(&item);
  EXPECT_EQ(true_found, expected) << "an overlap is missed by " << to_string(query, begin_of_all);
  return answer;
}

TEST(AreaIndex, AnEmptyIndexHasNoCandidates) {
  AreaIndex index;
  index.for_each_candidate(tile(0, 0, 5, 5), [](void*) { ADD_FAILURE(); });
  int item = 0;
  index.insert(Area{}, &item);
  EXPECT_EQ(index.size(), 0u);
  index.erase(Area{}, &item);
  index.insert(tile(0, 0, 5, 5), &item);
  EXPECT_EQ(index.size(), 1u);
  index.for_each_candidate(Area{}, [](void*) { ADD_FAILURE(); });
  index.erase(tile(0, 0, 5, 5), &item);
  EXPECT_EQ(index.size(), 0u);
  index.for_each_candidate(tile(0, 0, 5, 5), [](void*) { ADD_FAILURE(); });
}

/// 1e4 areas, a sample of queries: the most candidates and the most work for one of them.
struct Crowd {
  std::uintptr_t known_base;  // 0: the index has to guess
  std::deque<Item> items{};
  AreaIndex index{known_base};

  void add(Area const& area) {
    items.push_back({area});
    index.insert(area, &items.back());
  }
  Answer worst(std::vector<Area> const& queries) const {
    Answer worst;
    for (Area const& query : queries) {
      Answer const answer = ask(index, items, query);
      worst.candidates = std::max(worst.candidates, answer.candidates);
      worst.looked_at = std::max(worst.looked_at, answer.looked_at);
    }
    return worst;
  }
  std::vector<Area> some() const {
    std::vector<Area> result;
    for (std::size_t n = 0; n < items.size(); n += 97) result.push_back(items[n].area);
    return result;
  }
};

class AreaIndexOf10000 : public testing::TestWithParam<bool> {
 protected:
  Crowd crowd{GetParam() ? begin_of_all : 0};
  void expect_few(std::vector<Area> const& queries, std::size_t candidates, std::size_t looked_at) {
    Answer const worst = crowd.worst(queries);
    EXPECT_LE(worst.candidates, candidates);
    EXPECT_LE(worst.looked_at, looked_at);
  }
};
INSTANTIATE_TEST_SUITE_P(, AreaIndexOf10000, testing::Bool(), [](auto const& parameter) {
  return parameter.param ? "KnownBase" : "UnknownBase";
});

TEST_P(AreaIndexOf10000, ColumnStrips) {
  for (std::uint64_t j = 0; j < 10000; ++j) crowd.add(tile(0, j, 10000, 1));
  expect_few(crowd.some(), 3, 20);
  expect_few({tile(5, 50, 100, 10), tile(9999, 7, 1, 3)}, 20, 100);
}

TEST_P(AreaIndexOf10000, Tiles) {
  for (std::uint64_t i = 0; i < 10000; i += 100)
    for (std::uint64_t j = 0; j < 10000; j += 100) crowd.add(tile(i, j, 100, 100));
  expect_few(crowd.some(), 9, 200);
  expect_few(
      {tile(99, 99, 102, 102), tile(300, 399, 100, 2), tile(299, 300, 2, 100), tile(5, 5, 1, 1)},
      16, 200);
  expect_few({tile(0, 4321, 10000, 1), tile(4321, 0, 1, 10000)}, 200, 1000);
  EXPECT_EQ(ask(crowd.index, crowd.items, tile(0, 0, 10000, 10000)).candidates, 10000u);
}

TEST_P(AreaIndexOf10000,
       TilesThatAreNotTheFirstOnes) {  // a guessed begin_of_all splits the last column of tiles
  for (std::uint64_t n = 0; n < 10000; ++n)
    crowd.add(tile(n * 37 % 100 * 100 + 50, n / 100 * 99 + 40, 100, 99));
  expect_few(crowd.some(), 200, 1000);
}

TEST_P(AreaIndexOf10000, Rows) {
  for (std::uint64_t i = 0; i < 10000; ++i) crowd.add(tile(i, 0, 1, 10000));
  expect_few(crowd.some(), 3, 20);
}

TEST_P(AreaIndexOf10000, Elements) {
  for (std::uint64_t n = 0; n < 10000; ++n)
    crowd.add(tile(n * 7919 % 10000, n * 104729 % 10000, 1, 1));
  expect_few(crowd.some(), 3, 20);
  crowd.add(tile(0, 17, 10000, 1));  // now a row's length is known
  expect_few({tile(0, 4321, 10000, 1), tile(0, 17, 10000, 1), tile(300, 300, 100, 100)}, 200, 400);
}

TEST_P(AreaIndexOf10000, TilesTheirHalosRowsColumnsAndEverything) {
  for (std::uint64_t i = 0; i < 10000; i += 250)
    for (std::uint64_t j = 0; j < 10000; j += 250) {
      crowd.add(tile(i, j, 250, 250));
      crowd.add(tile(i, j, 1, 250));
      crowd.add(tile(i + 249, j, 1, 250));
      crowd.add(tile(i, j, 250, 1));
      crowd.add(tile(i, j + 249, 250, 1));
      crowd.add(tile(i + 3, j + 4, 1, 1));
    }
  crowd.add(tile(0, 0, 10000, 10000));
  crowd.add(tile(0, 77, 10000, 1));
  crowd.add(tile(77, 0, 1, 10000));
  std::vector<Area> queries = crowd.some();
  std::erase_if(queries, [](Area const& area) { return area.run() >= 80000; });
  expect_few(queries, 30, 400);
}

TEST_P(AreaIndexOf10000, BlocksOfACubeAndTheirFaces) {
  auto const cube = [](std::uint64_t i, std::uint64_t j, std::uint64_t k,
                       std::array<std::uint64_t, 3> extent) {
    return block(220 * 220, 220, {i, j, k}, extent);
  };
  for (std::uint64_t i = 0; i < 220; i += 20)
    for (std::uint64_t j = 0; j < 220; j += 20)
      for (std::uint64_t k = 0; k < 220; k += 20) {
        crowd.add(cube(i, j, k, {1, 20, 20}));
        crowd.add(cube(i, j, k, {20, 1, 20}));
        crowd.add(cube(i, j, k, {20, 20, 1}));
        crowd.add(cube(i, j, k, {20, 20, 20}));
      }
  expect_few(crowd.some(), 60, 1000);
}

TEST_P(AreaIndexOf10000, ErasedAreasCostNothing) {
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t j = 0; j < 10000; ++j) crowd.add(tile(0, j, 10000, 1));
    for (Item const& item : crowd.items) crowd.index.erase(item.area, const_cast<Item*>(&item));
    crowd.items.clear();
    EXPECT_EQ(crowd.index.size(), 0u);
    expect_few({tile(0, 5, 10000, 1), tile(0, 0, 10000, 10000)}, 0, 0);
  }
}

/// Subviews of some Views of one allocation, wild strides among them, come and go.
TEST(AreaIndex, RandomAreasComeAndGo) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Random random(seed);
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::uint64_t const plane = pick(random, 1, 400), row = pick(random, 1, 40);
    auto const area = [&] {
      std::uint64_t extents[4], strides[4], element = pick(random, 0, 9) ? 8 : 3,
                                            offset = pick(random, 0, 2000);
      int const rank = static_cast<int>(pick(random, 0, 4));
      for (int k = 0; k < rank; ++k) {
        extents[k] = pick(random, 0, 20) ? pick(random, 1, 8) : 0;
        switch (pick(random, 0, 5)) {
          case 0:
            strides[k] = pick(random, 0, 50);
            break;
          case 1:
            strides[k] = 1;
            break;
          case 2:
            strides[k] = 2 * row;
            break;
          case 3:
            strides[k] = row;
            break;
          default:
            strides[k] = plane;
        }
      }
      return Area::strided(reinterpret_cast<void const*>(begin_of_all + element * offset), element,
                           rank, extents, strides);
    };
    AreaIndex index(pick(random, 0, 1) ? begin_of_all : 0);
    std::deque<Item> items;
    std::deque<Item> gone;  // keeps addresses unique
    for (int step = 0; step < 150; ++step) {
      if (items.empty() || pick(random, 0, step < 75 ? 3 : 1) > 0) {
        items.push_back({area()});
        index.insert(items.back().area, &items.back());
      } else {
        index.erase(items.front().area, &items.front());
        items.pop_front();
      }
      ask(index, items, area());
      ASSERT_FALSE(HasFailure());
    }
    auto const stored = [](Item const& item) { return !item.area.empty(); };
    EXPECT_EQ(index.size(),
              static_cast<std::size_t>(std::count_if(items.begin(), items.end(), stored)));
    for (; !items.empty(); items.pop_front()) index.erase(items.front().area, &items.front());
    EXPECT_EQ(index.size(), 0u);
  }
}

}  // namespace
