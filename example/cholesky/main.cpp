// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A = L Lᵀ in tiles, with the calls of Kokkos Kernels as tasks. For comparison the program runs the
// same calls without tasks, and one call for all of it. `cholesky --help` lists the options.
#include <Trellis.hpp>

#include <KokkosKernels_config.h>
#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

#include "../shared/Progress.hpp"
#include "../shared/Recording.hpp"
#include "BlasThreads.hpp"
#include "ForkJoin.hpp"
#include "Options.hpp"
#include "Report.hpp"
#include "Residual.hpp"
#include "TaskFactorisation.hpp"
#include "TiledMatrix.hpp"

namespace cholesky {
namespace {

constexpr int tiles_in_picture = 4;

using Whole = Kokkos::View<double**, Kokkos::LayoutLeft, Space>;

std::string version(int number) {
  return std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." +
         std::to_string(number % 100);
}

void describe(Findings& found) {
  found.kokkos = std::string(Space::name()) + ", Kokkos " + version(KOKKOS_VERSION);
  found.kernels = "Kokkos Kernels " + version(KOKKOSKERNELS_VERSION);
#ifdef KOKKOSKERNELS_ENABLE_TPL_BLAS
  found.kernels += " with BLAS";
  found.blas = blas_name();
#else
  found.kernels += " without BLAS";
#endif
  found.tile_factorisation =
      trellis::kernels::has_lapacke ? "LAPACKE" : "by blocks, without LAPACK";
  found.fork_join = {"fork-join", "fork_join", found.workers, {}, 0};
  found.any_order = {"tasks in any order", "tasks_any_order", found.workers, {}, 0};
  found.tasks = {"tasks, longest path first", "tasks", found.workers, {}, 0};
  found.lapack = {"one call of LAPACK", "lapack", 0, {}, 0};
}

/// Copies the lower half of a matrix in one piece from tiles, and back.
template <class Copy>
void between(Whole const& whole, TiledMatrix const& a, Copy const& copy) {
  for_each_tile(a, [&](int i, int j) {
    for (int c = 0; c < a.extent(j); ++c)
      for (int r = i == j ? c : 0; r < a.extent(i); ++r)
        copy(whole(a.begin(i) + r, a.begin(j) + c), a(i, j)(r, c));
  });
}

template <class Solve>
double seconds_of(Solve const& solve) {
  Kokkos::Timer const timer;
  solve();
  return timer.seconds();
}

trellis::TaskGraphOptions graph_options(int workers, bool record) {
  trellis::TaskGraphOptions result;
  result.name = "cholesky";
  if (workers > 0) result.workers = workers;
  result.threads_per_worker = 1;
  result.record = record;
  return result;
}

/// All ways to factorise one matrix, one after the other.
class Comparison {
 public:
  explicit Comparison(Options const& options)
      : m_options(options),
        m_element{options.negative_at},
        m_graph(graph_options(options.workers, false)),
        m_team(m_graph.workers()),
        m_given("A", options.order, options.tile),
        m_factor("L", options.order, options.tile),
        m_reference("L of fork-join", options.order, options.tile) {
    for_each_tile(m_given, [&](int i, int j) {
      trellis::host_task("covariance",
                         trellis::ResourcePolicy(m_graph, trellis::write(m_given(i, j))),
                         [=, this](Tile const& tile) { fill(m_given, i, j, m_element, tile); });
    });
    m_graph.wait();
  }

  [[nodiscard]] int workers() const { return m_graph.workers(); }
  [[nodiscard]] TiledMatrix const& given() const { return m_given; }

  double by_tasks(Order order) {
    copy(m_factor, m_given);
    return seconds_of([&] {
      factorise(m_graph, m_factor, order);
      m_graph.wait();
    });
  }
  double by_fork_join() {
    copy(m_reference, m_given);
    return seconds_of([&] { factorise(m_team, m_reference); });
  }
  double by_lapack() {
    if (m_whole.extent(0) == 0) m_whole = Whole("whole", m_options.order, m_options.order);
    between(m_whole, m_given, [](double& to, double from) { to = from; });
    double const seconds =
        seconds_of([&] { trellis::kernels::potrf.function(Space(), "L", m_whole); });
    between(m_whole, m_factor, [](double from, double& to) { to = from; });
    return seconds;
  }
  /// Returns the residual of the newest factor.
  double residual_of_factor() { return residual(m_graph, m_factor, m_element); }
  double residual_of_reference() { return residual(m_graph, m_reference, m_element); }
  double difference() const { return largest_difference(m_factor, m_reference); }

