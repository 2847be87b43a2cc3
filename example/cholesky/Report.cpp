// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Report.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "../shared/Recording.hpp"
#include "TiledMatrix.hpp"

namespace cholesky {
namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::size_t const half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// Returns the median over the repetitions of one's time by that of the other.
double ratio(Variant const& one, Variant const& other) {
  std::vector<double> ratios;
  for (std::size_t k = 0; k < one.seconds.size(); ++k)
    ratios.push_back(one.seconds[k] / other.seconds[k]);
  return median(std::move(ratios));
}

double gflops(Options const& options, Variant const& variant) {
  return operations(options.order) / median(variant.seconds) * 1e-9;
}

void line(char const* what, std::string const& value) {
  std::printf("  %-28s %s\n", what, value.c_str());
}

std::string plural(std::uint64_t count, char const* thing) {
  return std::to_string(count) + " " + thing + (count == 1 ? "" : "s");
}

void print_row(Options const& options, Findings const& found, Variant const& variant) {
  if (variant.seconds.empty()) {
    std::printf("  %-28s left out, this build has found no LAPACKE\n", variant.name.c_str());
    return;
  }
  std::string const threads = variant.threads > 0 ? std::to_string(variant.threads) : "?";
  std::printf("  %-28s %7s %10.4f %9.2f %11.3f %10.2g\n", variant.name.c_str(), threads.c_str(),
              median(variant.seconds), gflops(options, variant), ratio(variant, found.fork_join),
              variant.residual);
}

}  // namespace

void print(Options const& options, Findings const& found) {
  std::printf("Cholesky factorisation of a covariance matrix\n");
  line("backend", found.kokkos);
  std::string const tile = std::to_string(options.tile);
  line("matrix", "order " + std::to_string(options.order) + ", " + std::to_string(found.tiles) +
                     " x " + std::to_string(found.tiles) + " tiles of order " + tile +
                     (found.last_tile == options.tile
                          ? ""
                          : ", the last ones " + std::to_string(found.last_tile)));
  line("tile kernels", found.kernels + (found.blas.empty() ? "" : ": " + found.blas));
  line("factorisation of a tile", found.tile_factorisation);

  std::printf("\nFound\n");
  line("tasks", std::to_string(found.recorded_tasks) + ", " +
                    plural(found.dependency_edges, "dependency edge") + ", " +
                    std::to_string(found.longest_path) + " on the longest path");
  char difference[32];
  std::snprintf(difference, sizeof difference, "%g", found.difference_to_fork_join);
  line("max difference to fork-join", difference);

  std::printf("\n  median of %-18s %7s %10s %9s %11s %10s\n",
              plural(static_cast<std::uint64_t>(options.repetitions), "repetition").c_str(),
              "threads", "seconds", "GFLOP/s", "/ fork-join", "residual");
  for (Variant const* variant : found.variants()) print_row(options, found, *variant);
}

void write_summary(Options const& options, Findings const& found) {
  nlohmann::ordered_json summary;
  summary["backend"] = found.kokkos;
  summary["tile_kernels"] = found.kernels;
  summary["blas"] = found.blas;
  summary["tile_factorisation"] = found.tile_factorisation;
  summary["n"] = options.order;
  summary["tile"] = options.tile;
  summary["tiles"] = found.tiles;
  summary["workers"] = found.workers;
  summary["repetitions"] = options.repetitions;
  summary["tasks"] = found.recorded_tasks;
  summary["dependency_edges"] = found.dependency_edges;
  summary["longest_path"] = found.longest_path;
  summary["most_tasks_shown"] = {{"trace.json", example::tasks_in_trace},
                                 {"timeline.svg", example::tasks_in_timeline}};
  summary["max_difference_to_fork_join"] = found.difference_to_fork_join;
  summary["tolerated_residual"] = tolerated_residual;
  for (Variant const* variant : found.variants()) {
    nlohmann::ordered_json entry = nullptr;
    if (!variant->seconds.empty()) {
      entry["threads"] = nullptr;
      if (variant->threads > 0) entry["threads"] = variant->threads;
      entry["seconds"] = median(variant->seconds);
      entry["gflops"] = gflops(options, *variant);
      entry["ratio_to_fork_join"] = ratio(*variant, found.fork_join);
      entry["residual"] = variant->residual;
      entry["all_seconds"] = variant->seconds;
    }
    summary["times"][variant->key] = entry;
  }

  auto const file = options.output / "summary.json";
  std::ofstream out(file);
  out << summary.dump(2) << '\n';
  if (!out.flush()) throw std::runtime_error("cannot write '" + file.string() + "'");
}

}  // namespace cholesky
