// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Options.hpp"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <stdexcept>

namespace adaptive_mesh {
namespace {

void require(char const* option, int least, int value, int most) {
  if (value < least || value > most)
    throw std::runtime_error(std::string(option) + " must be from " + std::to_string(least) +
                             " to " + std::to_string(most) + ", it is " + std::to_string(value));
}

}  // namespace

Options parse(int argc, char** argv) {
  Options options;
  Problem& problem = options.problem;
  CLI::App app(
      "Advection on a quadtree of patches whose refinement follows a front. Patches at subdomain\n"
      "and refinement borders are updated in sweeps, the others are small tasks. Runs serially "
      "and\n"
      "with each orchestration, compares times and every bit, and draws the mesh.",
      "adaptive_mesh");
  app.add_option("--coarsest", problem.coarsest, "least level; a patch has the side 1 / 2^level")
      ->capture_default_str();
  app.add_option("--finest", problem.finest, "largest level")->capture_default_str();
  app.add_option("--cells", problem.cells, "along a side of a patch")->capture_default_str();
  app.add_option("--subdomains", problem.subdomains, "a sweep has a child for each")
      ->capture_default_str();
  app.add_option("--steps", problem.steps, "of time")->capture_default_str();
  app.add_option("--adapt-every", problem.adapt_every, "steps after which the mesh changes")
      ->capture_default_str();
  app.add_option("--repetitions", options.repetitions, "how often all are timed, in turns")
      ->capture_default_str();
  app.add_option("--workers", options.workers, "threads that run tasks, 0: as the machine has")
      ->capture_default_str();
  app.add_option("--orchestration", options.orchestration,
                 "compare this one with native, in place of all: bsp, backfill, fuse_late:16, ...");
  app.add_option("--output", options.output, "folder for summary.json and the pictures")
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& error) {
    std::exit(app.exit(error));
  }
  require("--coarsest", 1, problem.coarsest, 6);
  require("--finest", problem.coarsest, problem.finest, 9);
  require("--cells", 2, problem.cells, 64);
  if (problem.cells % 2 != 0)
    throw std::runtime_error("--cells must be even, it is " + std::to_string(problem.cells));
  require("--subdomains", 1, problem.subdomains, 1 << (2 * problem.coarsest));
  require("--steps", 1, problem.steps, 1000000);
  // The refined band is wider than the front by a patch; the front must not leave it unseen.
  require("--adapt-every", 1, problem.adapt_every, 2 * problem.cells);
  require("--repetitions", 1, options.repetitions, 1000);
  require("--workers", 0, options.workers, 1024);
  return options;
}

}  // namespace adaptive_mesh
