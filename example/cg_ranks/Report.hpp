// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_CG_RANKS_REPORT_HPP
#define TRELLIS_EXAMPLE_CG_RANKS_REPORT_HPP

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../shared/Communication.hpp"
#include "Options.hpp"

/// This header has the program's findings and the functions that report them. Rank 0 reports.
namespace cg {

/// Findings of one rank: its part of the matrix, the recorded run, and the bulk-synchronous
/// version.
struct RankFindings {
  int rows = 0;
  int inner_rows = 0;
  int entries = 0;
  int halo = 0;
  int neighbours = 0;
  int tiles = 0;
  example::Communication exchanges;
  example::Communication sums;
  double bulk_seconds = 0;                ///< of its last run on this rank
  double bulk_seconds_communicating = 0;  ///< of these, all of it exposed
};

struct Findings {
  std::string backend;
  std::string mpi;
  std::int64_t rows = 0;
  int workers = 0;
  int threads_bulk = 0;
  std::vector<double>
      residuals;  ///< |r| / |b| before the first step and after each, as it computes
  bool converged = false;
  std::string why_not;       ///< why it has not converged
  double true_residual = 0;  ///< |b - A x| / |b|
  double error = 0;  ///< Poisson: the largest in a cell; of a file: |x - solution| / |solution|
  std::optional<double> largest_error;  ///< that there may be; nothing is known of a file
  double h = 0;                         ///< the largest spacing of the grid
  bool agrees_with_bulk = true;         ///< all bits of x and of all residuals, in all runs
  std::vector<double> seconds_bulk;     ///< one for each repetition, of the slowest rank
  std::vector<double> seconds_tasks;
  // These come from one more run that is recorded and not timed.
  int recorded_steps = 0;
  std::size_t tasks = 0;  ///< of rank 0
  std::vector<RankFindings> ranks;

  [[nodiscard]] int steps() const { return static_cast<int>(residuals.size()) - 1; }
  [[nodiscard]] double drift() const { return std::abs(true_residual - residuals.back()); }
  /// Median over the repetitions of the tasks' time by the bulk-synchronous one.
  [[nodiscard]] double ratio() const;
};

void print(Options const& options, Findings const& found);

/// Writes `summary.json`, `history.json` and `residual.svg`. Throws `std::runtime_error` when it
/// cannot write one.
void write_files(Options const& options, Findings const& found);

}  // namespace cg

#endif
