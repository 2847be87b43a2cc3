// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_ENGINE_HPP
#define TRELLIS_IMPL_ENGINE_HPP

#include <Trellis_Graph.hpp>
#include <Trellis_Observer.hpp>
#include <Trellis_Plan.hpp>
#include <Trellis_SchedulingPolicy.hpp>
#include <Trellis_Tag.hpp>
#include <Trellis_TaskGraph.hpp>
#include <access/Trellis_AccessTable.hpp>
#include <device/Trellis_DeviceTasks.hpp>
#include <engine/Trellis_Destructors.hpp>
#include <engine/Trellis_FoundEntries.hpp>
#include <engine/Trellis_Waiters.hpp>
#include <exclusion/Trellis_Exclusion.hpp>
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

class Pass;
class PassMemory;
class PassPlan;
struct PlanGraph;
struct PlanRecording;
struct PlanState;

/// A dynamic task graph: takes submissions, derives edges, hands ready tasks to the scheduling
/// policy, runs them on the threads of `Workers` (or launches them on the streams of an
/// asynchronous space), and completes them.
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
  /// What `body` submits on this thread becomes a plan, and does not run.
  std::shared_ptr<PlanState> record(Label&& label, FunctionRef<void()> body);
  TaskHandle replay(Label&& label, std::shared_ptr<PlanState> const& plan, std::uint64_t rounds);
  void dismantle(PlanState& plan);
  void dismantle_all();
  void drop_objects(bool all);
  /// Calls `body` for each pass until it says no, and replays passes that are like earlier ones.
  IterateReport iterate(Label&& label, std::uint64_t passes, FunctionRef<bool(std::uint64_t)> body);
  /// Throws when a task has been submitted.
  void add_rule(TagRule&& rule);

  // For the body of a running task, see TaskScope.
  /// The innermost task of any graph whose body the calling thread runs.
  [[nodiscard]] static TaskHandle running();
  /// The engine of this graph, if the calling thread runs one of its tasks.
  [[nodiscard]] static Engine* running_here(GraphControl const* control,
                                            std::uint64_t generation) noexcept;
  void demote(TaskHandle const& self, std::span<AccessRequest const> to);
  void release(TaskHandle const& self, std::span<AccessRequest const> what);
  void add_local(TaskHandle const& self, AccessRequest const& what);
  void wait_for_parts(TaskHandle const& self);
  /// Replaces the body of a pending task by parts that `split` submits at once. False when it is
  /// not pending.
  bool refine(TaskHandle const& handle, FunctionRef<void(TaskHandle const&)> split);

  void wait();
  /// Until it ends, what the calling thread submits does not belong to what it records.
  class NotRecording {
   public:
    NotRecording() : m_recording(std::exchange(t_recording, nullptr)) {}
    NotRecording(NotRecording const&) = delete;
    NotRecording& operator=(NotRecording const&) = delete;
    ~NotRecording() { t_recording = m_recording; }

   private:
    PlanRecording* const m_recording;
  };
  /// Waits for one task; does not throw when it failed.
  void wait_for(TaskHandle const& handle);
  /// The handle to go on with when somebody asks after a task, which is submitted if it has only
  /// been collected, see Pass.
  TaskHandle settle(TaskHandle const& handle);
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
  /// Throws the error of a task that is done, if it has one.
  void rethrow(TaskHandle const& handle) const;
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

  // Verbs, for the classes that do a part of the engine's work and keep what belongs to that.
  struct Frame;  ///< a task that the calling thread runs
  /// Tells the recorder and the observer.
  void changed(Task const& task, TaskState state, int row = -1) {
    if (m_watched) watch(task, state, row);
  }
  void push(Task& task, Slot* slot);
  Task* complete(Task& task, Slot& slot, TaskState state, int row) {
    switch (task.region_kind) {
      case RegionKind::graph:
        return complete_one(task, slot, state, row);
      case RegionKind::parts:
        return complete_part(task, slot, state, row);
      case RegionKind::rounds:
        return complete_run(task, slot, state, row);
    }
    return nullptr;
  }
  static void trigger(Task& successor, FailurePtr const& failure, std::vector<Task*>& ready);
  [[nodiscard]] static Trigger trigger_between(Task const& before, Task const& after);
  static void inherit(Task& task, FailurePtr const& failure);
  /// In a handler: of what the task has thrown.
  FailurePtr current_failure(Task const& task, std::string const& remark = {});
  [[nodiscard]] Slot& own_slot();
  void wait_outside(Until const& until);
  [[nodiscard]] bool all_done() const { return in_flight() == 0; }

 private:
  // TaskSource
  Task* pop(Slot& slot) override;
  void run(Task* task, Slot& slot, Condition stop) override;
  [[nodiscard]] bool has_ready(Slot const& slot) const override;
  void idle(Slot& slot) override;
  void leaves(Slot& slot) override;

  // Submission. In those from make_room on the submission lock is held.
  TaskHandle submit_now(TaskSpec&& spec);
  TaskHandle submit_part(TaskSpec&& spec);
  void publish(Task& task, std::int32_t rest, Frame* frame);
  void make_room(std::unique_lock<SubmissionLock>& lock);
  struct Admitted {
    Task* task;
    std::int32_t rest;  ///< to be taken off its count
  };
  Admitted admit(TaskSpec& spec, Region& region, Frame const* frame, Slot* slot = nullptr);
  FoundEntries find_entries(TaskSpec const& spec, Region& region, TaskId last);
  Task& make_task(TaskSpec& spec, Slot* slot = nullptr);
  [[nodiscard]] Task& take_cell(Slot* slot);
  void count_submitted(std::uint64_t tasks) {
    m_submitted.store(m_submitted.load(std::memory_order_relaxed) + tasks,
                      std::memory_order_release);
  }
  std::int32_t connect(Task& task, TaskSpec const& spec, Region& region, FoundEntries const& found,
                       Slot* slot = nullptr);
  static void note_special(Task& task, TaskSpec const& spec, FoundEntries const& found);
  void enter_special(Task& task, Region& region, FunctionRef<bool(LiveAccess)> after_access);
  static void enter(Task& task, TaskAccess const& access, TaskId id, Region& region,
                    FunctionRef<bool(LiveAccess)> after_access);
  bool record_edge(LiveAccess before, Task const& task, EdgeReason reason);
  void synchronize(Task& task, Region& region, std::int32_t& edges);
  void apply_rules(Task& task, Region& region, FunctionRef<bool(LiveAccess)> order_behind);
  bool order_after(LiveAccess before, Task& task, EdgeReason reason, std::int32_t& edges);

  // Plans.
  friend struct PlanRecording;
  [[nodiscard]] PlanRecording* recording_here() const {
    return t_recording == nullptr ? nullptr : find_recording();
  }
  [[nodiscard]] PlanRecording* find_recording() const;
  std::shared_ptr<PlanState> new_plan(Label&& label);
  Task& make_recorded(TaskSpec& spec, PlanState& plan, std::size_t index);
  TaskHandle submit_recorded(PlanRecording& recording, TaskSpec&& spec);
  static bool order_recorded(PlanRecording& recording, Task& before, Task& task, EdgeReason reason);
  static void count_references(PlanState& plan, Task const& task,
                               std::span<AccessRequest const> requests);
  void check_still_held(PlanState const& plan) const;
  void finish(PlanRecording& recording);
  Task* run_plan(Task& whole, Slot& slot);
  TaskHandle submit_pending(PlanState& plan, TaskSpec&& spec);
  void cancel_tasks(PlanState& plan, FailurePtr const& failure);
  Task* start_rounds(PlanState& plan, Slot& slot);
  void number_runs(PlanState& plan, Task const& whole, std::uint64_t rounds);
  Task* complete_run(Task& task, Slot& slot, TaskState state, int row);
  Task* rounds_over(PlanState& plan, Slot& slot);
  Task* replay_over(PlanState& plan, Slot& slot, TaskState state);
  void let_next_in(PlanState& plan, Slot* slot = nullptr);
  void resolve_after(TaskSpec& spec, std::vector<TaskHandle>& resolved) const;
  static void order_behind_replays(TaskSpec& spec, std::vector<TaskHandle>& resolved);
  static void note_failed(Task& task, std::string const& text, FailurePtr const& failure,
                          bool cancelled);
  void note_failed_run(Task& task, TaskState state, FailurePtr const& failure);
  void wait_for_replay(TaskHandle const& handle);
  void wait_for_older_replay(TaskHandle const& handle);
  void note_failures(PlanState& plan);
  void rethrow_recorded(TaskHandle const& handle) const;
  void require_no_recording() const;
  static thread_local PlanRecording* t_recording;

  // Passes of `iterate`.
  TaskHandle submit_in_pass(PlanRecording& recording, TaskSpec&& spec);
  TaskHandle collect(Pass& pass, PassMemory& memory, TaskSpec& spec);
  void begin_plan(Pass& pass);
  std::shared_ptr<PassPlan> plan_of(Pass& pass, PassMemory& memory);
  void number(Task& task);
  bool submit_whole(Label const& label, Pass& pass, std::shared_ptr<PassPlan> const& plan);
  void link_part(PassPlan const& plan, std::vector<Task*> const& parts, std::size_t k,
                 bool as_graph);
  void collects_no_more(Pass& pass);
  void admit_collected(Pass& pass, std::vector<Admitted>& admitted);
  void publish(std::vector<Admitted> const& admitted);
  void submit_collected(Pass* pass);
  void submit_collected(FunctionRef<bool(Pass const&)> which);
  void choose_graph(PassPlan& plan, std::vector<Task*> const& tasks) const;
  static TaskOps const pass_graph_ops;
  static void run_pass_graph(void* body, void* instance, Label const& label);
  static void finish_pass_graph(void* body);
  static void fail_pass_graph(void* body, TaskId id, std::string const& text,
                              FailurePtr const& failure) noexcept;
  static void destroy_pass_graph(void* body) noexcept;
  void end_parts(std::vector<Task*> const& parts);

  // Plans as graphs of a device.
  void capture(PlanState& plan);
  bool capture_or_drop(PlanGraph& graph, std::vector<Task*> const& tasks);
  bool capture_graph(PlanGraph& graph, std::size_t rounds, std::vector<Task*> const& tasks);
  void make_pieces(PlanState& plan);
  void finish_all(std::vector<Task*> const& tasks);
  void fail_all(std::vector<Task*> const& tasks, FailurePtr const& failure, bool cancelled);
  TaskHandle submit_graph(Label const& label, std::shared_ptr<PlanState> const& plan,
                          std::uint64_t rounds);
  static void run_graph(void* body, void* instance, Label const& label);
  static TaskOps const graph_ops;
  /// of a plan whose tasks leave something for the host
  static TaskOps const graph_ops_with_results;
  static void finish_graph(void* body);
  static void fail_graph(void* body, TaskId id, std::string const& text,
                         FailurePtr const& failure) noexcept;
  static void destroy_graph(void* body) noexcept;
  static void run_piece(void* body, void* instance, Label const& label);
  static void finish_piece(void* body);

  // Parts of tasks.
  Task& require_live(TaskHandle const& self, char const* what) const;
  Region& region_of(Task const& task) { return task.region != nullptr ? *task.region : m_root; }
  [[nodiscard]] std::unique_ptr<Region> take_region();
  Region& open_region(Task& owner, Slot* slot);
  void close_region(Task& owner, Slot& slot);
  [[nodiscard]] Slot* slot_for_parts(Frame const* frame) const;
  void add_part(Region& region, Task& part);
  /// What a part asks for that its owner does not have.
  struct NotWithin {
    AccessRequest const* request;
    std::string why;
  };
  static void check_within(Task const& owner, AccessRequest const& request);
  [[nodiscard]] Error error_of(NotWithin const& wrong, TaskSpec const& spec) const;
  void check_explicit(TaskSpec const& spec);
  void start_parts(Task& owner, Slot& slot);
  Task* body_over(Task& owner, Slot& slot, TaskState state);

  // Demotion; the locks of the task's region and of its parts are held.
  struct Demotion;
  void apply(Task& task, Demotion& demotion, std::vector<Task*>& ready,
             std::vector<Task*>& granted);
  [[nodiscard]] bool stays_ordered(Task const& before, Task const& after) const;
  void let_go(Task& task, std::vector<Task*>& ready);
  void demote_to(TaskHandle const& self, FunctionRef<void(Task&, Demotion&)> plan);

  // What happens, for the recorder and the observer.
  void watch(Task const& task, TaskState state, int row);

  // From ready to done.
  void make_ready(Task& task, Slot* slot);
  Task* run_one(Task& task, Slot& slot);
  void stay_behind(Slot& slot);
  Task* complete_part(Task& task, Slot& slot, TaskState state, int row);
  Task* complete_one(Task& task, Slot& slot, TaskState state, int row);
  Task* hand_over(std::vector<Task*>& ready, std::size_t granted, Slot& slot);
  void give_back(Task& task, Slot& slot);
  void let_go_what_is_held(Slot& slot);
  [[nodiscard]] std::string text_of(Task const& task) const;
  [[nodiscard]] std::string text_of(LiveAccess const& task) const;

  // Asynchronous spaces.
  [[nodiscard]] static Slot& no_slot();

  // Waiting.
  void wait_until_done(TaskHandle const& handle);
  [[nodiscard]] std::string whose_code(Frame const& frame) const;
  [[nodiscard]] static bool is_within(Task const& task, LiveAccess whole);
  void run_needed(Frame& frame, FunctionRef<bool(Task const&)> needed, Condition done);
  void wait_inside(Frame& frame, TaskHandle const& handle);
  void check_no_cycle(LiveAccess waiter, LiveAccess awaited);
  bool leads_to(Task& task, TaskHandle const& awaited);
  void main_looks_again();
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

  /// Runs of recorded tasks have ids of their own: somebody looks at them.
  bool const m_numbers_runs;
  TaskNumbers m_numbers;

  alignas(64) mutable SubmissionLock m_submission;  ///< the lock of the graph
  Region m_root;  ///< guarded by m_submission: the tasks that are parts of none
  /// Guarded by m_submission: of tasks that are over, for others.
  std::vector<std::unique_ptr<Region>> m_spare_regions;
  // Of tasks that are not counted by the slot of the thread that submits them; written under
  // m_submission.
  std::atomic<std::uint64_t> m_submitted{0};
  std::atomic<std::uint64_t> m_edges{0};
  TaskNumbers::Block m_ids;        ///< guarded by m_submission
  std::uint64_t m_room_until = 0;  ///< guarded by m_submission: of m_submitted; there is room below
  TaskId m_last_recorded = PlanNode::recorded;  ///< guarded by m_submission
  std::vector<PlanState*> m_plans;              ///< guarded by m_submission: all that there are

  std::atomic<std::uint64_t> m_last_pass{0};
  std::vector<Pass*> m_passes;       ///< guarded by m_submission: those that have collected tasks
  std::atomic<int> m_collecting{0};  ///< their number

  MainQueue m_main;

  Waiters m_waiters;

  Destructors m_destructors;

  DeviceTasks m_device_tasks;
  std::mutex m_serial_mutex;
  Workers m_workers;  ///< last: its threads use everything above
};

}  // namespace trellis::Impl

#endif
