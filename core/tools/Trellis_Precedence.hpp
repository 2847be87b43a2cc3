// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_PRECEDENCE_HPP
#define TRELLIS_IMPL_PRECEDENCE_HPP

#include <Trellis_Analysis.hpp>
#include <Trellis_Graph.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace trellis::Impl {

/// A task's times as far as the record tells, in nanoseconds.
struct TaskTimes {
  double own = 0;  ///< of its body, without waiting and without what ran on its thread meanwhile
  double latency = 0;  ///< from then on until it was complete, where that takes no thread
  [[nodiscard]] double all() const { return own + latency; }
};
/// Returns where the nodes of a graph lie among them.
[[nodiscard]] std::unordered_map<TaskId, std::size_t> positions(Graph const& graph);
/// Returns the times of all nodes, in their order.
[[nodiscard]] std::vector<TaskTimes> measured_times(Graph const& graph);
/// Returns these costs, which are in the order of the nodes; others cost nothing.
[[nodiscard]] TaskCost cost_of(Graph const& graph, std::vector<double> const& costs);

/// The order of events in a recorded graph. A task is known by its position among the nodes, and
/// has two events: it begins, and it is complete.
///
/// EVENTS. An edge joins the end of a task to the begin of another one. A child begins when its
/// parent has spent a share of its own cost (all of it if no times tell when the child was
/// submitted). The parent is complete when its children are, and it has spent the share that was
/// left then. An edge that a demotion has released has such a share, too: the later task began when
/// the earlier one had got so far.
class Precedence {
 public:
  /// Tells which event of `from` comes before which event of `to`.
  enum class Kind : std::uint8_t {
    order,      ///< the end before the begin
    progress,   ///< the begin, and a share of the cost, before the begin
    remainder,  ///< the end of a child, and a share of the parent's cost, before the parent's end
  };
  struct Arc {
    std::size_t from = 0;
    std::size_t to = 0;
    Kind kind = Kind::order;
    double share = 0;
    EdgeRecord const* edge = nullptr;  ///< null: for a child
  };

  /// The graph must outlive it.
  explicit Precedence(Graph const& graph);

  [[nodiscard]] std::size_t size() const { return m_graph.nodes().size(); }
  [[nodiscard]] std::size_t position(TaskId id) const { return m_position.at(id); }
  [[nodiscard]] std::span<Arc const> from(std::size_t task) const {
    return std::span(m_arcs).subspan(m_first[task], m_first[task + 1] - m_first[task]);
  }
  [[nodiscard]] std::span<Arc const> arcs() const { return m_arcs; }  ///< by `from`
  [[nodiscard]] std::vector<TaskTimes> const& times() const { return m_times; }

  // Events: the begin of task p is 2 p, its end 2 p + 1.
  [[nodiscard]] static std::size_t begin_of(std::size_t task) { return 2 * task; }
  [[nodiscard]] static std::size_t end_of(std::size_t task) { return 2 * task + 1; }
  [[nodiscard]] static std::size_t first_event(Arc const& arc) {
    return arc.kind == Kind::progress ? begin_of(arc.from) : end_of(arc.from);
  }
  [[nodiscard]] static std::size_t second_event(Arc const& arc) {
    return arc.kind == Kind::remainder ? end_of(arc.to) : begin_of(arc.to);
  }
  /// Returns what lies between the two events of an arc.
  [[nodiscard]] static double weight(Arc const& arc, std::vector<double> const& cost,
                                     EdgeCost const& edge_cost) {
    if (arc.kind == Kind::order) return edge_cost != nullptr ? edge_cost(*arc.edge) : 0;
    return arc.share * cost[arc.kind == Kind::progress ? arc.from : arc.to];
  }
  /// Returns all events, each behind those that it comes after. Throws `Error` when there is a
  /// circle.
  [[nodiscard]] std::vector<std::size_t> in_order() const;

 private:
  void add_edges();
  void add_children();
  [[nodiscard]] std::string circle(std::vector<std::uint32_t> const& open) const;

  Graph const& m_graph;
  std::unordered_map<TaskId, std::size_t> m_position;
  std::vector<TaskTimes> m_times;
  std::vector<Arc> m_arcs;
  std::vector<std::size_t> m_first;
};

}  // namespace trellis::Impl

#endif
