// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Jacobi relaxation of the Laplace equation on a square: each cell becomes the mean of its four
// neighbours until the largest change of a step is small. The tasks are written once. They run
// twice: submitted step by step, and recorded as a plan that is replayed.
//
// Look at: `as_tasks` and `as_a_plan`. They differ by `record` and `replay`.
#include <Trellis.hpp>

#include <CLI/CLI.hpp>
#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using trellis::read, trellis::write, trellis::ResourcePolicy;
using Space = Kokkos::DefaultHostExecutionSpace;
using Field = Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace>;
using Rows = Kokkos::RangePolicy<Space, Kokkos::IndexType<int>>;
using Interval = std::pair<int, int>;

struct Options {
  int cells = 256;          ///< along each side, within one ring of boundary values
  int tiles = 8;            ///< along each side
  double tolerance = 1e-4;  ///< of the largest change in a step
  int check_every = 40;     ///< steps from one look at the change to the next
  int most_steps = 100000;
  int repetitions = 3;
  int workers = 0;
};

struct Tile {
  Interval rows;
  Interval columns;
};

/// One step of a row. All solvers call the same functor, so their fields agree in every bit.
struct Relax {
  Field before;
  Field after;
  Interval columns;
  KOKKOS_FUNCTION void operator()(int i) const {
    for (int j = columns.first; j < columns.second; ++j)
      after(i, j) =
          0.25 * ((before(i - 1, j) + before(i + 1, j)) + (before(i, j - 1) + before(i, j + 1)));
  }
};

struct LargestChange {
  Field before;
  Field after;
  Interval columns;
  KOKKOS_FUNCTION void operator()(int i, double& largest) const {
    for (int j = columns.first; j < columns.second; ++j)
      largest = Kokkos::max(largest, Kokkos::abs(after(i, j) - before(i, j)));
  }
};

/// A cold plate, with the warm side `i` = 0.
struct Plate {
  explicit Plate(Options const& options)
      : even("even", options.cells + 2, options.cells + 2),
        odd("odd", options.cells + 2, options.cells + 2) {
    for (Field const& field : {even, odd})
      Kokkos::deep_copy(Kokkos::subview(field, 0, Kokkos::ALL), 1.0);
  }
  Field even;  ///< the result: steps come in pairs
  Field odd;
};

struct Outcome {
  int steps = 0;
  double change = 0;
  double seconds = 0;
  std::uint64_t tasks = 0;
  Field field;
};

bool continues(Options const& options, Outcome const& outcome) {
  return outcome.change > options.tolerance && outcome.steps < options.most_steps;
}

// ---- the reference ------------------------------------------------------------------------------

Outcome plain(Options const& options) {
  Plate const plate(options);
  Interval const all(1, options.cells + 1);
  Rows const rows(1, options.cells + 1);
  Space const space;
  Outcome outcome;
  Kokkos::Timer const timer;
  do {
    for (int step = 0; step < options.check_every; step += 2) {
      Kokkos::parallel_for("there", rows, Relax{plate.even, plate.odd, all});
      Kokkos::parallel_for("back", rows, Relax{plate.odd, plate.even, all});
    }
    Kokkos::parallel_reduce("change", rows, LargestChange{plate.odd, plate.even, all},
                            Kokkos::Max<double>(outcome.change));
    outcome.steps += options.check_every;
  } while (continues(options, outcome));
  space.fence("jacobi_plan: before reading the clock");
  outcome.seconds = timer.seconds();
  outcome.field = plate.even;
  return outcome;
}

// ---- the tasks ----------------------------------------------------------------------------------

struct Tasks {
  Tasks(Options const& options, Plate const& on)
      : plate(on), largest("largest change of each tile", options.tiles * options.tiles) {
    auto const cut = [&](int k) {
      return Interval(1 + k * options.cells / options.tiles,
                      1 + (k + 1) * options.cells / options.tiles);
    };
    for (int k = 0; k < options.tiles; ++k)
      for (int l = 0; l < options.tiles; ++l) tiles.push_back({cut(k), cut(l)});
  }

