// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_HEAT_OPTIONS_HPP
#define TRELLIS_EXAMPLE_HEAT_OPTIONS_HPP

#include <cstddef>
#include <filesystem>
#include <vector>

/// This header has the options of the program's command line.
namespace heat {

struct Options {
  int dimensions = 2;
  int cells = 0;           ///< along each direction
  std::vector<int> tiles;  ///< along each direction, slowest first
  int steps = 100;
  double time_step = 0;
  int residual_every = 10;
  int workers = 0;
  int threads_per_worker = 1;
  std::size_t in_flight = 0;  ///< most tasks submitted and not done
  int repetitions = 3;
  std::filesystem::path input;  ///< empty: the sine mode
  std::filesystem::path output = "out/heat";
  bool check = false;
  bool on_device = false;  ///< not on the command line

  [[nodiscard]] int tile_count() const;
  [[nodiscard]] double stable_time_step() const;  ///< the largest one
};

/// Reads the command line and completes the options. Throws `std::runtime_error` when values
/// contradict each other. Ends the program after `--help` and after a malformed command line, as
/// CLI11 does. `on_device`: the kernels do not run on the host.
[[nodiscard]] Options parse(int argc, char** argv, bool on_device);

}  // namespace heat

#endif