 private:
  Options const& m_options;
  Covariance const m_element;
  trellis::TaskGraph m_graph;
  Team m_team;
  TiledMatrix const m_given;
  TiledMatrix const m_factor;     ///< tasks' and LAPACK's
  TiledMatrix const m_reference;  ///< fork-join's
  Whole m_whole;
};

/// Time stamps and graphs cost time, so they come from a run of their own.
void record(Options const& options, TiledMatrix const& given, Findings& found) {
  trellis::TaskGraph graph(graph_options(options.workers, true));
  TiledMatrix const a("A", options.order, options.tile);
  copy(a, given);
  factorise(graph, a, Order::longest_path_first);
  graph.wait();
  auto const dependencies = graph.dependency_graph();
  found.recorded_tasks = dependencies.nodes().size();
  found.dependency_edges = dependencies.edges().size();
  found.longest_path = longest_path(a.tiles(), 0, 0, 0);
  if (!priorities_are_paths(dependencies))
    throw std::runtime_error("the priorities are not the longest paths of the recorded graph");
  example::write_timeline(options.output, graph.trace());
}

/// Draws the graph of a factorisation that is small enough for a picture.
void draw(Options const& options) {
  trellis::TaskGraph graph(graph_options(options.workers, true));
  TiledMatrix const a("A", tiles_in_picture, 1);
  for_each_tile(a, [&](int i, int j) { fill(a, i, j, Covariance{-1}, a(i, j)); });
  factorise(graph, a, Order::longest_path_first);
  graph.wait();
  example::write_graph(options.output, graph.trace());
}

Findings run(Options const& options) {
  // Errors with files should occur now.
  std::error_code error;
  std::filesystem::create_directories(options.output, error);
  if (error)
    throw std::runtime_error("cannot make the output folder '" + options.output.string() +
                             "': " + error.message());

  bool const has_lapack = trellis::kernels::has_lapacke;
  example::Progress progress((options.repetitions + 1) * (has_lapack ? 4 : 3) + 3);
  progress.next("covariance matrix");
  use_blas_threads(1);  // for each tile; the threads are ours
  Comparison comparison(options);
  Findings found;
  found.workers = comparison.workers();
  found.tiles = comparison.given().tiles();
  found.last_tile = comparison.given().extent(found.tiles - 1);
  describe(found);

  // The first round does not count: the first calls of a program pay for its threads and pages.
  int round = -1;
  auto const note = [&](Variant& variant, double seconds) {
    if (round >= 0) variant.seconds.push_back(seconds);
  };
  for (; round < options.repetitions; ++round) {
    bool const is_last = round == options.repetitions - 1;
    progress.next("tasks, longest path first");
    note(found.tasks, comparison.by_tasks(Order::longest_path_first));
    if (is_last) found.tasks.residual = comparison.residual_of_factor();

    progress.next("fork-join");
    note(found.fork_join, comparison.by_fork_join());
    if (is_last) {
      found.fork_join.residual = comparison.residual_of_reference();
      found.difference_to_fork_join = comparison.difference();
    }

    progress.next("tasks in any order");
    note(found.any_order, comparison.by_tasks(Order::any));
    if (is_last) found.any_order.residual = comparison.residual_of_factor();
  }

  progress.next("recorded run");
  record(options, comparison.given(), found);
  draw(options);

  // This runs at the end: the threads of a BLAS may continue to look for work for a while after a
  // call, on the cores of later work.
  if (has_lapack) {
    found.lapack.threads = use_blas_threads(found.workers);
    for (round = -1; round < options.repetitions; ++round) {
      progress.next("LAPACK");
      note(found.lapack, comparison.by_lapack());
    }
    use_blas_threads(1);
    found.lapack.residual = comparison.residual_of_factor();
  }
  return found;
}

int report(Options const& options, Findings const& found) {
  print(options, found);
  write_summary(options, found);
  std::printf(
      "\nWritten to %s: summary.json; trace.json, timeline.svg and analysis.txt of a recorded run; "
      "graph.dot, the graph for %d x %d tiles\n",
      options.output.string().c_str(), tiles_in_picture, tiles_in_picture);
  if (found.recorded_tasks > example::tasks_in_timeline)
    std::printf("(the trace and the timeline show its middle: at most %zu and %zu tasks)\n",
                example::tasks_in_trace, example::tasks_in_timeline);
  for (Variant const* variant : found.variants())
    if (!(variant->residual < tolerated_residual))
      throw std::runtime_error("the residual of '" + variant->name + "' is not below " +
                               std::to_string(tolerated_residual) + ": " +
                               std::to_string(variant->residual));
  return 0;
}

}  // namespace
}  // namespace cholesky

int main(int argc, char** argv) {
  try {
    cholesky::Options const options = cholesky::parse(argc, argv);
    Kokkos::ScopeGuard const kokkos;
    return cholesky::report(options, cholesky::run(options));
  } catch (std::exception const& error) {
    std::fprintf(stderr, "cholesky: %s\n", error.what());
    return 1;
  }
}
