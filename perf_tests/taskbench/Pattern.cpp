// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Pattern.hpp"

#include <algorithm>
#include <bit>

namespace taskbench {
namespace {

int log2_ceil(int n) {
  return n <= 1 ? 0 : std::bit_width(static_cast<unsigned>(n - 1));
}

// What the pattern says, whether or not these columns exist.
std::vector<int> candidates(Shape const& shape, std::int64_t step, int column) {
  std::vector<int> found;
  int const width = shape.width;
  auto const range = [&](int first, int last) {
    for (int c = first; c <= last; ++c) found.push_back(c);
  };
  int const before = (shape.radix - 1) / 2;
  int const behind = shape.radix / 2;
  switch (shape.pattern) {
    case Pattern::trivial:
      break;
    case Pattern::no_comm:
      range(column, column);
      break;
    case Pattern::stencil_1d:
      range(column - 1, column + 1);
      break;
    case Pattern::stencil_1d_periodic:
      for (int const c : {column + width - 1, column, column + 1}) found.push_back(c % width);
      break;
    case Pattern::dom:
      range(column - 1, column);
      break;
    case Pattern::tree:
      range(column / 2, column / 2);
      break;
    case Pattern::fft: {
      int const distance = width == 1 ? 0 : 1 << (step % log2_ceil(width));
      found = {column - distance, column, column + distance};
      break;
    }
    case Pattern::nearest:
      range(column - before, column + behind);
      break;
    case Pattern::spread:
      for (int i = 0; i != shape.radix; ++i) {
        std::int64_t const shift = i == 0 ? 0 : step % shape.period;
        found.push_back(
            static_cast<int>((column + std::int64_t(i) * width / shape.radix + shift) % width));
      }
      break;
    case Pattern::random_nearest: {
      auto const phase = static_cast<std::uint64_t>(step % shape.period);
      for (int c = column - before; c <= column + behind; ++c)
        if (c == column ||
            pseudo_random(phase, static_cast<std::uint64_t>(column),
                          static_cast<std::uint64_t>(c - column + shape.radix)) < shape.fraction)
          found.push_back(c);
      break;
    }
    case Pattern::all_to_all:
      range(0, width - 1);
      break;
  }
  return found;
}

}  // namespace

double pseudo_random(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  // The finalizer of SplitMix64, once for each argument.
  std::uint64_t z = 0;
  for (std::uint64_t const each : {a, b, c}) {
    z += each + 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    z ^= z >> 31;
  }
  return static_cast<double>(z >> 11) * 0x1p-53;
}

Columns columns_at(Shape const& shape, std::int64_t step) {
  int const width = shape.width;
  if (step < 0 || step >= shape.steps) return {0, 0};
  if (shape.pattern == Pattern::tree)
    return {0, step >= 31
                   ? width
                   : static_cast<int>(std::min<std::int64_t>(width, std::int64_t(1) << step))};
  if (shape.pattern == Pattern::dom)
    return {static_cast<int>(std::max<std::int64_t>(0, step + width - shape.steps)),
            static_cast<int>(std::min<std::int64_t>(width, step + 1))};
  return {0, width};
}

std::vector<int> inputs_of(Shape const& shape, std::int64_t step, int column) {
  Columns const earlier = columns_at(shape, step - 1);
  std::vector<int> inputs = candidates(shape, step, column);
  std::erase_if(inputs, [&](int c) { return !earlier.contains(c); });
  std::sort(inputs.begin(), inputs.end());
  inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
  return inputs;
}

Repetition repetition_of(Shape const& shape) {
  switch (shape.pattern) {
    case Pattern::dom:
      return {shape.width, 1};
    case Pattern::tree:
      return {log2_ceil(shape.width) + 1, 1};
    case Pattern::fft:
      return {1, std::max(1, log2_ceil(shape.width))};
    case Pattern::spread:
    case Pattern::random_nearest:
      return {1, shape.period};
    default:
      return {1, 1};
  }
}

bool is_uniform(Shape const& shape) {
  return repetition_of(shape).first == 1 && repetition_of(shape).period == 1 &&
         shape.pattern != Pattern::tree && shape.pattern != Pattern::dom;
}

std::int64_t task_count(Shape const& shape) {
  std::int64_t count = 0;
  for (std::int64_t step = 0; step != shape.steps; ++step) count += columns_at(shape, step).size();
  return count;
}

}  // namespace taskbench
