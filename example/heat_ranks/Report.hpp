// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_HEAT_RANKS_REPORT_HPP
#define TRELLIS_EXAMPLE_HEAT_RANKS_REPORT_HPP

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "../shared/Communication.hpp"
#include "Options.hpp"

/// This header has the program's findings and the functions that report them. Rank 0 reports.
namespace heat::ranks {

/// Findings of one rank: in the recorded run, and of the bulk-synchronous version.
struct RankFindings {
  example::Communication tasks;
  double bulk_seconds = 0;                ///< of its last run on this rank
  double bulk_seconds_communicating = 0;  ///< of these, all of it exposed
};

struct Findings {
  std::string backend;
  std::string mpi;
  std::vector<int> processes;
  std::vector<int> tiles;
  int workers = 0;
  int threads_bulk = 0;
  int threads_tasks = 0;
  std::optional<double> max_error;  ///< against the exact solution; only the sine mode has one
  bool agrees_with_bulk = true;     ///< all bits of all fields, and all checks
  std::optional<bool> agrees_with_one_rank;
  std::vector<double> seconds_bulk;  ///< one for each repetition, of the slowest rank
  std::vector<double> seconds_tasks;
  std::vector<double> changes;  ///< the largest change of all ranks, one for each check
  // These come from one more run that is recorded and not timed.
  int recorded_steps = 0;
  std::size_t tasks = 0;  ///< of rank 0
  std::vector<RankFindings> ranks;

  /// Median over the repetitions of the tasks' time by the bulk-synchronous one.
  [[nodiscard]] double ratio() const;
  /// Returns the communication of all ranks.
  [[nodiscard]] example::Communication communication() const;
};

void print(Options const& options, Findings const& found);

/// Writes `summary.json`. Throws `std::runtime_error` when it cannot write.
void write_summary(Options const& options, Findings const& found);

}  // namespace heat::ranks

#endif
