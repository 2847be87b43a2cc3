// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Particle in cell over ranks, as tasks: fields, particles, and messages whose length a task
// determines. `particles --help` lists the options.
//
// Look at: the table in TaskSolver.hpp, the body of `push` there, and Exchange.hpp.
#include <mpi.h>

#include <Trellis.hpp>
#include <Trellis_Mpi.hpp>
#include <Trellis_Recorded.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "../heat/Picture.hpp"
#include "../shared/Progress.hpp"
#include "../shared/Ranks.hpp"
#include "../shared/Recording.hpp"
#include "../shared/Text.hpp"
#include "../shared/Together.hpp"
#include "Claims.hpp"
#include "Gate.hpp"
#include "Measure.hpp"
#include "Options.hpp"
#include "Report.hpp"
#include "Slab.hpp"
#include "TaskSolver.hpp"
#include "Whole.hpp"

namespace particles {
namespace {

using example::all_of, example::Communication, example::largest_of, example::Refusal, example::Role,
    example::together;

trellis::TaskGraphOptions graph_options(Options const& options) {
  trellis::TaskGraphOptions result;
  result.name = "particles";
  if (options.workers > 0) result.workers = options.workers;
  result.threads_per_worker = options.threads_per_worker;
  if (options.in_flight > 0) result.in_flight = options.in_flight;
  return result;
}

/// Returns options for a graph with a record, and with all steps in flight at once.
trellis::TaskGraphOptions recording(Options const& options, Slab const& slab) {
  auto result = graph_options(options);
  result.record = true;
  constexpr std::size_t for_each_tile = 8, for_each_step = 40;
  result.in_flight = static_cast<std::size_t>(options.recorded_steps) *
                         (for_each_tile * slab.tiles.size() + for_each_step) +
                     1;
  return result;
}

/// Returns the slab at the beginning.
Slab beginning(MPI_Comm world, Options const& options, Problem const& problem, int workers) {
  Slab slab(world, problem, options.core_tiles > 0 ? options.core_tiles : 4 * workers);
  Setup const setup = options.setup();
  Kokkos::deep_copy(slab.fields.b, setup.field);
  for (Tile const& tile : slab.tiles)
    for (int row = tile.begin; row < tile.end; ++row) {
      Numbers const numbers = numbers_of_row(problem, slab.fields.first + row);
      for (std::int64_t id = numbers.first; id < numbers.last; ++id)
        tile.particles->push_back(make_particle(setup, problem, id));
    }
  return slab;
}

Role role_of(std::string_view label) {
  if (label.starts_with("push ") || label.starts_with("B ") || label.starts_with("E "))
    return Role::computes;
  if (label.starts_with("exchange particles ")) return Role::exchanges;
  bool const is_of_particles =
      label.starts_with("send particles") || label.starts_with("recv particles");
  return is_of_particles ? Role::none : Role::messages;
}

void add_up(MPI_Comm comm, std::vector<long*> const& numbers) {
  for (long* const number : numbers)
    MPI_Allreduce(MPI_IN_PLACE, number, 1, MPI_LONG, MPI_SUM, comm);
}

/// Runs the requested steps, and compares them with physics.
void run_all_steps(Options const& options, MPI_Comm world, int workers, Findings& found,
                   example::Progress& progress, heat::Picture& picture) {
  Problem const problem = options.problem();
  Setup const setup = options.setup();
  Slab slab = beginning(world, options, problem, workers);
  MPI_Comm const comm = slab.comm.comm();
  found.tiles = static_cast<int>(slab.tiles.size());
  Series series(problem, slab);
  {
    trellis::TaskGraph graph(graph_options(options));
    TaskSolver solver(graph, slab, problem, options.chunk, series, options.releases);
    MPI_Barrier(comm);
    Kokkos::Timer const timer;
    solver.solve();
    found.seconds = largest_of(comm, timer.seconds());
  }

  progress.next("answer of one rank");
  found.full = series.chunks.full;
  found.partial = series.chunks.partial;
  found.empty = series.chunks.empty;
  found.travelled = series.chunks.particles;
  add_up(comm, {&found.full, &found.partial, &found.empty, &found.travelled});
  std::vector<Ledger> const totals(series.totals.data(),
                                   series.totals.data() + series.totals.size());
  found.particles = totals.empty() ? 0 : totals.back().count;
  found.moments = moments_of(setup, problem, totals, rows_of_all(slab, problem, series));
  found.drift = energy_drift(found.moments);
  found.measured = measured_value(setup, found.moments);
  found.known = setup.known_value();
  if (options.verifies()) {
    LooksAtWhole const whole = look_at_whole(slab, setup, problem);
    found.same_as_one_rank = whole.same_as_one_rank;
    found.charge_flows = whole.charge_flows;
    found.gauss = whole.gauss;
  }
  picture = phase_space(slab, problem);
}

/// Does short runs whose record shows whether the claims hold.
trellis::Trace look_at_tasks(Options const& options, MPI_Comm world, int workers, Findings& found,
                             example::Progress& progress) {
  Problem problem = options.problem();
  problem.steps = options.recorded_steps;
  problem.check_every = 0;
  trellis::Trace trace;

  progress.next("recorded run");
  {
    Slab slab = beginning(world, options, problem, workers);
    MPI_Comm const comm = slab.comm.comm();
    Series series(problem, slab);
    trellis::TaskGraph graph(recording(options, slab));
    TaskSolver solver(graph, slab, problem, options.chunk, series, options.releases);
    MPI_Barrier(comm);
    solver.solve();
    trace = graph.trace();
    found.tasks = trace.graph.nodes().size();
    Communication const mine = example::communication_of(trace, &role_of);
    found.communication.resize(static_cast<std::size_t>(slab.comm.size()));
    MPI_Gather(&mine, sizeof mine, MPI_BYTE, found.communication.data(), sizeof mine, MPI_BYTE, 0,
               comm);
    found.is_serial = graph.options().serial.value_or(false);
    if (found.is_serial) return trace;
    together(comm, [&] {
      ClaimsOfGraph const claims = look_at_graph(graph.dependency_graph(), problem.steps);
      found.pairs = claims.pairs;
      found.released = claims.released;
      found.inserted = claims.inserted;
    });
  }

  progress.next("run with a gate");
  Options with_two = options;
  with_two.workers = found.gated_workers = std::max(2, workers);
  Slab slab = beginning(world, options, problem, workers);
  MPI_Comm const comm = slab.comm.comm();
  Series series(problem, slab);
  Gate gate;
  auto gated = recording(with_two, slab);
  gated.observer = gate.observer();
  trellis::TaskGraph graph(gated);
  TaskSolver solver(graph, slab, problem, options.chunk, series, options.releases, &gate);
  MPI_Barrier(comm);
  solver.solve();
  together(comm, [&] {
    ClaimsOfTime const claims = look_at_times(graph.scheduling_graph(), problem.steps);
    found.early = claims.early;
    found.overlapped = claims.overlapped;
  });
  add_up(comm, {&found.pairs, &found.released, &found.inserted, &found.early, &found.overlapped});
  return trace;
}

/// Checks on rank 0, where all data are known.
void require_what_must_hold(Options const& options, Findings const& found) {
  using example::number;
  if (!found.same_as_one_rank.value_or(true))
    throw std::runtime_error("the ranks do not agree with the answer of one rank");
  if (!found.charge_flows.value_or(true))
    throw std::runtime_error("charge has changed where none has flown");
  if (found.gauss && !(*found.gauss < 1e-9))
    throw std::runtime_error("Gauss' law is violated by " + number("%.3g", *found.gauss));
  if (!(found.drift <= options.most_drift))
    throw std::runtime_error("the energy drifts by " + number("%.3g", found.drift) +
                             ", more than --most-drift " + number("%g", options.most_drift));
  if (found.measured && found.known > 0 &&
      !(std::abs(*found.measured - found.known) <= options.most_error * found.known))
    throw std::runtime_error("theory says " + number("%.5g", found.known) + ", the run " +
                             number("%.5g", *found.measured) +
                             ": they differ by more than --most-error " +
                             number("%g", options.most_error));
}

void run(Options const& options, MPI_Comm world) {
  int rank = 0;
  Findings found;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &found.ranks);
  example::Progress progress(5, rank == 0);
  // Errors with options and files should occur now.
  int workers = 0;
  together(world, [&] {
    std::error_code error;
    std::filesystem::create_directories(options.output, error);
    if (error)
      throw std::runtime_error("cannot make the output folder '" + options.output.string() +
                               "': " + error.message());
    workers = trellis::TaskGraph(graph_options(options)).workers();
  });
  found.backend = Space::name();
  found.mpi = example::name_of_mpi();
  found.workers = workers;

