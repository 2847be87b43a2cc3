// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_ENGINE_HPP
#define TRELLIS_IMPL_ENGINE_HPP

#include <Trellis_Graph.hpp>
#include <Trellis_Observer.hpp>
#include <Trellis_SchedulingPolicy.hpp>
#include <Trellis_Tag.hpp>
#include <Trellis_TaskGraph.hpp>
#include <access/Trellis_AccessTable.hpp>
#include <device/Trellis_DeviceTasks.hpp>
#include <device/Trellis_PlanGraphs.hpp>
#include <engine/Trellis_Cancellation.hpp>
#include <engine/Trellis_Completions.hpp>
#include <engine/Trellis_Demotion.hpp>
#include <engine/Trellis_Destructors.hpp>
#include <engine/Trellis_Parts.hpp>
#include <engine/Trellis_Sections.hpp>
#include <engine/Trellis_Submission.hpp>
#include <engine/Trellis_Waiting.hpp>
#include <exclusion/Trellis_Exclusion.hpp>
#include <exclusion/Trellis_PolicyEdges.hpp>
#include <fusion/Trellis_FusionPool.hpp>
#include <fusion/Trellis_Orchestrator.hpp>
#include <plan/Trellis_Passes.hpp>
#include <plan/Trellis_Plans.hpp>
#include <progress/Trellis_Polling.hpp>
#include <task/Trellis_Failure.hpp>
#include <task/Trellis_FunctionRef.hpp>
#include <trace/Trellis_Events.hpp>
#include <task/Trellis_Region.hpp>
#include <graph/Trellis_GraphControl.hpp>
#include <task/Trellis_TaskSpec.hpp>
#include <task/Trellis_Task.hpp>
#include <task/Trellis_TaskSlab.hpp>
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

struct Frame;
class StallReport;
class Warnings;

/// A dynamic task graph: takes submissions, derives edges, hands ready tasks to the scheduling
/// policy, runs them on the threads of `Workers` (or launches them on the streams of a device), and
/// completes them. What is here is the wiring, and a task's way from ready to done. Everything else
/// is in classes of its own, which use the verbs below and those of each other: Submission, Parts,
/// Demotions, Cancellation, Completions, Waiting, Destructors, DeviceTasks, Polling, Plans, Passes,
/// PlanGraphs, Events.
///
/// Order of the locks (each may be taken while those before it are held): waiting tasks, streams,
/// regions of parts (the inner one first), graph, task, exclusion, then any one of: failure log,
/// recorder, workers, slab; and last a policy's queue. Threads that submit into two regions of
/// parts share no lock and write no line of memory in common. User code runs under a lock in few
/// places only: the copy or move of a functor into its task, a View's label, the comparison of
/// access states and tags (regions and graph, exclusion), and the launch of an asynchronous task
/// (streams).
class Engine final : private TaskSource {
 public:
  explicit Engine(TaskGraphOptions const& options);
  ~Engine();

  /// Tells which graph this is, for the handles of its tasks. Called once, before anything else.
  void bind(GraphControl& control, std::uint64_t generation) {
    m_control = &control;
    m_generation = generation;
  }
  void drop_objects(bool all);

  /// The innermost task of any graph whose body the calling thread runs.
  [[nodiscard]] static TaskHandle running();
  [[nodiscard]] bool is_of(TaskHandle const& task) const {
    return task.control == m_control && task.generation == m_generation;
  }

  /// Requires a handle that has been settled. A recorded task is done while no replay of its plan
  /// is under way. Its plan may be dropped meanwhile: what was read belongs to the plan if the task
  /// is still the same afterwards, as `live_id` has each value once.
  [[nodiscard]] bool is_done(TaskHandle const& handle) const {
    Task const& task = *handle.task;
    if (task.live_id.load(std::memory_order_acquire) != handle.id) return true;
    if ((handle.id & PlanNode::recorded) == 0) return false;
    Task const* const owner = task.plan_owner.load(std::memory_order_acquire);
    bool const idle = owner->unfinished.load(std::memory_order_acquire) == 0;
    return idle || task.live_id.load(std::memory_order_acquire) != handle.id;
  }
  /// Finishes everything, takes the engine out of its control, waits for threads that still use it,
  /// stops its own, and prints failures that nobody has asked for. No calls afterwards.
  void close() noexcept;
  /// See TaskGraph.
  void set_threads(int workers, int threads_per_worker);
  [[nodiscard]] int most_workers() const { return m_workers.most_workers(); }

