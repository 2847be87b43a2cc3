// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Options.hpp"

#include <algorithm>
#include <thread>

namespace taskbench {
namespace {

template <std::size_t N>
std::vector<std::string> strings(std::array<std::string_view, N> const& names) {
  return {names.begin(), names.end()};
}

bool has(std::vector<std::string> const& list, std::string const& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

}  // namespace

void describe(CLI::App& app, Options& options) {
  app.add_flag("--quick", options.quick, "Everything in under two minutes");
  app.add_flag("--smoke", options.smoke,
               "Every model and pattern once, tiny, with nothing written");
  app.add_flag("--list-models", options.list_models, "The models of this build");
  app.add_flag("--metg", options.metg, "The same as --part metg");
  app.add_option("--part", options.parts,
                 "Parts of the program: cost, metg, tasks, width; default all")
      ->delimiter(',')
      ->check(CLI::IsMember(strings(part_names)));
  app.add_option("--model", options.models, "Models; default all")->delimiter(',');
  app.add_option("--pattern", options.patterns,
                 "Patterns; default all for cost, stencil_1d for the rest")
      ->delimiter(',')
      ->check(CLI::IsMember(strings(pattern_names)));
  app.add_option("--kernel", options.kernels, "Kernels; default empty, and compute_bound for metg")
      ->delimiter(',')
      ->check(CLI::IsMember(strings(kernel_names)));
  app.add_option("--width", options.width, "Columns")->check(CLI::Range(1, 1'000'000));
  app.add_option("--steps", options.steps, "Steps (rounded up to a multiple of the copies)")
      ->check(CLI::Range(std::int64_t(1), std::int64_t(1'000'000'000)));
  app.add_option("--iterations", options.iterations, "Iterations of the kernel in each task")
      ->check(CLI::Range(std::int64_t(0), std::int64_t(1'000'000'000'000)));
  app.add_option("--workers", options.workers, "Threads; default the hardware threads")
      ->check(CLI::Range(1, 1024));
  app.add_option("--repetitions", options.repetitions, "Runs of each, of which the median counts")
      ->check(CLI::Range(1, 1000));
  app.add_option("--output-bytes", options.parameters.output_bytes, "Bytes that each task writes")
      ->check(CLI::Range(16, 1 << 30));
  app.add_option("--copies", options.parameters.copies, "Outputs that each column keeps")
      ->check(CLI::Range(2, 64));
  app.add_option("--radix", options.parameters.shape.radix, "Of nearest, spread, random_nearest")
      ->check(CLI::Range(1, 1024));
  app.add_option("--period", options.parameters.shape.period, "Of spread, random_nearest")
      ->check(CLI::Range(1, 1024));
  app.add_option("--fraction", options.parameters.shape.fraction, "Of random_nearest")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--scratch-bytes", options.parameters.scratch_bytes,
                 "Bytes per column that memory_bound sweeps over")
      ->check(CLI::Range(static_cast<int>(block_bytes), 1 << 30));
  app.add_option("--imbalance", options.parameters.imbalance, "Of load_imbalance")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--output", options.output, "The JSON file")->capture_default_str();
  // For the tests: a model that does not learn of an edge must be found out.
  app.add_flag("--break-edge", options.parameters.break_edge)->group("");
  app.add_flag("--serve-openmp", options.serve_openmp)->group("");
}

void complete(Options& options) {
  if (options.workers == 0)
    options.workers = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  if (options.metg) options.parts.emplace_back("metg");
  bool const one_case = !options.patterns.empty() || !options.kernels.empty() ||
                        options.steps != 0 || options.iterations >= 0;
  if (options.parts.empty())
    options.parts = one_case ? std::vector<std::string>{"cost"} : strings(part_names);
  if (has(options.parts, "metg") && has(options.kernels, "empty"))
    throw CLI::ValidationError("--kernel", "an empty kernel has no granularity to sweep over");
  bool const all = options.patterns.empty() && has(options.parts, "cost");
  if (options.width > widest_table &&
      (all || has(options.patterns, "all_to_all") || has(options.patterns, "dom")))
    throw CLI::ValidationError("--width", "all_to_all and dom take at most " +
                                              std::to_string(widest_table) +
                                              " columns; name other patterns with --pattern");
}

}  // namespace taskbench
