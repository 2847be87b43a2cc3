// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Options.hpp"

#include <mpi.h>

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "../shared/CommandLine.hpp"
#include "../shared/Text.hpp"

namespace heat::ranks {
namespace {

using example::both_directions, example::fail, example::number, example::plural,
    example::require_at_least, example::times;

constexpr std::int64_t most_verified_cells = 1 << 22;

}  // namespace

bool Options::verifies() const {
  return verify.value_or(std::int64_t{cells[0]} * cells[1] <= most_verified_cells);
}

void complete(Options& options, int ranks) {
  both_directions("--grid", options.cells, 1);
  both_directions("--process-grid", options.processes, 0);
  if (!options.tiles.empty()) both_directions("--tiles", options.tiles, 1);
  require_at_least("--steps", 0, options.steps);
  require_at_least("--check", 0, options.check_every);
  require_at_least("--repetitions", 1, options.repetitions);
  require_at_least("--workers", 0, options.workers);
  require_at_least("--threads-per-worker", 1, options.threads_per_worker);
  if (options.plan && (options.steps % 2 != 0 || options.check_every % 2 != 0))
    fail("--plan takes two steps at a time: --steps and --check must be even, they are " +
         std::to_string(options.steps) + " and " + std::to_string(options.check_every));

  int fixed = 1;
  bool is_open = false;
  for (int const along : options.processes) {
    is_open = is_open || along == 0;
    if (along != 0) fixed *= along;
  }
  if (is_open ? ranks % fixed != 0 : ranks != fixed)
    fail("--process-grid " + times(options.processes) + " does not fit the " +
         plural(ranks, "rank") + " that there are");
  MPI_Dims_create(ranks, 2, options.processes.data());
  double values = 1;
  for (std::size_t k = 0; k < 2; ++k) {
    int const cells = options.cells[k], along = options.processes[k];
    if (along > cells)
      fail("--grid " + times(options.cells) + " is too small for " + times(options.processes) +
           " ranks: some would have no cells");
    values *= cells / along + 3.0;  // that many, or one less
  }
  if (values > 2147483647.0)
    fail("--grid " + times(options.cells) + " is too large for " + times(options.processes) +
         " ranks: more than 2147483647 values on a rank");

  if (options.time_step == 0) options.time_step = 0.8 * options.stable_time_step();
  if (!(options.time_step > 0 && options.time_step <= options.stable_time_step()))
    fail("--time-step " + number("%g", options.time_step) +
         " is not stable on this grid: it must be positive and at most h^2 / 4 = " +
         number("%g", options.stable_time_step()));
}

Options parse(int argc, char** argv, bool prints) {
  Options options;
  CLI::App app(
      "Explicit heat equation on a plate that is cut between the ranks of MPI. Each step of a tile "
      "is a task,\n"
      "and so is each message; a bulk-synchronous version on the same ranks is the yardstick. "
      "Compares both\n"
      "in time and in every bit, and says how much of the communication was hidden.",
      "heat_ranks");
  app.add_option("--grid", options.cells,
                 "rows x columns of unknowns, e.g. 1000x700, or both at once [2048]")
      ->delimiter('x');
  app.add_option("--process-grid", options.processes,
                 "ranks along each direction, e.g. 2x1; MPI chooses where it is 0 [0x0]")
      ->delimiter('x');
  app.add_option("--tiles", options.tiles,
                 "tiles of each rank along each direction, e.g. 16x3 [such that they fit a cache]")
      ->delimiter('x');
  app.add_option("--steps", options.steps, "time steps")->capture_default_str();
  app.add_option("--time-step", options.time_step,
                 "in units of height^2 / diffusivity [0.8 of the stable one]");
  app.add_option("--check", options.check_every,
                 "steps from one look at the largest change of all ranks to the next, 0: none")
      ->capture_default_str();
  app.add_flag("--plan", options.plan, "record two steps, messages and all, and replay them");
  app.add_option("--workers", options.workers,
                 "workers of each rank, 0: this rank's share of the cores")
      ->capture_default_str();
  app.add_option("--threads-per-worker", options.threads_per_worker, "threads that share one tile")
      ->capture_default_str();
  app.add_option("--in-flight", options.in_flight,
                 "most tasks of a rank submitted and not yet done [16 steps of them]");
  app.add_option("--repetitions", options.repetitions,
                 "how often both versions are timed, in turns")
      ->capture_default_str();
  app.add_flag("--verify,!--no-verify", options.verify,
               "compare with the answer of one rank, which rank 0 computes [up to 4194304 cells]");
  app.add_option("--input", options.input,
                 "initial temperature: PGM image or text matrix [sin(pi x) sin(pi y)]");
  app.add_option("--output", options.output, "folder for summary.json, the graphs and the pictures")
      ->capture_default_str();
  example::parse_on_ranks(app, argc, argv, prints);
  return options;
}

}  // namespace heat::ranks