  /// A step of a tile reads its cells and the layer around them, and writes its cells of the other
  /// field.
  void step(trellis::TaskGraph& graph, Field const& before, Field const& after) const {
    using Kokkos::subview;
    for (auto const& [rows, columns] : tiles)
      trellis::parallel_for(
          "step",
          ResourcePolicy(graph, Rows(rows.first, rows.second), read(subview(before, rows, columns)),
                         read(subview(before, rows.first - 1, columns)),
                         read(subview(before, rows.second, columns)),
                         read(subview(before, rows, columns.first - 1)),
                         read(subview(before, rows, columns.second)),
                         write(subview(after, rows, columns))),
          Relax{before, after, columns});
  }
  void two_steps(trellis::TaskGraph& graph) const {
    step(graph, plate.even, plate.odd);
    step(graph, plate.odd, plate.even);
  }

  /// Returns the largest change of the newest step.
  trellis::Future<double> change(trellis::TaskGraph& graph) const {
    using Kokkos::subview;
    for (std::size_t k = 0; k < tiles.size(); ++k) {
      auto const& [rows, columns] = tiles[k];
      trellis::parallel_reduce("change",
                               ResourcePolicy(graph, Rows(rows.first, rows.second),
                                              read(subview(plate.odd, rows, columns)),
                                              read(subview(plate.even, rows, columns))),
                               LargestChange{plate.odd, plate.even, columns},
                               Kokkos::Max<double, Kokkos::HostSpace>(subview(largest, k)));
    }
    return trellis::host_task(
        "largest change", ResourcePolicy(graph, read(largest)),
        [all = largest] { return *std::max_element(all.data(), all.data() + all.size()); });
  }

  Plate plate;
  Kokkos::View<double*, Kokkos::HostSpace> largest;
  std::vector<Tile> tiles;
};

Outcome as_tasks(trellis::TaskGraph& graph, Options const& options) {
  Plate const plate(options);
  Tasks const tasks(options, plate);
  Outcome outcome;
  std::uint64_t const before = graph.submitted();
  Kokkos::Timer const timer;
  do {
    for (int step = 0; step < options.check_every; step += 2) tasks.two_steps(graph);
    outcome.change = tasks.change(graph).get();
    outcome.steps += options.check_every;
  } while (continues(options, outcome));
  graph.wait();
  outcome.seconds = timer.seconds();
  outcome.tasks = graph.submitted() - before;
  outcome.field = plate.even;
  return outcome;
}

Outcome as_a_plan(trellis::TaskGraph& graph, Options const& options, trellis::Plan& steps) {
  Plate const plate(options);
  Tasks const tasks(options, plate);
  Outcome outcome;
  Kokkos::Timer const timer;
  steps = graph.record("two steps", [&] { tasks.two_steps(graph); });
  trellis::Future<double> change;
  trellis::Plan const look = graph.record("change", [&] { change = tasks.change(graph); });
  auto const rounds = static_cast<std::uint64_t>(options.check_every / 2);
  do {
    graph.replay(steps, rounds);
    graph.replay(look);
    outcome.change = change.get();  // of the newest replay
    outcome.steps += options.check_every;
    outcome.tasks += rounds * steps.tasks() + look.tasks();
  } while (continues(options, outcome));
  graph.wait();
  outcome.seconds = timer.seconds();
  outcome.field = plate.even;
  return outcome;
}

// ---- the program --------------------------------------------------------------------------------

bool same(Outcome const& a, Outcome const& b) {
  return a.steps == b.steps && a.change == b.change &&
         std::equal(a.field.data(), a.field.data() + a.field.size(), b.field.data());
}

void print(char const* name, Outcome const& outcome, Outcome const& yardstick) {
  std::printf("%-14s %7d %12.5g %10.4f ", name, outcome.steps, outcome.change, outcome.seconds);
  if (outcome.tasks == 0)
    std::printf("%9s %9s", "-", "-");
  else
    std::printf("%9llu %9.2f", static_cast<unsigned long long>(outcome.tasks),
                1e6 * outcome.seconds / static_cast<double>(outcome.tasks));
  std::printf("   %s\n", same(outcome, yardstick) ? "yes" : "NO");
}

/// Returns the fastest of several runs, which all have the same result.
template <class Run>
Outcome best_of(int repetitions, Run const& run) {
  Outcome best = run();
  for (int k = 1; k < repetitions; ++k) {
    Outcome next = run();
    if (next.seconds < best.seconds) best = std::move(next);
  }
  return best;
}

