// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sweeps that leave work behind. In each step in time a fork-join has a child for each subdomain.
// The child updates the cells that neighbours see, and makes each of the other patches a small
// fusable task of the graph, an enclave. Enclaves have numbers, and the next sweep waits for those
// of its own subdomain only. The graph's orchestration determines when they run, and how many as
// one. The program runs with each orchestration, and compares times and every bit with a serial
// run. `enclaves --help` lists the options.
//
// Look at: Sweep.hpp.
#include <Trellis.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "../shared/Progress.hpp"
#include "../shared/Strategies.hpp"
#include "../shared/Text.hpp"
#include "Domain.hpp"
#include "Options.hpp"
#include "Sweep.hpp"

namespace enclaves {
namespace {

using example::StrategyFindings;
using example::StrategyRun;

/// Returns all cells after the last step.
std::vector<double> result_of(Domain const& domain, int steps) {
  std::vector<double> all;
  for (Cells const& state : domain.states(steps))
    all.insert(all.end(), state.data(), state.data() + state.size());
  return all;
}

/// Runs steps on this graph. Counts them, and returns the result.
std::vector<double> run(trellis::TaskGraph& graph, Options const& options, StrategyRun& counted) {
  Domain domain(options.problem);
  Sweeps sweeps(graph, domain);
  auto const begin = std::chrono::steady_clock::now();
  while (sweeps.steps() < options.steps) sweeps.step();
  sweeps.finish();
  std::chrono::duration<double> const seconds = std::chrono::steady_clock::now() - begin;
  graph.wait();
  std::int64_t const parts = std::int64_t{options.steps} * options.problem.subdomains;
  counted.seconds = seconds.count();
  counted.skeletons = parts * options.problem.skeletons();
  counted.enclaves = parts * options.problem.enclaves();
  counted.found_done = domain.found_done();
  return result_of(domain, options.steps);
}

std::vector<double> run_serially(Options const& options, StrategyRun& counted) {
  trellis::TaskGraphOptions graph_options;
  graph_options.name = "enclaves, serial";
  graph_options.serial = true;
  trellis::TaskGraph graph(graph_options);
  return run(graph, options, counted);
}

StrategyRun run_with(std::string const& name, Options const& options,
                     std::vector<double> const& expected) {
  auto const counting =
      std::make_shared<example::CountingOrchestration>(trellis::make_orchestration(name));
  trellis::TaskGraphOptions graph_options;
  graph_options.name = "enclaves, " + name;
  if (options.workers > 0) graph_options.workers = options.workers;
  graph_options.orchestration = counting;
  trellis::TaskGraph graph(graph_options);
  StrategyRun counted;
  counted.agrees = run(graph, options, counted) == expected;
  counted.batches = counting->batches();
  counted.tasks_in_batches = counting->tasks_in_batches();
  return counted;
}

void write_summary(Options const& options, StrategyRun const& serial,
                   std::vector<StrategyFindings> const& found) {
  nlohmann::ordered_json summary;
  summary["kokkos_version"] = example::kokkos_version();
  summary["space"] = Host::name();
  summary["subdomains"] = options.problem.subdomains;
  summary["patches"] = options.problem.patches;
  summary["cells"] = options.problem.cells;
  summary["steps"] = options.steps;
  summary["enclaves"] = serial.enclaves;
  summary["skeletons"] = serial.skeletons;
  summary["seconds_serial"] = serial.seconds;
  summary["agrees"] = example::all_agree(found);
  summary["strategies"] = example::json_of(found);
  auto const file = options.output / "summary.json";
  std::ofstream out(file);
  out << summary.dump(2) << '\n';
  if (!out.flush()) throw std::runtime_error("cannot write '" + file.string() + "'");
}

void run_all(Options const& options) {
  Problem const& problem = options.problem;
  std::vector<StrategyFindings> found;
  for (std::string const& name : example::strategies(options.orchestration))
    found.emplace_back().name = name;
  std::error_code error;
  std::filesystem::create_directories(options.output, error);
  if (error)
    throw std::runtime_error("cannot make the output folder '" + options.output.string() +
                             "': " + error.message());
  example::Progress progress(1 + options.repetitions * static_cast<int>(found.size()));
  progress.next("serial run");
  StrategyRun serial;
  std::vector<double> const expected = run_serially(options, serial);
  // The runs alternate, so that a temporary disturbance of the machine affects all.
  for (int k = 0; k < options.repetitions; ++k)
    for (StrategyFindings& each : found) {
      progress.next(each.name.c_str());
      each.add(run_with(each.name, options, expected));
    }
  progress.clear();

  using example::line;
  std::printf("Problem\n");
  line("Kokkos", std::string(Host::name()) + ", Kokkos " + example::kokkos_version());
  line("subdomains", example::plural(problem.subdomains, "square") + " of " +
                         example::times({problem.patches, problem.patches}) + " patches, each " +
                         example::times({problem.cells, problem.cells}) + " cells");
  line("steps", std::to_string(options.steps));
  line("a sweep", std::to_string(problem.subdomains * problem.skeletons()) +
                      " skeleton patches and " +
                      example::plural(problem.subdomains * problem.enclaves(), "enclave task"));
  line("serial run", example::number("%.2f ms", 1e3 * serial.seconds));
  std::printf("\nAll steps, median of %s\n",
              example::plural(options.repetitions, "repetition").c_str());
  example::print(found);
  write_summary(options, serial, found);
  example::draw(options.output / "strategies.svg",
                "enclaves: " + std::to_string(options.steps) + " steps, " +
                    std::to_string(serial.enclaves / options.steps) + " enclave tasks in each",
                found);
  std::printf("\nWritten to %s: summary.json, strategies.svg\n", options.output.string().c_str());
  if (!example::all_agree(found))
    throw std::runtime_error("not all strategies agree with the serial run");
}

}  // namespace
}  // namespace enclaves

int main(int argc, char** argv) {
  try {
    enclaves::Options const options = enclaves::parse(argc, argv);
    Kokkos::ScopeGuard const kokkos;
    enclaves::run_all(options);
    return 0;
  } catch (std::exception const& error) {
    std::fprintf(stderr, "enclaves: %s\n", error.what());
    return 1;
  }
}
