// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_CORE_RANDOMNUMBERS_HPP
#define TRELLIS_TEST_CORE_RANDOMNUMBERS_HPP

#include <cstdint>
#include <random>

namespace trellis::Test {

using Random = std::mt19937_64;

inline std::uint64_t pick(Random& random, std::uint64_t low, std::uint64_t high) {
  return std::uniform_int_distribution<std::uint64_t>(low, high)(random);
}

}  // namespace trellis::Test

#endif
