// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Options.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

namespace transport {
namespace {

[[noreturn]] void fail(std::string const& why) {
  throw std::runtime_error(why);
}

void require(char const* option, int least, int value, int most) {
  if (value < least || value > most)
    fail(std::string(option) + " must be from " + std::to_string(least) + " to " +
         std::to_string(most) + ", it is " + std::to_string(value));
}

/// Parses a text such as "2x1".
trellis::ThreadRatio ratio_of(std::string const& text) {
  trellis::ThreadRatio ratio;
  char const* const end = text.data() + text.size();
  auto const first = std::from_chars(text.data(), end, ratio.workers);
  bool const has_two = first.ec == std::errc() && first.ptr != end && *first.ptr == 'x';
  auto const second = has_two ? std::from_chars(first.ptr + 1, end, ratio.threads) : first;
  if (!has_two || second.ec != std::errc() || second.ptr != end || ratio.workers < 1 ||
      ratio.threads < 1 || ratio.workers > 64 || ratio.threads > 64)
    fail("--ratios are like 2x1, workers x threads of each, up to 64; '" + text + "' is none");
  return ratio;
}

}  // namespace

int Options::threads() const {
  int most = 1;
  for (trellis::ThreadRatio const& each : ratios)
    most = std::max(most, each.workers * each.threads);
  return most;
}

int Options::threads_of_feedback() const {
  return std::min(threads(), std::max(1, static_cast<int>(std::thread::hardware_concurrency())));
}

int Options::threads_of_kokkos() const {
  int most = threads_of_feedback();
  for (trellis::ThreadRatio const& each : ratios) most = std::max(most, each.threads);
  return most;
}

Options parse(int argc, char** argv) {
  Options options;
  Problem& problem = options.problem;
  std::string coupling = "none", source = "own";
  std::vector<std::string> ratios;
  bool no_limit = false;
  CLI::App app(
      "Transport of scalars as a model of fields, with other numbers of task and operator "
      "threads,\n"
      "and on devices of different speeds in software.\n"
      "Tells the predicted and the measured memory, compares times and every bit with a plain "
      "loop,\n"
      "and draws what the tasks did.",
      "transport");
  app.add_option("--equations", problem.equations, "scalars")->capture_default_str();
  app.add_option("--grid", problem.cells, "cells along each direction")->capture_default_str();
  app.add_option("--coupling", coupling,
                 "none: the source of an equation is exp of its scalar; all: the product over all")
      ->check(CLI::IsMember({"none", "all"}))
      ->capture_default_str();
  app.add_option("--source", source, "own: of each equation; shared: one for all")
      ->check(CLI::IsMember({"own", "shared"}))
      ->capture_default_str();
  app.add_option("--steps", options.steps, "steps that are timed")->capture_default_str();
  app.add_option("--repetitions", options.repetitions, "how often all are timed, in turns")
      ->capture_default_str();
  app.add_option("--ratios", ratios, "workers x threads of each [1x1,2x1,1x2,2x2]")->delimiter(',');
  app.add_option("--feedback", options.feedback,
                 "steps after each of which the ratio may change, 0: none")
      ->capture_default_str();
  app.add_option("--hybrid", options.hybrid,
                 "grids on which tasks run on the host or on devices in software, in virtual time; "
                 "0: none")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--hybrid-equations", options.hybrid_equations, "scalars there")
      ->capture_default_str();
  app.add_flag("--no-limit", no_limit, "do not hold the memory to what is predicted");
  app.add_option("--output", options.output, "folder for summary.json, the graphs and the pictures")
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& error) {
    std::exit(app.exit(error));
  }
  problem.coupling = coupling == "all" ? Coupling::all : Coupling::none;
  problem.source = source == "shared" ? Source::shared : Source::own;
  options.limit = !no_limit;
  if (!ratios.empty()) options.ratios.clear();
  for (std::string const& text : ratios) options.ratios.push_back(ratio_of(text));
  require("--equations", 1, problem.equations, 64);
  require("--grid", 2, problem.cells, 512);
  require("--steps", 1, options.steps, 1000000);
  require("--repetitions", 1, options.repetitions, 1000);
  require("--feedback", 0, options.feedback, 1000);
  require("--hybrid-equations", 1, options.hybrid_equations, 64);
  std::erase(options.hybrid, 0);
  for (int const grid : options.hybrid) require("--hybrid", 2, grid, 512);
  if (problem.source == Source::shared && problem.coupling == Coupling::none)
    fail("--source shared needs --coupling all: the sources of uncoupled equations differ");
  return options;
}

}  // namespace transport
