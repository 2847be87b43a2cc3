// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The heat equation over ranks, solved twice: bulk-synchronously with MPI by hand, and by tasks
// that compute and tasks that communicate, from the same functor. `heat_ranks --help` lists the
// options.
//
// Look at: TaskSolver.hpp beside BulkSolver.hpp.
#include <mpi.h>

#include <Trellis.hpp>
#include <Trellis_Mpi.hpp>
#include <Trellis_Recorded.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "../heat/Temperature.hpp"
#include "../shared/Communication.hpp"
#include "../shared/Progress.hpp"
#include "../shared/Ranks.hpp"
#include "../shared/Recording.hpp"
#include "../shared/Together.hpp"
#include "BulkSolver.hpp"
#include "Initial.hpp"
#include "Options.hpp"
#include "Part.hpp"
#include "Report.hpp"
#include "TaskSolver.hpp"

namespace heat::ranks {
namespace {

using example::all_of, example::largest_of, example::together;

constexpr int most_recorded_tasks = 50000;

trellis::TaskGraphOptions graph_options(Options const& options, Tiles const& tiles, bool record) {
  trellis::TaskGraphOptions result;
  result.name = "heat_ranks";
  if (options.workers > 0) result.workers = options.workers;
  result.threads_per_worker = options.threads_per_worker;
  constexpr std::size_t steps_in_flight = 16, of_messages = 16;
  result.in_flight =
      options.in_flight > 0
          ? options.in_flight
          : steps_in_flight * (static_cast<std::size_t>(tiles.count()) + of_messages);
  result.record = record;
  return result;
}

/// Returns the largest time of all ranks, from when all have begun.
template <class Solve>
double seconds_of(MPI_Comm comm, Solve const& solve) {
  Space().fence("heat_ranks: before reading the clock");
  MPI_Barrier(comm);
  Kokkos::Timer const timer;
  solve();
  Space().fence("heat_ranks: before reading the clock");
  return largest_of(comm, timer.seconds());
}

/// True for the labels that TaskSolver gives to steps.
bool takes_a_step(std::string_view label) {
  return label.starts_with("step ") || label == "change";
}

bool same_bits(Field<2> const& a, Field<2> const& b) {
  auto const left = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), a);
  auto const right = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), b);
  return left.size() == right.size() &&
         std::memcmp(left.data(), right.data(), left.size() * sizeof(double)) == 0;
}

/// Rank 0 collects all cells, one rank after the other, and computes them by itself. On other ranks
/// the answer does not count. Collective.
bool is_that_of_one_rank(trellis::TaskGraph& graph, Options const& options, Part const& part,
                         Problem const& problem, Initial const& initial, Field<2> const& field,
                         std::vector<double> const& changes) {
  bool const is_root = part.comm.rank() == 0;
  std::vector<long> counts;
  long count = 0;
  for (Box<2> const& box : part.boxes)
    count += counts.emplace_back(long{box.length(0)} * box.length(1));
  Kokkos::View<double*, Space> const all("cells of all ranks",
                                         is_root ? static_cast<std::size_t>(count) : 0);
  trellis::mpi::gatherv(graph, part.comm, cells_of<2>(field, interior<2>(field)), all, counts, 0);
  graph.wait();
  if (!is_root) return true;

  Part const alone = cut_plate(MPI_COMM_SELF, options.cells, {1, 1});
  Field<2> const from = initial_field(alone, initial);
  DoubleBuffer<2> const u{alone.make_field("even, of one rank"),
                          alone.make_field("odd, of one rank")};
  reset<2>(u, from);
  bool same = solve_bulk(alone, problem, problem.steps, u).changes == changes;
  auto const one =
      Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), u.before(problem.steps));
  auto const many = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), all);
  double const* next = many.data();
  for (Box<2> const& box : part.boxes)
    for (int i = box.begin[0]; i < box.end[0]; ++i, next += box.length(1))
      same = same && std::memcmp(&one(i, box.begin[1]), next,
                                 sizeof(double) * static_cast<std::size_t>(box.length(1))) == 0;
  return same;
}

/// Returns a picture of at most 512 pixels along each side, each the cell in its middle. The result
/// is on rank 0. Collective.
Picture picture_of(Part const& part, Field<2> const& field) {
  constexpr int largest = 512;
  int const rows = std::min(part.cells[0], largest), columns = std::min(part.cells[1], largest);
  auto const cell_of = [](int pixel, int pixels, int cells) {
    return 1 + static_cast<int>((pixel + 0.5) * cells / pixels);
  };
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), field);
  Box<2> const& box = part.box();
  std::vector<double> mine(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns), 0.0);
  auto all = mine;
  auto pixel = mine.begin();
  for (int k = 0; k < rows; ++k)
    for (int l = 0; l < columns; ++l, ++pixel) {
      int const i = cell_of(k, rows, part.cells[0]), j = cell_of(l, columns, part.cells[1]);
      if (i >= box.begin[0] && i < box.end[0] && j >= box.begin[1] && j < box.end[1])
        *pixel = host(i - box.begin[0] + 1, j - box.begin[1] + 1);
    }
  // Each pixel belongs to one rank; the others add nothing to it.
  MPI_Reduce(mine.data(), all.data(), rows * columns, MPI_DOUBLE, MPI_SUM, 0, part.comm.comm());
  Picture picture(rows, columns);
  for (int k = 0; k < rows; ++k)
    for (int l = 0; l < columns; ++l)
      picture(k, l) = all[static_cast<std::size_t>(k * columns + l)];
  return picture;
}

