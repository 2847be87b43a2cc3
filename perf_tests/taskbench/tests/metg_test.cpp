// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Metg.hpp>

#include <gmock/gmock.h>

#include <cmath>

namespace taskbench {
namespace {

using testing::DoubleNear;
using testing::Optional;

TEST(TaskbenchMetg, is_interpolated_over_the_logarithm) {
  EXPECT_THAT(crossing({{100, 0.9}, {10, 0.6}, {1, 0.4}}, 0.5),
              Optional(DoubleNear(std::sqrt(10.0), 1e-9)));
}
TEST(TaskbenchMetg, is_where_the_curve_falls_below_the_level_that_is_asked_for) {
  EXPECT_THAT(crossing({{100, 1}, {10, 0.8}, {1, 0.4}}, 0.9),
              Optional(DoubleNear(10 * std::sqrt(10.0), 1e-9)));
  EXPECT_EQ(crossing({{100, 0.85}, {10, 0.8}, {1, 0.4}}, 0.9), std::nullopt);
}
TEST(TaskbenchMetg, is_where_the_curve_falls_below_for_the_last_time) {
  EXPECT_THAT(crossing({{100, 0.9}, {50, 0.4}, {10, 0.6}, {1, 0.5 - 0.1}}, 0.5),
              Optional(DoubleNear(std::sqrt(10.0), 1e-9)));
}
TEST(TaskbenchMetg, is_that_of_the_nearest_curve_that_never_rises) {
  using testing::ElementsAre;
  using testing::Pair;
  EXPECT_THAT(never_rising({{100, 0.9}, {50, 0.4}, {10, 0.6}, {1, 0.5}}),
              ElementsAre(Pair(100, 0.9), Pair(50, DoubleNear(0.5, 1e-9)),
                          Pair(10, DoubleNear(0.5, 1e-9)), Pair(1, 0.5)));
  // A rise at the end may reach back to the beginning.
  EXPECT_THAT(never_rising({{4, 0.5}, {3, 0.4}, {2, 0.3}, {1, 1.2}}),
              ElementsAre(Pair(4, DoubleNear(0.6, 1e-9)), Pair(3, DoubleNear(0.6, 1e-9)),
                          Pair(2, DoubleNear(0.6, 1e-9)), Pair(1, DoubleNear(0.6, 1e-9))));
  EXPECT_THAT(never_rising({{2, 0.7}, {1, 0.7}}), ElementsAre(Pair(2, 0.7), Pair(1, 0.7)));
  EXPECT_THAT(never_rising({}), ElementsAre());
}
TEST(TaskbenchMetg, is_nothing_for_a_curve_that_never_crosses) {
  EXPECT_EQ(crossing({{100, 0.4}, {10, 0.3}}, 0.5), std::nullopt);
  EXPECT_EQ(crossing({{100, 0.9}, {10, 0.6}}, 0.5), std::nullopt);
  EXPECT_EQ(crossing({}, 0.5), std::nullopt);
}

}  // namespace
}  // namespace taskbench
