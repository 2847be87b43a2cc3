// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Task Bench's parameters, several programming models. perf_tests/README.md says what is measured
// and how.
#include "Options.hpp"
#include "Report.hpp"
#ifdef TASKBENCH_HAS_OPENMP
#include "models/OpenMP.hpp"
#endif

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <utility>

namespace taskbench {
namespace {

template <class Enum, std::size_t N>
Enum named(std::array<std::string_view, N> const& names, std::string const& name) {
  return static_cast<Enum>(std::find(names.begin(), names.end(), name) - names.begin());
}

std::vector<std::string> or_default(std::vector<std::string> const& given,
                                    std::vector<std::string> const& otherwise) {
  return given.empty() ? otherwise : given;
}

class Program {
 public:
  Program(Options const& options, std::vector<std::unique_ptr<Model>> const& all)
      : m_options(options), m_report(options.workers, all) {
    for (auto const& each : all) m_models.push_back(each.get());
  }

  void smoke() {
    for (std::string const& pattern :
         or_default(m_options.patterns, {pattern_names.begin(), pattern_names.end()})) {
      // Kernels and patterns have nothing to do with each other: one pattern with all kernels will
      // do.
      std::vector<std::string> kernels{"empty"};
      if (pattern == "stencil_1d") kernels.assign(kernel_names.begin(), kernel_names.end());
      for (std::string const& kernel : or_default(m_options.kernels, kernels)) {
        Parameters parameters = base(pattern, kernel, 13, 26);
        if (m_options.iterations < 0) parameters.iterations = 4;
        if (parameters.output_bytes == 16) parameters.output_bytes = 48;
        parameters.scratch_bytes = 4 * block_bytes;
        parameters.settle_ms = 0;
        std::vector<Model*> models = m_models;
        if (parameters.break_edge) {
          std::erase_if(models, [](Model const* model) { return !model->declares_edges(); });
          if (Edges(parameters.shape, parameters.copies, true).dropped() < 0)
            throw std::runtime_error("this pattern has no edge to leave out");
        }
        measure(models, parameters, 1, m_left_out);
      }
      std::printf("%s: right results\n", pattern.c_str());
    }
    std::set<std::pair<std::string, std::string>> said;
    for (LeftOut const& each : m_left_out)
      if (said.emplace(each.model, each.pattern).second)
        std::printf("not run: %s, %s (%s)\n", each.model.c_str(), each.pattern.c_str(),
                    each.why.c_str());
  }

