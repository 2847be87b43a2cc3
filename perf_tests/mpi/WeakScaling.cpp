// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a step takes on many ranks, from what tasks and messages cost on one and two. The model is
// stated in WeakModel.hpp.
#include "../taskbench/Measure.hpp"
#include "../taskbench/Metg.hpp"
#include "Cores.hpp"
#include "Endpoint.hpp"
#include "Parts.hpp"
#include "StencilPart.hpp"
#include "WeakModel.hpp"

#include <Trellis.hpp>
#include <Trellis_Mpi.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace mpi_perf {
namespace {

using namespace trellis;

constexpr std::array model_names{"bare", "trellis", "trellis_plan"};
constexpr std::size_t message_bytes = 64;  // as the outputs of columns
constexpr int under_way = 16;

/// What was compared, with the ways that it was done in.
struct Compared {
  std::unique_ptr<std::vector<Way>> ways;
  std::vector<Times> times;

  Compared(World const& world, std::vector<Way> all, std::int64_t steps, int repetitions)
      : ways(std::make_unique<std::vector<Way>>(std::move(all))),
        times(compare(world, *ways, steps, repetitions)) {}

  [[nodiscard]] double us_per_step(std::string const& model) const {
    for (Times const& each : times)
      if (each.way->model == model) return 1e6 * each.per_step();
    throw std::logic_error("nobody has measured " + model);
  }
};

/// The stencil on all ranks of a world, one worker in each.
class Stencils {
 public:
  explicit Stencils(World const& world)
      : m_world(world),
        m_models(stencil_models(make_graph(1), mpi::Communicator::duplicate(world.comm()))) {}

  [[nodiscard]] Compared run(taskbench::Parameters parameters, int columns, std::int64_t steps,
                             bool agrees, bool by_hand, int repetitions) const {
    parameters.shape.width = columns * m_world.size();
    parameters.shape.steps = taskbench::usable_steps(parameters, steps);
    auto const part = std::make_shared<Part>(m_world, parameters, agrees);
    std::vector<Way> ways;
    for (StencilModel const& model : m_models)
      if (model.name == "trellis" || model.name == "trellis_plan" ||
          (by_hand && model.name == "bare"))
        ways.push_back({model.name, model.kind, 1,
                        [part, run = model.run](std::int64_t) { return run(*part); }});
    return Compared(m_world, std::move(ways), part->steps(), repetitions);
  }

 private:
  World const& m_world;
  std::vector<StencilModel> m_models;
};

/// Allreduces of one number, one after the other.
std::vector<Way> allreduce_ways(World const& world) {
  using View = Kokkos::View<double, Kokkos::HostSpace>;
  View const x("x");
  auto const comm = mpi::Communicator::duplicate(world.comm());
  auto const graph = make_graph(1);
  auto const checked = [&world, x](auto const& f) {
    return [&world, x, f](std::int64_t steps) {
      x() = world.rank() + 1;
      double const seconds = world.time([&] { f(steps); });
      if (x() != world.size()) throw std::runtime_error("allreduce: the maximum is wrong");
      return seconds;
    };
  };
  auto const plan = std::make_shared<Plan>(graph->record("allreduces", [&] {
    for (int k = 0; k < 2; ++k) mpi::allreduce(*graph, comm, x, mpi::max);
  }));
  return {{"bare", "bare", 1, checked([&world, x](std::int64_t steps) {
             for (std::int64_t k = 0; k < steps; ++k)
               MPI_Allreduce(MPI_IN_PLACE, x.data(), 1, MPI_DOUBLE, MPI_MAX, world.comm());
           })},
          {"trellis", "dynamic", 1, checked([graph, comm, x](std::int64_t steps) {
             for (std::int64_t k = 0; k < steps; ++k) mpi::allreduce(*graph, comm, x, mpi::max);
             graph->wait();
           })},
          {"trellis_plan", "replay", 1, checked([graph, plan](std::int64_t steps) {
             graph->replay(*plan, static_cast<std::uint64_t>(steps / 2));
             graph->wait();
           })}};
}

std::vector<Way> message_ways(World const& world, Traffic const& traffic, bool by_hand) {
  auto const comm = mpi::Communicator::duplicate(world.comm());
  auto const endpoint = std::make_shared<Endpoint>(world, traffic, comm);
  auto const graph = make_graph(1);
  std::vector<Way> ways{trellis_way(world, endpoint, graph), plan_way(world, endpoint, graph)};
  if (by_hand) ways.push_back(bare_way(world, endpoint));
  return ways;
}

using AllCosts = std::map<std::string, Costs>;

class Measurement {
 public:
  Measurement(World const& world, Options const& options)
      : m_world(world),
        m_cores(world),
        m_repetitions(options.smoke ? 1 : std::max(3, options.repetitions / 2)),
        m_is_short(options.smoke) {
    m_parameters.kernel = taskbench::Kernel::compute_bound;
    m_parameters.shape.pattern = taskbench::Pattern::stencil_1d;
    m_parameters.shape.width = 1;
    Bound const bound(m_cores.own());
    m_rate = world.of_first(
        world.is_first() ? taskbench::bare_rate(m_parameters, 1, m_is_short ? 1e-3 : 0.05) : 0);
  }

