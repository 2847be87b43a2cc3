// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Model.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <thread>

namespace taskbench {

double Model::measure(Work& work) {
  work.reset();
  std::this_thread::sleep_for(std::chrono::milliseconds(work.parameters().settle_ms));
  auto const begin = std::chrono::steady_clock::now();
  run(work);
  std::chrono::duration<double> const seconds = std::chrono::steady_clock::now() - begin;
  if (std::string const error = work.error(); !error.empty())
    throw std::runtime_error("model " + name() + ": " + error);
  return seconds.count();
}

namespace {

struct Known {
  std::string_view name;
  std::unique_ptr<Model> (*make)(int workers);
};

constexpr Known all_known[] = {
    {"trellis", make_trellis},
    {"trellis_host", make_trellis_host},
    {"trellis_plan", make_trellis_plan},
    {"trellis_plan_host", make_trellis_plan_host},
    {"kokkos", make_kokkos},
    {"kokkos_graph", make_kokkos_graph},
    {"kokkos_graph_steps", make_kokkos_graph_steps},
#ifdef TASKBENCH_HAS_OPENMP
    {"openmp", make_openmp},
    {"openmp_llvm", make_openmp_llvm},
#endif
#ifdef TASKBENCH_HAS_TASKFLOW
    {"taskflow", make_taskflow},
    {"taskflow_replay", make_taskflow_replay},
#endif
#ifdef TASKBENCH_HAS_TBB
    {"tbb", make_tbb},
    {"tbb_replay", make_tbb_replay},
#endif
#ifdef TASKBENCH_HAS_STARPU
    {"starpu", make_starpu},
#endif
};

}  // namespace

std::vector<std::unique_ptr<Model>> make_models(int workers,
                                                std::vector<std::string> const& names) {
  std::vector<std::unique_ptr<Model>> models;
  std::vector<std::string> missing = names;
  for (Known const& each : all_known) {
    if (!names.empty() && std::find(names.begin(), names.end(), each.name) == names.end()) continue;
    std::unique_ptr<Model> model = each.make(workers);
    if (!model) continue;
    std::erase(missing, each.name);
    models.push_back(std::move(model));
  }
  if (!missing.empty()) {
    // A name with a typing error should not look like a model that is missing here.
    std::string all;
    for (Known const& each : all_known) all += ' ' + std::string(each.name);
    throw std::runtime_error(
        "there is no model called '" + missing.front() +
        "' in this build or on this machine (--list-models); this build knows:" + all);
  }
  return models;
}

}  // namespace taskbench
