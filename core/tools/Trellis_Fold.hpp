// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_FOLD_HPP
#define TRELLIS_IMPL_FOLD_HPP

#include <Trellis_Graph.hpp>
#include <tools/Trellis_TimelineStyle.hpp>
#include <tools/Trellis_TraceRows.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace trellis::Impl {

/// A trace with all that its pictures share: rows, colours and the critical path. The trace must
/// outlive it.
struct TraceLook {
  explicit TraceLook(Trace const& of);

  Trace const& trace;
  TraceRows rows;
  TimelineStyle::Palette palette;
  /// The critical path, as slices in order, and how long it is. It is empty if there are no edges,
  /// or if made-up edges close a circle.
  std::vector<std::size_t> critical;
  std::uint64_t critical_ns = 0;
  std::unordered_map<TaskId, std::size_t> position;  ///< of a task among the nodes
  /// By position. A task has no look if none of its family has run.
  std::vector<std::optional<TimelineStyle::Look>> looks;
  std::vector<bool> is_critical;
  /// The task behind each task on the critical path; `none` for the others.
  std::vector<std::size_t> next_critical;
  static constexpr std::size_t none = ~std::size_t{0};

  /// Returns the position of a slice's task.
  [[nodiscard]] std::size_t of(Slice const& slice) const {
    return static_cast<std::size_t>(slice.task - trace.graph.nodes().data());
  }

 private:
  void find_critical();
};

/// Returns one line: how many tasks ran on how many rows, how long, how busy, and what failed.
[[nodiscard]] std::string summary_of(TraceLook const& look);

/// The nanoseconds from the begin of a task's body to the end of the task; 0: it has not run.
[[nodiscard]] std::uint64_t time_of(TaskRecord const& task);

enum class FoldBy : std::uint8_t { task, step, label };

/// A graph whose nodes stand for one task or for several: for each task, for the tasks of a family
/// that share a step, or for a family.
struct Fold {
  struct Node {
    std::string label;               ///< with "*" for the numbers in which the tasks differ
    std::vector<std::size_t> tasks;  ///< positions, in order
    std::optional<TimelineStyle::Look> look;
    std::uint64_t time = 0;               ///< the sum over its tasks
    std::array<std::size_t, 6> states{};  ///< how many tasks are in each state
    std::size_t inner = 0;                ///< edges between its own tasks
    bool is_critical = false;
  };
  struct Edge {
    std::size_t from = 0;
    std::size_t to = 0;
    std::size_t count = 0;  ///< edges between the tasks of the two
    EdgeReason reason = EdgeReason::access;
    bool released = false;
    bool is_critical = false;  ///< the critical path goes along it
    bool is_implied = false;   ///< by other edges
  };

  FoldBy by = FoldBy::task;
  std::uint64_t steps = 1;           ///< so many steps share a node; only by step
  std::vector<Node> nodes;           ///< by their first tasks
  std::vector<Edge> edges;           ///< by `from`, then `to`; two nodes have one at most
  std::vector<std::size_t> node_of;  ///< the node of each task, by position
};

[[nodiscard]] Fold fold(TraceLook const& look, FoldBy by, std::uint64_t steps = 1);

/// More nodes than this are no picture any more.
inline constexpr std::size_t most_nodes = 200;
/// Returns the folds that have at most `most_nodes` nodes, the finest first, each with fewer nodes
/// than the one before it. Where each step is too much, several steps share a node.
[[nodiscard]] std::vector<Fold> pictured_folds(TraceLook const& look);

/// Draws the fold as a document of its own, or as part of a page: from left to right, without
/// implied edges.
[[nodiscard]] std::string graph_svg(TraceLook const& look, Fold const& fold);

}  // namespace trellis::Impl

#endif
