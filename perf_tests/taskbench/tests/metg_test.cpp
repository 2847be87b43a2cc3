// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Metg.hpp>

#include <gmock/gmock.h>

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
TEST(TaskbenchMetg, is_nothing_for_a_curve_that_never_crosses) {
  EXPECT_EQ(crossing({{100, 0.4}, {10, 0.3}}, 0.5), std::nullopt);
  EXPECT_EQ(crossing({{100, 0.9}, {10, 0.6}}, 0.5), std::nullopt);
  EXPECT_EQ(crossing({}, 0.5), std::nullopt);
}

}  // namespace
}  // namespace taskbench
