// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../Model.hpp"
#include "OpenMP.hpp"

namespace taskbench {

void run_openmp_tasks(Work& work, int workers) {
  int const copies = work.parameters().copies;
  std::size_t const width = static_cast<std::size_t>(work.width());
  std::vector<char*> outputs;  // for each copy and column
  for (int copy = 0; copy != copies; ++copy)
    for (int column = 0; column != work.width(); ++column)
      outputs.push_back(work.output(copy, column));
#pragma omp parallel num_threads(workers)
#pragma omp single
  for (std::int64_t step = 0; step != work.steps(); ++step) {
    Columns const columns = work.columns(step);
    [[maybe_unused]] char* const* const from =
        &outputs[static_cast<std::size_t>(work.copy_of(step - 1)) * width];
    [[maybe_unused]] char* const* const to =
        &outputs[static_cast<std::size_t>(work.copy_of(step)) * width];
    for (int column = columns.begin; column != columns.end; ++column) {
      std::span<int const> const inputs = work.edges().declared_inputs(step, column);
      int const* const input = inputs.data();
      int const count = static_cast<int>(inputs.size());
      if (count == 0) {
#pragma omp task default(none) shared(work) firstprivate(step, column) depend(out : to[column][0])
        work.run_task(step, column);
      } else {
#pragma omp task default(none) shared(work) firstprivate(step, column) \
    depend(iterator(int i = 0 : count), in : from[input[i]][0]) depend(out : to[column][0])
        work.run_task(step, column);
      }
    }
  }
}

namespace {

class OpenMPModel : public Model {
 public:
  explicit OpenMPModel(int workers) : Model("openmp", Kind::dynamic), m_workers(workers) {}
  [[nodiscard]] std::string description() const override {
    return "OpenMP, task depend, " + openmp_runtime();
  }
  [[nodiscard]] int workers() const override { return m_workers; }
  [[nodiscard]] std::int64_t most_tasks() const override { return 20'000; }
  void run(Work& work) override { run_openmp_tasks(work, m_workers); }

 private:
  int m_workers;
};

}  // namespace

std::unique_ptr<Model> make_openmp(int workers) {
  return std::make_unique<OpenMPModel>(workers);
}

}  // namespace taskbench
