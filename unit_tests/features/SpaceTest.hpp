// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_FEATURES_SPACETEST_HPP
#define TRELLIS_TEST_FEATURES_SPACETEST_HPP

#include <Trellis.hpp>

#include <gtest/gtest.h>

/// A test that is compiled for each space, and has the space's name in its own.
#define TRELLIS_JOIN(a, b) TRELLIS_JOIN_(a, b)
#define TRELLIS_JOIN_(a, b) a##b
#define SPACE_TEST(suite, name) TEST(TRELLIS_JOIN(TRELLIS_JOIN(TRELLIS_TEST_SPACE_NAME, _), suite), name)

namespace trellis::Test {

inline TaskGraphOptions with_workers(int workers) {
  TaskGraphOptions options;
  options.workers = workers;
  return options;
}

}  // namespace trellis::Test

#endif
