// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_SPACE_TEST_HPP
#define TRELLIS_SPACE_TEST_HPP

#include <gtest/gtest.h>

// nvcc takes no device lambda in a private member function, which is where GoogleTest puts the body
// of a test: in typed tests the body is a function of its own.
#undef TEST
#define TEST(suite, name)                       \
  static void TRELLIS_TEST_BODY(suite, name)(); \
  GTEST_TEST(suite, name) {                     \
    TRELLIS_TEST_BODY(suite, name)();           \
  }                                             \
  static void TRELLIS_TEST_BODY(suite, name)()
#define TRELLIS_TEST_BODY(suite, name) TRELLIS_TEST_BODY_(suite, name)
#define TRELLIS_TEST_BODY_(suite, name) body_of_##suite##_##name

#endif
