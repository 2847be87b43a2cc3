// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_ADAPTIVE_MESH_OPTIONS_HPP
#define TRELLIS_EXAMPLE_ADAPTIVE_MESH_OPTIONS_HPP

#include <filesystem>
#include <string>

/// This header has the options of the program's command line.
namespace adaptive_mesh {

/// A square of side 1. A patch of level l has the side 1 / 2^l.
struct Problem {
  int coarsest = 2;
  int finest = 6;
  int cells = 8;  ///< along a side of a patch, even
  int subdomains = 4;
  int steps = 200;
  int adapt_every = 8;  ///< steps after which the mesh changes
};

struct Options {
  Problem problem;
  int repetitions = 3;
  int workers = 0;            ///< 0: as many as the machine has
  std::string orchestration;  ///< empty: each of them
  std::filesystem::path output = "out/adaptive_mesh";
};

/// Reads the command line. Throws `std::runtime_error` when values are out of range or contradict
/// each other. Ends the program after `--help` and after a malformed command line, as CLI11 does.
[[nodiscard]] Options parse(int argc, char** argv);

}  // namespace adaptive_mesh

#endif
