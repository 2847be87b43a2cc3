// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_WHATIF_HPP
#define TRELLIS_WHATIF_HPP

#include <Trellis_Analysis.hpp>
#include <Trellis_Graph.hpp>
#include <Trellis_SchedulingPolicy.hpp>
#include <Trellis_TaskId.hpp>

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// With this header you run a recorded graph again, in virtual time: on other machines, or with
/// tasks that take another time. Nothing is executed; you learn how long the program would take.
namespace trellis {

/// The machine on which a recorded graph is run again.
struct Machine {
  /// Threads that run tasks at the same time. 0: as many as the trace says it had, or 1.
  int workers = 0;
  /// Devices of each kind that the trace has. 0: the recorded ones, each task on its own. Otherwise
  /// a ready task goes to the device that is free first; among several, to that of the task before
  /// it. Copies that this would need are not counted.
  int devices = 0;
  /// Tasks that run at the same time on one device. 0: the largest number in the trace.
  int tasks_per_device = 0;
  /// What a worker spends for each task besides the task's own cost.
  double overhead = 0;
};

/// What differs from the record.
struct WhatIf {
  /// In the unit of the result, nanoseconds for a recorded graph. Null: what each task took.
  TaskCost cost = nullptr;
  EdgeCost edge_cost = nullptr;
  /// Orders the ready tasks. It serves one run, so it must be new. Null: the default policy. It
  /// sees ids, labels and priorities, but no tags, submissions, plans or times.
  std::shared_ptr<SchedulingPolicy> policy = nullptr;
  /// True: tasks are submitted one after the other, with the recorded intervals. Where a thread
  /// submitted nothing until all tasks were complete, it has waited, and here it waits for them
  /// too. False: all tasks exist at the start.
  bool as_submitted = true;
};

/// How a graph ran in virtual time.
struct Schedule {
  struct Run {
    TaskId id = 0;
    int row = -1;      ///< the worker, or `machine.workers` and more: a place on a device; -1: none
    double begin = 0;  ///< of its body
    double body_end = 0;  ///< from then on it took no place
    double end = 0;       ///< when it was complete, children included
  };
  std::vector<Run> runs;  ///< in the order of the graph's nodes
  double makespan = 0;    ///< until the last task was complete
  int workers = 0;
  std::vector<std::string> rows;  ///< names, by `Run::row`
};

/// Runs the tasks of a trace in virtual time: whenever a worker is free, the scheduling policy says
/// which ready task it runs. The rules of real runs hold here: dependencies, tasks bound to the
/// main thread, tasks with the threads of several workers, and children. Exclusive tasks run one at
/// a time on one area, in turns by the policy's rank. Device tasks run in the order in which they
/// become ready. Two calls with the same arguments give the same schedule, if the policy is new and
/// does not choose at random.
///
/// Some effects are not in a record, and so not here. A task takes longer when others use the
/// memory, the caches or the cores beside it. A thread may wait before it submits tasks while
/// others are in flight. The cap on tasks in flight is missing, too. Exclusive tasks whose areas
/// only overlap, or that a rule excludes, keep the order in which they ran.
///
/// Throws `Error` when the edges form a cycle, a policy never gives out a task, or the machine
/// makes no sense.
[[nodiscard]] Schedule simulate(Trace const& trace, Machine const& machine = {},
                                WhatIf const& what_if = {});
/// Runs a graph without rows in virtual time: all tasks run on workers.
[[nodiscard]] Schedule simulate(Graph const& graph, Machine const& machine,
                                WhatIf const& what_if = {});
/// The trace of such a schedule, e.g. for its picture.
[[nodiscard]] Trace predicted_trace(Trace const& recorded, Schedule const& schedule);

/// Makes each task of this label `times` times as fast; "*" stands for any number, as in "tile
/// *,*". `cost`: what tasks cost before; null: what those of the graph took.
[[nodiscard]] TaskCost faster(Graph const& graph, std::string_view label, double times,
                              TaskCost cost = nullptr);

/// Prints the length of the run and the prediction for the same machine. It also predicts other
/// numbers of workers, one device more, and each of the costliest labels twice as fast. `policy`
/// makes the policy for each prediction; null: the default one.
void write_predictions(std::ostream& out, Trace const& trace,
                       std::function<std::shared_ptr<SchedulingPolicy>()> const& policy = nullptr);

}  // namespace trellis

#endif
