// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_PARTICLES_OPTIONS_HPP
#define TRELLIS_EXAMPLE_PARTICLES_OPTIONS_HPP

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "Initial.hpp"
#include "Plasma.hpp"

/// This header has the options of the program's command line.
namespace particles {

struct Options {
  std::string what = "oscillation";
  std::vector<int> cells{64, 16};  ///< rows, columns
  int per_cell = 16;
  int steps = 300;
  double time_step = 0;  ///< 0: 0.9 of the stable one
  double length = 0;     ///< 0: that of the case
  std::optional<double> speed;
  double temperature = 0;
  double field = 0.5;
  int chunk = 256;
  int core_tiles = 0;  ///< 0: four for each worker
  int check_every = 4;
  int workers = 0;
  int threads_per_worker = 1;
  std::size_t in_flight = 0;
  int recorded_steps = 8;
  std::optional<bool> verify;
  bool releases = true;
  double most_drift = 0.02;  ///< of the energy, relative
  double most_error = 0.03;  ///< of the known value, relative
  std::filesystem::path output = "out/particles";

  [[nodiscard]] bool verifies() const;
  [[nodiscard]] Setup setup() const;
  [[nodiscard]] Problem problem() const;
};

/// Reads the command line, the same on all ranks. `prints`: CLI11 prints its messages on this rank.
/// Throws `example::Ended`.
[[nodiscard]] Options parse(int argc, char** argv, bool prints);

/// Completes the options. Throws `std::runtime_error` when values contradict each other, or some
/// rank would have too few rows.
void complete(Options& options, int ranks);

}  // namespace particles

#endif
