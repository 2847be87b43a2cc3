// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_ENGINE_HPP
#define TRELLIS_IMPL_ENGINE_HPP

#include <Trellis_Graph.hpp>
#include <Trellis_Observer.hpp>
#include <Trellis_SchedulingPolicy.hpp>
#include <Trellis_Tag.hpp>
#include <access/Trellis_AccessTable.hpp>
#include <device/Trellis_DeviceTasks.hpp>
#include <device/Trellis_PlanGraphs.hpp>
#include <engine/Trellis_Cancellation.hpp>
#include <engine/Trellis_Completions.hpp>
#include <engine/Trellis_Demotion.hpp>
#include <engine/Trellis_Destructors.hpp>
#include <engine/Trellis_Parts.hpp>
#include <engine/Trellis_Sections.hpp>
#include <kernel/Trellis_Submission.hpp>
#include <kernel/Trellis_Waiters.hpp>
#include <kernel/Trellis_Waiting.hpp>
#include <exclusion/Trellis_Exclusion.hpp>
#include <exclusion/Trellis_PolicyEdges.hpp>
#include <fusion/Trellis_FusionPool.hpp>
#include <fusion/Trellis_Orchestrator.hpp>
#include <kernel/Trellis_Kernel.hpp>
#include <recorded/Trellis_Passes.hpp>
#include <recorded/Trellis_Plans.hpp>
#include <progress/Trellis_Polling.hpp>
#include <task/Trellis_Failure.hpp>
#include <task/Trellis_FunctionRef.hpp>
#include <kernel/Trellis_Region.hpp>
#include <graph/Trellis_GraphControl.hpp>
#include <kernel/Trellis_TaskSpec.hpp>
#include <kernel/Trellis_Task.hpp>
#include <kernel/Trellis_TaskSlab.hpp>
#include <threads/Trellis_Lookout.hpp>
#include <threads/Trellis_MainQueue.hpp>
#include <threads/Trellis_Places.hpp>
#include <threads/Trellis_SerialTurn.hpp>
#include <threads/Trellis_Unlocked.hpp>
#include <threads/Trellis_WideSpace.hpp>
#include <threads/Trellis_Workers.hpp>
#include <task/Trellis_Reserve.hpp>

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
/// completes them. This class puts the kernel and its features together, and takes a task from
/// ready to done. Everything else is in classes of its own, see Kernel.
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
    return static_cast<std::size_t>(m_workers.max_seats());
  }

  // --- The features, see Kernel.
  [[nodiscard]] Submission& submission() { return m_submission; }
  [[nodiscard]] Waiting& waiting() { return m_waiting; }
  [[nodiscard]] Demotions& demotions() { return m_demotions; }
  [[nodiscard]] Parts& parts() { return m_parts; }
  [[nodiscard]] Cancellation& cancellation() { return m_cancellation; }
  [[nodiscard]] Polling& polling() { return m_polling; }
  [[nodiscard]] Plans& plans() { return m_plans; }
  [[nodiscard]] Passes& passes() { return m_passes; }
  [[nodiscard]] Orchestrator& orchestrator() { return m_orchestrator; }
  [[nodiscard]] FusionPool& fusion() { return m_fusion; }
  [[nodiscard]] Sections& sections() { return m_sections; }
  [[nodiscard]] WideSpaces& wide_spaces() { return m_wide_spaces; }
  [[nodiscard]] Completions& completions() { return m_completions; }

 private:
  friend class Kernel;  // its verbs call these
  void drop_objects(bool all);

  // From ready to done.
  void dispatch(Task& task, Seat& seat) {
    if (!m_device_tasks.launches_here(task)) return push(task, &seat);
    launch(task, seat);
  }
  void launch(Task& task, Seat& seat) {
    m_device_tasks.launch(task, seat);
    m_workers.ready_added();  // a thread has to poll the device
  }
  void run(Task* task, Seat& seat, Condition stop) override;
  /// Completes a task, or a run of a recorded one, see Trellis_Finish.hpp. With the last part of a
  /// task that task is complete, too. (Parts that were launched as one graph end in
  /// PlanGraphs::end_parts.)
  Task* complete(Task& task, Seat& seat, TaskState state, int row) {
    return task.region_kind == RegionKind::parts ? finish_part(task, seat, state, row)
                                                 : finish_one(task, seat, state, row);
  }
  Task* hand_over_each(Vector<Task*>& ready, Seat& seat);

  // TaskSource
  Task* pop(Seat& seat) override;
  Task* pop_own(Seat& seat) override;
  [[nodiscard]] bool has_ready(Seat const& seat) const override;
  [[nodiscard]] std::size_t backlog() const override {
    return m_policy->backlog() + m_awaited.size();
  }
  [[nodiscard]] bool polls() const override { return m_polling.busy(); }
  [[nodiscard]] bool has_own(Seat const& seat) const override;
  [[nodiscard]] std::chrono::nanoseconds nap(Seat const& seat) const override;
  void idle(Seat& seat) override;
  void found_nothing(Seat& seat) override;
  void leaves(Seat& seat) override;

  [[nodiscard]] bool has_task(Seat const& seat) const;

  [[gnu::cold]] Task* pop_for_waiting(Seat& seat);
  [[gnu::noinline]] Task* pop_awaited(Seat& seat);
  [[nodiscard]] Task* pop_of_main(Seat& seat);
  Task* pop_rest(Seat& seat);
  [[gnu::cold]] Task* complete_said(Seat& seat);
  [[gnu::cold]] bool may_not_exclude_serially(Task& task, Seat& seat);
  /// Called between two tasks of which the policy has kept the second. True if something goes
  /// before the policy's tasks, see pop.
  [[nodiscard]] bool something_is_due(Seat& seat) const {
    return m_completions.any_said(std::memory_order_relaxed) || m_polling.is_due(seat) ||
           !m_awaited.empty(std::memory_order_relaxed) || (seat.is_main && m_main.has_first()) ||
           is_time_for_rest(seat);
  }
  /// True if a body that runs again is ready, and this thread may run it.
  [[nodiscard]] bool any_rest(Seat const& seat) const {
    return !m_rests.empty(std::memory_order_relaxed) || (seat.is_main && m_main.has_rests());
  }
  [[nodiscard]] bool is_time_for_rest(Seat& seat) const {
    return any_rest(seat) && ++seat.since_rest > before_rest;
  }
  static constexpr int before_rest = 8;    ///< tasks
  static constexpr int before_others = 8;  ///< sections, or tasks of the main thread
  Task* run_one(Task& task, Seat& seat);
  [[gnu::noinline]] Task* run_special(Task& task, Seat& seat);
  TaskState run_body(Task& task, Seat& seat);
  TaskState run_wide(Task& task, Seat& seat);
  // See Trellis_StayBehind.cpp.
  void stay_behind(Seat& seat);
  [[nodiscard]] bool come_fast(Seat& seat, std::chrono::steady_clock::time_point now) const;
  void look_out(std::chrono::steady_clock::time_point begin, bool is_idle);
  [[nodiscard]] bool enough_in_flight() const;
  [[gnu::cold]] bool may_exclude(Task& task, Seat* seat);
  class TaskEnds;
  /// Completes one task, or one run of a recorded one.
  Task* finish_one(Task& task, Seat& seat, TaskState state, int row) {
    return task.is_recorded() ? m_plans.finish_run(task, seat, state, row)
                              : finish_task(task, seat, state, row);
  }
  Task* finish_task(Task& task, Seat& seat, TaskState state, int row);
  Task* finish_part(Task& first, Seat& seat, TaskState state, int row);
  [[gnu::cold]] void describe_failure(Failure& failure, Task const& task,
                                      std::string const& remark);
  [[gnu::cold]] void tell_failure(Task& task, TaskState state, FailurePtr const& failure);
  [[gnu::cold]] static void hand_on_failure(Task& task, Seat& seat, FailurePtr const& failure);
  void give_back(Task& task, Seat& seat);
  [[nodiscard]] static int most_workers(TaskGraphOptions const& options);
  void require_idle(int workers, int threads_per_worker) const;
  [[noreturn]] void refuse_threads(int workers, int threads_per_worker,
                                   std::string const& why) const;

  /// The number of completions of a seat between two looks for a submitter that waits for room; a
  /// power of two.
  std::uint64_t const m_room_check;
  Submission m_submission;
  Exclusion m_exclusion;
  Waiters m_waiters;
  PolicyEdges m_policy_edges;

  Orchestrator m_orchestrator;
  MainQueue m_main;
  // Every thread reads these after each task.
  alignas(64) TaskQueue m_rests;  ///< bodies that run again and again, on any thread; see pop
  TaskQueue m_awaited;            ///< sections that are ready, for which threads wait; see pop

  alignas(64) FusionPool m_fusion;
  Waiting m_waiting;
  Demotions m_demotions;
  Parts m_parts;
  Cancellation m_cancellation;
  Completions m_completions;
  Sections m_sections;

  Destructors m_destructors;

  DeviceTasks m_device_tasks;
  Polling m_polling;
  Plans m_plans;
  PlanGraphs m_graphs;
  Passes m_passes;
  SerialTurn m_serial_turn;
  WideSpaces m_wide_spaces;
  Places m_places;
  Lookout m_lookout;                            ///< see Trellis_StayBehind.cpp
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
