// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../Model.hpp"
#include "TrellisFields.hpp"

namespace taskbench {
namespace {

struct OneIndex {
  Work const* work;
  std::int64_t step;
  int column;
  KOKKOS_FUNCTION void operator()(int) const { work->run_task(step, column); }
};
struct Call {
  Work const* work;
  std::int64_t step;
  int column;
  void operator()() const { work->run_task(step, column); }
};

/// Edges from annotated Views. A task is a parallel_for over one index, or a host_task, which
/// launches no kernel.
template <bool host>
class TrellisModel : public Model {
 public:
  explicit TrellisModel(int workers)
      : Model(host ? "trellis_host" : "trellis", Kind::dynamic, true),
        m_graph(graph_options(workers)) {}

  [[nodiscard]] std::string description() const override {
    return std::string("Trellis, ") + (host ? "host_task" : "parallel_for over one index on ") +
           (host ? "" : TaskSpace::name()) + ", annotated subviews";
  }
  [[nodiscard]] int workers() const override { return m_graph.workers(); }
  void prepare(Work& work) override { m_fields.prepare(work); }
  void release() override { m_fields.release(); }
  void run(Work& work) override {
    for (std::int64_t step = 0; step != work.steps(); ++step) {
      Columns const columns = work.columns(step);
      for (int column = columns.begin; column != columns.end; ++column) submit(work, step, column);
    }
    m_graph.wait();
  }

 private:
  void submit(Work& work, std::int64_t step, int column) {
    using namespace trellis;
    m_fields.with_accesses(work, step, column, [&](auto const&... accesses) {
      if constexpr (host)
        host_task("task", ResourcePolicy(m_graph, accesses...), Call{&work, step, column});
      else
        parallel_for("task", ResourcePolicy(m_graph, 1, on<TaskSpace>, accesses...),
                     OneIndex{&work, step, column});
    });
  }

  trellis::TaskGraph m_graph;
  TrellisFields m_fields;
};

}  // namespace

std::unique_ptr<Model> make_trellis(int workers) {
  return std::make_unique<TrellisModel<false>>(workers);
}
std::unique_ptr<Model> make_trellis_host(int workers) {
  return std::make_unique<TrellisModel<true>>(workers);
}

}  // namespace taskbench
