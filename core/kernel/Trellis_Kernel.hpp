// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_KERNEL_HPP
#define TRELLIS_IMPL_KERNEL_HPP

#include <Trellis_SchedulingPolicy.hpp>
#include <Trellis_TaskGraphOptions.hpp>
#include <Trellis_TaskId.hpp>
#include <task/Trellis_PlanNode.hpp>
#include <failure/Trellis_Failure.hpp>
#include <base/Trellis_FunctionRef.hpp>
#include <task/Trellis_Task.hpp>
#include <impl/Trellis_TaskHandle.hpp>
#include <task/Trellis_TaskSlab.hpp>
#include <locks/Trellis_Unlocked.hpp>
#include <threads/Trellis_Workers.hpp>
#include <trace/Trellis_Events.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace trellis::Impl {

struct Frame;
class ForkJoinGate;
struct TaskSpec;
class Waiting;
class Warnings;

/// The kernel of a graph as its features see it: the data that all of them share, and the verbs by
/// which they move a task on.
///
/// A task passes five stations. It is admitted, it becomes ready, it runs, it is completed, and it
/// releases the tasks that come after it. Threads wait for it meanwhile. A feature (children of a
/// task, plans, devices, fusion, ...) keeps what it needs in a class of its own. It uses these
/// verbs and the features that its constructor names, and knows nothing else of the engine.
/// `Features` is the list of them. `Engine` puts the kernel and the list together; so the verbs are
/// defined there.
///
/// LOCKS. A thread that holds one of these may take those behind it: waiting tasks, streams,
/// scopes of children (the inner one first), graph, task, exclusion. Then comes one of plan,
/// failure log, recorder, workers and slab, and last a policy's queue. Threads that submit into two
/// scopes of children share no lock and write no line of memory in common. User code runs under a
/// lock in few places. Under the locks of scopes and graph, or of exclusion, these are the copy or
/// move of a functor into its task, a View's label, and the comparison of access states and tags.
/// Under the lock of the streams it is the launch of an asynchronous task.
class Kernel {
 public:
  Kernel(Kernel const&) = delete;
  Kernel& operator=(Kernel const&) = delete;

  // --- Shared data.
  [[nodiscard]] TaskGraphOptions const& options() const { return m_options; }
  /// True if tasks run one by one, in the order of submission, on the threads that wait for them.
  [[nodiscard]] bool is_serial() const { return m_serial; }
  [[nodiscard]] SchedulingPolicy& policy() { return *m_policy; }
  /// Returns the policy, if it wants to see plans and iterations; else null.
  [[nodiscard]] SchedulingPolicy* planner() {
    return m_policy->sees_plans() ? m_policy.get() : nullptr;
  }
  [[nodiscard]] SubmissionLock& lock() { return m_lock; }
  [[nodiscard]] TaskSlab& slab() { return m_slab; }
  [[nodiscard]] FailureLog& failures() { return m_failures; }
  [[nodiscard]] Workers& workers() { return m_workers; }
  [[nodiscard]] Events& events() { return m_events; }
  /// Null: the graph does not record.
  [[nodiscard]] Recorder* recorder() { return m_events.recorder(); }
  /// Null: the program has not asked for warnings.
  [[nodiscard]] Warnings* warnings() { return m_warnings.get(); }
  /// Called when the program knows that a task is complete, so it may look at what the task has
  /// left.
  void note_look();
  /// True if runs of recorded tasks have ids of their own, as a record or an observer looks at
  /// them.
  [[nodiscard]] bool numbers_runs() const { return m_numbers_runs; }

  // --- Handles.
  /// Tells which graph this is, for the handles of its tasks. Called once, before anything else.
  void bind(GraphControl& control, std::uint64_t generation) {
    m_control = &control;
    m_generation = generation;
  }
  [[nodiscard]] TaskHandle handle_of(Task* task, TaskId id) const {
    return {m_control, m_generation, task, id};
  }
  [[nodiscard]] bool is_of(TaskHandle const& task) const {
    return task.control == m_control && task.generation == m_generation;
  }
  /// Returns the handle of the task that a collected task has become, and submits it if need be.
  /// Other handles are returned as they are; but a collected replay of a recorded task's plan is
  /// submitted, too.
  TaskHandle resolve(TaskHandle const& handle) {
    return handle.id < TaskHandle::end_of_submitted ? handle : resolve_special(handle);
  }
  /// Requires a handle from `resolve`. A recorded task is done while no replay of its plan is under
  /// way. Its plan may be dropped meanwhile. What was read belongs to the plan if the task is still
  /// the same afterwards, as `live_id` has each value once. Else the thread happens after the end
  /// of the plan, as all stores to `plan_parent` and `unfinished` release.
  [[nodiscard]] static bool is_done(TaskHandle const& handle) {
    Task const& task = *handle.task;
    if (task.live_id.load(std::memory_order_acquire) != handle.id) return true;
    if ((handle.id & PlanNode::recorded) == 0) return false;
    Task const* const parent = task.extras->plan_parent.load(std::memory_order_acquire);
    bool const idle = parent->unfinished.load(std::memory_order_acquire) == 0;
    return idle || task.live_id.load(std::memory_order_acquire) != handle.id;
  }
  /// Returns the task, and throws when it is complete. It cannot become complete meanwhile if the
  /// calling thread runs its body.
  [[nodiscard]] static Task& require_live(TaskHandle const& self, char const* what) {
    if (is_done(self)) refuse_complete(self, what);
    return *self.task;
  }

