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
/// Everything here needs a graph and the cost of each task. That is a recorded graph with the times
/// that its tasks took, or any graph with costs that you make up. A task with children begins
/// before them and is complete when they are. An edge that a demotion ended orders only what came
/// before the demotion. Results for a dependency graph hold for any schedule. Results for a
/// scheduling graph keep exclusive tasks in the order in which they ran.
namespace trellis {

/// What a task costs, in any unit. It is not negative.
using TaskCost = std::function<double(TaskRecord const&)>;
/// What lies between the end of a task and the start of a successor, e.g. a copy, in the same unit.
/// If it is null, edges cost nothing.
using EdgeCost = std::function<double(EdgeRecord const&)>;

/// Each task costs 1. The replay of a plan and the iteration of a loop cost nothing, as they are
/// nothing but their children.
[[nodiscard]] TaskCost unit_cost();
/// What each task of a recorded graph took, in nanoseconds. This is the time of its body, without
/// the time that the body waited or that other tasks ran on its thread meanwhile. The time until
/// its Completion was called is included. For a device task it is the time on the device. Tasks
/// that have not run cost nothing.
[[nodiscard]] TaskCost measured_cost(Graph const& graph);

/// How parallel a graph is. In the literature the work is also called the time on one processor,
/// and the span the time on infinitely many.
struct GraphAnalysis {
  std::size_t tasks = 0;              ///< tasks that cost something
  double work = 0;                    ///< the sum of all costs
  double span = 0;                    ///< the cost of the critical path
  std::vector<TaskId> critical_path;  ///< a costliest path, from its first task to its last

  /// The speed-up that no number of workers can exceed: work / span.
  [[nodiscard]] double max_speedup() const { return span > 0 ? work / span : 1; }
  /// The part of the work that is parallel by Amdahl's law, if that many workers reach
  /// `max_speedup`. It is 0 for one worker, and more than 1 when `workers` is less than
  /// `max_speedup`.
  [[nodiscard]] double parallel_fraction(std::size_t workers) const {
    if (workers < 2) return 0;
    return (1 - 1 / max_speedup()) / (1 - 1 / static_cast<double>(workers));
  }
  /// The parallel fraction with a worker for each task: from 0 for a chain to 1 for tasks that no
  /// edge orders.
  [[nodiscard]] double parallel_fraction() const { return parallel_fraction(tasks); }
};
/// Analyses a graph, in time linear in its size. Throws `Error` when the edges form a cycle, which
/// it names.
[[nodiscard]] GraphAnalysis analyse(Graph const& graph, TaskCost const& cost,
                                    EdgeCost const& edge_cost = nullptr);
/// Analyses a graph with the times that its tasks took.
[[nodiscard]] GraphAnalysis analyse(Graph const& graph);

/// How urgent a task is: the larger, the earlier it should run.
struct TaskRank {
  TaskId id = 0;
  double rank = 0;            ///< the cost of the costliest path that begins with the task
  std::size_t consumers = 0;  ///< tasks that wait for it directly
};
/// Returns the rank of each task, in the order of `graph.nodes()`. It is the task's own cost plus
/// the largest sum, over its out-edges, of the cost of the edge and the rank of the successor.
/// Throws as `analyse` does.
[[nodiscard]] std::vector<TaskRank> ranks(Graph const& graph, TaskCost const& cost,
                                          EdgeCost const& edge_cost = nullptr);
/// Returns the number of edges on the longest path from each task, in the order of `graph.nodes()`.
/// It is 0 for tasks without successors.
[[nodiscard]] std::vector<std::size_t> hops(Graph const& graph);

/// Prints what `analyse` finds in a recorded graph, its tasks by label, and the critical path, as
/// tables for a terminal. Labels that differ only in numbers count as one: "tile 1,2" is "tile
/// *,*".
void write_analysis(std::ostream& out, Graph const& graph);
/// Prints the same for the graph of a trace, and how long each thread ran tasks and slept, from its
/// first task or sleep until the end of the last task. In the rest it looked for tasks. The rest of
/// a thread that submits is also what the program did there.
void write_analysis(std::ostream& out, Trace const& trace);

}  // namespace trellis

#endif
