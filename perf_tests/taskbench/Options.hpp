// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TASKBENCH_OPTIONS_HPP
#define TRELLIS_TASKBENCH_OPTIONS_HPP

#include "Work.hpp"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace taskbench {

/// What the command line asks for. Lists that are empty, and numbers that are 0, are chosen by each
/// part.
struct Options {
  bool quick = false;
  bool smoke = false;
  bool list_models = false;
  bool serve_openmp = false;
  bool metg = false;
  std::vector<std::string> parts;
  std::vector<std::string> models;
  std::vector<std::string> patterns;
  std::vector<std::string> kernels;
  int width = 0;
  std::int64_t steps = 0;
  std::int64_t iterations = -1;
  int workers = 0;
  int repetitions = 0;
  Parameters parameters;  ///< what the models share
  std::string output = "out/perf/taskbench.json";
};

/// The tables of edges of all_to_all and dom grow with the square of the width.
inline constexpr int widest_table = 4096;

inline constexpr std::array<std::string_view, 4> part_names{"cost", "metg", "tasks", "width"};

/// Makes the command line's description; `options` must outlive it.
void describe(CLI::App& app, Options& options);

/// Fills in what follows from other options; throws CLI::ValidationError for what cannot be.
void complete(Options& options);

}  // namespace taskbench

#endif
