// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Access.hpp>

#include <gtest/gtest.h>

#include <string>

namespace trellis {
namespace {

using Io = MatrixAccess<IOMatrix>;
constexpr std::array<Mode, 7> modes = {Mode::read,       Mode::write,      Mode::read_write,
                                       Mode::atomic_add, Mode::atomic_mul, Mode::exclusive,
                                       Mode::none};

// Row and column in the order of `modes`; X: must run one after the other, in order.
constexpr std::string_view dependent[] = {
    ".XXXXX.",  // read
    "XXXXXX.",  // write
    "XXXXXX.",  // read_write
    "XXX.XX.",  // atomic_add
    "XXXX.X.",  // atomic_mul
    "XXXXX..",  // exclusive
    ".......",  // none
};
// X: a task that holds the row's mode may go on with the column's.
constexpr std::string_view superset[] = {
    "X.....X",  // read
    "XXXXXXX",  // write
    "XXXXXXX",  // read_write
    "...X..X",  // atomic_add
    "....X.X",  // atomic_mul
    ".....XX",  // exclusive
    "......X",  // none
};

TEST(Modes, EachPairIsDependentAsInTheTable) {
  for (std::size_t row = 0; row < modes.size(); ++row)
    for (std::size_t column = 0; column < modes.size(); ++column)
      EXPECT_EQ(Io(modes[row]).is_dependent_of(modes[column]), dependent[row][column] == 'X')
          << to_string(modes[row]) << ", " << to_string(modes[column]);
}

TEST(Modes, EachPairIsASupersetAsInTheTable) {
  for (std::size_t row = 0; row < modes.size(); ++row)
    for (std::size_t column = 0; column < modes.size(); ++column)
      EXPECT_EQ(Io(modes[row]).is_superset_of(modes[column]), superset[row][column] == 'X')
          << to_string(modes[row]) << ", " << to_string(modes[column]);
}

TEST(Modes, HaveTheNamesOfTheirAnnotations) {
  std::string names;
  for (Mode const mode : modes) names += std::string(to_string(mode)) + ' ';
  EXPECT_EQ(names, "read write read_write atomic_add atomic_mul exclusive none ");
}

TEST(Modes, AnAccessIsNoneUnlessItSaysOtherwise) {
  EXPECT_EQ(Io().entry(), Mode::none);
}

// A matrix of a user: many may look or many may paint in one colour, but not both.
struct Canvas {
  enum class Entry { look, red, blue, none };
  static constexpr std::size_t size = 4;
  static constexpr bool dependent[size][size] = {{false, true, true, false},
                                                 {true, false, true, false},
                                                 {true, true, false, false},
                                                 {false, false, false, false}};
  static constexpr std::string_view to_string(Entry) { return "canvas"; }
};
using Paint = MatrixAccess<Canvas>;
static_assert(AccessMatrix<Canvas> && AccessState<Paint>);
static_assert(Paint(Canvas::Entry::red).is_dependent_of(Canvas::Entry::blue),
              "usable in constant expressions");

TEST(MatrixAccess, FollowsAUsersMatrix) {
  using enum Canvas::Entry;
  EXPECT_FALSE(Paint(look).is_dependent_of(look));
  EXPECT_TRUE(Paint(look).is_dependent_of(red));
  EXPECT_FALSE(Paint(red).is_dependent_of(red));
  EXPECT_TRUE(Paint(blue).is_dependent_of(red));
  EXPECT_FALSE(Paint(blue).is_dependent_of(none));
  EXPECT_TRUE(Paint(red).is_superset_of(red));
  EXPECT_TRUE(Paint(red).is_superset_of(none));
  EXPECT_FALSE(Paint(red).is_superset_of(blue));
  EXPECT_FALSE(Paint(none).is_superset_of(look));
  EXPECT_EQ(Paint(red), Paint(red));
  EXPECT_NE(Paint(red), Paint(blue));
}

using Interval = AreaAccess<double, 1>;
using Box = AreaAccess<int, 3>;

TEST(AreaAccess, IntervalsAreClosed) {
  EXPECT_TRUE(Interval({{{0, 1}}}).is_dependent_of({{{{1, 2}}}})) << "they share the point 1";
  EXPECT_TRUE(Interval({{{1, 2}}}).is_dependent_of({{{{0, 1}}}}));
  EXPECT_FALSE(Interval({{{0, 0.9}}}).is_dependent_of({{{{1, 2}}}}));
  EXPECT_FALSE(Interval({{{1, 2}}}).is_dependent_of({{{{0, 0.9}}}}));
  EXPECT_TRUE(Interval({{{0, 3}}}).is_dependent_of({{{{1, 2}}}})) << "one inside the other";
  EXPECT_TRUE(Interval({{{1, 2}}}).is_dependent_of({{{{0, 3}}}}));
}

TEST(AreaAccess, BoxesAreDependentWhenTheyMeetAlongEachDirection) {
  Box const box({{{0, 2}, {0, 2}, {0, 2}}});
  for (int direction = 0; direction < 3; ++direction) {
    Box::Intervals beside{{{0, 2}, {0, 2}, {0, 2}}};
    beside[static_cast<std::size_t>(direction)] = {3, 4};
    EXPECT_FALSE(box.is_dependent_of(beside)) << direction;
    EXPECT_FALSE(Box(beside).is_dependent_of(box)) << direction;
    beside[static_cast<std::size_t>(direction)] = {2, 4};
    EXPECT_TRUE(box.is_dependent_of(beside)) << direction;
  }
}

TEST(AreaAccess, ASupersetHoldsTheOtherAlongEachDirection) {
  Box const box({{{0, 2}, {0, 2}, {0, 2}}});
  EXPECT_TRUE(box.is_superset_of(box));
  EXPECT_TRUE(box.is_superset_of({{{{1, 1}, {0, 2}, {1, 2}}}}));
  for (int direction = 0; direction < 3; ++direction) {
    Box::Intervals beyond{{{1, 1}, {1, 1}, {1, 1}}};
    beyond[static_cast<std::size_t>(direction)] = {1, 3};
    EXPECT_FALSE(box.is_superset_of(beyond)) << direction;
    beyond[static_cast<std::size_t>(direction)] = {-1, 1};
    EXPECT_FALSE(box.is_superset_of(beyond)) << direction;
  }
}

// The fields of the resource-register paper, 7.3.
using Field = CombinedAccess<Io, AreaAccess<double, 3>>;
static_assert(AccessState<Field>);

TEST(CombinedAccess, GivesTheTableOfTheResourceRegisterPaper) {
  Field const fields[] = {{Mode::read_write, {{{{0, 2}, {0, 2}, {0, 2}}}}},
                          {Mode::read, {{{{0, 2}, {1, 2}, {0, 2}}}}},
                          {Mode::atomic_add, {{{{0, 2}, {0, 0.9}, {0, 2}}}}}};
  std::string dependencies;
  std::string supersets;
  for (auto const& [row, column] :
       {std::pair{0, 0}, {1, 1}, {2, 2}, {0, 1}, {1, 0}, {0, 2}, {2, 0}, {1, 2}, {2, 1}}) {
    dependencies += fields[row].is_dependent_of(fields[column]) ? '1' : '0';
    supersets += fields[row].is_superset_of(fields[column]) ? '1' : '0';
  }
  EXPECT_EQ(dependencies, "100111100");
  EXPECT_EQ(supersets, "111101000");
}

TEST(CombinedAccess, GivesItsParts) {
  CombinedAccess<Io, Interval> const access(Mode::write, {{{{1, 2}}}});
  EXPECT_EQ(access.part<0>(), Io(Mode::write));
  EXPECT_EQ(access.part<1>(), Interval({{{1, 2}}}));
}

TEST(CombinedAccess, OfNothingIsAlwaysDependent) {
  // "Dependent when all parts are": the rule for the empty list, so that a combination may be built
  // step by step.
  EXPECT_TRUE(CombinedAccess<>().is_dependent_of({}));
  EXPECT_TRUE(CombinedAccess<>().is_superset_of({}));
}

}  // namespace
}  // namespace trellis
