// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../Model.hpp"
#include "TrellisFields.hpp"

#if __has_include(<Trellis_Plan.hpp>)
#include <optional>

namespace taskbench {
namespace {

/// A column's step, advanced by its tasks, which its own output orders.
struct alignas(64) Step {
  std::int64_t value = 0;
};

struct Replayed {
  Work const* work;
  Step* step;
  int column;
  void operator()() const { work->run_task(step->value++, column); }
  KOKKOS_FUNCTION void operator()(int) const { work->run_task(step->value++, column); }
};
struct Planned {
  Work const* work;
  std::int64_t step;
  int column;
  void operator()() const { work->run_task(step, column); }
  KOKKOS_FUNCTION void operator()(int) const { work->run_task(step, column); }
};

/// Records the graph and replays it. Where all steps are alike, the plan covers as many steps as
/// there are copies, and a task learns from its column which step it is; else the plan is the whole
/// graph.
template <bool host>
class TrellisPlan : public Model {
 public:
  explicit TrellisPlan(int workers)
      : Model(host ? "trellis_plan_host" : "trellis_plan", Kind::replay, true),
        m_graph(graph_options(workers)) {}

  [[nodiscard]] std::string description() const override {
    return std::string("Trellis, replay of a plan of ") +
           (host ? std::string("host_task")
                 : std::string("parallel_for over one index on ") + TaskSpace::name());
  }
  [[nodiscard]] int workers() const override { return m_graph.workers(); }
  [[nodiscard]] std::int64_t most_tasks() const override { return 1'000'000; }

  void prepare(Work& work) override {
    m_fields.prepare(work);
    m_steps.assign(static_cast<std::size_t>(work.width()), {});
    // Copies alternate by column, so a column's tasks are in order only where each of them reads
    // it.
    m_whole = !is_uniform(work.shape()) || work.shape().pattern == Pattern::trivial ||
              work.parameters().break_edge;
    std::int64_t const first = m_whole ? 0 : work.parameters().copies;
    std::int64_t const count = m_whole ? work.steps() : work.parameters().copies;
    m_times = m_whole ? 1 : work.steps() / count;
    m_plan.emplace(m_graph.record([&] {
      for (std::int64_t step = first; step != first + count; ++step) {
        // The recorded step stands for all that are alike: it must not be step 0, which reads
        // nothing.
        Columns const columns = work.columns(m_whole ? step : 0);
        for (int column = columns.begin; column != columns.end; ++column)
          submit(work, step, column);
      }
    }));
  }
  void release() override {
    m_plan.reset();
    m_fields.release();
  }
  void run(Work&) override {
    for (Step& each : m_steps) each.value = 0;
    m_graph.replay(*m_plan, static_cast<std::uint64_t>(m_times));
    m_graph.wait();
  }

 private:
  void submit(Work& work, std::int64_t step, int column) {
    m_fields.with_accesses(work, step, column, [&](auto const&... accesses) {
      if (m_whole)
        submit_one(Planned{&work, step, column}, accesses...);
      else
        submit_one(Replayed{&work, &m_steps[static_cast<std::size_t>(column)], column},
                   accesses...);
    });
  }

  template <class Body, class... Accesses>
  void submit_one(Body const& body, Accesses const&... accesses) {
    if constexpr (host)
      trellis::host_task("task", trellis::ResourcePolicy(m_graph, accesses...), body);
    else
      trellis::parallel_for(
          "task", trellis::ResourcePolicy(m_graph, 1, trellis::on<TaskSpace>, accesses...), body);
  }

  trellis::TaskGraph m_graph;
  TrellisFields m_fields;
  std::vector<Step> m_steps;
  std::optional<trellis::Plan> m_plan;
  std::int64_t m_times = 1;
  bool m_whole = false;
};

}  // namespace

std::unique_ptr<Model> make_trellis_plan(int workers) {
  return std::make_unique<TrellisPlan<false>>(workers);
}
std::unique_ptr<Model> make_trellis_plan_host(int workers) {
  return std::make_unique<TrellisPlan<true>>(workers);
}

}  // namespace taskbench
#else
namespace taskbench {
std::unique_ptr<Model> make_trellis_plan(int) {
  return nullptr;
}
std::unique_ptr<Model> make_trellis_plan_host(int) {
  return nullptr;
}
}  // namespace taskbench
#endif
