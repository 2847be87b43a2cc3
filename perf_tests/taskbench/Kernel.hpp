// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TASKBENCH_KERNEL_HPP
#define TRELLIS_TASKBENCH_KERNEL_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

/// What a task does besides reading its inputs and writing its output. Never inlined, so that all
/// models run the same machine code.
namespace taskbench {

enum class Kernel { empty, compute_bound, memory_bound, load_imbalance };

inline constexpr std::array<std::string_view, 4> kernel_names{"empty", "compute_bound",
                                                              "memory_bound", "load_imbalance"};

/// An iteration: one fused multiply-add on each of 64 numbers, each of which depends on the
/// iteration before.
double compute(std::int64_t iterations);
inline constexpr double flops_per_iteration = 128;

/// An iteration: reads and overwrites the next 4 KiB of `buffer`, which is swept again and again,
/// beginning with block `first`.
double sweep(std::int64_t iterations, std::int64_t first, std::span<double> buffer);
inline constexpr std::size_t block_bytes = 4096;

/// Twice what a core's own caches hold, 1 MiB at least (or where nobody knows). A task that sweeps
/// over a smaller buffer more than once finds in its cache what it has read itself, so long tasks
/// would be faster than short ones whoever runs them.
std::size_t larger_than_cache();

/// Iterations of one task of load_imbalance: a factor in [1 - imbalance, 1 + imbalance), the same
/// in every model and run.
std::int64_t imbalanced(std::int64_t iterations, double imbalance, std::int64_t step, int column);

}  // namespace taskbench

#endif
