// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transport of scalars, the scalability test of the source, as a model of fields and as a plain
// loop. `transport --help` lists the options.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "../heat/Picture.hpp"
#include "../shared/Progress.hpp"
#include "../shared/Recording.hpp"
#include "../shared/Text.hpp"
#include "Measure.hpp"
#include "Options.hpp"
#include "Report.hpp"
#ifdef TRANSPORT_HAS_SIMULATED
#include "Hybrid.hpp"
#endif

namespace transport {
namespace {

/// Writes a picture of the first scalar in the middle of the cube.
void write_picture(Options const& options, Plain const& plain) {
  int const n = options.problem.cells;
  auto const phi = plain.phi(0);
  heat::Picture picture(n, n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) picture(i, j) = phi(i, j, n / 2);
  heat::write_png(options.output / "phi.png", picture);
}

/// Solves the same equations where their tasks may run anywhere. Draws the last one.
std::vector<HybridFindings> run_on_devices([[maybe_unused]] Options const& options,
                                           [[maybe_unused]] example::Progress& progress) {
  std::vector<HybridFindings> all;
#ifdef TRANSPORT_HAS_SIMULATED
  for (int const cells : options.hybrid) {
    progress.next("host and devices");
    Problem problem = options.problem;
    problem.cells = cells;
    problem.equations = options.hybrid_equations;
    all.push_back(run_hybrid(problem, [&](HybridRun const& run) {
      auto const file = options.output / "hybrid.svg";
      std::ofstream out(file);
      run.trace().write_svg(out);
      if (!out.flush()) throw std::runtime_error("cannot write '" + file.string() + "'");
    }));
  }
#endif
  return all;
}

Findings run(Options const& options) {
  Problem const& problem = options.problem;
  std::error_code error;
  std::filesystem::create_directories(options.output, error);
  if (error)
    throw std::runtime_error("cannot make the output folder '" + options.output.string() +
                             "': " + error.message());
  auto const ratios = static_cast<int>(options.ratios.size());
  example::Progress progress(options.repetitions * (1 + ratios) + 3 +
                             static_cast<int>(options.hybrid.size()));
  Findings found;
  found.space = Host::name();
  found.kokkos_version = example::kokkos_version();
  for (trellis::ThreadRatio const& ratio : options.ratios)
    found.ratios.emplace_back().ratio = ratio;

  trellis::TaskGraphOptions graph_options;
  graph_options.name = "transport";
  graph_options.workers = options.threads();
  graph_options.threads_per_worker = 1;
  trellis::TaskGraph graph(graph_options);
  Host const one_thread = host_with(1);
  // The runs alternate, so that a temporary disturbance of the machine affects all.
  for (int k = 0; k < options.repetitions; ++k) {
    progress.next("plain loop");
    Plain plain(problem, one_thread);
    plain.step();
    found.seconds_plain.push_back(seconds_of([&] {
                                    for (int step = 0; step < options.steps; ++step) plain.step();
                                  }) /
                                  options.steps);
    for (RatioFindings& each : found.ratios) {
      progress.next("model");
      if (!run_ratio(graph, problem, options.steps, options.limit, plain, each))
        found.agrees = false;
    }
    if (k > 0) continue;
    progress.next("serial graph");
    found.agrees_serially = run_serially(problem, options.steps, plain);
    write_picture(options, plain);
  }

  // Time stamps and the graphs cost time, so they come from a run of their own.
  progress.next("recorded run");
  trellis::Trace const single = record(problem, 1, 2);
  trellis::Graph const structure = one_step(single.graph, problem);
  found.analysis = trellis::analyse(structure, trellis::measured_cost(single.graph));
  int const threads = options.threads_of_feedback();
  trellis::Trace const trace = threads > 1 ? record(problem, threads, 2) : single;
  example::write_timeline(options.output, trace);
  example::write_graph(options.output, trace);
  progress.next("feedback");
  if (options.feedback > 0)
    found.feedback = run_with_feedback(problem, threads, options.feedback, structure);
  found.hybrid = run_on_devices(options, progress);
  return found;
}

int report(Options const& options, Findings const& found) {
  print(options, found);
  write_summary(options, found);
  std::printf(
      "\nWritten to %s: summary.json, phi.png, and of a recorded run analysis.txt, trace.json, "
      "timeline.svg, graph.dot%s\n",
      options.output.string().c_str(),
      found.hybrid.empty() ? "" : "; hybrid.svg is an iteration on host and devices");
  if (!found.agrees || !found.agrees_serially)
    throw std::runtime_error("the model and the plain loop do not agree");
  for (HybridFindings const& each : found.hybrid)
    if (!each.agrees) throw std::runtime_error("with devices the model and the loop do not agree");
  if (!options.limit) return 0;
  for (RatioFindings const& each : found.ratios) {
    if (each.measured > each.predicted)
      throw std::runtime_error("the fields have taken more memory than they may");
    // With more workers a later step may be the first one to reach the limit.
    if (each.ratio.workers == 1 && each.allocated_later != 0)
      throw std::runtime_error("a step after the first one has allocated memory");
  }
  return 0;
}

}  // namespace
}  // namespace transport

int main(int argc, char** argv) {
  try {
    transport::Options const options = transport::parse(argc, argv);
    auto settings = Kokkos::InitializationSettings();
    settings.set_num_threads(options.threads_of_kokkos());
    Kokkos::ScopeGuard const kokkos(settings);
    return transport::report(options, transport::run(options));
  } catch (std::exception const& error) {
    std::fprintf(stderr, "transport: %s\n", error.what());
    return 1;
  }
}
