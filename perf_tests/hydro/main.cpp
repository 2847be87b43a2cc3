// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A hydrodynamics mini-app: the compressible Euler equations of an ideal gas in two dimensions, on
// a staggered grid, a Lagrangian step and a remap by two sweeps, in our words after the published
// algorithm of CloverLeaf. What does each further task take of the processors when the same rows
// are cut into more slabs?
#include "Plain.hpp"
#include "Slabs.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <sys/resource.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace hydro {
namespace {

struct Options {
  int cells = 960;
  int steps = 20;
  int few = 96;
  int many = 480;
  int rounds = 3;
  int workers = 2;
  std::string json = "out/perf/hydro.json";
};

/// A square of dense hot gas in the corner of thin gas at rest.
void set_up(Grid const& grid, Fields const& f) {
  for (int r = grid.halo; r < grid.end(); ++r)
    for (int c = grid.halo; c < grid.end(); ++c) {
      bool const inside = 2 * (c - grid.halo) < grid.n && 5 * (r - grid.halo) < grid.n;
      f.density0(r, c) = inside ? 1.0 : 0.2;
      f.energy0(r, c) = inside ? 2.5 : 1.0;
    }
  f.time_step() = longest_step;
}

struct Summary {
  double mass = 0;
  double internal = 0;  ///< energy
  double kinetic = 0;
};
Summary summary(Grid const& grid, Fields const& f) {
  Summary all;
  for (int r = grid.halo; r < grid.end(); ++r)
    for (int c = grid.halo; c < grid.end(); ++c) {
      double squares = 0;
      for (int k = 0; k < 4; ++k) {
        double const u = f.x_velocity0(r + k / 2, c + k % 2);
        double const v = f.y_velocity0(r + k / 2, c + k % 2);
        squares += 0.25 * (u * u + v * v);
      }
      double const mass = f.density0(r, c) * grid.volume();
      all.mass += mass;
      all.internal += mass * f.energy0(r, c);
      all.kinetic += 0.5 * mass * squares;
    }
  return all;
}

bool are_equal(Field const& a, Field const& b) {
  return std::memcmp(a.data(), b.data(), a.span() * sizeof(double)) == 0;
}
bool agree(Fields const& a, Fields const& b) {
  return are_equal(a.density0, b.density0) && are_equal(a.energy0, b.energy0) &&
         are_equal(a.pressure, b.pressure) && are_equal(a.viscosity, b.viscosity) &&
         are_equal(a.x_velocity0, b.x_velocity0) && are_equal(a.y_velocity0, b.y_velocity0);
}

/// Seconds: of the clock, and of all threads.
struct Times {
  double wall = 0;
  double user = 0;
  double system = 0;
  static Times now() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    auto const seconds = [](timeval const& time) {
      return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    auto const clock = std::chrono::steady_clock::now().time_since_epoch();
    return {std::chrono::duration<double>(clock).count(), seconds(usage.ru_utime),
            seconds(usage.ru_stime)};
  }
  Times& add_since(Times const& begin) {
    Times const end = now();
    wall += end.wall - begin.wall;
    user += end.user - begin.user;
    system += end.system - begin.system;
    return *this;
  }
};

/// A program with its own fields, that goes on from where it was.
struct Model {
  std::string name;
  Fields fields;
  std::function<double(bool)> step;
  std::uint64_t tasks = 0;
  int steps_done = 0;
  double time = 0;
  Times taken{};