  // --- Counts.
  [[nodiscard]] std::uint64_t submitted() const;
  [[nodiscard]] std::uint64_t completed() const { return m_workers.completed(); }
  /// Reads the completed ones first: a task that is submitted and completed between the two reads
  /// must not hide one that still runs.
  [[nodiscard]] std::uint64_t in_flight() const {
    std::uint64_t const done = completed();
    return submitted() - done;
  }
  [[nodiscard]] bool all_done() const { return in_flight() == 0; }

  // --- Admit.
  /// Adds a task. It may run other tasks first, when too many are in flight. `frame`: the calling
  /// thread's.
  TaskHandle submit(TaskSpec&& spec, Frame* frame);

  // --- Ready.
  /// `slot` is null on a thread that runs no tasks of this graph.
  void make_ready(Task& task, WorkerSlot* slot);
  /// Gives a ready task to the policy, or to the queue of its kind: of the main thread, of
  /// fork-joins, of bodies that run again.
  void push(Task& task, WorkerSlot* slot) {
    if (task.marks.has_own_queue) return push_own(task);
    m_policy->push(ReadyTask(&task), slot != nullptr ? slot->number : -1);
    m_workers.ready_added();
  }
  /// Gives a ready task, or the first of a batch, to the policy, or launches it on its device.
  void dispatch(Task& task, WorkerSlot& slot);
  void launch(Task& task, WorkerSlot& slot);
  /// Called before the thread that is the launch proxy runs user code. Returns whether it served
  /// the queue, see DeviceTasks.
  [[nodiscard]] bool stop_serving(WorkerSlot& slot);
  /// Called when the policy may now give out tasks that it has kept.
  void look_again() {
    if (!m_policy->empty()) m_workers.ready_added();
  }
  /// Called when the task keeps its exclusive areas while no body of it runs. Then no task that it
  /// needs may wait behind tasks that wait for it.
  void let_others_pass(Task& task);
  /// Called when a child waits for a task that is not of its scope. The tasks that it is a child of
  /// keep exclusive areas meanwhile, and no task that they need may wait behind those that wait for
  /// these areas.
  void parents_let_others_pass(Task const& child, Vector<Task*>& granted);

  // --- Run.
  /// Returns the calling thread's slot, whether it runs a task or not.
  [[nodiscard]] WorkerSlot& own_slot();
  /// Returns the task to run next, if the policy keeps one here.
  Task* run_deferring(Task& task, WorkerSlot& slot);
  /// Runs this task, and those that the policy keeps here, until `stop` returns true.
  void run(Task* task, WorkerSlot& slot, Condition stop);
  /// Called in a handler. Returns a failure for what the task has thrown.
  std::shared_ptr<Failure> current_failure(Task const& task, std::string const& remark = {});

  // --- Complete and release.
  /// Returns the task to run next, if the policy keeps one here.
  Task* complete(Task& task, WorkerSlot& slot, TaskState state, int row);
  /// Called where a task ends otherwise, with its device graph: tells the features.
  void ended(Task& task);
  /// Does what every run ends with before its successors go on.
  void run_over(Task& task, WorkerSlot& slot, TaskState state, int row) {
    slot.completion.ready.clear();
    task.state.store(state, std::memory_order_relaxed);
    m_events.changed(task, state, row);
    if (task.is_split.load(std::memory_order_acquire)) close_children(task, slot);
  }
  /// Adds the tasks that have waited for its exclusive areas to `slot.completion.ready`. Where the
  /// task ends, this is called in `end_life`. Until then a demotion from outside may change what the
  /// task has, and must not give it areas that no thread would release. Recorded tasks are not
  /// demoted from outside, so their runs need no lock.
  void give_up_exclusive(Task& task, WorkerSlot& slot) {
    if (task.exclusive) release_exclusive(task, slot);
  }
  /// Gives tasks that a completion made ready to the policy; the first `granted` ones have been
  /// ready already and just got their exclusive areas. Returns the one to run next, if the policy
  /// keeps one here.
  [[gnu::always_inline]] Task* hand_over(Vector<Task*>& ready, std::size_t granted,
                                         WorkerSlot& slot) {
    if (ready.size() != 1 || granted != 0) return hand_over_many(ready, granted, slot);
    Task& task = *ready.front();
    if (task.exclusive || !goes_to_policy(task)) return hand_over_many(ready, granted, slot);
    task.state.store(TaskState::ready, std::memory_order_relaxed);
    m_events.changed(task, TaskState::ready);
    return give_to_policy(ready, slot);
  }

