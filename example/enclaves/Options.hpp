// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_ENCLAVES_OPTIONS_HPP
#define TRELLIS_EXAMPLE_ENCLAVES_OPTIONS_HPP

#include <filesystem>
#include <string>

/// This header has the options of the program's command line.
namespace enclaves {

/// Subdomains in a row, each a square of patches, each a square of cells.
struct Problem {
  int subdomains = 4;
  int patches = 6;    ///< along a side of a subdomain
  int cells = 16;     ///< along a side of a patch
  int reactions = 4;  ///< small steps of the reaction in each cell

  [[nodiscard]] int side() const { return patches * cells; }
  [[nodiscard]] int enclaves() const { return (patches - 2) * patches; }  ///< of a subdomain
  [[nodiscard]] int skeletons() const { return 2 * patches; }
};

struct Options {
  Problem problem;
  int steps = 200;
  int repetitions = 3;
  int workers = 0;            ///< 0: as many as the machine has
  std::string orchestration;  ///< empty: each of them
  std::filesystem::path output = "out/enclaves";
};

/// Reads the command line. Throws `std::runtime_error` when a value is out of range. Ends the
/// program after `--help` and after a malformed command line, as CLI11 does.
[[nodiscard]] Options parse(int argc, char** argv);

}  // namespace enclaves

#endif