  [[nodiscard]] Cores const& cores() const { return m_cores; }

  /// All ranks call it, and those that take no part wait asleep.
  [[nodiscard]] AllCosts costs(int columns) {
    AllCosts all;
    with_first(1, [&](World const& one) {
      Stencils const stencils(one);
      m_parameters.iterations = 1;
      auto const run = [&](bool agrees) {
        return stencils.run(m_parameters, columns, steps(400), agrees, true, m_repetitions);
      };
      Compared const alone = run(false);
      Compared const agreeing = run(true);
      Compared const reduced(one, allreduce_ways(one), steps(400), m_repetitions);
      for (char const* const name : model_names) {
        double const step = alone.us_per_step(name);
        all[name].task = at_least_0((step - alone.us_per_step("bare")) / columns);
        all[name].agreement = at_least_0(agreeing.us_per_step(name) - step);
        all[name].stage = reduced.us_per_step(name);
      }
    });
    with_first(2, [&](World const& two) {
      Compared const reduced(two, allreduce_ways(two), steps(400), m_repetitions);
      Compared const exchanged(
          two,
          message_ways(two, {Traffic::Pattern::exchange, message_bytes, under_way, false}, true),
          steps(100), m_repetitions);
      Traffic const ping_pong{Traffic::Pattern::ping_pong, message_bytes, 1, false};
      Compared const answered(two, message_ways(two, ping_pong, true), steps(400), m_repetitions);
      for (char const* const name : model_names) {
        Costs& costs = all[name];
        costs.stage = at_least_0(reduced.us_per_step(name) - costs.stage);
        costs.message = exchanged.us_per_step(name) / (2 * under_way);
        costs.latency = at_least_0(answered.us_per_step(name) / 2 - 2 * costs.message);
      }
      // (MPI by hand does not let go of the core, so it has no such cost.)
      Bound const together(m_cores.first());
      if (m_cores.first() < 0) return;
      Compared const shared(two, message_ways(two, ping_pong, false), steps(40), m_repetitions);
      for (char const* const name : {"trellis", "trellis_plan"})
        all[name].handover =
            at_least_0((shared.us_per_step(name) - answered.us_per_step(name)) / 2);
    });
    return all;
  }

  /// What by hand a column takes on one rank, if its kernel is to take so long. On the first rank.
  [[nodiscard]] double kernel_us(double about_us, int columns) {
    set_kernel(about_us);
    double found = 0;
    with_first(1, [&](World const& one) {
      found = Stencils(one)
                  .run(m_parameters, columns, steps_of(about_us, columns, 1), false, true,
                       m_repetitions)
                  .us_per_step("bare") /
              columns;
    });
    return found;
  }

