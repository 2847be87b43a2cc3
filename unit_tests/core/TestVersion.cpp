// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The macros, the library and CMake say the same.
#include <Trellis_Version.hpp>

#include <gmock/gmock.h>

#include <string>

#if TRELLIS_VERSION < 100 || TRELLIS_VERSION >= 1000000
#error "the preprocessor cannot compare versions"
#endif

TEST(Version, IsTheSameInHeadersLibraryAndCMake) {
  EXPECT_EQ(trellis::version(), TRELLIS_VERSION);
  EXPECT_EQ(TRELLIS_VERSION % 100, TRELLIS_VERSION_PATCH);
  EXPECT_EQ(TRELLIS_VERSION / 100 % 100, TRELLIS_VERSION_MINOR);
  EXPECT_EQ(TRELLIS_VERSION / 10000, TRELLIS_VERSION_MAJOR);
  std::string const text = std::to_string(TRELLIS_VERSION_MAJOR) + "." +
                           std::to_string(TRELLIS_VERSION_MINOR) + "." +
                           std::to_string(TRELLIS_VERSION_PATCH);
  EXPECT_EQ(text, TRELLIS_TEST_VERSION);
}
