// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a task costs on a GPU, and how busy it is kept: Trellis against Kokkos and CUDA by hand.
#include "Gpu.hpp"
#include "Parts.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  using gpu::on_gpu;
  // Without a GPU it is enough to see that it runs.
  gpu::Options options{.tasks = on_gpu ? 1024 : 64,
                       .elements = on_gpu ? 256 : 16,
                       .repetitions = on_gpu ? 15 : 1,
                       .heat_grid = on_gpu ? 2048 : 48,
                       .heat_tiles = on_gpu ? 8 : 3,
                       .heat_steps = on_gpu ? 50 : 4,
                       .cholesky_tiles = on_gpu ? 16 : 4,
                       .cholesky_block = on_gpu ? 128 : 8,
                       .batch = on_gpu ? 256 : 16};
  std::string json = "out/perf/gpu.json";
  std::vector<std::string> only;
  CLI::App app("Trellis on a GPU: host time per task, and how busy the GPU is");
  app.add_option("--tasks", options.tasks, "tasks of a shape")->check(CLI::Range(16, 1000000));
  app.add_option("--elements", options.elements, "elements of a tile")
      ->check(CLI::Range(1, 100000000));
  app.add_option("--repetitions", options.repetitions, "the median of so many counts")
      ->check(CLI::Range(1, 10000));
  app.add_option("--heat-grid", options.heat_grid, "cells along a side")
      ->check(CLI::Range(2, 100000));
  app.add_option("--heat-tiles", options.heat_tiles, "tiles along a side")
      ->check(CLI::Range(1, 1000));
  app.add_option("--heat-steps", options.heat_steps, "steps")->check(CLI::Range(1, 100000));
  app.add_option("--cholesky-tiles", options.cholesky_tiles, "tiles along a side")
      ->check(CLI::Range(1, 200));
  app.add_option("--cholesky-block", options.cholesky_block, "rows of a tile")
      ->check(CLI::Range(1, 4096));
  app.add_option("--batch", options.batch, "tasks of a batch, and a sixteenth of it")
      ->check(CLI::Range(2, 100000));
  app.add_option("--only", only, "overhead, heat, cholesky or batches; all by default")
      ->check(CLI::IsMember({"overhead", "heat", "cholesky", "batches"}));
  app.add_option("--model", options.models, "by the names of the rows; all by default");
  app.add_option("--json", json, "where the rows go");
  CLI11_PARSE(app, argc, argv);
  if (options.heat_tiles > options.heat_grid) {
    std::fprintf(stderr, "--heat-tiles %d is more than the %d cells of --heat-grid\n",
                 options.heat_tiles, options.heat_grid);
    return 1;
  }

  Kokkos::ScopeGuard const kokkos;
  auto const wanted = [&](char const* part) {
    return only.empty() || std::find(only.begin(), only.end(), part) != only.end();
  };
  try {
    std::printf("%s\n", on_gpu ? gpu::Space::name()
                               : "There is no GPU here: the programs run on the host, are checked, "
                                 "and have no figures.");
    gpu::Report report;
    if (wanted("overhead")) gpu::run_overhead(options, report);
    if (wanted("heat")) gpu::run_heat(options, report);
    if (wanted("cholesky")) gpu::run_cholesky(options, report);
    if (wanted("batches")) gpu::run_batches(options, report);
    report.write(json, {{"tasks", options.tasks},
                        {"elements", options.elements},
                        {"repetitions", options.repetitions},
                        {"heat_grid", options.heat_grid},
                        {"heat_tiles", options.heat_tiles},
                        {"heat_steps", options.heat_steps},
                        {"cholesky_tiles", options.cholesky_tiles},
                        {"cholesky_block", options.cholesky_block},
                        {"batch", options.batch}});
    return report.failed() ? 1 : 0;
  } catch (std::exception const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