  [[nodiscard]] TaskGraphOptions const& options() const { return m_options; }
  [[nodiscard]] std::uint64_t submitted() const {
    return m_submission.submitted() + m_workers.submitted();
  }
  [[nodiscard]] std::uint64_t completed() const { return m_workers.completed(); }
  [[nodiscard]] std::uint64_t edges() const { return m_submission.edges() + m_workers.edges(); }
  [[nodiscard]] std::size_t task_memory() const { return m_slab.allocated() * sizeof(Task); }
  [[nodiscard]] std::vector<std::string> rows() const;
  /// How many of the rows are threads, at most; the others are streams.
  [[nodiscard]] std::size_t threads() const {
    return static_cast<std::size_t>(m_workers.max_seats());
  }

  // --- The classes that do a part of the work and keep what belongs to that.
  [[nodiscard]] Submission& submission() { return m_submission; }
  [[nodiscard]] Waiting& waiting() { return m_waiting; }
  [[nodiscard]] Demotions& demotions() { return m_demotions; }
  [[nodiscard]] Parts& parts() { return m_parts; }
  [[nodiscard]] Cancellation& cancellation() { return m_cancellation; }
  [[nodiscard]] Completions& completions() { return m_completions; }
  [[nodiscard]] Polling& polling() { return m_polling; }
  [[nodiscard]] DeviceTasks& device_tasks() { return m_device_tasks; }
  [[nodiscard]] Plans& plans() { return m_plans; }
  [[nodiscard]] Passes& passes() { return m_passes; }
  [[nodiscard]] PlanGraphs& graphs() { return m_graphs; }
  [[nodiscard]] Destructors& destructors() { return m_destructors; }
  [[nodiscard]] PolicyEdges& policy_edges() { return m_policy_edges; }
  [[nodiscard]] Events& events() { return m_events; }
  [[nodiscard]] Statistics& statistics() { return m_events.statistics(); }
  [[nodiscard]] Orchestrator& orchestrator() { return m_orchestrator; }
  [[nodiscard]] FusionPool& fusion() { return m_fusion; }
  [[nodiscard]] Sections& sections() { return m_sections; }
  /// The policy, if it wants to see plans and passes; else null.
  [[nodiscard]] SchedulingPolicy* planner() {
    return m_policy->sees_plans() ? m_policy.get() : nullptr;
  }
  [[nodiscard]] WideSpaces& wide_spaces() { return m_wide_spaces; }
  /// Null: nobody asks for warnings.
  [[nodiscard]] Warnings* warnings() { return m_warnings.get(); }

  // --- Verbs: what these use, beside is_done.
  /// Runs of recorded tasks have ids of their own: somebody looks at them.
  [[nodiscard]] bool numbers_runs() const { return m_numbers_runs; }
  [[nodiscard]] TaskHandle handle_of(Task* task, TaskId id) const {
    return {m_control, m_generation, task, id};
  }

  // Of the calling thread.
  [[nodiscard]] Seat& own_seat();

  // Of all tasks.
  /// Completed first: a task submitted and completed between the two readings must not hide one
  /// that still runs.
  [[nodiscard]] std::uint64_t in_flight() const {
    std::uint64_t const done = completed();
    return submitted() - done;
  }
  [[nodiscard]] bool all_done() const { return in_flight() == 0; }

