// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_GRAPHINTERNALS_HPP
#define TRELLIS_IMPL_GRAPHINTERNALS_HPP

#include <Trellis_Plan.hpp>
#include <Trellis_TaskGraph.hpp>
#include <base/Trellis_FunctionRef.hpp>
#include <task/Trellis_TaskSpec.hpp>
#include <base/Trellis_AskedThreads.hpp>

#include <memory>
#include <span>

namespace trellis {
struct PlannedTasks;
}

namespace trellis::Impl {

/// The way of the typed front ends into a graph.
struct GraphInternals {
  /// Throws `Error` when the graph is closed (its Kokkos has been finalised).
  static TaskHandle submit(TaskGraph& graph, TaskSpec&& spec);
  /// Does the same in the graph of the tasks that it comes after. If that graph is gone, these
  /// tasks are complete, and their handle stands for the new task.
  static TaskHandle submit_behind(TaskSpec&& spec);
  /// Does the same in the graph of another task. Throws `Error` when that graph is gone.
  static TaskHandle submit_beside(TaskHandle const& other, TaskSpec&& spec);

  /// The common part of the handles of its tasks. Throws `Error` when the graph is closed.
  static TaskHandle handle(TaskGraph const& graph);

  /// True if tasks run only within `wait`. False when the graph is gone.
  static bool is_serial(TaskHandle const& task);

  /// Names the task of this graph, and the graph, that uses a part of this area and is not
  /// complete. Empty if there is none, or the graph is gone.
  static std::string user_of(TaskHandle const& graph, Area const& area);
  /// The name of the graph; empty if it is gone.
  static std::string name_of(TaskHandle const& graph);

  /// Adds a progress function to the graph of a running task.
  static Progress add_progress(TaskHandle const& task, std::shared_ptr<ProgressSource> source);

  static Plan record(TaskGraph& graph, Label&& label, FunctionRef<void()> body);
  static bool is_recording(TaskGraph const& graph);
  static TaskHandle replay(TaskGraph& graph, Plan const& plan, std::uint64_t rounds);
  /// True if the graph's scheduling policy wants to see tasks that run again and again.
  static bool sees_plans(TaskGraph const& graph);
  /// Reports such tasks to the policy. Each has its PlannedPlace as a tag.
  static void planned(TaskGraph const& graph, PlannedTasks const& tasks);

  // For running tasks, see Engine and TaskScope.
  static TaskHandle running();
  static TaskHandle submit_child(TaskHandle const& parent, TaskSpec&& spec);
  /// Submits the rest of a task's body, see Children.
  static TaskHandle submit_continuation(TaskHandle const& self, TaskSpec&& spec);
  static bool stop_requested(TaskHandle const& self);
  static void demote(TaskHandle const& self, std::span<AccessRequest const> to);
  static void release(TaskHandle const& self, std::span<AccessRequest const> what);
  static void shrink_to_children(TaskHandle const& self);
  static void add_local(TaskHandle const& self, AccessRequest const& what);
  /// `running` is the task whose body calls this: the task itself, or the rest of its body.
  static void wait_for_children(TaskHandle const& self, TaskHandle const& running);
  static void wait_for_children(TaskHandle const& self) { wait_for_children(self, self); }
  static int threads_per_worker(TaskHandle const& self);

  // For fork-joins, see ForkJoins.
  static int fork_join_depth();
  static void require_may_join(TaskGraph const& graph);
  static void require_may_join(TaskHandle const& other);
  static void run_fork_join(TaskHandle const& self, TaskHandle const& running, int depth,
                            FunctionRef<void()> body);
  static void join_fork_join(TaskHandle const& fork_join);

  /// Returns the space of a task with this many threads, see WideSpaces. Throws `Error` when it
  /// cannot have them. `other`: a task of the graph, or `handle(graph)`.
  static SpaceAdapter* space_with(TaskHandle const& other, SpaceAdapter* space, AskedThreads asked,
                                  Label const& task);
  /// Returns that number of threads, if the task may have them.
  static int threads_of(TaskHandle const& other, AskedThreads asked);

  // For any task of the graph, from anywhere; see TaskGraph.
  /// Throws `Error` when it is none of the graph's; `wrong` says what the graph is to do.
  static void require_of(TaskGraph const& graph, TaskHandle const& task, char const* wrong);
  static bool demote_other(TaskGraph const& graph, TaskHandle const& task,
                           std::span<AccessRequest const> to);
  static bool release_other(TaskGraph const& graph, TaskHandle const& task,
                            std::span<AccessRequest const> what);
  static bool refine(TaskHandle const& task, FunctionRef<void(TaskHandle const&)> split);
};

}  // namespace trellis::Impl

#endif
