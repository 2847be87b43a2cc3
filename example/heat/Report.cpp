// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Report.hpp"

#include "../shared/Recording.hpp"
#include "../shared/Text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace heat {
namespace {

using example::line, example::median, example::number, example::plural, example::times;

std::vector<int> grid(Options const& options) {
  return std::vector<int>(static_cast<std::size_t>(options.dimensions), options.cells);
}

}  // namespace

double Findings::ratio() const {
  std::vector<double> ratios;
  for (std::size_t k = 0; k < seconds_plain.size(); ++k)
    ratios.push_back(seconds_trellis[k] / seconds_plain[k]);
  return median(std::move(ratios));
}

double residual_difference(Findings const& found) {
  double largest = 0;
  for (Residual const& residual : found.residuals)
    if (residual.plain != residual.trellis)
      largest =
          std::max(largest, std::abs(residual.trellis - residual.plain) / std::abs(residual.plain));
  return largest;
}

void print(Options const& options, Findings const& found) {
  double const plain = median(found.seconds_plain), trellis = median(found.seconds_trellis);
  std::printf("Heat equation on the unit %s\n", options.dimensions == 2 ? "square" : "cube");
  line("backend", found.backend + ", Kokkos " + found.kokkos_version);
  line("grid", times(grid(options)) + " cells");
  line("tiles", times(options.tiles) + ", one task for each tile and step");
  line("steps", std::to_string(options.steps) + " of dt " + number("%.3g", found.time_step));
  line("initial temperature", options.input.empty() ? "sine mode" : options.input.string());

  std::printf("\nFound\n");
  for (Residual const& residual : found.residuals)
    if (&residual == &found.residuals.front() || &residual == &found.residuals.back())
      line(("residual at step " + std::to_string(residual.step)).c_str(),
           number("%.12g", residual.trellis));
  if (!found.residuals.empty())
    line("residuals, plain to Trellis", number("%.2g relative", residual_difference(found)));
  line("max error", found.max_error ? number("%.3g against the exact solution", *found.max_error)
                                    : "unknown: no exact solution");
  line("max difference to plain", number("%g", found.max_difference_to_plain));
  line("tasks", std::to_string(found.tasks) + ", " + std::to_string(found.dependency_edges) +
                    " dependency edges" +
                    (found.recorded_steps < options.steps
                         ? " in the first " + plural(found.recorded_steps, "step")
                         : ""));
  line("steps under way at once", std::to_string(found.steps_under_way));

  std::printf("\nTime, median of %s\n", plural(options.repetitions, "repetition").c_str());
  // (They mean nothing for a device.)
  auto const threads = [&](int count) {
    return options.on_device ? std::string() : ", " + plural(count, "thread");
  };
  double const cell_steps = std::pow(options.cells, options.dimensions) * options.steps;
  line("plain Kokkos", number("%.3f s", plain) +
                           number(", %.2f Gcells/s", cell_steps / plain * 1e-9) +
                           threads(found.threads_plain));
  line("Trellis", number("%.3f s", trellis) +
                      number(", %.2f Gcells/s", cell_steps / trellis * 1e-9) +
                      threads(found.threads_trellis));
  bool const are_equal = options.on_device || found.threads_plain == found.threads_trellis;
  std::string const unequal =
      ", not on the same number of threads: compare with --workers " +
      std::to_string(std::max(1, found.threads_plain / options.threads_per_worker));
  line("Trellis / plain", number("%.3f", found.ratio()) + (are_equal ? "" : unequal));
}

void write_summary(Options const& options, Findings const& found) {
  nlohmann::ordered_json summary;
  summary["backend"] = found.backend;
  summary["kokkos_version"] = found.kokkos_version;
  summary["grid"] = grid(options);
  summary["tiles"] = options.tiles;
  summary["steps"] = options.steps;
  summary["time_step"] = found.time_step;
  summary["initial"] = options.input.empty() ? "sine" : options.input.string();
  summary["workers"] = found.threads_trellis / options.threads_per_worker;
  summary["threads_per_worker"] = options.threads_per_worker;
  summary["threads_plain"] = found.threads_plain;
  summary["in_flight"] = options.in_flight;
  summary["recorded_steps"] = found.recorded_steps;
  summary["tasks"] = found.tasks;
  summary["dependency_edges"] = found.dependency_edges;
  summary["steps_under_way"] = found.steps_under_way;
  summary["most_tasks_shown"] = {{"trace.json", example::tasks_in_trace},
                                 {"timeline.svg", example::tasks_in_timeline},
                                 {"graph.dot", example::tasks_in_graph}};
  summary["max_error"] = nullptr;
  if (found.max_error) summary["max_error"] = *found.max_error;
  summary["max_difference_to_plain"] = found.max_difference_to_plain;
  summary["residual_relative_difference"] = residual_difference(found);
  summary["residuals"] = nlohmann::json::array();
  for (Residual const& residual : found.residuals)
    summary["residuals"].push_back(
        {{"step", residual.step}, {"plain", residual.plain}, {"trellis", residual.trellis}});
  summary["repetitions"] = options.repetitions;
  summary["seconds_plain"] = median(found.seconds_plain);
  summary["seconds_trellis"] = median(found.seconds_trellis);
  summary["ratio"] = found.ratio();
  summary["all_seconds_plain"] = found.seconds_plain;
  summary["all_seconds_trellis"] = found.seconds_trellis;

  auto const file = options.output / "summary.json";
  std::ofstream out(file);
  out << summary.dump(2) << '\n';
  if (!out.flush()) throw std::runtime_error("cannot write '" + file.string() + "'");
}

}  // namespace heat
