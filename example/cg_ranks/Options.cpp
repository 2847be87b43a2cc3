// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Options.hpp"

#include <mpi.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>

#include "../shared/CommandLine.hpp"
#include "../shared/Text.hpp"

namespace cg {
namespace {

using example::fail, example::number, example::plural, example::require_at_least, example::times;

/// Expands one number to all directions.
void all_directions(char const* option, std::vector<int>& numbers, int least) {
  if (numbers.size() == 1) numbers.resize(3, numbers.front());
  if (numbers.size() != 3)
    fail(std::string(option) + " takes one number or three, not " + std::to_string(numbers.size()));
  for (int const number : numbers) require_at_least(option, least, number);
}

void complete_grid(Options& options, int ranks) {
  all_directions("--grid", options.cells, 1);
  all_directions("--process-grid", options.processes, 0);
  int fixed = 1;
  for (int const along : options.processes)
    if (along != 0) fixed *= along;
  bool const is_open = std::ranges::find(options.processes, 0) != options.processes.end();
  if (is_open ? ranks % fixed != 0 : ranks != fixed)
    fail("--process-grid " + times(options.processes) + " does not fit the " +
         plural(ranks, "rank") + " that there are");
  MPI_Dims_create(ranks, 3, options.processes.data());
  double rows = 1;
  for (std::size_t k = 0; k < 3; ++k) {
    int const cells = options.cells[k], along = options.processes[k];
    if (along > cells)
      fail("--grid " + times(options.cells) + " is too small for " + times(options.processes) +
           " ranks: some would have no cells");
    rows *= cells / along + 1.0;  // that many, or one less
  }
  if (7 * rows > 2147483647.0)
    fail("--grid " + times(options.cells) + " is too large for " + times(options.processes) +
         " ranks: more than 2147483647 entries of the matrix on a rank");
}

}  // namespace

char const* name_of(Method method) {
  return method == Method::classic ? "classic" : "pipelined";
}
char const* name_of(Preconditioning preconditioning) {
  return preconditioning == Preconditioning::none     ? "none"
         : preconditioning == Preconditioning::jacobi ? "jacobi"
                                                      : "gauss-seidel";
}

void complete(Options& options, int ranks) {
  complete_grid(options, ranks);
  if (!(options.tolerance > 0 && options.tolerance < 1))
    fail("--tolerance must be between 0 and 1, it is " + number("%g", options.tolerance));
  require_at_least("--most-steps", 0, options.most_steps);
  require_at_least("--check", 1, options.check_every);
  require_at_least("--tiles", 0, options.tiles);
  require_at_least("--workers", 0, options.workers);
  require_at_least("--repetitions", 1, options.repetitions);
}

Options parse(int argc, char** argv, bool prints) {
  Options options;
  CLI::App app(
      "Preconditioned conjugate gradients for a sparse matrix that is cut between the ranks of "
      "MPI. "
      "What a\n"
      "step does with a tile of rows is a task, and so is each message and each sum over the "
      "ranks; "
      "a\n"
      "bulk-synchronous version on the same ranks is the yardstick. Compares both in time and in "
      "every\n"
      "bit, checks the solution, and says how much of the communication was hidden.",
      "cg_ranks");
  auto* const grid =
      app.add_option("--grid", options.cells,
                     "unknowns of Poisson's equation in a cube, e.g. 50x40x30, or along all of its "
                     "directions at once [64]")
          ->delimiter('x');
  app.add_option("--process-grid", options.processes,
                 "ranks along each direction, e.g. 2x1x2; MPI chooses where it is 0 [0x0x0]")
      ->delimiter('x');
  app.add_option("--matrix", options.matrix,
                 "a symmetric positive definite matrix in place of Poisson's: a Matrix Market file "
                 "(needs Kokkos Kernels)")
      ->excludes(grid);
  app.add_option("--method", options.method,
                 "classic (Hestenes and Stiefel: two sums over the ranks in a step) or pipelined "
                 "(Ghysels and Vanroose: one, while the preconditioner and the matrix are applied) "
                 "[classic]")
      ->transform(CLI::CheckedTransformer(std::map<std::string, Method>{
          {"classic", Method::classic}, {"pipelined", Method::pipelined}}));
  app.add_option("--preconditioner", options.preconditioning,
                 "none, jacobi or gauss-seidel (symmetric, of the block of each tile) "
                 "[gauss-seidel]")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, Preconditioning>{{"none", Preconditioning::none},
                                                 {"jacobi", Preconditioning::jacobi},
                                                 {"gauss-seidel", Preconditioning::gauss_seidel}}));
  app.add_option("--tolerance", options.tolerance,
                 "of the residual's norm, in units of that of the right-hand side")
      ->capture_default_str();
  app.add_option("--most-steps", options.most_steps, "it has failed after so many steps")
      ->capture_default_str();
  app.add_option("--check", options.check_every,
                 "steps from one look at whether it is enough to the next; the answer is that of "
                 "so many steps before")
      ->capture_default_str();
  app.add_option("--tiles", options.tiles,
                 "tiles of rows of each rank, more or less, 0: such that they fit a cache")
      ->capture_default_str();
  app.add_flag("--plan", options.plan, "record a step, messages and all, and replay it");
  app.add_option("--workers", options.workers,
                 "workers of each rank, 0: this rank's share of the cores")
      ->capture_default_str();
  app.add_option("--in-flight", options.in_flight,
                 "most tasks of a rank submitted and not yet done [those between two checks]");
  app.add_option("--repetitions", options.repetitions,
                 "how often both versions are timed, in turns")
      ->capture_default_str();
  app.add_option("--output", options.output, "folder for summary.json, the history and the graphs")
      ->capture_default_str();
  example::parse_on_ranks(app, argc, argv, prints);
  return options;
}

}  // namespace cg
