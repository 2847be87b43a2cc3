// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_CHOLESKY_OPTIONS_HPP
#define TRELLIS_EXAMPLE_CHOLESKY_OPTIONS_HPP

#include <filesystem>

/// This header has the options of the program's command line.
namespace cholesky {

struct Options {
  int order = 2000;
  int tile = 128;
  int workers = 0;
  int repetitions = 5;
  int negative_at = -1;
  std::filesystem::path output = "out/cholesky";
};

/// Reads the command line. Throws `std::runtime_error` when values contradict each other. Ends the
/// program after `--help` and after a malformed command line, as CLI11 does.
[[nodiscard]] Options parse(int argc, char** argv);

}  // namespace cholesky

#endif
