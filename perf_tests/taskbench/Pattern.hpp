// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TASKBENCH_PATTERN_HPP
#define TRELLIS_TASKBENCH_PATTERN_HPP

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

/// Which tasks of the previous step a task reads, as functions of its step and column alone. The
/// patterns are those of Task Bench (Slaughter et al., "Task Bench: A Parameterized Benchmark for
/// Evaluating Parallel Runtime Performance", SC20).
namespace taskbench {

enum class Pattern {
  trivial,              ///< reads nothing
  no_comm,              ///< its own column
  stencil_1d,           ///< its own column and both neighbours
  stencil_1d_periodic,  ///< the same on a ring
  dom,   ///< its own column and the left neighbour; the columns are a wavefront that sweeps through
  tree,  ///< the parent; the number of columns doubles with each step until it is the width
  fft,   ///< a butterfly: its own column and those at distance 2^(step mod log2 width)
  nearest,         ///< the `radix` columns around it
  spread,          ///< `radix` columns far apart, other ones in each of `period` steps
  random_nearest,  ///< its own column and each of the `radix` around it with probability `fraction`
  all_to_all       ///< all columns
};

inline constexpr std::array<std::string_view, 11> pattern_names{
    "trivial", "no_comm", "stencil_1d", "stencil_1d_periodic", "dom",       "tree",
    "fft",     "nearest", "spread",     "random_nearest",      "all_to_all"};

/// A pattern and its size.
struct Shape {
  Pattern pattern = Pattern::stencil_1d;
  int width = 8;
  std::int64_t steps = 100;
  int radix = 5;           ///< of nearest, spread and random_nearest
  int period = 3;          ///< of spread and random_nearest
  double fraction = 0.25;  ///< of random_nearest
};

/// Columns [begin, end).
struct Columns {
  int begin;
  int end;
  [[nodiscard]] bool contains(int column) const { return begin <= column && column < end; }
  [[nodiscard]] int size() const { return end - begin; }
};

/// The columns that have a task in this step.
Columns columns_at(Shape const& shape, std::int64_t step);

/// The columns that the task reads, of the step before: ascending, none twice, none without a task.
/// None in step 0.
std::vector<int> inputs_of(Shape const& shape, std::int64_t step, int column);

/// After `first` steps the inputs repeat every `period` steps (the end of a wavefront only leaves
/// columns out).
struct Repetition {
  std::int64_t first;
  std::int64_t period;
};
Repetition repetition_of(Shape const& shape);

/// Has each step the same columns and, but for step 0, the same inputs?
bool is_uniform(Shape const& shape);

std::int64_t task_count(Shape const& shape);

/// Uniform in [0, 1), the same for the same arguments.
double pseudo_random(std::uint64_t a, std::uint64_t b, std::uint64_t c);

}  // namespace taskbench

#endif
