// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../Model.hpp"

namespace taskbench {
namespace {

using Host = Kokkos::DefaultHostExecutionSpace;

/// Bulk-synchronous: a parallel_for over the columns and a fence for each step.
class KokkosModel : public Model {
 public:
  KokkosModel() : Model("kokkos", Kind::bulk) {}
  [[nodiscard]] std::string description() const override {
    return std::string("Kokkos, a parallel_for over the columns and a fence for each step on ") +
           Host::name();
  }
  [[nodiscard]] int workers() const override { return Host().concurrency(); }
  [[nodiscard]] bool declares_edges() const override { return false; }
  void run(Work& work) override {
    using Policy = Kokkos::RangePolicy<Host, Kokkos::Schedule<Kokkos::Static>>;
    Host const host;
    for (std::int64_t step = 0; step != work.steps(); ++step) {
      Columns const columns = work.columns(step);
      Kokkos::parallel_for("step", Policy(host, columns.begin, columns.end),
                           [&work, step](int column) { work.run_task(step, column); });
      host.fence("end of the step");
    }
  }
};

}  // namespace

std::unique_ptr<Model> make_kokkos(int) {
  return std::make_unique<KokkosModel>();
}

}  // namespace taskbench
