// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Task Bench's stencil over ranks.
#include "../taskbench/Metg.hpp"
#include "Cores.hpp"
#include "Parts.hpp"
#include "StencilPart.hpp"

#include <Trellis.hpp>
#include <Trellis_Mpi.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mpi_perf {
namespace {

using namespace trellis;

struct Point {
  Way way;
  Times times;
  std::int64_t iterations;
  std::int64_t tasks;  ///< of all ranks
  double efficiency = 0;
  /// The time that a thread has for a task.
  [[nodiscard]] double granularity_us(int threads) const {
    return 1e6 * times.median() * threads / static_cast<double>(tasks);
  }
};

}  // namespace

void run_stencil(World const& world, Options const& options, Report& report) {
  taskbench::Parameters parameters;
  parameters.shape.pattern = taskbench::Pattern::stencil_1d;
  parameters.shape.width = options.columns * world.size();
  parameters.kernel = taskbench::Kernel::compute_bound;
  auto const comm = mpi::Communicator::duplicate(MPI_COMM_WORLD);
  int const workers = options.workers.front();
  Bound const bound(workers == 1 ? Cores(world).own() : -1);
  auto const graph = make_graph(workers);
  std::vector<StencilModel> const models = stencil_models(graph, comm);

  // Bare threads that run nothing but the kernel, one on each rank at the same time.
  world.meet();
  double const own_rate =
      taskbench::bare_rate(parameters, workers, options.smoke ? 1e-3 : 0.05) / workers;
  double const per_thread = 1 / world.longest(1 / own_rate);
  double const coarsest_us = options.smoke ? 20 : 200;
  double const factor = options.quick || options.smoke ? 2 : std::sqrt(2.0);
  double const seconds_per_run = 4 * options.seconds;
  std::vector<std::int64_t> iterations{
      std::max<std::int64_t>(2, std::llround(1e-6 * coarsest_us * per_thread))};
  while (iterations.back() > 1 && !options.smoke)
    iterations.push_back(std::min(
        iterations.back() - 1,
        std::max<std::int64_t>(1, std::llround(static_cast<double>(iterations.back()) / factor))));

  std::map<std::string, std::vector<std::unique_ptr<Point>>> curves;
  int const threads = workers * world.size();
  double peak = per_thread * threads;
  // Whole sweeps are repeated, so that what disturbs the machine for a while spoils one run of a
  // point, not all of them.
  for (int pass = 0; pass <= options.repetitions; ++pass)
    for (std::size_t k = 0; k < iterations.size(); ++k) {
      parameters.iterations = iterations[k];
      double const us_per_task = 1 + 1e6 * static_cast<double>(iterations[k]) / per_thread;
      parameters.shape.steps = taskbench::usable_steps(
          parameters,
          std::llround(1e6 * seconds_per_run / us_per_task / options.columns * workers));
      Part part(world, parameters);
      for (StencilModel const& model : models) {
        double const seconds = world.longest(model.run(part));
        if (pass == 0) {  // a warm-up
          auto& points = curves[model.name];
          points.push_back(std::make_unique<Point>(Point{{model.name, model.kind, workers, nullptr},
                                                         {nullptr, part.steps(), {}},
                                                         iterations[k],
                                                         part.own_tasks() * world.size(),
                                                         0}));
          points.back()->times.way = &points.back()->way;
        } else {
          curves[model.name][k]->times.seconds.push_back(seconds);
        }
      }
    }
  for (auto const& [name, points] : curves)
    for (auto const& each : points)
      peak = std::max(peak,
                      static_cast<double>(each->iterations * each->tasks) / each->times.median());
  std::map<std::string, std::pair<std::optional<double>, std::optional<double>>> metg;
  for (auto const& [name, points] : curves) {
    std::vector<std::pair<double, double>> curve;
    for (auto const& each : points) {
      each->efficiency =
          static_cast<double>(each->iterations * each->tasks) / each->times.median() / peak;
      curve.emplace_back(each->granularity_us(threads), each->efficiency);
    }
    metg[name] = {taskbench::crossing(curve, 0.5), taskbench::crossing(curve, 0.9)};
  }
  auto const or_null = [](std::optional<double> value) { return value ? Json(*value) : Json(); };
  report.begin_table("stencil",
                     "stencil_1d, " + std::to_string(options.columns) + " columns on each of " +
                         std::to_string(world.size()) + " ranks, " + std::to_string(workers) +
                         " worker(s) each",
                     {{"iterations", "iterations"},
                      {"us_per_task", "us/task"},
                      {"granularity_us", "granularity"},
                      {"efficiency", "efficiency"},
                      {"ratio_to_bare", "/ bare"},
                      {"metg50_us", "METG50 us"},
                      {"metg90_us", "METG90 us"}});
  for (StencilModel const& model : models)
    for (std::size_t k = 0; k < iterations.size(); ++k) {
      Point const& point = *curves[model.name][k];
      report.add(point.times,
                 {{"pattern", "stencil_1d"},
                  {"kernel", "compute_bound"},
                  {"bytes", 64},
                  {"width", parameters.shape.width},
                  {"tasks", point.tasks},
                  {"messages", point.times.steps * 2 * (world.size() - 1)},
                  {"iterations", point.iterations},
                  {"granularity_us", point.granularity_us(threads)},
                  {"efficiency", point.efficiency},
                  {"ratio_to_bare", ratio_per_step(point.times, curves["bare"][k]->times)},
                  {"metg50_us", or_null(metg[model.name].first)},
                  {"metg90_us", or_null(metg[model.name].second)}});
    }
}

}  // namespace mpi_perf