  /// Calls `report(compared)` on the ranks that take part.
  template <class F>
  void check(double about_us, int columns, int ranks, int sharing, bool agrees, F const& report) {
    set_kernel(about_us);
    with_first(ranks, [&](World const& part) {
      report(Stencils(part).run(m_parameters, columns, steps_of(about_us, columns, sharing), agrees,
                                sharing == 1, m_repetitions));
    });
  }
  [[nodiscard]] std::int64_t iterations() const { return m_parameters.iterations; }

 private:
  /// `f(world)` on the first so many ranks, each on its core.
  template <class F>
  void with_first(int ranks, F const& f) const {
    if (std::unique_ptr<World> const part = m_world.first(ranks)) {
      Bound const bound(m_cores.own());
      f(*part);
    }
    m_world.meet();
  }
  [[nodiscard]] std::int64_t steps(std::int64_t wanted) const { return m_is_short ? 8 : wanted; }
  [[nodiscard]] std::int64_t steps_of(double about_us, int columns, int sharing) const {
    double const step_us = columns * (about_us + 1) * sharing + (sharing > 1 ? 500 : 0);
    return m_is_short ? 4 : std::clamp<std::int64_t>(std::llround(2e4 / step_us), 10, 1000);
  }
  void set_kernel(double about_us) {
    m_parameters.iterations = std::max<std::int64_t>(1, std::llround(1e-6 * about_us * m_rate));
  }
  static double at_least_0(double value) { return std::max(0.0, value); }

