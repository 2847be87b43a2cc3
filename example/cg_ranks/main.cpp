// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Preconditioned conjugate gradients over ranks, for Poisson's equation in a cube or for a matrix
// from a file. There are two versions from the same functors: one is bulk-synchronous with MPI by
// hand, the other has tasks that compute and tasks that communicate. `cg_ranks --help` lists the
// options.
//
// Look at: TaskSolver.hpp beside BulkSolver.hpp; Classic.hpp beside Pipelined.hpp.
#include <mpi.h>

#include <Trellis.hpp>
#include <Trellis_Mpi.hpp>
#include <Trellis_Recorded.hpp>
#include <Trellis_Threads.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "../shared/Communication.hpp"
#include "../shared/Progress.hpp"
#include "../shared/Ranks.hpp"
#include "../shared/Recording.hpp"
#include "../shared/Text.hpp"
#include "../shared/Together.hpp"
#include "BulkSolver.hpp"
#include "Matrix.hpp"
#include "MatrixMarket.hpp"
#include "Options.hpp"
#include "Poisson.hpp"
#include "Report.hpp"
#include "TaskSolver.hpp"

namespace cg {
namespace {

using example::all_of, example::largest_of, example::number, example::plural, example::together;

constexpr int most_recorded_tasks = 50000;

int tasks_of_a_step(Matrix const& matrix) {
  return 4 * matrix.tile_count() + 3 * static_cast<int>(matrix.neighbours.size()) + 8;
}

trellis::TaskGraphOptions graph_options(Options const& options, std::size_t in_flight,
                                        bool record) {
  trellis::TaskGraphOptions result;
  result.name = "cg_ranks";
  if (options.workers > 0) result.workers = options.workers;
  if (in_flight > 0) result.in_flight = in_flight;
  result.record = record;
  return result;
}
/// Returns enough tasks in flight for two looks ahead.
std::size_t in_flight(Options const& options, Matrix const& matrix) {
  constexpr std::size_t most = 100'000;
  auto const between_looks = static_cast<std::size_t>(options.check_every) *
                             static_cast<std::size_t>(tasks_of_a_step(matrix));
  return options.in_flight > 0 ? options.in_flight : std::min(2 * between_looks + 64, most);
}

/// The system: the rows of this rank in the order in which it was given them.
struct System {
  Rows rows;
  std::optional<Poisson> poisson;
  HostArray<double> solution;
  HostArray<double> right_hand_side;  ///< empty: that of the solution
};

System make_system(Options const& options, MPI_Comm world, trellis::TaskGraph& graph) {
  System system;
  int rank = 0;
  MPI_Comm_rank(world, &rank);
  if (options.matrix.empty()) {
    Poisson const& poisson = system.poisson.emplace(options.cells, options.processes);
    system.rows = poisson.assemble(graph, rank);
    system.solution = poisson.solution(graph, rank);
    system.right_hand_side = poisson.right_hand_side(graph, rank);
    return system;
  }
  Rows whole;
  together(world, [&] {
    if (rank == 0) whole = read_matrix(options.matrix);
  });
  system.rows = scatter_rows(graph, world, whole);
  // The numbers are the same with any number of ranks.
  trellis::RandomStreams const random(20);
  system.solution = HostArray<double>("solution", static_cast<std::size_t>(system.rows.count()));
  for (int i = 0; i < system.rows.count(); ++i)
    system.solution(i) =
        random(
            static_cast<std::uint64_t>(system.rows.cut.begin[static_cast<std::size_t>(rank)] + i),
            0)
            .normal();
  return system;
}

/// Returns the largest time of all ranks, from when all have begun.
template <class Solve>
double seconds_of(MPI_Comm comm, Solve const& solve) {
  Space().fence("cg_ranks: before reading the clock");
  MPI_Barrier(comm);
  Kokkos::Timer const timer;
  solve();
  Space().fence("cg_ranks: before reading the clock");
  return largest_of(comm, timer.seconds());
}

bool same_bits(std::vector<double> const& a, std::vector<double> const& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}
std::vector<double> numbers_of(HostArray<double> const& array) {
  return {array.data(), array.data() + array.extent(0)};
}

/// Returns the error. For Poisson it is the largest in a cell; for a file it is relative to the
/// norm of the solution. Collective.
double error_of(MPI_Comm comm, System const& system, HostArray<double> const& x) {
  double largest = 0, sums[2] = {0, 0};
  for (int i = 0; i < x.extent_int(0); ++i) {
    double const off = x(i) - system.solution(i);
    if (!(std::abs(off) <= largest)) largest = std::abs(off);  // also when it is NaN
    sums[0] += off * off;
    sums[1] += system.solution(i) * system.solution(i);
  }
  if (system.poisson) return largest_of(comm, largest);
  MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, comm);
  return std::sqrt(sums[0] / sums[1]);
}

std::string why_not_converged(Options const& options, State const& state) {
  std::string const steps = plural(state.steps, "step");
  if (state.stop == Stop::most_steps)
    return "not converged in " + steps + " (--most-steps): |r| / |b| is " +
           number("%.3g", std::sqrt(state.residual / state.first_residual)) + ", not " +
           number("%g", options.tolerance);
  std::string const found =
      "it broke down after " + steps + ", where p A p is " + number("%g", state.curvature);
  return options.method == Method::classic
             ? found + ": the matrix is not positive definite"
             : found +
                   ": the matrix is not positive definite, or rounding errors keep the "
                   "pipelined method from so small a residual";
}

RankFindings findings_of(Matrix const& matrix) {
  RankFindings mine;
  mine.rows = matrix.rows;
  mine.inner_rows = matrix.inner_rows;
  mine.entries = matrix.entries;
  mine.halo = matrix.halo;
  mine.neighbours = static_cast<int>(matrix.neighbours.size());
  mine.tiles = matrix.tile_count();
  return mine;
}

Findings run(Options const& options, MPI_Comm world) {
  together(world, [&] {
    std::error_code error;
    std::filesystem::create_directories(options.output, error);
    if (error)
      throw std::runtime_error("cannot make the output folder '" + options.output.string() +
                               "': " + error.message());
  });
  int rank = 0, ranks = 1;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &ranks);
  bool const is_root = rank == 0;
  example::Progress progress(2 * options.repetitions + 3, is_root);

