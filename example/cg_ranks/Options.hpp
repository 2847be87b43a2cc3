// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_CG_RANKS_OPTIONS_HPP
#define TRELLIS_EXAMPLE_CG_RANKS_OPTIONS_HPP

#include <cstddef>
#include <filesystem>
#include <vector>

/// This header has the options of the program's command line.
namespace cg {

enum class Method { classic, pipelined };
enum class Preconditioning { none, jacobi, gauss_seidel };
[[nodiscard]] char const* name_of(Method method);
[[nodiscard]] char const* name_of(Preconditioning preconditioning);

struct Options {
  std::vector<int> cells{64, 64, 64};   ///< of the cube: unknowns along each direction
  std::vector<int> processes{0, 0, 0};  ///< ranks along each direction; 0: MPI chooses
  std::filesystem::path matrix;         ///< empty: Poisson's
  Method method = Method::classic;
  Preconditioning preconditioning = Preconditioning::gauss_seidel;
  double tolerance = 1e-8;
  int most_steps = 2000;
  int check_every = 10;
  int tiles = 0;  ///< of each rank; 0: such that they fit a cache
  bool plan = false;
  int workers = 0;
  std::size_t in_flight = 0;  ///< most tasks submitted and not done; 0: enough for two checks
  int repetitions = 3;
  std::filesystem::path output = "out/cg_ranks";
};

/// Reads the command line, the same on all ranks. `prints`: CLI11 prints its messages on this rank.
/// Throws `example::Ended`.
[[nodiscard]] Options parse(int argc, char** argv, bool prints);

/// Completes the options, and asks MPI for the process grid. Throws `std::runtime_error` when
/// values contradict each other, or some rank would have no cells.
void complete(Options& options, int ranks);

}  // namespace cg

#endif
