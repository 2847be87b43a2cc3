// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Kernel.hpp"

#include "Pattern.hpp"

#include <unistd.h>

#include <algorithm>

namespace taskbench {

double compute(std::int64_t iterations) {
  if (iterations <= 0) return 0;
  std::array<double, 64> a;
  for (std::size_t i = 0; i != a.size(); ++i) a[i] = 1 + 0.001 * static_cast<double>(i);
  // The fixed point is 1: the numbers neither overflow nor become denormal, which would change the
  // speed.
  for (std::int64_t n = 0; n != iterations; ++n)
    for (double& each : a) each = each * 0.9375 + 0.0625;
  double sum = 0;
  for (double const each : a) sum += each;
  return sum;
}

double sweep(std::int64_t iterations, std::int64_t first, std::span<double> buffer) {
  constexpr std::size_t block = block_bytes / sizeof(double);
  std::size_t const blocks = buffer.size() / block;
  if (iterations <= 0 || blocks == 0) return 0;
  std::size_t position = static_cast<std::size_t>(first) % blocks;
  for (std::int64_t n = 0; n != iterations; ++n) {
    for (double& each : buffer.subspan(position * block, block)) each = each * 0.9375 + 0.0625;
    if (++position == blocks) position = 0;
  }
  return buffer[position * block];
}

std::size_t larger_than_cache() {
  constexpr std::size_t least = std::size_t(1) << 20;
#ifdef _SC_LEVEL2_CACHE_SIZE
  if (long const bytes = sysconf(_SC_LEVEL2_CACHE_SIZE); bytes > 0)
    return std::max(least, 2 * static_cast<std::size_t>(bytes) / block_bytes * block_bytes);
#endif
  return least;
}

std::int64_t imbalanced(std::int64_t iterations, double imbalance, std::int64_t step, int column) {
  double const u =
      pseudo_random(static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(column), 1);
  return static_cast<std::int64_t>(static_cast<double>(iterations) * (1 + imbalance * (2 * u - 1)) +
                                   0.5);
}

}  // namespace taskbench