  void run(int steps) {
    Times const begin = Times::now();
    for (int k = 0; k < steps; ++k) time += step(steps_done++ % 2 == 0);
    taken.add_since(begin);
  }
};

/// Waits for all of it.
Model in_slabs(trellis::TaskGraph& graph, Grid const& grid, int slabs) {
  Model model{std::to_string(slabs) + " slabs", Fields(grid), {}};
  set_up(grid, model.fields);
  auto const run = std::make_shared<SlabRun>(graph, grid, model.fields, slabs);
  model.step = [run](bool x_first) { return run->step(x_first); };
  model.tasks = run->tasks();
  return model;
}

Model fork_and_join(Grid const& grid) {
  Model model{"fork and join", Fields(grid), {}};
  set_up(grid, model.fields);
  auto const run = std::make_shared<PlainRun>(grid);
  model.step = [run, grid, fields = model.fields](bool x_first) {
    Step(*run, grid, fields).submit(x_first);
    return fields.time_step();
  };
  return model;
}

nlohmann::json row(Options const& options, Model const& model) {
  int const steps = options.rounds * options.steps;
  return {{"benchmark", "hydro"},
          {"model", model.name},
          {"cells", options.cells},
          {"workers", options.workers},
          {"steps", steps},
          {"tasks_per_step", model.tasks},
          {"ms_per_step", 1e3 * model.taken.wall / steps},
          {"user_ms_per_step", 1e3 * model.taken.user / steps},
          {"system_ms_per_step", 1e3 * model.taken.system / steps}};
}

/// Returns whether everything agrees.
bool run(Options const& options) {
  Grid const grid{options.cells, 10.0 / options.cells};
  trellis::TaskGraphOptions graph_options;
  graph_options.name = "hydro";
  graph_options.workers = options.workers;
  graph_options.threads_per_worker = 1;
  trellis::TaskGraph graph(graph_options);
  std::vector<Model> models;
  models.push_back(fork_and_join(grid));
  models.push_back(in_slabs(graph, grid, options.few));
  models.push_back(in_slabs(graph, grid, options.many));
  Summary const before = summary(grid, models[0].fields);
  // In turns, so that what disturbs the machine for a while disturbs all.
  for (int round = -1; round < options.rounds; ++round)
    for (Model& model : models) {
      model.run(options.steps);
      graph.wait();
      if (round < 0) model.taken = {};
    }

  bool right = true;
  Summary const after = summary(grid, models[0].fields);
  double const lost = std::fabs(after.mass / before.mass - 1);
  std::printf("t = %.6f: mass %.12g (changed by %.1e), internal energy %.8g, kinetic energy %.8g\n",
              models[0].time, after.mass, lost, after.internal, after.kinetic);
  // Also false for what is not a number.
  if (!(lost < 1e-11) || !(after.kinetic > 0)) {
    std::printf("WRONG: mass is not conserved, or nothing moves\n");
    right = false;
  }
  for (Model const& model : models) {
    if (agree(model.fields, models[0].fields) && model.time == models[0].time) continue;
    std::printf("WRONG: %s differs from fork and join\n", model.name.c_str());
    right = false;
  }

  nlohmann::json rows = nlohmann::json::array();
  std::printf("%-14s %8s %12s %12s %12s\n", "", "tasks", "ms per step", "user", "system");
  for (Model const& model : models) {
    nlohmann::json const each = row(options, model);
    std::printf("%-14s %8d %12.3f %12.3f %12.3f\n", model.name.c_str(),
                static_cast<int>(model.tasks), each["ms_per_step"].get<double>(),
                each["user_ms_per_step"].get<double>(), each["system_ms_per_step"].get<double>());
    rows.push_back(each);
  }
  double const further =
      static_cast<double>(models[2].tasks - models[1].tasks) * options.rounds * options.steps;
  double const user = 1e6 * (models[2].taken.user - models[1].taken.user) / further;
  double const system = 1e6 * (models[2].taken.system - models[1].taken.system) / further;
  std::printf("each further task: %.3f us of processor time (user %.3f, system %.3f)\n",
              user + system, user, system);
  for (std::size_t k : {1, 2})
    std::printf("fork and join / %s: %.2f\n", models[k].name.c_str(),
                models[0].taken.wall / models[k].taken.wall);
  rows.push_back({{"benchmark", "hydro"},
                  {"model", "further tasks"},
                  {"cells", options.cells},
                  {"workers", options.workers},
                  {"user_us_per_task", user},
                  {"system_us_per_task", system}});
  std::filesystem::path const path(options.json);
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path());
  nlohmann::json const context = {
      {"kokkos", KOKKOS_VERSION},
      {"space", Kokkos::DefaultHostExecutionSpace::name()},
      {"commit",
       std::getenv("TRELLIS_COMMIT") != nullptr ? std::getenv("TRELLIS_COMMIT") : "not given"}};
  std::ofstream(path) << nlohmann::json{{"context", context}, {"rows", rows}}.dump(1) << '\n';
  return right;
}

}  // namespace
}  // namespace hydro

int main(int argc, char** argv) {
  hydro::Options options;
  CLI::App app("A hydrodynamics mini-app as plans of row slabs: what each further task costs");
  app.add_option("--cells", options.cells, "in each direction")->check(CLI::Range(4, 20000));
  app.add_option("--steps", options.steps, "of each round")->check(CLI::Range(1, 1000000));
  app.add_option("--rounds", options.rounds, "that count")->check(CLI::Range(1, 1000));
  app.add_option("--few", options.few, "slabs")->check(CLI::Range(1, 10000));
  app.add_option("--many", options.many, "slabs")->check(CLI::Range(1, 10000));
  app.add_option("--workers", options.workers, "threads that run tasks")->check(CLI::Range(1, 256));
  app.add_option("--json", options.json, "where the rows go");
  CLI11_PARSE(app, argc, argv);
  if (2 * options.many > options.cells || options.few >= options.many) {
    std::fprintf(stderr, "--few must be less than --many, and a slab has two rows at least\n");
    return 1;
  }
  Kokkos::ScopeGuard const kokkos(argc, argv);
  try {
    return hydro::run(options) ? 0 : 1;
  } catch (std::exception const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
