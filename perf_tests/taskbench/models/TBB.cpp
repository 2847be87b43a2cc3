// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../Model.hpp"

#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/version.h>

#include <deque>
#include <optional>

namespace taskbench {
namespace {

using Node = tbb::flow::continue_node<tbb::flow::continue_msg>;

/// A flow graph of continue nodes, edges given by hand. It is made while the clock runs, or
/// (replay) before.
class TbbModel : public Model {
 public:
  TbbModel(int workers, Kind kind)
      : Model(kind == Kind::replay ? "tbb_replay" : "tbb", kind),
        m_control(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(workers)),
        m_arena(workers),
        m_workers(workers) {}
  [[nodiscard]] std::string description() const override {
    return "oneTBB " TBB_VERSION_STRING ", flow graph of continue nodes, made " +
           std::string(kind() == Kind::replay ? "once" : "in each run");
  }
  [[nodiscard]] int workers() const override { return m_workers; }
  [[nodiscard]] std::int64_t most_tasks() const override { return 500'000; }
  void prepare(Work& work) override {
    if (kind() == Kind::replay) m_arena.execute([&] { build(work); });
  }
  void release() override { clear(); }
  void run(Work& work) override {
    m_arena.execute([&] {
      if (kind() == Kind::dynamic) build(work);
      for (Node* const source : m_sources) source->try_put(tbb::flow::continue_msg());
      m_graph->wait_for_all();
      if (kind() == Kind::dynamic) clear();
    });
  }

 private:
  void clear() {
    m_sources.clear();
    m_nodes.clear();
    m_graph.reset();
  }
  void build(Work& work) {
    clear();
    m_graph.emplace();
    std::size_t const width = static_cast<std::size_t>(work.width());
    auto const steps = static_cast<std::size_t>(work.parameters().copies) + 1;
    std::vector<Node*> recent(steps * width);
    auto const at = [&](std::int64_t step, int column) -> Node*& {
      return recent[static_cast<std::size_t>(step) % steps * width +
                    static_cast<std::size_t>(column)];
    };
    for (std::int64_t step = 0; step != work.steps(); ++step) {
      Columns const columns = work.columns(step);
      for (int column = columns.begin; column != columns.end; ++column) {
        Node& node = m_nodes.emplace_back(
            *m_graph,
            [&work, step, column](tbb::flow::continue_msg const&) { work.run_task(step, column); });
        auto const predecessors = work.edges().predecessors(step, column);
        for (Predecessor const p : predecessors)
          tbb::flow::make_edge(*at(step - p.steps_back, p.column), node);
        if (predecessors.empty()) m_sources.push_back(&node);
        at(step, column) = &node;
      }
    }
  }

  tbb::global_control m_control;
  tbb::task_arena m_arena;
  int m_workers;
  std::optional<tbb::flow::graph> m_graph;
  std::deque<Node> m_nodes;
  std::vector<Node*> m_sources;
};

}  // namespace

std::unique_ptr<Model> make_tbb(int workers) {
  return std::make_unique<TbbModel>(workers, Model::Kind::dynamic);
}
std::unique_ptr<Model> make_tbb_replay(int workers) {
  return std::make_unique<TbbModel>(workers, Model::Kind::replay);
}

}  // namespace taskbench
