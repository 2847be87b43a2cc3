// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_ENGINE_HPP
#define TRELLIS_IMPL_ENGINE_HPP

#include <Trellis_Graph.hpp>
#include <Trellis_Observer.hpp>
#include <Trellis_SchedulingPolicy.hpp>
#include <Trellis_Tag.hpp>
#include <engine/Trellis_Features.hpp>
#include <engine/Trellis_Submission.hpp>
#include <engine/Trellis_Waiting.hpp>
#include <kernel/Trellis_Kernel.hpp>
#include <progress/Trellis_Polling.hpp>
#include <failure/Trellis_Failure.hpp>
#include <base/Trellis_FunctionRef.hpp>
#include <scope/Trellis_Scope.hpp>
#include <task/Trellis_GraphControl.hpp>
#include <task/Trellis_TaskSpec.hpp>
#include <task/Trellis_Task.hpp>
#include <task/Trellis_TaskSlab.hpp>
#include <threads/Trellis_SpinLeader.hpp>
#include <threads/Trellis_MainQueue.hpp>
#include <threads/Trellis_Places.hpp>
#include <base/Trellis_SerialTurn.hpp>
#include <locks/Trellis_Unlocked.hpp>
#include <threads/Trellis_WideSpace.hpp>
#include <threads/Trellis_Workers.hpp>
#include <base/Trellis_Reserve.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace trellis::Impl {

class StallReport;

/// A dynamic task graph: takes submissions, derives edges, hands ready tasks to the scheduling
/// policy, runs them on the threads of `Workers` (or launches them on the streams of a device), and
/// completes them. This class puts the kernel and its features together (see Features), and takes a
/// task from ready to done. Everything else is in classes of its own, see Kernel.
class Engine final : public Kernel, private TaskSource {
 public:
  explicit Engine(TaskGraphOptions const& options);
  ~Engine();

  /// Finishes all tasks, takes the engine out of its control, waits for threads that still use it,
  /// stops its own threads, and prints failures that the program has not asked for. No calls may
  /// follow.
  void close() noexcept;
  /// See TaskGraph.
  void set_threads(int workers, int threads_per_worker);
  [[nodiscard]] int most_workers() const { return m_workers.most_workers(); }

  [[nodiscard]] std::uint64_t submitted() const {
    return m_submission.submitted() + m_workers.submitted();
  }
  [[nodiscard]] std::uint64_t edges() const { return m_submission.edges() + m_workers.edges(); }
  [[nodiscard]] std::size_t task_memory() const { return m_slab.allocated() * sizeof(Task); }
  [[nodiscard]] std::vector<std::string> rows() const;
  /// Returns how many of the rows are threads, at most; the others are streams.
  [[nodiscard]] std::size_t threads() const {
    return static_cast<std::size_t>(m_workers.max_slots());
  }

  /// Returns what has been recorded so far. Requires that the graph records.
  [[nodiscard]] Trace trace();

  [[nodiscard]] Features& features() { return m_features; }
  [[nodiscard]] Submission& submission() { return m_submission; }
  [[nodiscard]] Waiting& waiting() { return m_waiting; }
  [[nodiscard]] Polling& polling() { return m_polling; }
  [[nodiscard]] WideSpaces& wide_spaces() { return m_wide_spaces; }

 private:
  friend class Kernel;  // its verbs call these
  void drop_objects(bool all);

  // From ready to done.
  void dispatch(Task& task, WorkerSlot& slot) {
    if (!m_features.device_tasks.launches_here(task)) return push(task, &slot);
    launch(task, slot);
  }
  void launch(Task& task, WorkerSlot& slot) {
    m_features.device_tasks.launch(task, slot);
    m_workers.ready_added();  // a thread has to poll the device
  }
  void run(Task* task, WorkerSlot& slot, Condition stop) override;
  /// Completes a task, or a run of a recorded one, see Trellis_Finish.hpp. With the last child of a
  /// task that task is complete, too. (Children that were launched as one graph end in
  /// PlanGraphs::end_children.)
  Task* complete(Task& task, WorkerSlot& slot, TaskState state, int row) {
    return task.scope_kind == ScopeKind::children ? finish_child(task, slot, state, row)
                                                  : finish_one(task, slot, state, row);
  }
  Task* hand_over_each(Vector<Task*>& ready, WorkerSlot& slot);

  // TaskSource
  Task* pop(WorkerSlot& slot) override;
  Task* pop_own(WorkerSlot& slot) override;
  [[nodiscard]] bool has_ready(WorkerSlot const& slot) const override;
  [[nodiscard]] std::size_t backlog() const override {
    return m_policy->backlog() + m_awaited.size();
  }
  [[nodiscard]] bool polls() const override { return m_polling.busy(); }
  [[nodiscard]] bool has_own(WorkerSlot const& slot) const override;
  [[nodiscard]] std::chrono::nanoseconds nap(WorkerSlot const& slot) const override;
  void found_nothing(WorkerSlot& slot) override;
  void leaves(WorkerSlot& slot) override;

