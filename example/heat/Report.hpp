// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_HEAT_REPORT_HPP
#define TRELLIS_EXAMPLE_HEAT_REPORT_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "Options.hpp"

/// This header has the program's findings and the functions that report them.
namespace heat {

/// One value of the residual, the root mean square of du/dt, by both solvers. They add in different
/// orders.
struct Residual {
  int step;
  double plain;
  double trellis;
};

struct Findings {
  std::string backend;
  std::string kokkos_version;
  int threads_plain = 0;
  int threads_trellis = 0;
  double time_step = 0;
  std::optional<double> max_error;  ///< against the exact solution; only the sine mode has one
  double max_difference_to_plain = 0;
  std::vector<double> seconds_plain;  ///< one for each repetition
  std::vector<double> seconds_trellis;
  std::vector<Residual> residuals;
  // These come from one more run that is recorded and not timed.
  int recorded_steps = 0;
  std::uint64_t tasks = 0;
  std::uint64_t dependency_edges = 0;
  int steps_under_way = 0;  ///< most steps that had begun and not ended at one moment

  [[nodiscard]] double ratio()
      const;  ///< median over the repetitions of Trellis's time by plain Kokkos's
};

/// Returns the largest relative difference between the two solvers' residuals.
[[nodiscard]] double residual_difference(Findings const& found);

void print(Options const& options, Findings const& found);

/// Writes `summary.json`. Throws `std::runtime_error` when it cannot write.
void write_summary(Options const& options, Findings const& found);

}  // namespace heat

#endif
