// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_ANALYSIS_HPP
#define TRELLIS_ANALYSIS_HPP

#include <Trellis_Graph.hpp>
#include <Trellis_TaskId.hpp>

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <vector>

/// With this header you ask a graph how parallel it is: its work, its critical path, how much
/// faster any number of workers can make it, and how urgent each of its tasks is.
///
/// All of it needs a graph and what each task costs: a recorded one with the times that its tasks
/// took, or any graph with costs that you make up. A task with parts begins before these do, and is
/// complete when they are. An edge that a demotion ended orders only what came before the demotion.
/// Of a dependency graph the results hold for any schedule; those of a scheduling graph keep
/// exclusive tasks in the order in which they ran.
namespace trellis {

/// What a task costs, in any unit. Not negative.
using TaskCost = std::function<double(TaskRecord const&)>;
/// What lies between the end of a task and the begin of one behind it, e.g. a copy, in the same
/// unit. Where there is none nothing does.
using EdgeCost = std::function<double(EdgeRecord const&)>;

/// Each task costs 1; the replay of a plan and the pass of a loop, which are nothing but their
/// parts, cost nothing.
[[nodiscard]] TaskCost unit_cost();
/// What each task of a recorded graph took, in nanoseconds: the time of its body, without what the
/// body waited and what other tasks ran on its thread meanwhile; with the time until a Completion
/// was said; on a device what it took there. Tasks that have not run cost nothing.
[[nodiscard]] TaskCost measured_cost(Graph const& graph);

/// How parallel a graph is. The words of the literature: the work is also called the time on one
/// processor, the span the time on infinitely many.
struct GraphAnalysis {
  std::size_t tasks = 0;              ///< that cost something
  double work = 0;                    ///< the sum of all costs
  double span = 0;                    ///< the cost of the critical path
  std::vector<TaskId> critical_path;  ///< a costliest path, from its first task to its last

  /// What no number of workers can exceed: work / span.
  [[nodiscard]] double max_speedup() const { return span > 0 ? work / span : 1; }
  /// The part of the work that is parallel by Amdahl's law, if that many workers reach
  /// `max_speedup`; 0 for one. (With `workers` less than `max_speedup` it is more than 1.)
  [[nodiscard]] double parallel_fraction(std::size_t workers) const {
    if (workers < 2) return 0;
    return (1 - 1 / max_speedup()) / (1 - 1 / static_cast<double>(workers));
  }
  /// With a worker for each task: from 0 for a chain to 1 for tasks that nothing orders.
  [[nodiscard]] double parallel_fraction() const { return parallel_fraction(tasks); }
};
/// Linear in the size of the graph. Throws `Error` when the edges close a circle, which it names.
[[nodiscard]] GraphAnalysis analyse(Graph const& graph, TaskCost const& cost,
                                    EdgeCost const& edge_cost = nullptr);
/// With what the tasks took.
[[nodiscard]] GraphAnalysis analyse(Graph const& graph);

/// How urgent a task is: the larger, the earlier it should run.
struct TaskRank {
  TaskId id = 0;
  double rank = 0;            ///< the cost of the costliest path that begins with the task
  std::size_t consumers = 0;  ///< tasks that wait for it directly
};
/// Of each task in the order of `graph.nodes()`: its own cost, and the largest, over those behind
/// it, of the cost of the edge and the rank of the other end. Throws as `analyse` does.
[[nodiscard]] std::vector<TaskRank> ranks(Graph const& graph, TaskCost const& cost,
                                          EdgeCost const& edge_cost = nullptr);
/// The number of edges on the longest path from each task, in the order of `graph.nodes()`: 0 for
/// those that nothing waits for.
[[nodiscard]] std::vector<std::size_t> hops(Graph const& graph);

/// Prints what `analyse` finds of a recorded graph, its tasks by label, and the critical path, as
/// tables for a terminal. Numbers in labels count as the same label: "tile 1,2" is "tile *,*".
void write_analysis(std::ostream& out, Graph const& graph);

}  // namespace trellis

#endif
