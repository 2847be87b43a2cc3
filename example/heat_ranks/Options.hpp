// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_HEAT_RANKS_OPTIONS_HPP
#define TRELLIS_EXAMPLE_HEAT_RANKS_OPTIONS_HPP

#include <cstddef>
#include <filesystem>
#include <optional>
#include <vector>

/// This header has the options of the program's command line.
namespace heat::ranks {

struct Options {
  std::vector<int> cells{2048, 2048};  ///< of the plate: rows, columns
  std::vector<int> processes{0, 0};    ///< ranks along each direction; 0: MPI chooses
  std::vector<int> tiles;              ///< of each rank along each direction; empty: see Part
  int steps = 100;
  double time_step = 0;
  int check_every = 20;
  bool plan = false;
  int workers = 0;
  int threads_per_worker = 1;
  std::size_t in_flight = 0;  ///< most tasks submitted and not done
  int repetitions = 3;
  std::optional<bool> verify;
  std::filesystem::path input;  ///< empty: the sine mode
  std::filesystem::path output = "out/heat_ranks";

  /// Returns the spacing along the rows; lengths are in units of the plate's height.
  [[nodiscard]] double spacing() const { return 1.0 / (cells[0] + 1); }
  [[nodiscard]] double stable_time_step() const { return spacing() * spacing() / 4; }
  [[nodiscard]] bool verifies() const;
};

/// Reads the command line, the same on all ranks. `prints`: CLI11 prints its messages on this rank.
/// Throws `example::Ended`.
[[nodiscard]] Options parse(int argc, char** argv, bool prints);

/// Completes the options, and asks MPI for the process grid. Throws `std::runtime_error` when
/// values contradict each other, or some rank would have no cells.
void complete(Options& options, int ranks);

}  // namespace heat::ranks

#endif
