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
#include <engine/Trellis_Demotion.hpp>
#include <engine/Trellis_Destructors.hpp>
#include <engine/Trellis_FoundEntries.hpp>
#include <engine/Trellis_Parts.hpp>
#include <engine/Trellis_Waiting.hpp>
#include <exclusion/Trellis_Exclusion.hpp>
#include <plan/Trellis_Passes.hpp>
#include <plan/Trellis_Plans.hpp>
#include <task/Trellis_Failure.hpp>
#include <task/Trellis_FunctionRef.hpp>
#include <trace/Trellis_Recorder.hpp>
#include <task/Trellis_Region.hpp>
#include <graph/Trellis_GraphControl.hpp>
#include <task/Trellis_TaskSpec.hpp>
#include <task/Trellis_Task.hpp>
#include <task/Trellis_TaskNumbers.hpp>
#include <task/Trellis_TaskSlab.hpp>
#include <threads/Trellis_MainQueue.hpp>
#include <threads/Trellis_Unlocked.hpp>
#include <threads/Trellis_Workers.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace trellis::Impl {

struct Frame;

/// A dynamic task graph: takes submissions, derives edges, hands ready tasks to the scheduling
/// policy, runs them on the threads of `Workers` (or launches them on the streams of an
/// asynchronous space), and completes them. What concerns plans, passes of loops and graphs of
/// devices is in classes of their own (Plans, Passes, PlanGraphs), which use its verbs.
///
/// Order of the locks (each may be taken while those before it are held): waiting tasks, streams,
/// regions of parts (the inner one first), graph, task, exclusion, then any one of: failure log,
/// recorder, queue, workers, slab. Threads that submit into two regions of parts share no lock and
/// write no line of memory in common. User code runs under a lock in few places only: the copy or
/// move of a functor into its task, a View's label, the comparison of access states and tags
/// (regions and graph, exclusion), and the launch of an asynchronous task (streams).
class Engine final : private TaskSource {
 public:
  explicit Engine(TaskGraphOptions const& options);
  ~Engine();

  /// Adds a task. May run other tasks first, when too many are in flight.
  TaskHandle submit(TaskSpec&& spec);
  /// Tells which graph this is, for the handles of its tasks. Called once, before anything else.
  void bind(GraphControl& control, std::uint64_t generation) {
    m_control = &control;
    m_generation = generation;
  }
  void drop_objects(bool all);
  /// Throws when a task has been submitted.
  void add_rule(TagRule&& rule);

  /// The innermost task of any graph whose body the calling thread runs.
  [[nodiscard]] static TaskHandle running();
  /// The engine of this graph, if the calling thread runs one of its tasks.
  [[nodiscard]] static Engine* running_here(GraphControl const* control,
                                            std::uint64_t generation) noexcept;

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

  [[nodiscard]] TaskGraphOptions const& options() const { return m_options; }
  [[nodiscard]] std::uint64_t submitted() const {
    return m_submitted.load(std::memory_order_acquire) + m_workers.submitted();
  }
  [[nodiscard]] std::uint64_t completed() const { return m_workers.completed(); }
  [[nodiscard]] std::uint64_t edges() const {
    return m_edges.load(std::memory_order_relaxed) + m_workers.edges();
  }
  [[nodiscard]] std::size_t task_memory() const { return m_slab.allocated() * sizeof(Task); }
  [[nodiscard]] Recorder const& recorder() const;
  [[nodiscard]] std::vector<std::string> rows() const;

  // --- Verbs: what the classes use that do a part of the work and keep what belongs to that, beside
  // submit and is_done.
  [[nodiscard]] Waiting& waiting() { return m_waiting; }
  [[nodiscard]] Demotions& demotions() { return m_demotions; }
  [[nodiscard]] Parts& parts() { return m_parts; }
  [[nodiscard]] Plans& plans() { return m_plans; }
  [[nodiscard]] Passes& passes() { return m_passes; }
  [[nodiscard]] PlanGraphs& graphs() { return m_graphs; }
  [[nodiscard]] Destructors& destructors() { return m_destructors; }
  [[nodiscard]] bool is_watched() const { return m_watched; }
  /// Runs of recorded tasks have ids of their own: somebody looks at them.
  [[nodiscard]] bool numbers_runs() const { return m_numbers_runs; }
  [[nodiscard]] TaskHandle handle_of(Task* task, TaskId id) const {
    return {m_control, m_generation, task, id};
  }
  /// So many ids in a row, for runs of recorded tasks. Returns the one before them.
  TaskId take_ids(std::uint64_t count) { return m_numbers.take(count); }
  /// Of the next task of the root region. The graph's lock is held.
  [[nodiscard]] TaskId next_id() { return m_numbers.peek(m_ids, m_root.newest); }
  TaskId take_id() {
    m_root.newest = next_id();
    ++m_ids.next;
    return m_root.newest;
  }
  /// The graph's lock is held.
  void count_submitted(std::uint64_t tasks) {
    m_submitted.store(m_submitted.load(std::memory_order_relaxed) + tasks,
                      std::memory_order_release);
  }

  // Of the calling thread.
  [[nodiscard]] Slot& own_slot();
  [[nodiscard]] static Slot& no_slot();
  [[nodiscard]] bool all_done() const { return in_flight() == 0; }

