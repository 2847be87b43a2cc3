// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A front moves over a quadtree of patches, and the quadtree follows it: every few steps patches
// are split and merged. A step is a sweep over subdomains, which are pieces of a space-filling
// curve. Its children update the skeleton, the patches beside another level or subdomain. Each
// other patch is a small fusable task of the graph, an enclave, for which the next sweep waits by
// its number. So the number of tasks, and their dependencies, change with the mesh. The program
// runs with each orchestration, and compares times and every bit with a serial run. `adaptive_mesh
// --help` lists the options.
//
// Look at: Sweep.hpp.
#include <Trellis.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "../shared/Progress.hpp"
#include "../shared/Strategies.hpp"
#include "../shared/Text.hpp"
#include "Mesh.hpp"
#include "Options.hpp"
#include "Picture.hpp"
#include "Sweep.hpp"

namespace adaptive_mesh {
namespace {

using example::StrategyFindings;
using example::StrategyRun;

/// The mesh after the last step, with its state.
struct Result {
  std::vector<Key> keys;
  std::vector<double> values;
  friend bool operator==(Result const&, Result const&) = default;
};

struct MeshFindings {
  std::size_t least_patches = 0, most_patches = 0;
  double transfer_error = 0;
};

Result result_of(Mesh const& mesh, int step) {
  Result all;
  for (Patch const& patch : mesh.patches()) {
    Cells const& state = patch.data.state[static_cast<std::size_t>(step % 2)];
    all.keys.push_back(patch.key);
    all.values.insert(all.values.end(), state.data(), state.data() + state.size());
  }
  return all;
}

/// Runs all steps on this graph. Counts them, and shows the mesh at the end.
Result run(trellis::TaskGraph& graph, Options const& options, StrategyRun& counted,
           std::function<void(Mesh const&)> const& show = {}) {
  Mesh mesh(options.problem);
  Sweeps sweeps(graph, mesh);
  auto const begin = std::chrono::steady_clock::now();
  while (sweeps.steps() < options.problem.steps) sweeps.step();
  sweeps.finish();
  std::chrono::duration<double> const seconds = std::chrono::steady_clock::now() - begin;
  graph.wait();
  counted.seconds = seconds.count();
  counted.skeletons = sweeps.skeletons();
  counted.enclaves = sweeps.enclaves();
  counted.found_done = sweeps.found_done();
  if (show) show(mesh);
  return result_of(mesh, options.problem.steps);
}

Result run_serially(Options const& options, StrategyRun& counted, MeshFindings& found) {
  trellis::TaskGraphOptions graph_options;
  graph_options.name = "adaptive_mesh, serial";
  graph_options.serial = true;
  trellis::TaskGraph graph(graph_options);
  return run(graph, options, counted, [&](Mesh const& mesh) {
    found = {mesh.least_patches(), mesh.most_patches(), mesh.transfer_error()};
    draw(options.output / "mesh.svg", mesh, options.problem.steps);
  });
}

StrategyRun run_with(std::string const& name, Options const& options, Result const& expected) {
  auto const counting =
      std::make_shared<example::CountingOrchestration>(trellis::make_orchestration(name));
  trellis::TaskGraphOptions graph_options;
  graph_options.name = "adaptive_mesh, " + name;
  if (options.workers > 0) graph_options.workers = options.workers;
  graph_options.orchestration = counting;
  trellis::TaskGraph graph(graph_options);
  StrategyRun counted;
  counted.agrees = run(graph, options, counted) == expected;
  counted.batches = counting->batches();
  counted.tasks_in_batches = counting->tasks_in_batches();
  return counted;
}

void write_summary(Options const& options, StrategyRun const& serial, MeshFindings const& mesh,
                   std::vector<StrategyFindings> const& found) {
  nlohmann::ordered_json summary;
  summary["kokkos_version"] = example::kokkos_version();
  summary["space"] = Host::name();
  summary["steps"] = options.problem.steps;
  summary["subdomains"] = options.problem.subdomains;
  summary["least_patches"] = mesh.least_patches;
  summary["most_patches"] = mesh.most_patches;
  summary["transfer_error"] = mesh.transfer_error;
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

void print(Options const& options, StrategyRun const& serial, MeshFindings const& mesh,
           std::vector<StrategyFindings> const& found) {
  using example::line;
  Problem const& problem = options.problem;
  std::printf("Problem\n");
  line("Kokkos", std::string(Host::name()) + ", Kokkos " + example::kokkos_version());
  line("levels", std::to_string(problem.coarsest) + " to " + std::to_string(problem.finest) +
                     ", patches of " + example::times({problem.cells, problem.cells}) + " cells");
  line("steps", std::to_string(problem.steps) + ", a new mesh after each " +
                    std::to_string(problem.adapt_every));
  line("patches", std::to_string(mesh.least_patches) + " to " + std::to_string(mesh.most_patches));
  line("updates in sweeps", std::to_string(serial.skeletons));
  line("enclave tasks", std::to_string(serial.enclaves));
  line("new meshes change the total", example::number("by %.1e of it", mesh.transfer_error));
  line("serial run", example::number("%.2f ms", 1e3 * serial.seconds));
  std::printf("\nAll steps, median of %s\n",
              example::plural(options.repetitions, "repetition").c_str());
  example::print(found);
}

void run_all(Options const& options) {
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
  MeshFindings mesh;
  Result const expected = run_serially(options, serial, mesh);
  // The runs alternate, so that a temporary disturbance of the machine affects all.
  for (int k = 0; k < options.repetitions; ++k)
    for (StrategyFindings& each : found) {
      progress.next(each.name.c_str());
      each.add(run_with(each.name, options, expected));
    }
  progress.clear();
  print(options, serial, mesh, found);
  write_summary(options, serial, mesh, found);
  example::draw(options.output / "strategies.svg",
                "adaptive_mesh: " + std::to_string(options.problem.steps) + " steps, " +
                    std::to_string(serial.enclaves) + " enclave tasks",
                found);
  std::printf("\nWritten to %s: summary.json, mesh.svg, strategies.svg\n",
              options.output.string().c_str());
  if (!example::all_agree(found))
    throw std::runtime_error("not all strategies agree with the serial run");
  if (!(mesh.transfer_error < 1e-12))
    throw std::runtime_error("a new mesh has changed the total by more than rounding does");
}

}  // namespace
}  // namespace adaptive_mesh

int main(int argc, char** argv) {
  try {
    adaptive_mesh::Options const options = adaptive_mesh::parse(argc, argv);
    Kokkos::ScopeGuard const kokkos;
    adaptive_mesh::run_all(options);
    return 0;
  } catch (std::exception const& error) {
    std::fprintf(stderr, "adaptive_mesh: %s\n", error.what());
    return 1;
  }
}