  // --- Wait.
  /// Waits for one task; does not throw when it failed. `frame`: the calling thread's.
  void wait_for(TaskHandle const& handle, Frame* frame);
  /// Waits for the children of the task `self`, of which none is held. `running`: that task, or the
  /// rest of its body.
  void wait_for_started_children(TaskHandle const& self, TaskHandle const& running, Frame* frame);
  /// Waits for a fork-join in the thread that has called `fork_join`, see Waiting.
  void wait_for_fork_join(TaskHandle const& fork_join, ForkJoinGate& gate);
  /// Throws the failure that the task has left, if there is one.
  void rethrow(TaskHandle const& handle) const;
  /// Waits outside of this graph's tasks.
  void wait_outside(Until const& until);
  /// Takes, for a thread that waits, a ready task for which `wanted` returns true, or returns null.
  /// It may miss one.
  [[nodiscard]] Task* pop_wanted(WorkerSlot const& slot, FunctionRef<bool(Task const&)> wanted);
  /// Completes tasks that are over later than their bodies. Returns a task to run next, if there is
  /// one.
  Task* pop_late(WorkerSlot& slot);
  /// True if fork-joins are ready. The answer may be outdated.
  [[nodiscard]] bool any_awaited() const;
  /// True if bodies that run again and again are ready, so there always is something to run.
  [[nodiscard]] bool anyone_polls() const;
  /// True if nothing goes on before a Completion is resolved outside of the graph.
  [[nodiscard]] bool has_only_open_completions() const;
  /// Used by a thread that waits in this graph above a task of another one.
  [[nodiscard]] Waiting& waiting();
  /// See Waiting.
  [[nodiscard]] bool is_over(TaskHandle const& handle) const;
  [[nodiscard]] bool may_be_helped_here() const;
  [[nodiscard]] bool is_on_main() const { return m_workers.on_main_thread(); }
  void help();
  /// Drops tags and states of the user's that are in tables for tasks that are over. `all`: drops
  /// all objects of the user's, as the program will not ask for them any more.
  void drop_objects(bool all);

 protected:
  Kernel(TaskGraphOptions const& options, Workers& workers);
  ~Kernel();

  /// True for a task without a queue of its own that is neither held back nor launched.
  [[nodiscard]] static bool goes_to_policy(Task const& task) {
    return task.marks.none() ||
           (!task.marks.has_own_queue && !task.marks.is_fusable && !task.runs_on_device());
  }
  Task* give_to_policy(Vector<Task*> const& ready, WorkerSlot& slot) {
    static_assert(sizeof(ReadyTask) == sizeof(Task*));
    ReadyTask const* const first = reinterpret_cast<ReadyTask const*>(ready.data());
    Task* const next = m_policy->finished({first, ready.size()}, slot.number).impl();
    // If it is another one than the first, the first has been pushed, perhaps after the other was
    // taken.
    if (ready.size() > 1 || next != ready.front()) m_workers.ready_added();
    return next;
  }

  GraphControl* m_control = nullptr;
  std::uint64_t m_generation = 0;
  TaskGraphOptions m_options;  ///< only the numbers of threads change, see Workers
  std::shared_ptr<SchedulingPolicy> const m_policy;
  bool const m_serial;
  TaskSlab m_slab;
  FailureLog m_failures;
  Events m_events;
  bool const m_numbers_runs;  ///< see numbers_runs
  std::unique_ptr<Warnings> const m_warnings;
  alignas(64) mutable SubmissionLock m_lock;  ///< of the graph

 private:
  void push_own(Task& task);
  void close_children(Task& task, WorkerSlot& slot);
  void release_exclusive(Task& task, WorkerSlot& slot);
  Task* hand_over_many(Vector<Task*>& ready, std::size_t granted, WorkerSlot& slot);
  Workers& m_workers;
  [[nodiscard]] TaskHandle resolve_special(TaskHandle const& handle);
  [[noreturn]] static void refuse_complete(TaskHandle const& self, char const* what);
};

}  // namespace trellis::Impl

#endif