  // From ready to done.
  void make_ready(Task& task, Seat* seat);
  [[gnu::always_inline]] void push(Task& task, Seat* seat) {
    if (is_kept(task)) return push_kept(task);
    m_policy->push(ReadyTask(&task), seat != nullptr ? seat->number : -1);
    m_workers.ready_added();
  }
  /// A ready task, or the first of a batch, goes to the policy, or to its device.
  void dispatch(Task& task, Seat& seat) {
    if (!m_device_tasks.launches_here(task)) return push(task, &seat);
    launch(task, seat);
  }
  void launch(Task& task, Seat& seat) {
    m_device_tasks.launch(task, seat);
    m_workers.ready_added();  // somebody has to ask the device how far it is
  }
  /// A part waits for a task that is not of its region. What it is a part of keeps exclusive areas
  /// meanwhile, and nobody whom that needs must wait behind those that wait for these areas.
  void hinder_owners(Task const& part, Vector<Task*>& granted) {
    for (Task* task = owner_of(part); task != nullptr && !m_serial; task = whole_of(*task))
      if (task->exclusive) m_exclusion.hinder(*task, granted);
  }
  /// The policy may now give out what it has kept.
  void look_again() {
    if (!m_policy->empty()) m_workers.ready_added();
  }
  void run(Task* task, Seat& seat, Condition stop) override;
  Task* run_quietly(Task& task, Seat& seat);
  /// The one completion. Each kind of region tells who has to know of a failure, then `run_over`,
  /// then lets the successors go on by `trigger` and `hand_over`, and does what the kind is for:
  /// gives the task back; counts the owner down; or sets the task up for its next round.
  Task* complete(Task& task, Seat& seat, TaskState state, int row) {
    switch (task.region_kind) {
      case RegionKind::graph:
        return complete_one(task, seat, state, row);
      case RegionKind::parts:
        return complete_part(task, seat, state, row);
      case RegionKind::rounds:
        return m_plans.complete_run(task, seat, state, row);
    }
    return nullptr;
  }
  /// What every run ends with before its successors go on.
  void run_over(Task& task, Seat& seat, TaskState state, int row) {
    seat.ready.clear();
    task.state.store(state, std::memory_order_relaxed);
    m_events.changed(task, state, row);
    if (task.is_split.load(std::memory_order_acquire)) m_parts.close_region(task, seat);
  }
  /// The task keeps what it excludes others from while no body of it runs: nobody whom that needs
  /// must wait behind those that wait for it.
  void hinder(Task& task);
  /// For a thread that waits: a ready task for which `wanted` returns true, or null. One may be
  /// missed.
  [[nodiscard]] Task* pop_wanted(Seat const& seat, FunctionRef<bool(Task const&)> wanted);
  /// Sections that are ready. It may be outdated.
  [[nodiscard]] bool any_awaited() const { return !m_awaited.empty(std::memory_order_relaxed); }
  /// Then `seat.ready` has the tasks that have waited for its exclusive areas. Of a task that
  /// others may demote under its lock, in which it stops being live: what it has until then, a
  /// demotion from outside may change, and must not give it what nobody would release.
  void give_up_exclusive(Task& task, Seat& seat) {
    if (task.exclusive) m_exclusion.release(task, seat.ready);
  }
  /// In a handler: of what the task has thrown.
  std::shared_ptr<Failure> current_failure(Task const& task, std::string const& remark = {});
  /// Completes what is over later than its body. Returns a task to run next, if there is one.
  Task* pop_late(Seat& seat);
  /// Bodies that run again and again are ready, so there always is something to run.
  [[nodiscard]] bool anyone_polls() const {
    return !m_rests.empty(std::memory_order_relaxed) || m_main.has_rests();
  }
  /// Nothing goes on before something is said outside of the graph.
  [[nodiscard]] bool has_only_open_completions() const;
  /// Gives tasks that a completion made ready to the policy; the first `granted` ones have been
  /// ready already and just got their exclusive areas. Returns the one to run next, if the policy
  /// keeps one here.
  Task* hand_over(Vector<Task*>& ready, std::size_t granted, Seat& seat) {
    if (ready.size() != 1 || granted != 0) return hand_over_many(ready, granted, seat);
    Task& task = *ready.front();
    if (task.exclusive || !goes_to_policy(task)) return hand_over_many(ready, granted, seat);
    task.state.store(TaskState::ready, std::memory_order_relaxed);
    m_events.changed(task, TaskState::ready);
    return give_to_policy(ready, seat);
  }

  /// Puts those on devices, which have become ready together, into the order in which they are to be
  /// launched: by priority, then as the policy ranks them. The others stay where they are.
  void order_launches(std::span<Task*> ready) const;
  /// Among launches of one priority.
  [[nodiscard]] std::int64_t rank_of_launch(Task& task) const {
    return m_policy->exclusive_rank(ReadyTask(&task));
  }

 private:
  Task* hand_over_many(Vector<Task*>& ready, std::size_t granted, Seat& seat);
  Task* hand_over_each(Vector<Task*>& ready, Seat& seat);
  Task* give_to_policy(Vector<Task*> const& ready, Seat& seat) {
    static_assert(sizeof(ReadyTask) == sizeof(Task*));
    ReadyTask const* const first = reinterpret_cast<ReadyTask const*>(ready.data());
    Task* const next = m_policy->finished({first, ready.size()}, seat.number).impl();
    // Another one than the first: that has been pushed, perhaps when the other was taken already.
    if (ready.size() > 1 || next != ready.front()) m_workers.ready_added();
    return next;
  }

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