  [[nodiscard]] bool has_task(WorkerSlot const& slot) const;
  void idle(WorkerSlot& slot);

  template <class Queue, class Others>
  Task* pop_by_turns(Queue& queue, int& in_row, Others const& pop_other);
  [[gnu::noinline]] Task* pop_awaited(WorkerSlot& slot);
  [[nodiscard]] Task* pop_of_main(WorkerSlot& slot);
  Task* pop_continuation(WorkerSlot& slot);
  [[gnu::cold]] Task* complete_said(WorkerSlot& slot);
  [[gnu::cold]] bool may_not_exclude_serially(Task& task, WorkerSlot& slot);
  /// Called between two tasks of which the policy has kept the second. True if something goes
  /// before the policy's tasks, see pop.
  [[nodiscard]] bool something_is_due(WorkerSlot& slot) const {
    return m_features.completions.any_said(std::memory_order_relaxed) || m_polling.is_due(slot) ||
           !m_awaited.empty(std::memory_order_relaxed) || (slot.is_main && m_main.has_first()) ||
           is_time_for_continuation(slot);
  }
  /// True if a body that runs again is ready, and this thread may run it.
  [[nodiscard]] bool any_continuation(WorkerSlot const& slot) const {
    return !m_continuations.empty(std::memory_order_relaxed) ||
           (slot.is_main && m_main.has_continuations());
  }
  [[nodiscard]] bool is_time_for_continuation(WorkerSlot& slot) const {
    return any_continuation(slot) && ++slot.turns.since_continuation > before_continuation;
  }
  static constexpr int before_continuation = 8;  ///< tasks
  static constexpr int before_others = 8;        ///< fork-joins, or tasks of the main thread
  Task* run_one(Task& task, WorkerSlot& slot);
  [[gnu::noinline]] Task* run_special(Task& task, WorkerSlot& slot);
  TaskState run_body(Task& task, WorkerSlot& slot);
  TaskState run_wide(Task& task, WorkerSlot& slot);
  // See Trellis_BackOff.cpp.
  void back_off(WorkerSlot& slot);
  [[nodiscard]] bool come_fast(WorkerSlot& slot, std::chrono::steady_clock::time_point now) const;
  void lead(std::chrono::steady_clock::time_point begin, bool is_idle);
  [[nodiscard]] bool enough_in_flight() const;
  [[gnu::cold]] bool may_exclude(Task& task, WorkerSlot* slot);
  class TaskEnds;
  /// Completes one task, or one run of a recorded one.
  Task* finish_one(Task& task, WorkerSlot& slot, TaskState state, int row) {
    return task.is_recorded() ? m_features.plans.finish_run(task, slot, state, row)
                              : finish_task(task, slot, state, row);
  }
  Task* finish_task(Task& task, WorkerSlot& slot, TaskState state, int row);
  Task* finish_child(Task& first, WorkerSlot& slot, TaskState state, int row);
  [[gnu::cold]] void describe_failure(Failure& failure, Task const& task,
                                      std::string const& remark);
  [[gnu::cold]] void tell_failure(Task& task, TaskState state, FailurePtr const& failure);
  [[gnu::cold]] static void hand_on_failure(Task& task, WorkerSlot& slot,
                                            FailurePtr const& failure);
  void give_back(Task& task, WorkerSlot& slot);
  [[nodiscard]] static int most_workers(TaskGraphOptions const& options);
  void require_idle(int workers, int threads_per_worker) const;
  [[noreturn]] void refuse_threads(int workers, int threads_per_worker,
                                   std::string const& why) const;

  /// The number of completions of a slot between two looks for a submitter that waits for room; a
  /// power of two.
  std::uint64_t const m_room_check;
  Submission m_submission;
  Features m_features;
  MainQueue m_main;
  // Every thread reads these after each task.
  alignas(64) TaskQueue
      m_continuations;  ///< bodies that run again and again, on any thread; see pop
  TaskQueue m_awaited;  ///< fork-joins that are ready, for which threads wait; see pop
  alignas(64) Waiting m_waiting;
  Polling m_polling;
  SerialTurn m_serial_turn;
  WideSpaces m_wide_spaces;
  Places m_places;
  SpinLeader m_leader;                          ///< see Trellis_BackOff.cpp
  Workers m_workers;                            ///< its threads use everything above
  std::unique_ptr<StallReport> m_stall_report;  ///< null: not wanted; it has a thread of its own
};

/// Used by the kernel's verbs.
inline Engine& engine_of(Kernel& kernel) {
  return static_cast<Engine&>(kernel);
}
inline Engine const& engine_of(Kernel const& kernel) {
  return static_cast<Engine const&>(kernel);
}

}  // namespace trellis::Impl

#endif
