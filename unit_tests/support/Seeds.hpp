// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_SEEDS_HPP
#define TRELLIS_TEST_SEEDS_HPP

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <ranges>

#include "Sanitized.hpp"

namespace random_program {

/// The number in an environment variable.
inline std::uint64_t from_environment(char const* variable, std::uint64_t otherwise) {
  char const* const text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// `count`, or less of it where TRELLIS_TEST_DIVISOR says so (`./run quick`), but one at least.
inline std::uint64_t less_if_quick(std::uint64_t count) {
  std::uint64_t const divisor = from_environment("TRELLIS_TEST_DIVISOR", 1);
  return std::max<std::uint64_t>(count / std::max<std::uint64_t>(divisor, 1), 1);
}

/// The seeds that a test runs: `share` times `default_count`, or TRELLIS_TEST_SEEDS of them, from
/// TRELLIS_TEST_FIRST_SEED.
inline auto seeds(int share, std::uint64_t default_count = trellis::Test::sanitized ? 30 : 50) {
  std::uint64_t const first = from_environment("TRELLIS_TEST_FIRST_SEED", 1);
  std::uint64_t const count = from_environment(
      "TRELLIS_TEST_SEEDS", less_if_quick(default_count * static_cast<std::uint64_t>(share)));
  return std::views::iota(first, first + count);
}

}  // namespace random_program

#endif
