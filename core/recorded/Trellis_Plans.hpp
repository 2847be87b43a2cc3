// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_PLANS_HPP
#define TRELLIS_IMPL_PLANS_HPP

#include <Trellis_Graph.hpp>
#include <Trellis_Label.hpp>
#include <task/Trellis_PlanNode.hpp>
#include <task/Trellis_Task.hpp>
#include <impl/Trellis_FailurePtr.hpp>
#include <base/Trellis_FunctionRef.hpp>
#include <impl/Trellis_TaskHandle.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace trellis::Impl {

class AsyncStreams;
class Cancellation;
class Destructors;
class Kernel;
class Iterations;
class PlanGraphs;
class Submission;
class FailureLog;
struct PlanRecording;
class Recorder;
struct WorkerSlot;
class SubmissionLock;
struct TagRule;
class TaskSlab;
struct TaskSpec;
class Workers;

/// Keeps the plans of a graph: records tasks, and runs them round by round; see PlanState for why
/// that is right. The engine handles what a recorded task has in common with others, from ready to
/// done.
class Plans {
 public:
  Plans(Kernel& kernel, Submission& admission, Cancellation& cancellation, Destructors& destructors,
        PlanGraphs& graphs, Iterations& iterations, AsyncStreams& streams);
  Plans(Plans const&) = delete;
  Plans& operator=(Plans const&) = delete;

  /// Makes a plan of the tasks that `body` submits on this thread. They do not run.
  std::shared_ptr<PlanState> record(Label&& label, FunctionRef<void()> body);
  /// Adds the next task to a plan that the calling thread records.
  TaskHandle record_task(PlanRecording& recording, TaskSpec&& spec);
  Task& make_recorded(TaskSpec& spec, PlanState& plan, std::size_t index);
  void dismantle(PlanState& plan);
  void dismantle_all();

  TaskHandle replay(Label&& label, std::shared_ptr<PlanState> const& plan, std::uint64_t rounds);
  TaskHandle replay_with(PlanState& plan, TaskSpec&& spec);
  void resolve_after(TaskSpec& spec, std::vector<TaskHandle>& resolved) const;
  static void order_behind_replays(TaskSpec& spec, std::vector<TaskHandle>& resolved);
  Task* run_plan(Task& whole, WorkerSlot& slot);
  /// See Features.
  [[nodiscard]] bool run(Task& task, WorkerSlot& slot, Task*& next) {
    if (!task.marks.is_replay) return false;
    next = run_plan(task, slot);
    return true;
  }
  Task* finish_run(Task& task, WorkerSlot& slot, TaskState state, int row);

  // Functions for what a replay leaves:
  void wait_for_replay(TaskHandle const& handle);
  void rethrow_recorded(TaskHandle const& handle) const;
  static void note_failed(Task& task, std::string const& text, FailurePtr const& failure,
                          bool cancelled);

 private:
  class RunEnds;
  std::shared_ptr<PlanState> new_plan(Label&& label);
  static void require_whole(PlanState const& plan);
  void check_still_held(PlanState const& plan) const;
  void finish(PlanState& plan);
  void link(PlanState& plan);
  static void find_components(PlanState& plan);

  void cancel_tasks(PlanState& plan, FailurePtr const& failure);
  Task* start_rounds(PlanState& plan, WorkerSlot& slot);
  void number_runs(PlanState& plan, Task const& whole, std::uint64_t rounds);
  Task* rounds_over(PlanState& plan, WorkerSlot& slot);
  Task* replay_over(PlanState& plan, WorkerSlot& slot, TaskState state);
  void let_next_in(PlanState& plan, WorkerSlot* slot = nullptr);

  void note_failed_run(Task& task, TaskState state, FailurePtr const& failure);
  void end_early(Task& task, Failure const& failure) const;
  [[nodiscard]] bool hand_to_next_round(PlanState& plan) const;
  void wait_for_older_replay(TaskHandle const& handle);
  void note_failures(PlanState& plan);

  Kernel& m_kernel;
  Submission& m_admission;
  Cancellation& m_cancellation;
  Destructors& m_destructors;
  PlanGraphs& m_graphs;
  Iterations& m_iterations;
  SubmissionLock& m_submission;
  TaskSlab& m_slab;
  FailureLog& m_failures;
  std::deque<TagRule> const& m_rules;
  AsyncStreams& m_streams;
  Workers& m_workers;
  Recorder* const m_recorder;  ///< null: the graph does not record

  TaskId m_last_recorded = PlanNode::recorded;  ///< guarded by m_submission
  std::vector<PlanState*> m_plans;              ///< guarded by m_submission: all that there are
};

}  // namespace trellis::Impl

#endif
