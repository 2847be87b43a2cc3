// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Models.hpp"
#include "Parts.hpp"

#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace gpu {

namespace {

/// Compilers may contract the same expression in one kernel and not in another.
bool agree(std::vector<double> const& a, std::vector<double> const& b) {
  for (std::size_t k = 0; k < a.size(); ++k)
    if (!(std::abs(a[k] - b[k]) <= 1e-12 * std::abs(b[k]))) return false;
  return a.size() == b.size();
}

}  // namespace

void run_overhead(Options const& options, Report& report) {
  std::vector<Model> models = portable_models();
  for (Model& each : cuda_models()) models.push_back(std::move(each));
  for (Shape const& shape : {Shape::chain(options.tasks, options.elements),
                             Shape::independent(options.tasks, options.elements),
                             Shape::stencil(options.tasks, options.elements),
                             Shape::fans(options.tasks, options.elements)}) {
    auto const count = static_cast<double>(shape.tasks().size());
    report.begin_table(
        shape.name(),
        std::to_string(shape.tasks().size()) + " tasks of " + std::to_string(shape.elements()) +
            " elements; host us per task until all are submitted, us per task until all are done");
    std::vector<double> expected;
    for (Model const& model : models) {
      if (!options.wants(model.name)) continue;
      shape.reset();
      std::unique_ptr<Runner> const runner = model.make(shape);
      if (runner == nullptr) {
        report.add(shape.name(), model.name, false, {});
        continue;
      }
      // The values of one run are those of one stream, whoever ran it.
      shape.reset();
      runner->submit();
      runner->wait();
      std::vector<double> const values = shape.values();
      if (expected.empty()) {
        shape.reset();
        for (ShapeTask const& task : shape.tasks())
          Kokkos::parallel_for(Kokkos::RangePolicy<Space>(0, task.work.elements), task.work);
        Kokkos::fence();
        expected = shape.values();
      }
      if (!agree(values, expected)) report.add_failure(model.name + " on " + shape.name());
      Times const times = measure(*runner, options.repetitions, [] {});
      report.add(shape.name(), model.name, true,
                 {{"submitted_us_per_task", times.submitted / count * 1e6},
                  {"done_us_per_task", times.done / count * 1e6}});
    }
  }
}

}  // namespace gpu
