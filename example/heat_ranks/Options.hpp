// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_HEAT_RANKS_OPTIONS_HPP
#define TRELLIS_EXAMPLE_HEAT_RANKS_OPTIONS_HPP

#include <cstddef>
#include <filesystem>
#include <optional>
#include <vector>

/// With this header a reader knows what can be asked of the program on its command line.
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

  /// Along the rows; lengths are in units of the plate's height.
  [[nodiscard]] double spacing() const { return 1.0 / (cells[0] + 1); }
  [[nodiscard]] double stable_time_step() const { return spacing() * spacing() / 4; }
  [[nodiscard]] bool verifies() const;
};

/// Reads the command line, the same on all ranks; `prints`: on this rank CLI11 says what it has to
/// say. Throws
/// `example::Ended`.
[[nodiscard]] Options parse(int argc, char** argv, bool prints);

/// Fills in what was left out, and asks MPI for the process grid. Throws `std::runtime_error` when
/// values do not go together, or some rank would have no cells.
void complete(Options& options, int ranks);

}  // namespace heat::ranks

#endif
