// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Models of fields: what they cost beside a plain loop, what memory they take beside what was
// predicted, and which ratio of task to operator threads is best for which program. The equations
// are those of the example transport.
#include "../../example/transport/Measure.hpp"
#include "Ends.hpp"
#ifdef TRANSPORT_HAS_SIMULATED
#include "../../example/transport/Hybrid.hpp"
#endif
#include "Frozen.hpp"

#include <Trellis_Recorded.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace fields {
namespace {

using trellis::ThreadRatio;

struct Options {
  int cells = 48;
  std::vector<int> equations = {8, 16};
  int steps = 5;
  int rounds = 7;
  int threads = 2;
  std::vector<int> hybrid = {32, 128};
  std::string json = "out/perf/field_models.json";
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}
std::string text_of(ThreadRatio const& ratio) {
  return std::to_string(ratio.workers) + "x" + std::to_string(ratio.threads);
}

/// What has been found, and whether anything is wrong.
struct Report {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  bool is_right = true;

  void wrong(std::string const& what) {
    std::printf("WRONG: %s\n", what.c_str());
    is_right = false;
  }
};

transport::RatioFindings with_ratio(ThreadRatio const& ratio) {
  transport::RatioFindings found;
  found.ratio = ratio;
  return found;
}

/// The model with each ratio, and with one thread also without a limit, in turns with the loop.
void measure_transport(Options const& options, trellis::TaskGraph& graph,
                       transport::Problem const& problem, Report& report) {
  std::string const name =
      std::to_string(problem.equations) +
      (problem.coupling == transport::Coupling::all ? " coupled" : " uncoupled") +
      (problem.source == transport::Source::shared ? ", shared" : ", own");
  transport::RatioFindings unlimited = with_ratio({1, 1});
  std::vector<transport::RatioFindings> ratios;
  for (ThreadRatio const& ratio :
       {ThreadRatio{1, 1}, ThreadRatio{options.threads, 1}, ThreadRatio{1, options.threads},
        ThreadRatio{options.threads, options.threads}})
    ratios.push_back(with_ratio(ratio));
  std::vector<double> plain_seconds;
  for (int round = 0; round < options.rounds; ++round) {
    transport::Plain plain(problem, transport::host_with(1));
    plain.step();
    plain_seconds.push_back(transport::seconds_of([&] {
                              for (int k = 0; k < options.steps; ++k) plain.step();
                            }) /
                            options.steps);
    auto const run = [&](transport::RatioFindings& found, bool limit) {
      if (!run_ratio(graph, problem, options.steps, limit, plain, found))
        report.wrong(name + ": " + text_of(found.ratio) + " differs from the loop");
      if (!limit) return;
      if (found.measured > found.predicted) report.wrong(name + ": too much memory");
      if (found.ratio.workers == 1 && found.allocated_later != 0)
        report.wrong(name + ": a later step allocates");
    };
    run(unlimited, false);
    for (transport::RatioFindings& each : ratios) run(each, true);
  }
  if (ratios[0].measured != ratios[0].predicted)
    report.wrong(name + ": the memory is not what was predicted");
  double const plain = median(plain_seconds);
  auto const tell = [&](transport::RatioFindings const& found, bool limit) {
    double const seconds = median(found.seconds);
    std::printf("%-24s %s%-9s %9.3f ms %7.3f of the loop; %8.2f MB of %8.2f\n", name.c_str(),
                text_of(found.ratio).c_str(), limit ? " limited" : "", 1e3 * seconds,
                seconds / plain, 1e-6 * static_cast<double>(found.measured),
                1e-6 * static_cast<double>(found.predicted));
    report.rows.push_back({{"benchmark", "transport"},
                           {"case", name},
                           {"cells", problem.cells},
                           {"ratio", text_of(found.ratio)},
                           {"limited", limit},
                           {"ms_per_step", 1e3 * seconds},
                           {"plain_ms_per_step", 1e3 * plain},
                           {"of_plain", seconds / plain},
                           {"measured_bytes", found.measured},
                           {"predicted_bytes", found.predicted},
                           {"blocks_first_step", found.allocated},
                           {"blocks_later", found.allocated_later}});
  };
  tell(unlimited, false);
  for (transport::RatioFindings const& each : ratios) tell(each, true);
}

/// Iterations of a model and plans in turns, at a size that memory bounds and at one where overhead
/// counts.
void measure_frozen(Options const& options, trellis::TaskGraph& graph, int equations, int cells,
                    int steps, Report& report) {
  transport::Problem problem;
  problem.equations = equations;
  problem.cells = cells;
  std::string const name =
      std::to_string(equations) + " x " + std::to_string(cells) + "^3 in a plan";
  for (int const workers : {1, options.threads}) {
    graph.set_threads(workers, 1);
    FrozenFindings found;
    for (int round = 0; round < options.rounds; ++round)
      measure_round(graph, problem, steps, found);
    std::string const ratio = text_of({workers, 1});
    if (!found.agrees) report.wrong(name + ": " + ratio + " differs from iterations");
    if (found.frozen_bytes != found.frozen_predicted)
      report.wrong(name + ": the memory is not what was predicted");
    double const passes = median(found.passes), frozen = median(found.frozen);
    double const passes_at_once = median(found.passes_at_once);
    double const frozen_at_once = median(found.frozen_at_once);
    double const each = 1e6 / problem.tasks();
    std::printf(
        "%-24s %-4s %9.3f us per task, %7.3f of an iteration; steps at once %9.3f, %7.3f; "
        "%8.2f MB, an iteration %8.2f\n",
        name.c_str(), ratio.c_str(), each * frozen, frozen / passes, each * frozen_at_once,
        frozen_at_once / passes_at_once, 1e-6 * static_cast<double>(found.frozen_bytes),
        1e-6 * static_cast<double>(found.passes_bytes));
    report.rows.push_back({{"benchmark", "frozen"},
                           {"case", name},
                           {"cells", cells},
                           {"equations", equations},
                           {"ratio", ratio},
                           {"tasks", problem.tasks()},
                           {"us_per_task_frozen", each * frozen},
                           {"us_per_task_pass", each * passes},
                           {"of_pass", frozen / passes},
                           {"us_per_task_frozen_at_once", each * frozen_at_once},
                           {"us_per_task_pass_at_once", each * passes_at_once},
                           {"of_pass_at_once", frozen_at_once / passes_at_once},
                           {"frozen_bytes", found.frozen_bytes},
                           {"frozen_predicted_bytes", found.frozen_predicted},
                           {"pass_bytes", found.passes_bytes},
                           {"pass_predicted_bytes", found.passes_predicted}});
    if (options.threads == 1) break;
  }
}

/// From the begin of the first step of a trace to the end of the last one, in ms.
double milliseconds_of(trellis::Trace const& trace) {
  std::uint64_t begin = ~std::uint64_t{0}, end = 0;
  for (trellis::TaskRecord const& task : trace.graph.nodes()) {
    begin = std::min(begin, task.submitted_ns);
    end = std::max(end, task.finished_ns);
  }
  return 1e-6 * static_cast<double>(end - begin);
}

/// What is predicted from runs with one number of workers, beside runs with the same and with the
/// other one, in turns.
void measure_what_if(Options const& options, Report& report) {
  transport::Problem problem;
  problem.equations = options.equations.front();
  problem.cells = options.cells;
  std::vector<int> workers{1};
  if (options.threads > 1) workers.push_back(options.threads);
  std::size_t const count = workers.size();
  std::vector<std::vector<double>> measured(count), predicted(count * count);
  for (int round = 0; round < options.rounds; ++round)
    for (std::size_t of = 0; of < count; ++of) {
      trellis::Trace const trace = transport::record(problem, workers[of], options.steps);
      measured[of].push_back(milliseconds_of(trace));
      for (std::size_t on = 0; on < count; ++on)
        predicted[of * count + on].push_back(
            1e-6 * trellis::simulate(trace, {.workers = workers[on]}).makespan);
    }
  for (std::size_t of = 0; of < count; ++of)
    for (std::size_t on = 0; on < count; ++on) {
      double const real = median(measured[on]), guess = median(predicted[of * count + on]);
      std::printf("what if: recorded with %d, run with %d: %9.3f ms, predicted %9.3f: %.3f\n",
                  workers[of], workers[on], real, guess, guess / real);
      report.rows.push_back({{"benchmark", "what_if"},
                             {"equations", problem.equations},
                             {"cells", problem.cells},
                             {"steps", options.steps},
                             {"recorded_with", workers[of]},
                             {"workers", workers[on]},
                             {"ms", real},
                             {"predicted_ms", guess},
                             {"predicted_of_measured", guess / real}});
    }
}

/// Both ends of the ratio, in turns, and what feedback comes to from either.
void measure_ends(Options const& options, Program const& program, Report& report) {
  std::vector<ThreadRatio> const ratios{{options.threads, 1}, {1, options.threads}};
  trellis::Graph const structure = program.structure();
  trellis::TaskGraphOptions graph_options;
  graph_options.name = program.name();
  graph_options.workers = options.threads;
  graph_options.threads_per_worker = 1;
  trellis::TaskGraph graph(graph_options);
  auto const meter = trellis::make_task_meter();
  graph_options.policy = meter;
  trellis::TaskGraph measured(graph_options);
  auto const pass = [&](trellis::TaskGraph& on) {
    return transport::seconds_of([&] {
      program.submit(on);
      on.wait();
    });
  };
  std::vector<std::vector<double>> seconds(ratios.size());
  for (int round = 0; round < options.rounds; ++round)
    for (std::size_t k = 0; k < ratios.size(); ++k) {
      graph.set_threads(ratios[k].workers, ratios[k].threads);
      pass(graph);
      for (int step = 0; step < options.steps; ++step) seconds[k].push_back(pass(graph));
    }
  std::string ends;
  for (ThreadRatio const& start : ratios) {
    trellis::ThreadFeedback feedback(options.threads);
    measured.set_threads(start.workers, start.threads);
    pass(measured);
    static_cast<void>(meter->take());
    for (int k = 0; k < 6; ++k) {
      pass(measured);
      feedback.adapt(measured, structure, meter->take());
    }
    ends +=
        (ends.empty() ? "" : ", ") + text_of({measured.workers(), measured.threads_per_worker()});
  }
  double const tasks = median(seconds[0]), operators = median(seconds[1]);
  std::printf("%-24s %s %.3f ms, %s %.3f ms: %s is %.2f times as fast; feedback ends at %s\n",
              program.name(), text_of(ratios[0]).c_str(), 1e3 * tasks, text_of(ratios[1]).c_str(),
              1e3 * operators, text_of(ratios[tasks < operators ? 0 : 1]).c_str(),
              std::max(tasks, operators) / std::min(tasks, operators), ends.c_str());
  report.rows.push_back({{"benchmark", "thread_ratio"},
                         {"program", program.name()},
                         {"threads", options.threads},
                         {"ms_tasks", 1e3 * tasks},
                         {"ms_operators", 1e3 * operators},
                         {"tasks_of_operators", tasks / operators},
                         {"feedback", ends}});
}

/// On the host and on devices in software: times are virtual, so they are the same in each run.
void measure_hybrid([[maybe_unused]] int cells, [[maybe_unused]] Report& report) {
#ifdef TRANSPORT_HAS_SIMULATED
  for (transport::Coupling const coupling : {transport::Coupling::none, transport::Coupling::all}) {
    transport::Problem problem;
    problem.equations = 2;
    problem.cells = cells;
    problem.coupling = coupling;
    std::string const name =
        coupling == transport::Coupling::all ? "2 coupled, hybrid" : "2 uncoupled, hybrid";
    auto const found = transport::run_hybrid(problem, [](transport::HybridRun const&) {});
    if (!found.agrees) report.wrong(name + " differs from the loop");
    if (found.hybrid_ns > found.host_ns) report.wrong(name + " takes longer than the host alone");
    double const of_host =
        static_cast<double>(found.hybrid_ns) / static_cast<double>(found.host_ns);
    std::printf("%-24s %3d^3 host %9.3f ms, hybrid %9.3f ms (%.3f) in virtual time; copies: %d\n",
                name.c_str(), cells, 1e-6 * static_cast<double>(found.host_ns),
                1e-6 * static_cast<double>(found.hybrid_ns), of_host, found.copies);
    report.rows.push_back({{"benchmark", "hybrid"},
                           {"case", name},
                           {"cells", cells},
                           {"virtual_ns_host", found.host_ns},
                           {"virtual_ns_hybrid", found.hybrid_ns},
                           {"of_host", of_host},
                           {"copies", found.copies},
                           {"assignment", found.assignment}});
  }
#endif
}

bool run(Options const& options) {
  Report report;
  std::printf("%d^3 cells, medians of %d rounds\n", options.cells, options.rounds);
  {
    trellis::TaskGraphOptions graph_options;
    graph_options.name = "fields";
    graph_options.workers = options.threads * options.threads;
    graph_options.threads_per_worker = 1;
    trellis::TaskGraph graph(graph_options);
    for (int const equations : options.equations)
      for (int kind = 0; kind < 3; ++kind) {
        transport::Problem problem;
        problem.equations = equations;
        problem.cells = options.cells;
        if (kind > 0) problem.coupling = transport::Coupling::all;
        if (kind > 1) problem.source = transport::Source::shared;
        measure_transport(options, graph, problem, report);
      }
    int const equations = options.equations.front();
    measure_frozen(options, graph, equations, options.cells, options.steps, report);
    measure_frozen(options, graph, equations, std::min(options.cells, 2), 20 * options.steps,
                   report);
  }
  measure_what_if(options, report);
  int const size = options.cells * options.cells * options.cells;
  for (Program::Kind const kind : {Program::independent, Program::chain})
    measure_ends(options, Program(kind, size), report);
  for (int const cells : options.hybrid) measure_hybrid(cells, report);

  std::filesystem::path const path(options.json);
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path());
  nlohmann::ordered_json const context = {
      {"kokkos", KOKKOS_VERSION},
      {"space", Host::name()},
      {"threads", options.threads},
      {"rounds", options.rounds},
      {"commit",
       std::getenv("TRELLIS_COMMIT") != nullptr ? std::getenv("TRELLIS_COMMIT") : "not given"}};
  std::ofstream(path) << nlohmann::ordered_json{{"context", context}, {"rows", report.rows}}.dump(1)
                      << '\n';
  return report.is_right;
}

}  // namespace
}  // namespace fields

int main(int argc, char** argv) {
  fields::Options options;
  CLI::App app("Models of fields beside plain loops: time, memory, and the ratio of threads");
  app.add_option("--cells", options.cells, "in each direction")->check(CLI::Range(2, 512));
  app.add_option("--equations", options.equations, "numbers of scalars")
      ->delimiter(',')
      ->check(CLI::Range(1, 64));
  app.add_option("--steps", options.steps, "of each round")->check(CLI::Range(1, 100000));
  app.add_option("--rounds", options.rounds, "of which the median counts")
      ->check(CLI::Range(1, 1000));
  app.add_option("--threads", options.threads, "in all")->check(CLI::Range(1, 64));
  app.add_option("--hybrid", options.hybrid, "grids on which tasks may run on devices in software")
      ->delimiter(',')
      ->check(CLI::Range(2, 512));
  app.add_option("--json", options.json, "where the rows go");
  CLI11_PARSE(app, argc, argv);
  auto settings = Kokkos::InitializationSettings();
  settings.set_num_threads(options.threads);
  Kokkos::ScopeGuard const kokkos(settings);
  try {
    return fields::run(options) ? 0 : 1;
  } catch (std::exception const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
