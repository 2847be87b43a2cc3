// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_TRANSPORT_OPTIONS_HPP
#define TRELLIS_EXAMPLE_TRANSPORT_OPTIONS_HPP

#include <Trellis_Recorded.hpp>

#include <filesystem>
#include <vector>

#include "Problem.hpp"

/// This header has the options of the program's command line.
namespace transport {

struct Options {
  Problem problem;
  int steps = 5;  ///< that are timed
  int repetitions = 3;
  std::vector<trellis::ThreadRatio> ratios = {{1, 1}, {2, 1}, {1, 2}, {2, 2}};
  int feedback = 8;  ///< iterations
  bool limit = true;
  std::vector<int> hybrid = {32, 64, 128};  ///< grids on which tasks may run on devices
  int hybrid_equations = 2;
  std::filesystem::path output = "out/transport";

  /// Returns the threads of the ratio that has the most.
  [[nodiscard]] int threads() const;
  /// Returns the threads that feedback divides: as many, but not more than there are cores.
  [[nodiscard]] int threads_of_feedback() const;
  /// Returns the threads that Kokkos must have: those, or the threads of a worker.
  [[nodiscard]] int threads_of_kokkos() const;
};

/// Reads the command line. Throws `std::runtime_error` when values contradict each other. Ends the
/// program after `--help` and after a malformed command line, as CLI11 does.
[[nodiscard]] Options parse(int argc, char** argv);

}  // namespace transport

#endif
