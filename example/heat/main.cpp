// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The heat equation, solved twice: by bulk-synchronous Kokkos and by Trellis, from the same
// functor. `heat --help` lists the options.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include "../shared/Progress.hpp"
#include "../shared/Recording.hpp"
#include "../shared/Text.hpp"
#include "Options.hpp"
#include "PlainSolver.hpp"
#include "Recording.hpp"
#include "Report.hpp"
#include "Temperature.hpp"
#include "TrellisSolver.hpp"

#include <Trellis_Recorded.hpp>

namespace heat {
namespace {

constexpr double tolerated_error = 1e-3;
constexpr int most_recorded_tasks = 100000;

template <class Solve>
double seconds_of(Solve const& solve) {
  Space().fence("heat: before reading the clock");
  Kokkos::Timer const timer;
  solve();
  Space().fence("heat: before reading the clock");
  return timer.seconds();
}

trellis::TaskGraphOptions graph_options(Options const& options, bool record) {
  trellis::TaskGraphOptions result;
  result.name = "heat";
  if (options.workers > 0) result.workers = options.workers;
  result.threads_per_worker = options.threads_per_worker;
  if (options.in_flight > 0) result.in_flight = options.in_flight;
  result.record = record;
  return result;
}

template <int Dim>
Findings run(Options const& options) {
  Problem const problem{options.cells, options.steps, options.residual_every, options.time_step};
  example::Progress progress(2 * options.repetitions + 3);

  // Errors with files should occur now.
  std::error_code error;
  std::filesystem::create_directories(options.output, error);
  if (error)
    throw std::runtime_error("cannot make the output folder '" + options.output.string() +
                             "': " + error.message());
  progress.next("initial temperature");
  auto const initial = make_field<Dim>("initial", problem.cells);
  auto const plain_result = make_field<Dim>("result of the plain solver", problem.cells);
  DoubleBuffer<Dim> const u{make_field<Dim>("even", problem.cells),
                            make_field<Dim>("odd", problem.cells)};
  if (options.input.empty())
    fill<Dim>(initial, SineMode<Dim>(problem, 0.0));
  else
    fill<Dim>(initial, read_picture(options.input));

  auto const tiles = cut<Dim>(interior<Dim>(initial), options.tiles);
  trellis::TaskGraph graph(graph_options(options, false));

  Findings found;
  found.backend = Space::name();
  found.kokkos_version = example::kokkos_version();
  found.time_step = problem.time_step;
  found.threads_plain = Space().concurrency();
  found.threads_trellis = graph.workers() * options.threads_per_worker;

  // Both take two steps that do not count: the first kernels of a program pay for its threads and
  // pages.
  Problem warm_up = problem;
  warm_up.steps = std::min(problem.steps, 2);
  reset<Dim>(u, initial);
  solve_plain<Dim>(warm_up, u);
  solve_trellis<Dim>(graph, warm_up, tiles, u);

  decltype(solve_plain<Dim>(problem, u)) plain_sums;
  std::vector<double> sums;
  for (int k = 0; k < options.repetitions; ++k) {
    progress.next("plain Kokkos");
    reset<Dim>(u, initial);
    found.seconds_plain.push_back(seconds_of([&] { plain_sums = solve_plain<Dim>(problem, u); }));
    Kokkos::deep_copy(plain_result, u.before(problem.steps));

    progress.next("Trellis");
    reset<Dim>(u, initial);
    found.seconds_trellis.push_back(
        seconds_of([&] { sums = solve_trellis<Dim>(graph, problem, tiles, u); }));
    found.max_difference_to_plain = std::max(
        found.max_difference_to_plain, max_difference<Dim>(u.before(problem.steps), plain_result));
  }

  double const cells = std::pow(problem.cells, Dim);
  for (std::size_t k = 0; k < sums.size(); ++k)
    found.residuals.push_back({static_cast<int>(k + 1) * problem.residual_every,
                               std::sqrt(plain_sums(k) / cells) / problem.time_step,
                               std::sqrt(sums[k] / cells) / problem.time_step});
  if (options.input.empty())
    found.max_error =
        max_error<Dim>(u.before(problem.steps), SineMode<Dim>(problem, problem.final_time()));

  progress.next("picture");
  write_png(options.output / "field.png", picture_of<Dim>(u.before(problem.steps), 512));

  // Time stamps and the graphs cost time, so they come from a run of their own.
  progress.next("recorded run");
  Problem recorded = problem;
  recorded.steps = std::min(problem.steps, std::max(1, most_recorded_tasks / options.tile_count()));
  found.recorded_steps = recorded.steps;
  trellis::TaskGraph recording(graph_options(options, true));
  reset<Dim>(u, initial);
  solve_trellis<Dim>(recording, recorded, tiles, u);
  auto const dependencies = recording.dependency_graph();
  found.tasks = dependencies.nodes().size();
  found.dependency_edges = dependencies.edges().size();
  found.steps_under_way = steps_under_way(dependencies);
  trellis::Trace const trace = recording.trace();
  example::write_timeline(options.output, trace);
  example::write_graph(options.output, trace);
  return found;
}

int report(Options const& options, Findings const& found) {
  print(options, found);
  write_summary(options, found);
  std::printf(
      "\nWritten to %s: summary.json, field.png, and of the recorded run analysis.txt, trace.json, "
      "timeline.svg, graph.dot\n",
      options.output.string().c_str());
  if (found.tasks > example::tasks_in_graph)
    std::printf("(the last three show its middle: at most %zu, %zu and %zu tasks)\n",
                example::tasks_in_trace, example::tasks_in_timeline, example::tasks_in_graph);
  if (found.max_difference_to_plain != 0)
    throw std::runtime_error("the two solvers do not agree: max difference " +
                             std::to_string(found.max_difference_to_plain));
  if (options.check && found.max_error && !(*found.max_error < tolerated_error))
    throw std::runtime_error("the error against the exact solution is not below 1e-3: " +
                             std::to_string(*found.max_error));
  return 0;
}

}  // namespace
}  // namespace heat

int main(int argc, char** argv) {
  try {
    heat::Options const options = heat::parse(argc, argv, !heat::runs_on_host);
    auto settings = Kokkos::InitializationSettings();
    if (options.workers > 0) settings.set_num_threads(options.workers * options.threads_per_worker);
    Kokkos::ScopeGuard const kokkos(settings);
    return heat::report(options,
                        options.dimensions == 2 ? heat::run<2>(options) : heat::run<3>(options));
  } catch (std::exception const& error) {
    std::fprintf(stderr, "heat: %s\n", error.what());
    return 1;
  }
}
