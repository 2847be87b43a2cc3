// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_CHOLESKY_REPORT_HPP
#define TRELLIS_EXAMPLE_CHOLESKY_REPORT_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "Options.hpp"

/// This header has the program's findings and the functions that report them.
namespace cholesky {

/// One way to factorise the matrix.
struct Variant {
  std::string name;             ///< in the table
  std::string key;              ///< in summary.json
  int threads = 0;              ///< 0: unknown
  std::vector<double> seconds;  ///< one for each repetition; none: it is left out
  double residual = 0;          ///< of the last repetition
};

struct Findings {
  std::string kokkos;
  std::string kernels;  ///< Kokkos Kernels, and its own libraries
  std::string blas;     ///< its name and version
  std::string tile_factorisation;
  int tiles = 0;
  int last_tile = 0;
  int workers = 0;
  Variant fork_join;
  Variant any_order;
  Variant tasks;
  Variant lapack;
  double difference_to_fork_join = 0;
  // These come from one more run that is recorded and not timed.
  std::uint64_t recorded_tasks = 0;
  std::uint64_t dependency_edges = 0;
  int longest_path = 0;

  [[nodiscard]] std::vector<Variant const*> variants() const {
    return {&fork_join, &any_order, &tasks, &lapack};
  }
};

/// A residual must be below this number.
inline constexpr double tolerated_residual = 1;

void print(Options const& options, Findings const& found);

/// Writes `summary.json`. Throws `std::runtime_error` when it cannot write.
void write_summary(Options const& options, Findings const& found);

}  // namespace cholesky

#endif