Findings run(Options const& options, MPI_Comm world) {
  Problem const problem{options.cells[0], options.steps, options.check_every, options.time_step};

  // Errors with options and files should occur now.
  std::optional<Initial> initial;
  together(world, [&] {
    initial.emplace(options);
    std::error_code error;
    std::filesystem::create_directories(options.output, error);
    if (error)
      throw std::runtime_error("cannot make the output folder '" + options.output.string() +
                               "': " + error.message());
  });
  Part const part = cut_plate(world, options.cells, options.processes);
  MPI_Comm const comm = part.comm.comm();
  bool const is_root = part.comm.rank() == 0;
  example::Progress progress(2 * options.repetitions + 3, is_root);
  Tiles tiles;
  std::optional<trellis::TaskGraph> timed;
  together(comm, [&] {
    tiles = cut_part(part, options.tiles, std::max(1, options.workers));
    timed.emplace(graph_options(options, tiles, false));
  });
  trellis::TaskGraph& graph = *timed;

  progress.next("initial temperature");
  Field<2> const from = initial_field(part, *initial);
  Field<2> const bulk_result = part.make_field("result of the bulk-synchronous version");
  DoubleBuffer<2> const u{part.make_field("even"), part.make_field("odd")};
  TaskSolver solver(graph, part, problem, tiles, u, options.plan);

  Findings found;
  found.backend = Space::name();
  found.mpi = example::name_of_mpi();
  found.processes = part.processes;
  found.tiles = tiles.counts;
  found.workers = graph.workers();
  found.threads_bulk = Space().concurrency();
  found.threads_tasks = graph.workers() * options.threads_per_worker;

  // These steps do not count: the first ones pay for threads, pages and connections.
  int const warm_up = std::min(problem.steps, 4);
  reset<2>(u, from);
  solve_bulk(part, problem, warm_up, u);
  solver.solve(warm_up);

  RankFindings mine;
  for (int k = 0; k < options.repetitions; ++k) {
    progress.next("bulk-synchronous");
    BulkRun bulk;
    reset<2>(u, from);
    found.seconds_bulk.push_back(seconds_of(comm, [&] {
      Kokkos::Timer const timer;
      bulk = solve_bulk(part, problem, problem.steps, u);
      mine.bulk_seconds = timer.seconds();
    }));
    mine.bulk_seconds_communicating = bulk.seconds_of_communication;
    Kokkos::deep_copy(bulk_result, u.before(problem.steps));

    progress.next("tasks");
    reset<2>(u, from);
    found.seconds_tasks.push_back(
        seconds_of(comm, [&] { found.changes = solver.solve(problem.steps); }));
    found.agrees_with_bulk = all_of(comm, found.agrees_with_bulk && bulk.changes == found.changes &&
                                              same_bits(u.before(problem.steps), bulk_result));
  }

  progress.next("answer of one rank");
  Field<2> const& result = u.before(problem.steps);
  if (options.verifies())
    found.agrees_with_one_rank = all_of(
        comm, is_that_of_one_rank(graph, options, part, problem, *initial, result, found.changes));
  if (auto const decay = initial->decay(problem.final_time())) {
    double error = 0;
    for_cells(part, result, [&](int i, int j, double value) {
      double const here = std::abs(value - *decay * (*initial)(i, j));
      if (!(here <= error)) error = here;  // also when it is NaN
    });
    found.max_error = largest_of(comm, error);
  }
  Picture const picture = picture_of(part, result);

  // Time stamps cost time, so they come from a run of their own.
  progress.next("recorded run");
  int const tasks_of_a_step = tiles.count() + 16;
  int recorded = std::min(problem.steps, std::max(2, most_recorded_tasks / tasks_of_a_step));
  if (options.plan) recorded -= recorded % 2;
  MPI_Allreduce(MPI_IN_PLACE, &recorded, 1, MPI_INT, MPI_MIN, comm);
  found.recorded_steps = recorded;
  trellis::TaskGraph recording(graph_options(options, tiles, true));
  TaskSolver recorded_solver(recording, part, problem, tiles, u, options.plan);
  reset<2>(u, from);
  MPI_Barrier(comm);
  recorded_solver.solve(recorded);
  trellis::Trace const trace = recording.trace();
  found.tasks = trace.graph.nodes().size();
  mine.tasks = example::exchanges_of(trace, takes_a_step);
  int ranks = 1;
  MPI_Comm_size(comm, &ranks);
  found.ranks.resize(is_root ? static_cast<std::size_t>(ranks) : 1);
  MPI_Gather(&mine, sizeof mine, MPI_BYTE, found.ranks.data(), sizeof mine, MPI_BYTE, 0, comm);

  together(comm, [&] {
    if (!is_root) return;
    write_png(options.output / "field.png", picture);
    example::write_timeline(options.output, trace);
    example::write_graph(options.output, trace);
    write_summary(options, found);
    progress.clear();
    print(options, found);
    std::printf(
        "\nWritten to %s: summary.json, field.png, and of rank 0 in the recorded run trace.json, "
        "timeline.svg, analysis.txt, graph.dot\n",
        options.output.string().c_str());
  });
  return found;
}

void require_that_all_agree(Findings const& found) {
  if (!found.agrees_with_bulk)
    throw example::Refusal("tasks and the bulk-synchronous version do not agree");
  if (!found.agrees_with_one_rank.value_or(true))
    throw example::Refusal("the ranks do not agree with the answer of one rank");
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
  require_that_all_agree(run(options, world));
}

}  // namespace
}  // namespace heat::ranks

int main(int argc, char** argv) {
  return example::run_ranks(argc, argv, "heat_ranks", heat::ranks::main_of_rank);
}
