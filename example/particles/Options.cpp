// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Options.hpp"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <numbers>
#include <string>

#include "../shared/CommandLine.hpp"
#include "../shared/Text.hpp"
#include "Slab.hpp"

namespace particles {
namespace {

using example::fail, example::number, example::plural, example::require_at_least, example::times;

using std::numbers::pi;
constexpr std::int64_t most_verified_pushes = std::int64_t{1} << 25;

Case case_named(std::string const& name) {
  for (Case const what : {Case::oscillation, Case::streams, Case::gyration})
    if (name == to_string(what)) return what;
  fail("--case is oscillation, streams or gyration, not '" + name + "'");
}

void require_positive(char const* option, double value) {
  if (!(value > 0)) fail(std::string(option) + " must be positive, it is " + number("%g", value));
}

double default_speed(Case what) {
  switch (what) {
    case Case::oscillation:
      return 0.02;
    case Case::streams:
      return 0.2;
    case Case::gyration:
      break;
  }
  return 0.3;
}

}  // namespace

bool Options::verifies() const {
  return verify.value_or(problem().particles() * steps <= most_verified_pushes);
}

Setup Options::setup() const {
  return {case_named(what), *speed, length, temperature,
          case_named(what) == Case::gyration ? field : 0.0};
}

Problem Options::problem() const {
  return {{cells[0], cells[1]},
          per_cell,
          length / cells[0],
          time_step,
          steps,
          check_every,
          case_named(what) == Case::gyration ? 0.0 : 1.0};
}

void complete(Options& options, int ranks) {
  Case const what = case_named(options.what);
  example::both_directions("--grid", options.cells, 2);
  require_at_least("--particles-per-cell", 1, options.per_cell);
  require_at_least("--steps", 0, options.steps);
  require_at_least("--check", 0, options.check_every);
  require_at_least("--chunk", 1, options.chunk);
  require_at_least("--tiles", 0, options.core_tiles);
  require_at_least("--workers", 0, options.workers);
  require_at_least("--threads-per-worker", 1, options.threads_per_worker);
  require_at_least("--recorded-steps", 2, options.recorded_steps);
  if (what == Case::streams && options.per_cell % 2 != 0)
    fail("--particles-per-cell must be even for two streams, it is " +
         std::to_string(options.per_cell));
  if (options.cells[0] / ranks < least_rows)
    fail("--grid " + times(options.cells) + " is too small for " + plural(ranks, "rank") +
         ": each needs " + std::to_string(least_rows) + " rows, two of them border at each end");
  double const particles =
      static_cast<double>(options.cells[0]) * options.cells[1] * options.per_cell;
  if (particles > static_cast<double>(most_particles))
    fail("--grid " + times(options.cells) + " with " + std::to_string(options.per_cell) +
         " particles in each cell has more than " + std::to_string(most_particles) +
         " particles: their currents might overflow");

  double const looks = options.check_every == 0 ? 0 : options.steps / options.check_every + 1;
  if (looks * options.cells[0] > 5e7)
    fail("--check " + std::to_string(options.check_every) + " looks too often at a run of " +
         plural(options.steps, "step"));

  if (!options.speed) options.speed = default_speed(what);
  if (!(*options.speed >= 0 && *options.speed <= 0.9))
    fail("--speed must be from 0 to 0.9 (of light), it is " + number("%g", *options.speed));
  if (!(options.temperature >= 0 && options.temperature <= 0.3))
    fail("--temperature must be from 0 to 0.3, it is " + number("%g", options.temperature));
  // Two streams are least stable at k v = sqrt(3 / 8).
  if (options.length == 0)
    options.length = what == Case::streams && *options.speed > 0
                         ? 2 * pi * *options.speed / 0.6123724356957945
                         : 2 * pi;
  require_positive("--length", options.length);
  double const stable = options.problem().stable_time_step();
  if (options.time_step == 0) options.time_step = 0.9 * stable;
  if (!(options.time_step > 0 && options.time_step < stable))
    fail("--time-step " + number("%g", options.time_step) +
         " is not stable on this grid: it must be positive and below h / sqrt(2) = " +
         number("%g", stable));
  require_positive("--most-drift", options.most_drift);
  require_positive("--most-error", options.most_error);
}

Options parse(int argc, char** argv, bool prints) {
  Options options;
  CLI::App app(
      "Electrons and their fields in two directions, particle in cell, over the ranks of MPI. "
      "Fields, particles\n"
      "and messages are tasks; particles travel in chunks whose size a task says. Checks "
      "conservation, a value\n"
      "that theory knows, every bit against one rank without tasks, and that tasks overlap and "
      "start early.",
      "particles");
  app.add_option("--case", options.what,
                 "oscillation (of a cold plasma), streams (two, unstable), gyration (of test "
                 "particles)")
      ->capture_default_str();
  app.add_option("--grid", options.cells,
                 "rows x columns of cells, e.g. 128x8; rows are cut between ranks [64x16]")
      ->delimiter('x');
  app.add_option("--particles-per-cell", options.per_cell, "electrons in each cell")
      ->capture_default_str();
  app.add_option("--steps", options.steps, "time steps")->capture_default_str();
  app.add_option("--time-step", options.time_step,
                 "in 1 / omega_p [0.9 of the stable one, h / sqrt(2)]");
  app.add_option("--length", options.length,
                 "of the box along x, in c / omega_p [2 pi; of the fastest growth for streams]");
  app.add_option("--speed", options.speed,
                 "of the oscillation, each stream or the gyration, in c [0.02, 0.2, 0.3]");
  app.add_option("--temperature", options.temperature,
                 "standard deviation of each component of momentum, in m c")
      ->capture_default_str();
  app.add_option("--field", options.field, "Bz of the gyration, in m c omega_p / e")
      ->capture_default_str();
  app.add_option("--chunk", options.chunk, "most particles in one message")->capture_default_str();
  app.add_option("--tiles", options.core_tiles,
                 "core tiles of each rank, beside its two border tiles; 0: four for each worker")
      ->capture_default_str();
  app.add_option("--check", options.check_every,
                 "steps from one look at conserved quantities to the next, 0: none")
      ->capture_default_str();
  app.add_option("--workers", options.workers,
                 "workers of each rank, 0: this rank's share of the cores")
      ->capture_default_str();
  app.add_option("--threads-per-worker", options.threads_per_worker, "threads of each worker")
      ->capture_default_str();
  app.add_option("--in-flight", options.in_flight,
                 "most tasks of a rank submitted and not yet done [2048 or more]");
  app.add_option("--recorded-steps", options.recorded_steps,
                 "steps of the runs in which overlap and early release are looked at")
      ->capture_default_str();
  app.add_flag("--verify,!--no-verify", options.verify,
               "compare with one rank without tasks [up to 33554432 pushes of a particle]");
  app.add_flag(
         "--release,!--no-release", options.releases,
         "give up early what a task does not need any more; without it the look at that fails")
      ->capture_default_str();
  app.add_option("--most-drift", options.most_drift, "of the energy that is accepted, relative")
      ->capture_default_str();
  app.add_option("--most-error", options.most_error,
                 "of the value that theory knows that is accepted, relative")
      ->capture_default_str();
  app.add_option("--output", options.output, "folder for summary.json, the graphs and the picture")
      ->capture_default_str();
  example::parse_on_ranks(app, argc, argv, prints);
  return options;
}

}  // namespace particles