  progress.next("matrix");
  std::optional<trellis::TaskGraph> preparing;
  together(world, [&] { preparing.emplace(graph_options(options, 0, false)); });
  System const system = make_system(options, world, *preparing);
  Matrix const matrix = distribute(*preparing, world, system.rows, options.tiles);
  preparing.reset();
  MPI_Comm const comm = matrix.comm.comm();
  trellis::TaskGraph graph(graph_options(options, in_flight(options, matrix), false));
  bool const has_b = system.right_hand_side.extent(0) > 0;
  Vectors const vectors(
      matrix, has_b ? matrix.scatter("b", system.right_hand_side) : matrix.make_vector("b"),
      options.method);
  double first = 0;
  TaskSolver solver(graph, matrix, options, vectors, [&](State const& state) {
    first = state.first_residual;
    if (first > 0 && state.residual > 0)
      progress.within(std::log(state.residual / first) / std::log(state.target / first));
  });
  BulkSolver bulk_solver(matrix, options, vectors);
  if (!has_b) {
    Kokkos::deep_copy(vectors.x, matrix.scatter("solution", system.solution));
    solver.multiply_into_b();
  }

  Findings found;
  found.backend = Space::name();
  found.mpi = example::name_of_mpi();
  found.rows = matrix.rows_of_all;
  found.workers = graph.workers();
  found.threads_bulk = Space().concurrency();
  RankFindings mine = findings_of(matrix);

  // These steps do not count: the first ones pay for threads, pages and connections.
  Options few = options;
  few.most_steps = std::min(options.most_steps, 4);
  BulkSolver(matrix, few, vectors).solve();
  TaskSolver(graph, matrix, few, vectors).solve();