  progress.next("all steps");
  heat::Picture picture(1, 1);
  run_all_steps(options, world, workers, found, progress, picture);
  trellis::Trace const trace = look_at_tasks(options, world, workers, found, progress);

  together(world, [&] {
    if (rank != 0) return;
    heat::write_png(options.output / "phase_space.png", picture);
    example::write_timeline(options.output, trace);
    example::write_graph(options.output, trace);
    write_summary(options, found);
    progress.clear();
    print(options, found);
    std::printf(
        "\nWritten to %s: summary.json, phase_space.png, and of rank 0 in the recorded run "
        "trace.json, timeline.svg, graph.dot\n",
        options.output.string().c_str());
    std::fflush(stdout);
    require_what_must_hold(options, found);
  });
}

void main_of_rank(int argc, char** argv, MPI_Comm world) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &ranks);
  Options options = parse(argc, argv, rank == 0);
  together(world, [&] { complete(options, ranks); });
  options.workers = example::share_workers(options.workers, options.threads_per_worker, world);
  auto settings = Kokkos::InitializationSettings();
  if (options.workers > 0) settings.set_num_threads(options.workers * options.threads_per_worker);
  Kokkos::ScopeGuard const kokkos(settings);
  run(options, world);
}

}  // namespace
}  // namespace particles

int main(int argc, char** argv) {
  return example::run_ranks(argc, argv, "particles", &particles::main_of_rank);
}
