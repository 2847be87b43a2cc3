// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Options.hpp"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace cholesky {
namespace {

// Indices of the whole matrix are of type int. A recorded run keeps all of its tasks, which are a
// sixth of the cube of this.
constexpr int largest_order = 46340;
constexpr int most_tiles = 128;

[[noreturn]] void fail(std::string const& why) {
  throw std::runtime_error(why);
}

void require_positive(char const* name, int value) {
  if (value < 1) fail(std::string(name) + " must be at least 1, it is " + std::to_string(value));
}

void check(Options const& options) {
  require_positive("--n", options.order);
  require_positive("--tile", options.tile);
  require_positive("--repetitions", options.repetitions);
  std::string const order = std::to_string(options.order);
  if (options.order > largest_order)
    fail("--n " + order + " is too large, it must be at most " + std::to_string(largest_order));
  if (options.tile > options.order)
    fail("--tile " + std::to_string(options.tile) + " is more than the order of the matrix, --n " +
         order);
  if (options.tile < (options.order + most_tiles - 1) / most_tiles)
    fail("--tile " + std::to_string(options.tile) + " is too small for --n " + order +
         ": more than " + std::to_string(most_tiles) + " tiles in a row");
  if (options.workers < 0)
    fail("--workers must not be negative, it is " + std::to_string(options.workers));
  if (options.negative_at < -1 || options.negative_at >= options.order)
    fail("--negative-at " + std::to_string(options.negative_at) +
         " is no row of a matrix of order " + order + ", whose first one is 0");
}

}  // namespace

Options parse(int argc, char** argv) {
  Options options;
  CLI::App app(
      "Cholesky factorisation of a covariance matrix in tiles, as tasks of Kokkos Kernels. Checks "
      "the residual,\n"
      "and compares with the same calls in fork-join loops and with one call of LAPACK.",
      "cholesky");
  app.add_option("--n", options.order, "order of the matrix")->capture_default_str();
  app.add_option("--tile", options.tile, "order of a tile; the last ones are what is left")
      ->capture_default_str();
  app.add_option("--workers", options.workers, "threads of each of them, 0: all cores")
      ->capture_default_str();
  app.add_option("--repetitions", options.repetitions, "how often each is timed, in turns")
      ->capture_default_str();
  app.add_option(
      "--negative-at", options.negative_at,
      "row of a negative element on the diagonal, so that there is no factor, to see what "
      "is said [none]");
  app.add_option("--out", options.output, "folder for summary.json, the graph and the timeline")
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& error) {
    std::exit(app.exit(error));
  }
  check(options);
  return options;
}

}  // namespace cholesky
