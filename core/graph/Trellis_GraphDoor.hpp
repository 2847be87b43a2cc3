// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_GRAPHDOOR_HPP
#define TRELLIS_IMPL_GRAPHDOOR_HPP

#include <Trellis_Plan.hpp>
#include <Trellis_TaskGraph.hpp>
#include <task/Trellis_FunctionRef.hpp>
#include <kernel/Trellis_TaskSpec.hpp>
#include <threads/Trellis_AskedThreads.hpp>

#include <memory>
#include <span>

namespace trellis {
struct PlannedTasks;
}

namespace trellis::Impl {

/// The typed fronts' way into a graph.
struct GraphDoor {
  /// Throws `Error` when the graph is closed (its Kokkos has been finalised).
  static TaskHandle submit(TaskGraph& graph, TaskSpec&& spec);
  /// The same to the graph of the tasks that it comes after. When that is not there any more, they
  /// are complete, and stand for the new one.
  static TaskHandle submit_behind(TaskSpec&& spec);
  /// The same to the graph of another task. Throws `Error` when that is not there any more.
  static TaskHandle submit_beside(TaskHandle const& other, TaskSpec&& spec);

  /// What handles of its tasks have in common. Throws `Error` when the graph is closed.
  static TaskHandle handle(TaskGraph const& graph);

  /// Do tasks run within `wait` alone? False when the graph is not there any more.
  static bool is_serial(TaskHandle const& task);

  /// Which task of this graph, and of which graph that is, uses something of this area and is not
  /// complete; an empty text: none, or the graph is not there any more.
  static std::string user_of(TaskHandle const& graph, Area const& area);
  /// What the graph is called; empty: it is not there any more.
  static std::string name_of(TaskHandle const& graph);

  /// To the graph of a running task.
  static Progress add_progress(TaskHandle const& task, std::shared_ptr<ProgressSource> source);

  static Plan record(TaskGraph& graph, Label&& label, FunctionRef<void()> body);
  /// Is a plan being recorded by the calling thread?
  static bool is_recording(TaskGraph const& graph);
  static TaskHandle replay(TaskGraph& graph, Plan const& plan, std::uint64_t rounds);
  /// Does the graph's scheduling policy want to know tasks that run again and again?
  static bool sees_plans(TaskGraph const& graph);
  /// Tells it. Such a task has its PlannedPlace as a tag.
  static void planned(TaskGraph const& graph, PlannedTasks const& tasks);

  // For running tasks, see Engine and TaskScope.
  static TaskHandle running();
  static TaskHandle submit_part(TaskHandle const& owner, TaskSpec&& spec);
  /// What is left of the body of a task, see Parts.
  static TaskHandle submit_rest(TaskHandle const& self, TaskSpec&& spec);
  static bool stop_requested(TaskHandle const& self);
  static void demote(TaskHandle const& self, std::span<AccessRequest const> to);
  static void release(TaskHandle const& self, std::span<AccessRequest const> what);
  static void shrink_to_parts(TaskHandle const& self);
  static void add_local(TaskHandle const& self, AccessRequest const& what);
  /// `running`: the task whose body calls this, which is the task itself or the rest of its body.
  static void wait_for_parts(TaskHandle const& self, TaskHandle const& running);
  static void wait_for_parts(TaskHandle const& self) { wait_for_parts(self, self); }
  static int threads_per_worker(TaskHandle const& self);

  // For sections, see there.
  static int section_depth();
  static void require_may_join(TaskGraph const& graph);
  static void require_may_join(TaskHandle const& other);
  static void run_section(TaskHandle const& self, TaskHandle const& running, int depth,
                          FunctionRef<void()> body);
  static void join_section(TaskHandle const& section);

  /// What a task's space is when it has so many threads, see WideSpaces. Throws `Error` when it
  /// cannot have them.
  static SpaceAdapter* space_with(TaskGraph const& graph, SpaceAdapter* space, AskedThreads asked,
                                  Label const& task);
  /// How many that are, where it may have them.
  static int threads_of(TaskGraph const& graph, AskedThreads asked);
  /// The same in the graph of another task.
  static SpaceAdapter* space_with(TaskHandle const& other, SpaceAdapter* space, AskedThreads asked,
                                  Label const& task);
  static int threads_of(TaskHandle const& other, AskedThreads asked);

  // For any task of the graph, from anywhere; see TaskGraph.
  static bool demote_other(TaskGraph const& graph, TaskHandle const& task,
                           std::span<AccessRequest const> to);
  static bool release_other(TaskGraph const& graph, TaskHandle const& task,
                            std::span<AccessRequest const> what);
  static bool refine(TaskHandle const& task, FunctionRef<void(TaskHandle const&)> split);
};

}  // namespace trellis::Impl

#endif
