// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_CG_RANKS_PLOT_HPP
#define TRELLIS_EXAMPLE_CG_RANKS_PLOT_HPP

#include <filesystem>
#include <string>
#include <vector>

/// This header draws how a residual falls.
namespace cg {

struct Plot {
  std::string title;
  std::vector<double> values;  ///< one for each step, from 0 on; what is not positive is left out
  double target;               ///< a line
  double at_the_end;           ///< the true value, a ring
};

/// Writes an SVG with a logarithmic axis. Throws `std::runtime_error` when it cannot write.
void draw(std::filesystem::path const& file, Plot const& plot);

}  // namespace cg

#endif
