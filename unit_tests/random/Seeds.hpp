// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_SEEDS_HPP
#define TRELLIS_TEST_SEEDS_HPP

#include <cstdint>
#include <cstdlib>
#include <ranges>

#include "../Sanitized.hpp"

namespace random_program {

/// The seeds that a test runs: `share` times `default_count`, or TRELLIS_TEST_SEEDS of them, from
/// TRELLIS_TEST_FIRST_SEED.
inline auto seeds(int share, std::uint64_t default_count = trellis::Test::sanitized ? 30 : 50) {
  auto const from = [](char const* variable, std::uint64_t otherwise) {
    char const* const text = std::getenv(variable);
    return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
  };
  std::uint64_t const first = from("TRELLIS_TEST_FIRST_SEED", 1);
  std::uint64_t const count =
      from("TRELLIS_TEST_SEEDS", default_count * static_cast<std::uint64_t>(share));
  return std::views::iota(first, first + count);
}

}  // namespace random_program

#endif
