// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Metg.hpp>

#include <gmock/gmock.h>

namespace taskbench {
namespace {

using testing::DoubleNear;
using testing::Optional;

TEST(TaskbenchMetg, is_interpolated_over_the_logarithm) {
  EXPECT_THAT(metg50({{100, 0.9}, {10, 0.6}, {1, 0.4}}),
              Optional(DoubleNear(std::sqrt(10.0), 1e-9)));
}
TEST(TaskbenchMetg, is_where_the_curve_falls_below_for_the_last_time) {
  EXPECT_THAT(metg50({{100, 0.9}, {50, 0.4}, {10, 0.6}, {1, 0.5 - 0.1}}),
              Optional(DoubleNear(std::sqrt(10.0), 1e-9)));
}
TEST(TaskbenchMetg, is_nothing_for_a_curve_that_never_crosses) {
  EXPECT_EQ(metg50({{100, 0.4}, {10, 0.3}}), std::nullopt);
  EXPECT_EQ(metg50({{100, 0.9}, {10, 0.6}}), std::nullopt);
  EXPECT_EQ(metg50({}), std::nullopt);
}

}  // namespace
}  // namespace taskbench
