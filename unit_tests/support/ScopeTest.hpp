// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_REGIONTEST_HPP
#define TRELLIS_TEST_REGIONTEST_HPP

#include "Timing.hpp"

namespace trellis::Test {

/// How often tests do the same again in which threads meet by chance.
inline constexpr int repetitions = sanitized ? 3 : 10;

}  // namespace trellis::Test

#endif
