// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace heat {
namespace {

// Small tiles and few steps in flight keep the front of steps that moves over the grid narrow, so
// that a tile's next step finds it in cache. Larger tiles and more steps mean fewer and freer
// tasks. Measured on two cores with 2 MiB of second-level cache each: half or twice of either costs
// about a tenth.
constexpr double bytes_of_a_tile = 512 * 1024;
constexpr std::size_t steps_in_flight = 16;

// The slabs of a device: each is a kernel, which should be large.
constexpr int slabs_on_device = 4;

// Slabs are cut across the slowest direction: their rows are as long as possible, and halos are
// contiguous.
std::vector<int> slabs(int wanted, Options const& options) {
  std::vector<int> tiles(static_cast<std::size_t>(options.dimensions), 1);
  tiles[0] = std::min(wanted, options.cells);
  return tiles;
}
std::vector<int> default_tiles(Options const& options) {
  if (options.on_device) return slabs(slabs_on_device, options);
  double const bytes = 8 * std::pow(options.cells, options.dimensions);
  int const hardware = std::max(
      1, static_cast<int>(std::thread::hardware_concurrency()) / options.threads_per_worker);
  int const workers = options.workers > 0 ? options.workers : hardware;
  return slabs(std::max(static_cast<int>(std::ceil(bytes / bytes_of_a_tile)), 4 * workers),
               options);
}

[[noreturn]] void fail(std::string const& why) {
  throw std::runtime_error(why);
}

std::string text(double number) {
  std::ostringstream out;
  out << number;
  return out.str();
}

void complete(Options& options) {
  if (options.cells == 0) options.cells = options.dimensions == 2 ? 4096 : 256;
  if (options.cells < 1) fail("--grid must be at least 1, it is " + std::to_string(options.cells));
  if (std::pow(options.cells + 2.0, options.dimensions) > 2147483647.0)
    fail("--grid " + std::to_string(options.cells) + " is too large: more than 2147483647 values");
  if (options.steps < 0)
    fail("--steps must not be negative, it is " + std::to_string(options.steps));
  if (options.residual_every < 0)
    fail("--residual-every must not be negative, it is " + std::to_string(options.residual_every));
  if (options.repetitions < 1)
    fail("--repetitions must be at least 1, it is " + std::to_string(options.repetitions));
  if (options.workers < 0)
    fail("--workers must not be negative, it is " + std::to_string(options.workers));
  if (options.threads_per_worker < 1)
    fail("--threads-per-worker must be at least 1, it is " +
         std::to_string(options.threads_per_worker));

  if (options.tiles.empty()) options.tiles = default_tiles(options);
  if (options.tiles.size() == 1)
    options.tiles.resize(static_cast<std::size_t>(options.dimensions), options.tiles.front());
  if (options.tiles.size() != static_cast<std::size_t>(options.dimensions))
    fail("--tiles takes one number or one for each of the " + std::to_string(options.dimensions) +
         " directions, not " + std::to_string(options.tiles.size()));
  for (int tiles : options.tiles) {
    if (tiles < 1)
      fail("--tiles must be at least 1 in each direction, one is " + std::to_string(tiles));
    if (tiles > options.cells)
      fail("--tiles " + std::to_string(tiles) + " is more than the " +
           std::to_string(options.cells) + " cells of the grid in one direction");
  }

  if (options.in_flight == 0 && !options.on_device)  // (there caches do not matter)
    options.in_flight = steps_in_flight * static_cast<std::size_t>(options.tile_count());

  double const limit = options.stable_time_step();
  if (options.time_step == 0) options.time_step = 0.8 * limit;
  if (!(options.time_step > 0 && options.time_step <= limit))
    fail("--time-step " + text(options.time_step) +
         " is not stable on this grid: it must be positive and at most h^2 / " +
         std::to_string(2 * options.dimensions) + " = " + text(limit));
}

}  // namespace

int Options::tile_count() const {
  return std::accumulate(tiles.begin(), tiles.end(), 1, std::multiplies<>());
}

double Options::stable_time_step() const {
  double const spacing = 1.0 / (cells + 1);
  return spacing * spacing / (2 * dimensions);
}

Options parse(int argc, char** argv, bool on_device) {
  Options options;
  options.on_device = on_device;
  CLI::App app(
      "Explicit heat equation on the unit square, once as bulk-synchronous Kokkos and once as one "
      "Trellis\n"
      "task for each tile and step. Compares both in time and in every bit, and draws what the "
      "tasks did.",
      "heat");
  app.add_option("--dim", options.dimensions, "2: a square, 3: a cube")
      ->check(CLI::IsMember({2, 3}))
      ->capture_default_str();
  app.add_option("--grid", options.cells,
                 "unknowns along each direction [4096, or 256 in three dimensions]");
  app.add_option("--tiles", options.tiles,
                 "tiles along each direction, e.g. 64x4, slowest first [slabs that fit a cache]")
      ->delimiter('x');
  app.add_option("--steps", options.steps, "time steps")->capture_default_str();
  app.add_option("--time-step", options.time_step,
                 "in units of edge^2 / diffusivity [0.8 of the stable one]");
  app.add_option("--residual-every", options.residual_every,
                 "steps from one residual to the next, 0: none")
      ->capture_default_str();
  app.add_option("--workers", options.workers, "workers of the task graph, 0: all cores")
      ->capture_default_str();
  app.add_option("--threads-per-worker", options.threads_per_worker, "threads that share one tile")
      ->capture_default_str();
  app.add_option("--in-flight", options.in_flight,
                 "most tasks submitted and not yet done [16 steps of them]");
  app.add_option("--repetitions", options.repetitions, "how often both solvers are timed, in turns")
      ->capture_default_str();
  app.add_option("--input", options.input,
                 "initial temperature: PGM image or text matrix [sin(pi x) sin(pi y)]");
  app.add_option("--output", options.output, "folder for summary.json, the graphs and the pictures")
      ->capture_default_str();
  app.add_flag("--check", options.check,
               "fail when the error against the exact solution is 1e-3 or more");
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& error) {
    std::exit(app.exit(error));
  }
  complete(options);
  return options;
}

}  // namespace heat
