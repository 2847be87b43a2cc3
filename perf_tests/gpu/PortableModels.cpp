// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Models.hpp"

#include <Kokkos_Graph.hpp>

#include <cstddef>
#include <optional>
#include <vector>

namespace gpu {
namespace {

using Range = Kokkos::RangePolicy<Space>;

void submit_to(trellis::TaskGraph& graph, ShapeTask const& task) {
  using trellis::read, trellis::write, trellis::read_write, trellis::ResourcePolicy;
  Range const range(0, task.work.elements);
  if (task.reads.empty())
    trellis::parallel_for("task", ResourcePolicy(graph, range, read_write(task.out)), task.work);
  else if (task.reads.size() == 1)
    trellis::parallel_for(
        "task", ResourcePolicy(graph, range, read(task.reads[0]), read_write(task.out)), task.work);
  else
    trellis::parallel_for("task",
                          ResourcePolicy(graph, range, read(task.reads[0]), read(task.reads[1]),
                                         read(task.reads[2]), write(task.out)),
                          task.work);
}

Submission submission(Shape const& shape) {
  return [&shape](trellis::TaskGraph& graph) {
    for (ShapeTask const& task : shape.tasks()) submit_to(graph, task);
  };
}

class OneStream final : public Runner {
 public:
  explicit OneStream(Shape const& shape) : m_shape(shape) {}
  void submit() override {
    for (ShapeTask const& task : m_shape.tasks())
      Kokkos::parallel_for(Range(m_instance, 0, task.work.elements), task.work);
  }
  void wait() override { m_instance.fence(); }

 private:
  Shape const& m_shape;
  Space m_instance = Kokkos::Experimental::partition_space(Space(), 1).at(0);
};

class KokkosGraph final : public Runner {
 public:
  explicit KokkosGraph(Shape const& shape) {
    using Node = Kokkos::Experimental::GraphNodeRef<Space>;
    m_graph.emplace(Kokkos::Experimental::create_graph<Space>([&](auto const& root) {
      std::vector<Node> nodes;
      for (ShapeTask const& task : shape.tasks()) {
        Node before = root;
        for (std::size_t k = 0; k < task.before.size(); ++k) {
          Node const& each = nodes[static_cast<std::size_t>(task.before[k])];
          if (k == 0)
            before = each;
          else
            before = Kokkos::Experimental::when_all(before, each);
        }
        nodes.push_back(before.then_parallel_for("task", Range(0, task.work.elements), task.work));
      }
    }));
    m_graph->instantiate();
  }
  void submit() override { m_graph->submit(m_instance); }
  void wait() override { m_instance.fence(); }

 private:
  Space m_instance{};
  std::optional<Kokkos::Experimental::Graph<Space>> m_graph;
};

template <class R>
std::unique_ptr<Runner> make(Shape const& shape) {
  return std::make_unique<R>(shape);
}

}  // namespace

std::vector<Model> portable_models() {
  return {{"trellis", "tasks, submitted each time",
           [](Shape const& shape) { return std::make_unique<Submitted>(submission(shape)); }},
          {"trellis_plan", "recorded once, replayed each time",
           [](Shape const& shape) { return std::make_unique<Replayed>(submission(shape)); }},
          {"one_stream", "Kokkos::parallel_for, all on one instance", &make<OneStream>},
          {"kokkos_graph", "Kokkos::Experimental::Graph, made once",
           [](Shape const& shape) -> std::unique_ptr<Runner> {
             // On a host space Kokkos visits every path to a node.
             if (!on_gpu && shape.most_before() > 1) return nullptr;
             if (!on_gpu && shape.tasks().size() > 1000) return nullptr;
             return make<KokkosGraph>(shape);
           }}};
}

}  // namespace gpu