  std::optional<Outcome> outcome;
  std::vector<double> bulk_x, x;
  for (int k = 0; k < options.repetitions; ++k) {
    progress.next("bulk-synchronous");
    std::optional<Outcome> bulk;
    found.seconds_bulk.push_back(seconds_of(comm, [&] {
      Kokkos::Timer const timer;
      bulk = bulk_solver.solve();
      mine.bulk_seconds = timer.seconds();
    }));
    mine.bulk_seconds_communicating = bulk_solver.seconds_communicating();
    bulk_x = numbers_of(matrix.gather(vectors.x));

    progress.next("tasks");
    found.seconds_tasks.push_back(seconds_of(comm, [&] { outcome = solver.solve(); }));
    x = numbers_of(matrix.gather(vectors.x));
    found.agrees_with_bulk = all_of(comm, found.agrees_with_bulk && same_bits(x, bulk_x) &&
                                              same_bits(outcome->residuals, bulk->residuals) &&
                                              outcome->state.stop == bulk->state.stop);
  }

  progress.next("check");
  State const& state = outcome->state;
  double const norm_of_b = std::sqrt(state.first_residual);
  auto const relative = [&](double residual) { return norm_of_b > 0 ? residual / norm_of_b : 0; };
  for (double const squared : outcome->residuals)
    found.residuals.push_back(relative(std::sqrt(squared)));
  found.converged = state.stop == Stop::converged;
  if (!found.converged) found.why_not = why_not_converged(options, state);
  double const true_residual = solver.true_residual();
  found.true_residual = relative(true_residual);
  found.error = error_of(comm, system, matrix.gather(vectors.x));
  if (system.poisson) {
    found.largest_error = system.poisson->largest_error(true_residual);
    found.h = system.poisson->largest_spacing();
  }

  // Time stamps cost time, so they come from a run of their own.
  progress.next("recorded run");
  found.recorded_steps =
      std::min(found.steps(), std::max(2, most_recorded_tasks / tasks_of_a_step(matrix)));
  MPI_Allreduce(MPI_IN_PLACE, &found.recorded_steps, 1, MPI_INT, MPI_MIN, comm);
  trellis::TaskGraph recording(graph_options(options, in_flight(options, matrix), true));
  {
    TaskSolver recorded_solver(recording, matrix, options, vectors);
    MPI_Barrier(comm);
    recorded_solver.take_steps(found.recorded_steps);
  }
  trellis::Trace const trace = recording.trace();
  found.tasks = trace.graph.nodes().size();
  mine.exchanges = example::exchanges_of(trace, computes);
  mine.sums = example::collectives_of(trace, "allreduce", computes);
  found.ranks.resize(is_root ? static_cast<std::size_t>(ranks) : 1);
  MPI_Gather(&mine, sizeof mine, MPI_BYTE, found.ranks.data(), sizeof mine, MPI_BYTE, 0, comm);

  together(comm, [&] {
    if (!is_root) return;
    write_files(options, found);
    example::write_timeline(options.output, trace);
    example::write_graph(options.output, trace);
    progress.clear();
    print(options, found);
    std::printf(
        "\nWritten to %s: summary.json, history.json, residual.svg, and of rank 0 in the recorded "
        "run trace.json, timeline.svg, graph.dot\n",
        options.output.string().c_str());
  });
  return found;
}

void require_solution(Options const& options, Findings const& found) {
  constexpr double rounding = 10;
  if (!found.agrees_with_bulk)
    throw example::Refusal("tasks and the bulk-synchronous version do not agree");
  if (!found.converged) throw example::Refusal(found.why_not);
  if (!(found.true_residual <= rounding * options.tolerance))
    throw example::Refusal("|b - A x| / |b| is " + number("%.3g", found.true_residual) +
                           ", more than rounding errors explain, or the tolerance is too small "
                           "for them");
  if (found.largest_error && !(found.error <= *found.largest_error))
    throw example::Refusal("the error is " + number("%.4g", found.error) +
                           ", more than the discretisation's, " +
                           number("%.4g", *found.largest_error));
}

void main_of_rank(int argc, char** argv, MPI_Comm world) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &ranks);
  Options options = parse(argc, argv, rank == 0);
  together(world, [&] { complete(options, ranks); });
  options.workers = example::share_workers(options.workers, 1, world);
  auto settings = Kokkos::InitializationSettings();
  if (options.workers > 0) settings.set_num_threads(options.workers);
  Kokkos::ScopeGuard const kokkos(settings);
  require_solution(options, run(options, world));
}

}  // namespace
}  // namespace cg

int main(int argc, char** argv) {
  return example::run_ranks(argc, argv, "cg_ranks", cg::main_of_rank);
}
