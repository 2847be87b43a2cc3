// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Model.hpp"

#include <stdexcept>
#include <thread>

namespace taskbench {

double Model::measure(Work& work) {
  work.reset();
  // Threads of another model's pool may still spin in wait of work.
  std::this_thread::sleep_for(std::chrono::milliseconds(15));
  auto const begin = std::chrono::steady_clock::now();
  run(work);
  std::chrono::duration<double> const seconds = std::chrono::steady_clock::now() - begin;
  if (std::string const error = work.error(); !error.empty()) throw std::runtime_error("model " + name() + ": " + error);
  return seconds.count();
}

std::vector<std::unique_ptr<Model>> make_models(int workers) {
  std::vector<std::unique_ptr<Model>> models;
  auto const add = [&](std::unique_ptr<Model> model) {
    if (model) models.push_back(std::move(model));
  };
  add(make_trellis(workers));
  add(make_trellis_host(workers));
  add(make_trellis_plan(workers));
  add(make_kokkos(workers));
  add(make_kokkos_graph(workers));
  add(make_kokkos_graph_steps(workers));
#ifdef TASKBENCH_HAS_OPENMP
  add(make_openmp(workers));
  add(make_openmp_llvm(workers));
#endif
#ifdef TASKBENCH_HAS_TASKFLOW
  add(make_taskflow(workers));
  add(make_taskflow_replay(workers));
#endif
#ifdef TASKBENCH_HAS_TBB
  add(make_tbb(workers));
  add(make_tbb_replay(workers));
#endif
#ifdef TASKBENCH_HAS_STARPU
  add(make_starpu(workers));
#endif
  return models;
}

}  // namespace taskbench