  // From ready to done.
  /// From the policy.
  [[nodiscard]] bool is_kept(Task const& task) const {
    return (task.marks.main_thread || task.marks.goes_on || task.marks.is_section) && !m_serial;
  }
  /// Nor is it held back or launched.
  [[nodiscard]] bool goes_to_policy(Task const& task) const {
    return !is_kept(task) && !task.marks.is_fusable && !task.runs_on_device();
  }
  void push_kept(Task& task);
  [[gnu::cold]] Task* pop_for_waiting(Seat& seat);
  [[gnu::noinline]] Task* pop_awaited(Seat& seat);
  [[nodiscard]] Task* pop_of_main(Seat& seat);
  Task* pop_rest(Seat& seat);
  [[gnu::cold]] Task* complete_said(Seat& seat);
  [[gnu::cold]] bool may_not_exclude_serially(Task& task, Seat& seat);
  /// Between two tasks of which the policy has kept the second: is there something that goes before
  /// what the policy has? See pop.
  [[nodiscard]] bool something_is_due(Seat& seat) const {
    return m_completions.any_said(std::memory_order_relaxed) || m_polling.is_due(seat) ||
           any_awaited() || (seat.is_main && m_main.has_first()) || is_time_for_rest(seat);
  }
  /// Those that run again, as far as this thread may run them.
  [[nodiscard]] bool any_rest(Seat const& seat) const {
    return !m_rests.empty(std::memory_order_relaxed) || (seat.is_main && m_main.has_rests());
  }
  [[nodiscard]] bool is_time_for_rest(Seat& seat) const {
    return any_rest(seat) && ++seat.since_rest > before_rest;
  }
  static constexpr int before_rest = 8;    ///< tasks
  static constexpr int before_others = 8;  ///< sections, or tasks of the main thread
  Task* run_one(Task& task, Seat& seat);
  TaskState run_body(Task& task, Seat& seat);
  TaskState run_wide(Task& task, Seat& seat);
  // See Trellis_StayBehind.cpp.
  void stay_behind(Seat& seat);
  [[nodiscard]] bool come_fast(Seat& seat, std::chrono::steady_clock::time_point now) const;
  void look_out(std::chrono::steady_clock::time_point begin, bool is_idle);
  [[nodiscard]] bool enough_in_flight() const;
  [[gnu::cold]] bool may_exclude(Task& task, Seat* seat);
  Task* complete_part(Task& task, Seat& seat, TaskState state, int row);
  [[gnu::cold]] void describe_failure(Failure& failure, Task const& task,
                                      std::string const& remark);
  [[gnu::cold]] void tell_failure(Task& task, TaskState state, FailurePtr const& failure);
  [[gnu::cold]] static void hand_on_failure(Task& task, Seat& seat, FailurePtr const& failure);
  Task* complete_one(Task& task, Seat& seat, TaskState state, int row);
  void give_back(Task& task, Seat& seat);
  [[nodiscard]] static int most_workers(TaskGraphOptions const& options);
  void require_idle(int workers, int threads_per_worker) const;
  [[noreturn]] void refuse_threads(int workers, int threads_per_worker,
                                   std::string const& why) const;

  GraphControl* m_control = nullptr;
  std::uint64_t m_generation = 0;
  TaskGraphOptions m_options;  ///< nothing but the numbers of threads changes, see Workers
  std::shared_ptr<SchedulingPolicy> const m_policy;
  bool const m_serial;
  /// Completions of a seat between two looks for a submitter that waits for room; a power of two.
  std::uint64_t const m_room_check;
  TaskSlab m_slab;
  FailureLog m_failures;
  Events m_events;
  bool const m_numbers_runs;  ///< see numbers_runs
  std::unique_ptr<Warnings> const m_warnings;

  alignas(64) mutable SubmissionLock m_lock;  ///< of the graph
  Submission m_submission;
  Exclusion m_exclusion;
  PolicyEdges m_policy_edges;

  Orchestrator m_orchestrator;
  MainQueue m_main;
  // Every thread looks at these after each task.
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
  Lookout m_lookout;                            ///< of those that stay behind
  Workers m_workers;                            ///< its threads use everything above
  std::unique_ptr<StallReport> m_stall_report;  ///< null: nobody has asked for it; its thread, too
};

}  // namespace trellis::Impl

#endif
