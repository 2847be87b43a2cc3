// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../Model.hpp"

#include <Kokkos_Graph.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>

namespace taskbench {
namespace {

using Host = Kokkos::DefaultHostExecutionSpace;
using Graph = Kokkos::Experimental::Graph<Host>;
using Node = Kokkos::Experimental::GraphNodeRef<Host>;
using Policy = Kokkos::RangePolicy<Host>;

/// Made once and submitted for each run. Kokkos' graph of host spaces visits a graph depth first,
/// along every path to a node, and runs it on the calling thread: so its depth is limited by the
/// stack.
class KokkosGraphModel : public Model {
 public:
  using Model::Model;
  [[nodiscard]] int workers() const override { return Host().concurrency(); }
  void release() override { m_graph.reset(); }
  void run(Work&) override {
    m_graph->submit();
    Host().fence("end of the graph");
  }

 protected:
  template <class Build>
  void build(Build const& add_nodes) {
    m_graph.emplace(
        Kokkos::Experimental::create_graph<Host>([&](auto root) { add_nodes(Node(root)); }));
  }

 private:
  std::optional<Graph> m_graph;
};

/// A node for each task.
class NodePerTask : public KokkosGraphModel {
 public:
  NodePerTask() : KokkosGraphModel("kokkos_graph", Kind::replay) {}
  [[nodiscard]] std::string description() const override {
    return "Kokkos::Experimental::Graph, a node for each task, made once";
  }
  [[nodiscard]] std::int64_t most_tasks() const override { return 10'000; }
  [[nodiscard]] std::string why_not(Parameters const& parameters) const override {
    // With several predecessors for each node the number of paths grows exponentially with the
    // steps.
    Pattern const pattern = parameters.shape.pattern;
    return pattern == Pattern::trivial || pattern == Pattern::no_comm
               ? ""
               : "Kokkos visits every path to a node: one predecessor for each at most";
  }
  void prepare(Work& work) override {
    std::vector<std::optional<Node>> nodes(static_cast<std::size_t>(work.steps() * work.width()));
    auto const at = [&](std::int64_t step, int column) -> std::optional<Node>& {
      return nodes[static_cast<std::size_t>(step * work.width() + column)];
    };
    build([&](Node const& root) {
      for (std::int64_t step = 0; step != work.steps(); ++step)
        for (int column = 0; column != work.width(); ++column) {
          auto const predecessors = work.edges().predecessors(step, column);
          Node const before = predecessors.empty()
                                  ? root
                                  : *at(step - predecessors[0].steps_back, predecessors[0].column);
          at(step, column)
              .emplace(before.then_parallel_for("task", Policy(0, 1), [&work, step, column](int) {
                work.run_task(step, column);
              }));
        }
    });
  }
};

/// A node for each step.
class NodePerStep : public KokkosGraphModel {
 public:
  NodePerStep() : KokkosGraphModel("kokkos_graph_steps", Kind::replay) {}
  [[nodiscard]] std::string description() const override {
    return "Kokkos::Experimental::Graph, a node over all columns for each step, made once";
  }
  [[nodiscard]] bool declares_edges() const override { return false; }
  [[nodiscard]] std::int64_t most_tasks() const override { return 50'000; }
  void prepare(Work& work) override {
    build([&](Node const& root) {
      Node last = root;
      for (std::int64_t step = 0; step != work.steps(); ++step) {
        Columns const columns = work.columns(step);
        last = last.then_parallel_for("step", Policy(columns.begin, columns.end),
                                      [&work, step](int column) { work.run_task(step, column); });
      }
    });
  }
};

}  // namespace

std::unique_ptr<Model> make_kokkos_graph(int) {
  return std::make_unique<NodePerTask>();
}
std::unique_ptr<Model> make_kokkos_graph_steps(int) {
  return std::make_unique<NodePerStep>();
}

}  // namespace taskbench