  World const& m_world;
  Cores m_cores;
  int m_repetitions;
  bool m_is_short;
  taskbench::Parameters m_parameters;
  double m_rate = 1;  ///< of iterations in a second
};

/// Powers of two up to 10^5, and that.
std::vector<int> many_ranks() {
  constexpr int most = 100'000;
  std::vector<int> all;
  for (int ranks = 1; ranks < most; ranks *= 2) all.push_back(ranks);
  all.push_back(most);
  return all;
}

char const* kind_of(std::string const& model) {
  return model == "bare" ? "bare" : model == "trellis" ? "dynamic" : "replay";
}

std::string text(char const* format, double value) {
  std::array<char, 32> made{};
  std::snprintf(made.data(), made.size(), format, value);
  return made.data();
}

Json row_of(WeakStep const& step, Costs const& costs, int ranks, int sharing) {
  double const whole = predicted(costs, step, ranks, sharing);
  return {{"pattern", "stencil_1d"},
          {"kernel", "compute_bound"},
          {"bytes", message_bytes},
          {"ranks", ranks},
          {"width", step.columns},
          {"granularity_us", step.kernel},
          {"agrees", step.agrees ? 1 : 0},
          {"ranks_on_a_core", sharing},
          {"predicted_us_per_step", whole},
          {"predicted_efficiency", predicted(costs, step, 1) / whole}};
}

void report_costs(Report& report, AllCosts const& all, int columns) {
  report.begin_table("weak_scaling",
                     "what tasks and messages cost, in us (perf_tests/README.md has the model)",
                     {{"cost_task_us", "task"},
                      {"cost_message_us", "message"},
                      {"cost_latency_us", "latency"},
                      {"cost_agreement_us", "allreduce"},
                      {"cost_stage_us", "its stage"},
                      {"cost_handover_us", "handover"}});
  for (char const* const name : model_names) {
    Costs const& costs = all.at(name);
    report.add_derived(name, kind_of(name),
                       {{"pattern", "costs"},
                        {"kernel", "compute_bound"},
                        {"bytes", message_bytes},
                        {"ranks", 2},
                        {"width", columns},
                        {"cost_task_us", costs.task},
                        {"cost_message_us", costs.message},
                        {"cost_latency_us", costs.latency},
                        {"cost_agreement_us", costs.agreement},
                        {"cost_stage_us", costs.stage},
                        {"cost_handover_us", costs.handover}});
  }
}

void report_check(Report& report, Compared const& compared, AllCosts const& costs,
                  WeakStep const& step, int ranks, int sharing, std::int64_t iterations) {
  report.begin_table(
      "weak_scaling",
      std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks") +
          (sharing > 1 ? ", " + std::to_string(sharing) + " of them on a core" : std::string()) +
          ", " + std::to_string(step.columns) + " columns of " + text("%.3g", step.kernel) +
          " us on each" + (step.agrees ? ", an allreduce in each step" : ""),
      {{"us_per_step", "us/step"},
       {"us_per_step_fastest", "(fastest)"},
       {"predicted_us_per_step", "predicted"},
       {"error", "error"}});
  for (Times const& each : compared.times) {
    Json row = row_of(step, costs.at(each.way->model), ranks, sharing);
    double const measured = 1e6 * each.per_step();
    row["iterations"] = iterations;
    row["tasks"] = each.steps * step.columns * ranks;
    row["messages"] = each.steps * 2 * (ranks - 1);
    row["us_per_step"] = measured;
    row["us_per_step_fastest"] = 1e6 * each.fastest_step();
    row["error"] = row["predicted_us_per_step"].get<double>() / measured - 1;
    report.add(each, row);
  }
}

void report_predictions(Report& report, AllCosts const& costs, WeakStep const& step,
                        double network_us) {
  double const by_hand = costs.at("bare").latency + 2 * costs.at("bare").message;
  for (double const network : {0.0, network_us}) {
    report.begin_table(
        "prediction",
        "us in a step (efficiency), " + std::to_string(step.columns) + " columns of " +
            text("%.3g", step.kernel) + " us on each rank, a core for each rank" +
            (step.agrees ? ", an allreduce in each step" : "") +
            (network > 0 ? ", a network of " + text("%.3g", network) + " us a message"
                         : ", the messages of this machine, " + text("%.3g", by_hand) + " us"),
        {});
    std::string heading = "    ranks ";
    for (char const* const name : model_names) heading += std::string("  ") + name + "      ";
    report.note(heading);
    for (int const ranks : many_ranks()) {
      std::string line = text("%9.0f", ranks);
      for (char const* const name : model_names) {
        Costs const used =
            network > 0 ? with_network(costs.at(name), by_hand, network) : costs.at(name);
        Json row = row_of(step, used, ranks, 1);
        row["network_us"] = network > 0 ? Json(network) : Json();
        line += text("%11.4g", row["predicted_us_per_step"].get<double>()) +
                text(" (%.3f)", row["predicted_efficiency"].get<double>());
        report.add_derived(name, kind_of(name), row);
      }
      report.note(line);
    }
  }
}

}  // namespace

void run_weak_scaling(World const& world, Options const& options, Report& report) {
  Measurement measurement(world, options);
  int const columns = options.columns;
  if (world.size() < 2 || measurement.cores().sharing(world, 2) > 1) {
    report.begin_table("weak_scaling", "left out", {});
    report.note(world.size() < 2 ? "It needs two ranks, which tell what messages cost."
                                 : "It needs a core for each of two ranks.");
    return;
  }
  AllCosts const costs = measurement.costs(columns);
  if (world.is_first()) report_costs(report, costs, columns);
  std::vector<double> kernels{10, 100};
  if (options.quick) kernels = {20};
  if (options.smoke) kernels = {5};
  for (double const about_us : kernels) {
    double const kernel = measurement.kernel_us(about_us, columns);
    for (bool const agrees : {false, true}) {
      WeakStep const step{columns, kernel, agrees};
      for (int ranks = 1; ranks <= world.size(); ranks *= 2) {
        int const sharing = measurement.cores().sharing(world, ranks);
        measurement.check(about_us, columns, ranks, sharing, agrees, [&](Compared const& compared) {
          if (world.is_first())
            report_check(report, compared, costs, step, ranks, sharing, measurement.iterations());
        });
      }
    }
    if (world.is_first())
      for (bool const agrees : {false, true})
        report_predictions(report, costs, {columns, kernel, agrees}, options.network_us);
  }
}

}  // namespace mpi_perf
