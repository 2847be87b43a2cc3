// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How much of the communication of whole solvers is hidden.
#include "Cores.hpp"
#include "Parts.hpp"
#include "Solvers.hpp"

#include <Trellis.hpp>
#include <Trellis_Mpi.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mpi_perf {
namespace {

using namespace trellis;
using MakeSolver = std::unique_ptr<Solver> (*)(World const&, GridShape const&);

std::vector<Way> ways_of(World const& world, std::shared_ptr<Solver> const& solver, int workers) {
  auto const comm = mpi::Communicator::duplicate(world.comm());
  auto const graph = make_graph(workers);
  auto const plan = std::make_shared<Plan>(graph->record("two steps", [&] {
    for (int step = 0; step < 2; ++step) solver->submit_step(*graph, comm, step);
  }));
  auto const way = [&](char const* model, char const* kind, int threads, bool is_whole,
                       auto const& run) {
    return Way{model, kind, threads, [&world, solver, threads, is_whole, run](std::int64_t steps) {
                 solver->reset();
                 double const seconds = run(world, steps);
                 if (is_whole) solver->check(steps);
                 return seconds;
               }};
  };
  auto const by_hand = [&](char const* model, bool is_whole,
                           void (Solver::*what)(Team&, std::int64_t)) {
    return way(model, "bare", workers, is_whole,
               [solver, workers, what](World const& ranks, std::int64_t steps) {
                 Team team(workers);
                 return ranks.time([&] { (*solver.*what)(team, steps); });
               });
  };
  return {way("communicate", "bare", 1, false,
              [solver](World const& ranks, std::int64_t steps) {
                return ranks.time([&] { solver->communicate(steps); });
              }),
          by_hand("compute", false, &Solver::compute),
          by_hand("bulk", true, &Solver::bulk),
          by_hand("by_hand", true, &Solver::by_hand),
          way("trellis", "dynamic", workers, true,
              [solver, graph, comm](World const& ranks, std::int64_t steps) {
                return ranks.time([&] {
                  for (std::int64_t step = 0; step < steps; ++step)
                    solver->submit_step(*graph, comm, step);
                  graph->wait();
                });
              }),
          way("trellis_plan", "replay", workers, true,
              [graph, plan](World const& ranks, std::int64_t steps) {
                return ranks.time([&] {
                  graph->replay(*plan, static_cast<std::uint64_t>(steps / 2));
                  graph->wait();
                });
              })};
}

void measure(World const& world, Options const& options, Report& report, std::string const& part,
             MakeSolver make, int workers) {
  constexpr int tiles_of_a_worker = 4;
  std::vector<int> sizes{16, 64, 256};
  if (options.quick) sizes = {64};
  if (options.smoke) sizes = {8};
  int const columns = options.smoke ? 64 : 1024;
  for (int const rows : sizes) {
    GridShape const shape{rows * workers, columns, tiles_of_a_worker * workers};
    std::shared_ptr<Solver> const solver = make(world, shape);
    std::vector<Way> const ways = ways_of(world, solver, workers);
    std::int64_t const steps =
        std::min(solver->most_steps(),
                 options.smoke ? 8 : steps_that_take(world, ways[2], 4 * options.seconds, 2000));
    std::vector<Times> const all = compare(world, ways, steps, options.repetitions);
    double const longer = std::max(all[0].per_step(), all[1].per_step());
    report.begin_table(part,
                       std::to_string(world.size()) + " rank(s) with " + std::to_string(workers) +
                           " worker(s), " + std::to_string(rows) + " rows of " +
                           std::to_string(columns) + " for each worker",
                       {{"workers", "workers"},
                        {"us_per_step", "us/step"},
                        {"us_per_step_fastest", "(fastest)"},
                        {"ratio_to_longer", "/ longer"},
                        {"ratio_to_bulk", "/ bulk"}});
    for (Times const& each : all)
      report.add(each, {{"pattern", part},
                        {"kernel", part},
                        {"ranks", world.size()},
                        {"bytes", columns * static_cast<std::int64_t>(sizeof(double))},
                        {"width", rows},
                        {"tasks", each.steps * solver->tasks_in_a_step() * world.size()},
                        {"messages", each.steps * solver->messages_in_a_step() * world.size()},
                        {"us_per_step", 1e6 * each.per_step()},
                        {"us_per_step_fastest", 1e6 * each.fastest_step()},
                        {"communicate_us", 1e6 * all[0].per_step()},
                        {"compute_us", 1e6 * all[1].per_step()},
                        {"ratio_to_longer", each.per_step() / longer},
                        {"ratio_to_bulk", ratio_per_step(each, all[2])}});
  }
}

/// All ranks with a worker each, and one rank with two.
void run_solver(World const& world, Options const& options, Report& report, std::string const& part,
                MakeSolver make) {
  if (world.size() >= 2) {
    Bound const bound(Cores(world).own());
    measure(world, options, report, part, make, 1);
  }
  if (std::unique_ptr<World> const one = world.first(1))
    measure(*one, options, report, part, make, 2);
  world.meet();
}

}  // namespace

void run_heat(World const& world, Options const& options, Report& report) {
  run_solver(world, options, report, "heat", &make_heat);
}
void run_cg(World const& world, Options const& options, Report& report) {
  run_solver(world, options, report, "cg", &make_cg);
}

}  // namespace mpi_perf
