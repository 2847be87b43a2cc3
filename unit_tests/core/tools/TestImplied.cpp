// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which edges of a graph follow from others.
#include <tools/Trellis_Implied.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace trellis::Impl {
namespace {

using Kind = Arrow::Kind;
using Matrix = std::vector<std::vector<bool>>;

/// What paths of one or more of these arrows reach: Warshall's algorithm.
Matrix reached(std::size_t size, std::vector<Arrow> const& arrows) {
  Matrix result(size, std::vector<bool>(size, false));
  for (Arrow const& arrow : arrows) result[arrow.from][arrow.to] = true;
  for (std::size_t k = 0; k != size; ++k)
    for (std::size_t i = 0; i != size; ++i)
      for (std::size_t j = 0; result[i][k] && j != size; ++j)
        if (result[k][j]) result[i][j] = true;
  return result;
}

std::vector<Arrow> kept(std::size_t size, std::vector<Arrow> const& arrows) {
  std::vector<bool> const is_implied = implied(size, arrows);
  EXPECT_EQ(is_implied.size(), arrows.size());
  std::vector<Arrow> rest;
  for (std::size_t a = 0; a != arrows.size(); ++a)
    if (!is_implied[a]) rest.push_back(arrows[a]);
  return rest;
}

std::vector<Arrow> random_arrows(std::mt19937& random, std::size_t size, bool has_circles,
                                 bool has_kinds) {
  std::set<std::pair<std::size_t, std::size_t>> ends;
  std::size_t const count = random() % (size * 3);
  for (std::size_t a = 0; a != count; ++a) {
    std::size_t from = random() % size, to = random() % size;
    if (from == to) continue;
    if (!has_circles && from > to) std::swap(from, to);
    ends.emplace(from, to);
  }
  std::vector<Arrow> arrows;
  for (auto const& [from, to] : ends)
    arrows.push_back({from, to, has_kinds ? static_cast<Kind>(random() % 3) : Kind::dependency});
  std::shuffle(arrows.begin(), arrows.end(), random);
  return arrows;
}

/// The arrows that imply this one, if paths of them join its ends.
std::vector<Arrow> stronger(std::vector<Arrow> const& arrows, Arrow const& than) {
  std::vector<Arrow> others;
  for (Arrow const& arrow : arrows)
    if (arrow.kind <= std::min(than.kind, Kind::scheduling) &&
        std::pair(arrow.from, arrow.to) != std::pair(than.from, than.to))
      others.push_back(arrow);
  return others;
}

TEST(Implied, AreTheLongWaysAround) {
  std::vector<Arrow> const arrows{{0, 1}, {1, 2}, {0, 2}, {2, 3}, {0, 3}, {4, 3}};
  EXPECT_THAT(implied(5, arrows), testing::ElementsAre(false, false, true, false, true, false));
  EXPECT_TRUE(implied(0, {}).empty());
  EXPECT_TRUE(implied(3, {}).empty());
}

TEST(Implied, NoneOfACircleIs) {
  std::vector<Arrow> const circle{{0, 1}, {1, 2}, {2, 0}, {0, 2}, {2, 3}};
  EXPECT_THAT(implied(4, circle), testing::Each(false));
}

TEST(Implied, ADependencyIsByDependenciesOnly) {
  EXPECT_THAT(implied(3, {{0, 1}, {1, 2, Kind::scheduling}, {0, 2}}), testing::Each(false));
  EXPECT_THAT(implied(3, {{0, 1}, {1, 2, Kind::scheduling}, {0, 2, Kind::scheduling}}),
              testing::ElementsAre(false, false, true));
  EXPECT_THAT(implied(3, {{0, 1}, {1, 2}, {0, 2, Kind::released}}),
              testing::ElementsAre(false, false, true));
  EXPECT_THAT(implied(3, {{0, 1}, {1, 2, Kind::released}, {0, 2}}), testing::Each(false));
}

TEST(Implied, ACircleOfOtherArrowsIsNoneOfDependencies) {
  // Only a released arrow leads from 1 to 2.
  EXPECT_EQ(implied(4, {{0, 1}, {1, 2, Kind::released}, {2, 1}, {2, 3}, {0, 3}}),
            std::vector<bool>(5, false));
}

TEST(Implied, LeaveWhatIsReachedAndNothingThatFollows) {
  std::mt19937 random(47);
  for (int round = 0; round != 400; ++round) {
    std::size_t const size = 1 + random() % 25;
    std::vector<Arrow> const arrows = random_arrows(random, size, false, round % 2 == 1);
    std::vector<Arrow> const rest = kept(size, arrows);
    ASSERT_EQ(reached(size, arrows), reached(size, rest)) << round;
    for (Arrow const& arrow : rest)
      ASSERT_FALSE(reached(size, stronger(rest, arrow))[arrow.from][arrow.to]) << round;
    // The same holds for the dependencies alone.
    auto const dependencies = [](std::vector<Arrow> some) {
      std::erase_if(some, [](Arrow const& arrow) { return arrow.kind != Kind::dependency; });
      return some;
    };
    ASSERT_EQ(reached(size, dependencies(arrows)), reached(size, dependencies(rest))) << round;
  }
}

TEST(Implied, LeaveWhatIsReachedAroundCircles) {
  std::mt19937 random(11);
  for (int round = 0; round != 400; ++round) {
    std::size_t const size = 1 + random() % 20;
    std::vector<Arrow> const arrows = random_arrows(random, size, true, false);
    ASSERT_EQ(reached(size, arrows), reached(size, kept(size, arrows))) << round;
  }
}

}  // namespace
}  // namespace trellis::Impl