  // On the way to ready. In those from make_room on the submission lock is held.
  TaskHandle submit_now(TaskSpec&& spec);
  void publish(Task& task, std::int32_t rest, Frame* frame);
  void make_room(std::unique_lock<SubmissionLock>& lock);
  struct Admitted {
    Task* task;
    std::int32_t rest;  ///< to be taken off its count
  };
  Admitted admit(TaskSpec& spec, Region& region, Frame const* frame, Slot* slot = nullptr);
  FoundEntries find_entries(TaskSpec const& spec, Region& region, TaskId last);
  Task& make_task(TaskSpec& spec, Slot* slot = nullptr);
  std::int32_t connect(Task& task, TaskSpec const& spec, Region& region, FoundEntries const* found,
                       Slot* slot = nullptr);
  static void note_special(Task& task, TaskSpec const& spec, FoundEntries const& found);
  void enter_special(Task& task, Region& region, FunctionRef<bool(LiveAccess)> after_access);
  static void enter(Task& task, TaskAccess const& access, TaskId id, Region& region,
                    FunctionRef<bool(LiveAccess)> after_access);
  void apply_rules(Task& task, Region& region, FunctionRef<bool(LiveAccess)> order_behind);

  // From ready to done.
  void changed(Task const& task, TaskState state, int row = -1) {
    if (m_watched) watch(task, state, row);
  }
  void make_ready(Task& task, Slot* slot);
  void push(Task& task, Slot* slot);
  void run(Task* task, Slot& slot, Condition stop) override;
  Task* run_quietly(Task& task, Slot& slot);
  Task* complete(Task& task, Slot& slot, TaskState state, int row) {
    switch (task.region_kind) {
      case RegionKind::graph:
        return complete_one(task, slot, state, row);
      case RegionKind::parts:
        return complete_part(task, slot, state, row);
      case RegionKind::rounds:
        return m_plans.complete_run(task, slot, state, row);
    }
    return nullptr;
  }
  static void inherit(Task& task, FailurePtr const& failure);
  /// In a handler: of what the task has thrown.
  FailurePtr current_failure(Task const& task, std::string const& remark = {});
  [[nodiscard]] std::string text_of(Task const& task) const;
  [[nodiscard]] std::string text_of(LiveAccess const& task) const;
  static void trigger(Task& successor, FailurePtr const& failure, std::vector<Task*>& ready);
  [[nodiscard]] static Trigger trigger_between(Task const& before, Task const& after);
  Task* hand_over(std::vector<Task*>& ready, std::size_t granted, Slot& slot);

 private:
  // TaskSource
  Task* pop(Slot& slot) override;
  [[nodiscard]] bool has_ready(Slot const& slot) const override;
  void idle(Slot& slot) override;
  void leaves(Slot& slot) override;

  // Submission. In those from record_edge on the submission lock is held.
  TaskHandle submit_after(TaskSpec&& spec);
  TaskHandle submit_task(TaskSpec&& spec);
  TaskHandle submit_part(TaskSpec&& spec);
  TaskHandle submit_part_after(TaskSpec&& spec);
  Admitted admit_part(TaskSpec& spec, Frame const* frame);
  void publish_new(Task& task, std::int32_t rest, Frame* frame);
  void connect_accesses(Task& task, TaskSpec const& spec, Region& region, FoundEntries const& found,
                        std::int32_t& edges);
  [[nodiscard]] Task& take_cell(Slot* slot);
  bool record_edge(LiveAccess before, Task const& task, EdgeReason reason);
  void synchronize(Task& task, Region& region, std::int32_t& edges);
  bool order_after(LiveAccess before, Task& task, EdgeReason reason, std::int32_t& edges);

  // What happens, for the recorder and the observer.
  void watch(Task const& task, TaskState state, int row);

  // From ready to done.
  Task* run_one(Task& task, Slot& slot);
  void stay_behind(Slot& slot);
  Task* complete_part(Task& task, Slot& slot, TaskState state, int row);
  Task* complete_one(Task& task, Slot& slot, TaskState state, int row);
  void give_back(Task& task, Slot& slot);

  // Completed first: a task submitted and completed between the two readings must not hide one that
  // still runs.
  [[nodiscard]] std::uint64_t in_flight() const {
    std::uint64_t const done = completed();
    return submitted() - done;
  }

  GraphControl* m_control = nullptr;
  std::uint64_t m_generation = 0;
  TaskGraphOptions const m_options;
  std::shared_ptr<SchedulingPolicy> const m_policy;
  bool const m_serial;
  /// Completions of a slot between two looks for a submitter that waits for room.
  std::uint64_t const m_room_check;
  TaskSlab m_slab;
  FailureLog m_failures;
  std::unique_ptr<Recorder> const m_recorder;  ///< null: does not record
  bool const m_watched;                        ///< records, or has an observer
  std::chrono::steady_clock::time_point const m_start = std::chrono::steady_clock::now();
  std::deque<TagRule> m_rules;  ///< does not change once there are tasks
  Exclusion m_exclusion;

  bool const m_numbers_runs;  ///< see numbers_runs
  TaskNumbers m_numbers;

  alignas(64) mutable SubmissionLock m_submission;  ///< the lock of the graph
  Region m_root;  ///< guarded by m_submission: the tasks that are parts of none
  // Of tasks that are not counted by the slot of the thread that submits them; written under
  // m_submission.
  std::atomic<std::uint64_t> m_submitted{0};
  std::atomic<std::uint64_t> m_edges{0};
  TaskNumbers::Block m_ids;        ///< guarded by m_submission
  std::uint64_t m_room_until = 0;  ///< guarded by m_submission: of m_submitted; there is room below

  MainQueue m_main;

  Waiting m_waiting;
  Demotions m_demotions;
  Parts m_parts;

  Destructors m_destructors;

  DeviceTasks m_device_tasks;
  Plans m_plans;
  PlanGraphs m_graphs;
  Passes m_passes;
  std::mutex m_serial_mutex;
  Workers m_workers;  ///< last: its threads use everything above
};

}  // namespace trellis::Impl

#endif