bool run(Options const& options) {
  trellis::TaskGraphOptions graph_options;
  graph_options.name = "jacobi_plan";
  if (options.workers > 0) graph_options.workers = options.workers;
  trellis::TaskGraph graph(graph_options);

  std::printf("%d x %d cells in %d x %d tiles, %s, %d workers\n", options.cells, options.cells,
              options.tiles, options.tiles, Space::name(), graph.workers());
  trellis::Plan steps;
  Outcome const kokkos = best_of(options.repetitions, [&] { return plain(options); });
  Outcome const dynamic = best_of(options.repetitions, [&] { return as_tasks(graph, options); });
  Outcome const planned =
      best_of(options.repetitions, [&] { return as_a_plan(graph, options, steps); });

  std::printf("a plan of two steps: %zu tasks, %zu edges in a round, %zu to the next one\n\n",
              steps.tasks(), steps.edges(), steps.edges_between_rounds());
  std::printf("%-14s %7s %12s %10s %9s %9s   %s\n", "", "steps", "last change", "seconds", "tasks",
              "us/task", "same field");
  print("plain Kokkos", kokkos, kokkos);
  print("as tasks", dynamic, kokkos);
  print("as a plan", planned, kokkos);
  std::printf("\nus/task: the run time divided by the number of tasks; the fastest of %d runs\n",
              options.repetitions);

  bool const agree = same(dynamic, kokkos) && same(planned, kokkos);
  if (planned.change > options.tolerance)
    std::printf("not converged in %d steps, ", planned.steps);
  else
    std::printf("converged in %d steps, ", planned.steps);
  std::printf("tasks and plan agree with plain Kokkos: %s\n", agree ? "yes" : "no");
  return agree;
}

[[noreturn]] void fail(std::string const& why) {
  throw std::runtime_error(why);
}

std::string text(double number) {
  std::ostringstream out;
  out << number;
  return out.str();
}

Options parse(int argc, char** argv) {
  Options options;
  CLI::App app(
      "Jacobi relaxation in tiles until it has converged, by plain Kokkos, as tasks that are "
      "submitted step\n"
      "by step, and as a plan that is replayed. Compares the fields in every bit.",
      "jacobi_plan");
  app.add_option("--grid", options.cells, "cells along each side")->capture_default_str();
  app.add_option("--tiles", options.tiles, "tiles along each side")->capture_default_str();
  app.add_option("--tolerance", options.tolerance,
                 "largest change in a step at which it has converged")
      ->capture_default_str();
  app.add_option("--check-every", options.check_every,
                 "steps from one look at the change to the next, even")
      ->capture_default_str();
  app.add_option("--most-steps", options.most_steps, "where it gives up")->capture_default_str();
  app.add_option("--repetitions", options.repetitions, "how often each way is timed")
      ->capture_default_str();
  app.add_option("--workers", options.workers, "workers of the task graph, 0: all cores")
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& error) {
    std::exit(app.exit(error));
  }
  if (options.cells < 1) fail("--grid must be at least 1, it is " + std::to_string(options.cells));
  if (options.cells > 30000)
    fail("--grid " + std::to_string(options.cells) + " is too large: at most 30000");
  if (options.tiles < 1) fail("--tiles must be at least 1, it is " + std::to_string(options.tiles));
  if (options.tiles > options.cells)
    fail("--tiles " + std::to_string(options.tiles) + " is more than the " +
         std::to_string(options.cells) + " cells along a side");
  if (!(options.tolerance > 0))
    fail("--tolerance must be positive, it is " + text(options.tolerance));
  if (options.check_every < 2 || options.check_every % 2 != 0)
    fail("--check-every must be even and at least 2, it is " + std::to_string(options.check_every));
  if (options.most_steps < 1)
    fail("--most-steps must be at least 1, it is " + std::to_string(options.most_steps));
  if (options.repetitions < 1)
    fail("--repetitions must be at least 1, it is " + std::to_string(options.repetitions));
  if (options.workers < 0)
    fail("--workers must not be negative, it is " + std::to_string(options.workers));
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    Options const options = parse(argc, argv);
    auto settings = Kokkos::InitializationSettings();
    if (options.workers > 0) settings.set_num_threads(options.workers);
    Kokkos::ScopeGuard const kokkos(settings);
    return run(options) ? 0 : 1;
  } catch (std::exception const& error) {
    std::fprintf(stderr, "jacobi_plan: %s\n", error.what());
    return 1;
  }
}
