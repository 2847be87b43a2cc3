// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Options.hpp"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <stdexcept>

namespace enclaves {
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
      "Sweeps over subdomains that leave their inner patches to small tasks, the enclaves, for "
      "which "
      "the\n"
      "next sweep comes. Runs serially and with each orchestration, compares times and every bit.",
      "enclaves");
  app.add_option("--subdomains", problem.subdomains, "in a row; a sweep has a child for each")
      ->capture_default_str();
  app.add_option("--patches", problem.patches, "along a side of a subdomain")
      ->capture_default_str();
  app.add_option("--cells", problem.cells, "along a side of a patch")->capture_default_str();
  app.add_option("--reactions", problem.reactions, "small steps of the reaction in each cell")
      ->capture_default_str();
  app.add_option("--steps", options.steps, "of time")->capture_default_str();
  app.add_option("--repetitions", options.repetitions, "how often all are timed, in turns")
      ->capture_default_str();
  app.add_option("--workers", options.workers, "threads that run tasks, 0: as the machine has")
      ->capture_default_str();
  app.add_option("--orchestration", options.orchestration,
                 "compare this one with native, in place of all: " +
                     std::string("bsp, backfill, fuse_late:16, ..."));
  app.add_option("--output", options.output, "folder for summary.json and the picture")
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& error) {
    std::exit(app.exit(error));
  }
  require("--subdomains", 2, problem.subdomains, 256);
  require("--patches", 3, problem.patches, 256);
  require("--cells", 1, problem.cells, 256);
  require("--reactions", 1, problem.reactions, 1000);
  require("--steps", 1, options.steps, 1000000);
  require("--repetitions", 1, options.repetitions, 1000);
  require("--workers", 0, options.workers, 1024);
  return options;
}

}  // namespace enclaves
