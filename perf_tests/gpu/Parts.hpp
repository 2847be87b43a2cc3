// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_GPU_PARTS_HPP
#define TRELLIS_GPU_PARTS_HPP

#include "Report.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace gpu {

struct Options {
  int tasks;
  int elements;
  int repetitions;
  int heat_grid;
  int heat_tiles;  ///< along each side
  int heat_steps;
  int cholesky_tiles;  ///< along each side
  int cholesky_block;
  int batch;                             ///< tasks that may run as one
  std::vector<std::string> models = {};  ///< empty: all

  [[nodiscard]] bool wants(std::string const& model) const {
    return models.empty() || std::find(models.begin(), models.end(), model) != models.end();
  }
};

/// Host time per task for several shapes.
void run_overhead(Options const& options, Report& report);
/// A heat equation in tiles.
void run_heat(Options const& options, Report& report);
/// A Cholesky factorisation in tiles.
void run_cholesky(Options const& options, Report& report);
/// Batches of small kernels.
void run_batches(Options const& options, Report& report);

}  // namespace gpu

#endif