  void run() {
    auto const begin = std::chrono::steady_clock::now();
    for (std::string const& part : m_options.parts) {
      if (part == "cost") cost();
      if (part == "metg") metg();
      if (part == "tasks") over_tasks();
      if (part == "width") over_width();
    }
    m_report.left_out(m_left_out);
    m_report.finish(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    m_report.write(m_options.output);
  }

 private:
  [[nodiscard]] Parameters base(std::string const& pattern, std::string const& kernel, int width,
                                std::int64_t steps) const {
    Parameters parameters = m_options.parameters;
    parameters.shape.pattern = named<Pattern>(pattern_names, pattern);
    if (m_options.quick) parameters.patience = 0.3;
    parameters.kernel = named<Kernel>(kernel_names, kernel);
    parameters.shape.width = m_options.width != 0 ? m_options.width : width;
    parameters.shape.steps =
        usable_steps(parameters, m_options.steps != 0 ? m_options.steps : steps);
    if (m_options.iterations >= 0)
      parameters.iterations = m_options.iterations;
    else
      parameters.iterations = parameters.kernel == Kernel::empty ? 0 : 100;
    return parameters;
  }
  [[nodiscard]] int repetitions(int otherwise) const {
    return m_options.repetitions != 0 ? m_options.repetitions : otherwise;
  }

  void cost() {
    int const width = 4 * m_options.workers;
    std::int64_t const tasks = m_options.quick ? 4000 : 20000;
    for (std::string const& pattern :
         or_default(m_options.patterns, {pattern_names.begin(), pattern_names.end()}))
      for (std::string const& kernel : or_default(m_options.kernels, {"empty"}))
        m_report.add("cost", measure(m_models, base(pattern, kernel, width, tasks / width),
                                     repetitions(m_options.quick ? 3 : 7), m_left_out));
  }

  void metg() {
    MetgOptions sweep;
    sweep.repetitions = repetitions(m_options.quick ? 3 : 5);
    if (m_options.quick) {
      sweep.coarsest_us = 100;
      sweep.seconds_per_run = 0.02;
    } else {
      sweep.coarsest_us = 500;
      sweep.factor = std::sqrt(2.0);
    }
    // A model for each kind of graph and each runtime; the full run takes all.
    std::vector<Model*> models = m_models;
    if (m_options.quick && m_options.models.empty())
      std::erase_if(models, [](Model const* model) { return model->name() == "kokkos_graph"; });
    std::vector<std::pair<std::string, std::string>> cases;
    if (m_options.patterns.empty() && m_options.kernels.empty() && !m_options.quick)
      cases = {{"stencil_1d", "compute_bound"},
               {"stencil_1d", "memory_bound"},
               {"stencil_1d", "load_imbalance"},
               {"nearest", "compute_bound"},
               {"fft", "compute_bound"}};
    else
      for (std::string const& pattern : or_default(m_options.patterns, {"stencil_1d"}))
        for (std::string const& kernel : or_default(m_options.kernels, {"compute_bound"}))
          cases.emplace_back(pattern, kernel);
    for (auto const& [pattern, kernel] : cases)
      m_report.add("metg",
                   sweep_granularity(models, base(pattern, kernel, 4 * m_options.workers, 1),
                                     m_options.workers, sweep, m_left_out));
  }

  void over_tasks() {
    int const width = 4 * m_options.workers;
    for (std::int64_t tasks = 1000; tasks <= (m_options.quick ? 100'000 : 1'000'000); tasks *= 10)
      for (std::string const& pattern : or_default(m_options.patterns, {"stencil_1d"})) {
        Parameters parameters = base(pattern, "empty", width, 1);
        parameters.shape.steps = usable_steps(parameters, tasks / parameters.shape.width);
        add_uncut("tasks", parameters, tasks);
      }
  }

  void over_width() {
    std::int64_t const tasks = m_options.quick ? 20'000 : 40'000;
    for (int width = 10; width <= (m_options.quick ? 1000 : 10'000); width *= 10)
      for (std::string const& pattern : or_default(m_options.patterns, {"stencil_1d"})) {
        Parameters parameters = base(pattern, "empty", 1, 1);
        parameters.shape.width = width;
        if (width > widest_table && (pattern == "all_to_all" || pattern == "dom")) continue;
        parameters.shape.steps = usable_steps(parameters, tasks / width);
        m_report.add("width", measure(m_models, parameters, repetitions(m_options.quick ? 3 : 5),
                                      m_left_out));
      }
  }

  // A point that a model does not reach should not stand there with fewer tasks.
  void add_uncut(std::string const& part, Parameters const& parameters, std::int64_t tasks) {
    std::vector<Model*> models = m_models;
    std::erase_if(models, [&](Model const* model) { return model->most_tasks() < tasks; });
    m_report.add(part,
                 measure(models, parameters,
                         repetitions(m_options.quick || tasks >= 1'000'000 ? 3 : 5), m_left_out));
  }

  Options const& m_options;
  Report m_report;
  std::vector<Model*> m_models;
  std::vector<LeftOut> m_left_out;
};

int run_all(Options const& options) {
  Kokkos::ScopeGuard const kokkos(
      Kokkos::InitializationSettings().set_num_threads(options.workers).set_disable_warnings(true));
#ifdef TASKBENCH_HAS_OPENMP
  if (options.serve_openmp) return serve_openmp(options.workers);
#endif
  auto const models = make_models(options.workers, options.models);
  if (options.list_models) {
    for (auto const& each : models)
      std::printf("%-20s %s\n", each->name().c_str(), each->description().c_str());
    return 0;
  }
  Program program(options, models);
  if (options.smoke || options.parameters.break_edge)
    program.smoke();
  else
    program.run();
  return 0;
}

}  // namespace
}  // namespace taskbench

int main(int argc, char** argv) {
  taskbench::Options options;
  CLI::App app("Task Bench's parameters, several programming models");
  taskbench::describe(app, options);
  try {
    app.parse(argc, argv);
    taskbench::complete(options);
  } catch (CLI::ParseError const& e) {
    return app.exit(e);
  }
  try {
    return taskbench::run_all(options);
  } catch (std::exception const& e) {
    std::fprintf(stderr, "taskbench: %s\n", e.what());
    return 1;
  }
}
