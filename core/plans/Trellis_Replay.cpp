// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <Trellis_SchedulingPolicy.hpp>
#include <launch/Trellis_PlanGraphs.hpp>
#include <cancellation/Trellis_Cancellation.hpp>
#include <destruction/Trellis_Destructors.hpp>
#include <kernel/Trellis_Finish.hpp>
#include <kernel/Trellis_Frame.hpp>
#include <engine/Trellis_Submission.hpp>
#include <kernel/Trellis_Kernel.hpp>
#include <recorded/Trellis_Iterations.hpp>
#include <locks/Trellis_PlanRecording.hpp>
#include <recorded/Trellis_PlanState.hpp>
#include <recorded/Trellis_Plans.hpp>
#include <trace/Trellis_Warnings.hpp>
#include <scope/Trellis_TaskText.hpp>

#include <algorithm>
#include <chrono>
#include <thread>

/// Runs plans; see PlanState for why this is right.
namespace trellis::Impl {

static constexpr TaskOps replay_ops{
    "replay", nullptr, [](void* body) noexcept { static_cast<ReplayBody*>(body)->~ReplayBody(); },
    [](void*, TaskId, std::string const&, FailurePtr const&) noexcept {}};

void add_pending(PlanState& plan, std::int32_t by) {
  for_each_plan(plan, [&](PlanState& each) { each.parent->count_replays(by); });
}

TaskHandle Plans::replay(Label&& label, std::shared_ptr<PlanState> const& plan,
                         std::uint64_t rounds) {
  if (Warnings* const warnings = m_kernel.warnings())
    warnings->drop_views();  // these have some, too
  check_still_held(*plan);
  PlanRecording* const recording = PlanRecording::of(m_kernel);
  bool const is_recorded = recording != nullptr && recording->iteration == nullptr;
  // An observer of single tasks sees them run one by one.
  if (!is_recorded && plan->is_graph() && !m_kernel.numbers_runs() && rounds > 0) {
    if (recording != nullptr) m_iterations.admit(recording->iteration);
    return m_graphs.replay_graph(label, plan, rounds);
  }
  auto const construct = [&](void* storage) { ::new (storage) ReplayBody{plan, rounds}; };
  TaskSpec spec(std::move(label), replay_ops, sizeof(ReplayBody), alignof(ReplayBody), construct);
  spec.accesses = plan->recorded->requests();
  spec.after = plan->after;
  spec.replays = plan.get();
  spec.is_replay = true;
  if (is_recorded) return m_kernel.submit(std::move(spec), Frame::of(m_kernel));
  return replay_with(*plan, std::move(spec));
}

/// Submits the task that replays the plan. When it is over it takes 1 off the plan's count of
/// pending replays.
TaskHandle Plans::replay_with(PlanState& plan, TaskSpec&& spec) {
  add_pending(plan, 1);
  try {
    return m_kernel.submit(std::move(spec), Frame::of(m_kernel));
  } catch (...) {
    add_pending(plan, -1);
    throw;
  }
}

/// Replaces recorded tasks that a task names in `after(...)` by the newest replays of their plans.
/// Tasks that have never been replayed are left out. The caller holds the graph's lock.
void Plans::resolve_after(TaskSpec& spec, std::vector<TaskHandle>& resolved) const {
  auto const is_recorded = [](TaskHandle const& before) {
    return (before.id & PlanNode::recorded) != 0;
  };
  if (std::none_of(spec.after.begin(), spec.after.end(), is_recorded)) return;
  for (TaskHandle const& before : spec.after) {
    if (!is_recorded(before)) {
      resolved.push_back(before);
    } else if (before.task->live_id.load(std::memory_order_acquire) == before.id) {
      TaskHandle const whole = before.task->node->plan->last;  // may be complete, and have failed
      if (whole.valid()) resolved.push_back(whole);
    }
  }
  spec.after = resolved;
}

/// A plan that is a graph of a device is replayed on streams, where it does not queue as it does on
/// the host (see `run_plan`). If two replays need the plan, itself or in another plan, an edge
/// orders the later one behind the earlier one. That edge may trigger on launch. The caller holds
/// the submission lock, so each replay finds the one before.
void Plans::order_behind_replays(TaskSpec& spec, std::vector<TaskHandle>& resolved) {
  std::vector<TaskHandle> before;
  for_each_plan(*spec.replays, [&](PlanState const& plan) {
    if (plan.is_graph() && plan.last.valid()) before.push_back(plan.last);
  });
  if (before.empty()) return;
  if (resolved.empty()) resolved.assign(spec.after.begin(), spec.after.end());
  resolved.insert(resolved.end(), before.begin(), before.end());
  spec.after = resolved;
}

Task* replay_of(Task const& task) {
  return task.node->plan->whole.load(std::memory_order_acquire);
}

/// While the task is live under its lock, its plan exists, see Plans::dismantle. A replay in the
/// queue leaves it under the plan's lock before it goes on, so its id does not change meanwhile.
void for_each_replay_behind(Task const& task, FunctionRef<void(LiveAccess)> f) {
  PlanState& plan = *task.node->plan;
  std::lock_guard const lock(plan.lock);
  for (Task* whole : plan.waiting) f(LiveAccess{whole, whole->id});
}

/// Starts, or queues, a replay that is ready. Returns the task to run next on this slot, if any.
Task* Plans::run_plan(Task& whole, WorkerSlot& slot) {
  PlanState& plan = *static_cast<ReplayBody*>(whole.body)->plan;
  {
    std::lock_guard const lock(plan.lock);
    if (plan.whole.load(std::memory_order_relaxed) != nullptr) {
      plan.waiting.push_back(&whole);
      return nullptr;
    }
    plan.whole.store(&whole, std::memory_order_release);
    plan.forget_failures();
  }
  if (whole.failure != nullptr) {
    cancel_tasks(plan, whole.failure);
    return replay_over(plan, slot, TaskState::cancelled);
  }
  whole.state.store(TaskState::running, std::memory_order_relaxed);
  m_kernel.events().changed(whole, TaskState::running, slot.number);
  std::uint64_t const rounds = static_cast<ReplayBody*>(whole.body)->rounds;
  if (rounds == 0 || plan.tasks.empty()) return replay_over(plan, slot, TaskState::done);
  plan.rounds_at_once = plan.rounds_overlap ? rounds : 1;
  plan.rounds_left = rounds - plan.rounds_at_once;
  for (PlanComponent& each : plan.components)
    each.rounds.store(plan.rounds_at_once, std::memory_order_relaxed);
  try {
    if (m_kernel.numbers_runs()) number_runs(plan, whole, rounds);
  } catch (std::bad_alloc const&) {  // nothing has begun
    whole.failure = m_kernel.current_failure(whole);
    cancel_tasks(plan, whole.failure);
    return replay_over(plan, slot, TaskState::failed);
  }
  return start_rounds(plan, slot);
}

/// Tells the futures of a plan that is not replayed that there is no result, and those of the
/// nested plans that are idle.
void Plans::cancel_tasks(PlanState& plan, FailurePtr const& failure) {
  for (Task* task : plan.tasks)
    note_failed(*task, describe_or_short(*task, m_submission), failure, true);
  Task* const whole = plan.whole.load(std::memory_order_relaxed);
  for (PlanState* nested : plan.nested) {
    {
      std::lock_guard const lock(nested->lock);
      if (nested->whole.load(std::memory_order_relaxed) != nullptr) continue;
      nested->whole.store(whole, std::memory_order_release);
    }
    cancel_tasks(*nested, failure);
    let_next_in(*nested);
  }
}

/// Gives each run of each task an id of its own, for the record, observers and the serial order.
/// Throws `std::bad_alloc`, before it has changed anything, where the record cannot keep so many.
void Plans::number_runs(PlanState& plan, Task const& whole, std::uint64_t rounds) {
  std::size_t const count = plan.tasks.size();
  // To observers of runs, and in the serial order, the parent stands for the replay.
  plan.parent->id = whole.public_id();
  plan.parent->node = whole.node;
  plan.parent->scope = whole.scope;
  plan.parent->scope_kind = whole.scope_kind;
  TaskId before = 0;
  {
    std::lock_guard const lock(m_submission);
    if (m_recorder) m_recorder->require_room(rounds * count);
    before = m_admission.take_ids(rounds * count);
    if (m_recorder)
      for (std::uint64_t round = 0; round < rounds; ++round)
        for (Task* task : plan.tasks) {
          task->node->run_id = before + round * count + task->node->index + 1;
          m_recorder->submitted(*task);
        }
  }
  for (Task* task : plan.tasks) {
    task->node->run_id = before + task->node->index + 1;
    task->state.store(TaskState::pending, std::memory_order_relaxed);
    m_kernel.events().changed(*task, TaskState::pending);
  }
  if (!m_recorder) return;
  for (std::uint64_t round = 0; round < rounds; ++round)
    for (RecordedEdge const& edge : plan.edges().all()) {
      bool const same_round = edge.kind == RecordedEdge::Kind::own_round;
      if (!same_round && (!plan.rounds_overlap || round + 1 == rounds)) continue;
      m_recorder->edge(plan.tasks[edge.from]->node->run_id + round * count,
                       plan.tasks[edge.to]->node->run_id + (round + (same_round ? 0 : 1)) * count,
                       edge.reason);
    }
}

Task* Plans::start_rounds(PlanState& plan, WorkerSlot& slot) {
  plan.open.store(plan.leaves, std::memory_order_relaxed);
  slot.completion.ready.assign(plan.roots.begin(), plan.roots.end());
  return m_kernel.hand_over(slot.completion.ready, 0, slot);
}

/// Ends a run of a recorded task. The task is set up for its next run, in the same replay or in a
/// later one, before its successors go on. It has its body as long as its plan exists.
class Plans::RunEnds {
 public:
  RunEnds(Plans& plans, Task& task, WorkerSlot& slot)
      : m_plans(plans), m_task(task), m_slot(slot), m_plan(*task.node->plan) {}

  void tell(TaskState state, FailurePtr const& failure) {
    m_plans.note_failed_run(m_task, state, failure);
    m_plans.end_early(m_task, *failure);
  }
  void end_body(FailurePtr const&) {}
  [[gnu::always_inline]] void end_life(FailurePtr const& failure) {
    m_plans.m_kernel.give_up_exclusive(m_task, m_slot);
    m_task.launched = false;
    PlanNode& node = *m_task.node;
    PlanComponent const& component = m_plan.components[node.component];
    bool const last = node.round + 1 == component.rounds.load(std::memory_order_relaxed);
    node.round = last ? 0 : node.round + 1;
    m_task.set_edges(last ? node.first_edges : node.edges);
    m_successors = last ? node.own_round : m_task.successor_count;
    m_again = !last && node.edges == 0;
    m_is_leaf = last && node.own_round == 0;
    if (failure != nullptr && !last && node.follows_itself == 1) m_task.failure = failure;
    if (m_plans.m_kernel.numbers_runs() && !(last && m_plan.rounds_left == 0)) {
      node.run_id += m_plan.tasks.size();
      m_task.state.store(TaskState::pending, std::memory_order_relaxed);
      m_plans.m_kernel.events().changed(m_task, TaskState::pending);
    }
    m_plans.m_destructors.count_deferred();
  }
  /// Nothing of the plan is read after the last trigger, as the replay may be over then.
  [[gnu::always_inline]] void release(FailurePtr const& failure, Vector<Task*>& ready) {
    Task* const* const more = m_task.more_successors.data();
    auto const successor = [&](std::uint32_t k) -> Task& {
      return *(k < Task::inline_successors ? m_task.successors[k]
                                           : more[k - Task::inline_successors]);
    };
    if (failure == nullptr) {
      for (std::uint32_t k = 0; k < m_successors; ++k) trigger(successor(k), nullptr, ready);
    } else {
      std::uint32_t const carrying = m_task.node->carrying;
      for (std::uint32_t k = 0; k < m_successors; ++k)
        trigger(successor(k), k < carrying ? failure : FailurePtr(), ready);
    }
    if (m_again) ready.push_back(&m_task);
  }
  [[gnu::always_inline]] void leave(Task*& next) {
    if (!m_is_leaf || m_plan.open.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    Holding const holding(m_slot, next);
    Task* const another = m_plans.rounds_over(m_plan, m_slot);
    if (next == nullptr)
      next = another;
    else if (another != nullptr)
      m_plans.m_kernel.push(*another, &m_slot);
  }

 private:
  Plans& m_plans;
  Task& m_task;
  WorkerSlot& m_slot;
  PlanState& m_plan;
  std::uint32_t m_successors = 0;  ///< number of successors that this run triggers
  bool m_again = false;            ///< no edge leads to its next run
  bool m_is_leaf = false;          ///< see PlanState::open
};

/// Returns the task to run next on this slot, if any.
Task* Plans::finish_run(Task& task, WorkerSlot& slot, TaskState state, int row) {
  return Impl::finish(m_kernel, task, slot, state, row, RunEnds(*this, task, slot));
}

/// Ends the rounds of a task's component when none of its tasks will run any more, because the
/// program has asked the replay to stop, or the failure reaches all of them. (If single runs are
/// observed, each is cancelled by itself.)
void Plans::end_early(Task& task, Failure const& failure) const {
  PlanState& plan = *task.node->plan;
  PlanComponent& component = plan.components[task.node->component];
  if (m_kernel.events().is_watched() || !plan.rounds_overlap) return;
  bool const is_asked = failure.is_asked && m_cancellation.is_asked(*replay_of(task));
  if (!component.fails_as_one && !is_asked) return;
  std::uint64_t all = plan.rounds_at_once;
  std::uint64_t const fewer = task.node->round + 1 + component.tasks;
  if (fewer < all) component.rounds.compare_exchange_strong(all, fewer, std::memory_order_relaxed);
}

/// Called when rounds do not overlap, one is over in which tasks have failed, and there are more.
/// Hands the failures to the tasks of the next round that depend on these. False: no task of the
/// further rounds would run.
bool Plans::hand_to_next_round(PlanState& plan) const {
  Vector<PlanState::FailedRun> failed;
  {
    std::lock_guard const lock(plan.lock);
    failed.swap(plan.failed_runs);
  }
  if (m_cancellation.is_asked(*plan.whole.load(std::memory_order_relaxed))) return false;
  // This is checked before any task gets a failure, as it would keep that for the next replay.
  for (auto const& each : failed)
    if (each.task == plan.last_barrier) return false;
  for (auto const& [task, failure] : failed) {
    for (RecordedEdge const& edge : plan.edges().from(task->node->index))
      if (edge.kind == RecordedEdge::Kind::next_round) inherit(*plan.runs[edge.to], failure);
    if (plan.first_barrier != nullptr) inherit(*plan.first_barrier, failure);
  }
  return true;
}

/// Called when all tasks have finished their rounds. Starts the next rounds, or completes the
/// replay.
Task* Plans::rounds_over(PlanState& plan, WorkerSlot& slot) {
  FailurePtr const failure = plan.whole.load(std::memory_order_relaxed)->failure;
  if (plan.rounds_left > 0 && (failure == nullptr || hand_to_next_round(plan))) {
    --plan.rounds_left;
    return start_rounds(plan, slot);
  }
  if (plan.rounds_left > 0) cancel_tasks(plan, failure);
  return replay_over(plan, slot, failure != nullptr ? TaskState::failed : TaskState::done);
}

Task* Plans::replay_over(PlanState& plan, WorkerSlot& slot, TaskState state) {
  Task& whole = *plan.whole.load(std::memory_order_relaxed);
  plan.failed_runs.clear();
  let_next_in(plan, &slot);
  if (!whole.is_recorded()) add_pending(plan, -1);
  // This may be the last reference to the plan, so it is dropped before the replay counts as
  // complete.
  return m_kernel.complete(whole, slot, state, slot.number);
}

/// Called when the plan is free. Makes another replay that has been waiting for it ready again.
void Plans::let_next_in(PlanState& plan, WorkerSlot* slot) {
  Task* next = nullptr;
  {
    std::lock_guard const lock(plan.lock);
    plan.whole.store(nullptr, std::memory_order_release);
    if (plan.waiting.empty()) return;
    next = plan.waiting.front();
    plan.waiting.pop_front();
  }
  m_kernel.push(*next, slot);
}

/// Leaves the failure of a run to the task's future, to a thread that asks later, and to the replay
/// as a whole.
void Plans::note_failed_run(Task& task, TaskState state, FailurePtr const& failure) {
  PlanState& plan = *task.node->plan;
  std::string const text = describe_or_short(task, m_submission);
  Task& whole = *plan.whole.load(std::memory_order_relaxed);
  Task const* outermost = &whole;
  while (outermost->is_recorded()) outermost = enclosing(*outermost);
  bool const is_of_child = state == TaskState::failed && failure->origin != outermost->id;
  note_failed(task, text, is_of_child ? of_child(failure) : failure, state == TaskState::cancelled);
  inherit(whole, failure);
  if (plan.rounds_overlap) return;
  std::lock_guard const lock(plan.lock);
  plan.failed_runs.push_back({&task, failure});
}

/// Notes the first failure of a task in a replay: later runs of the task may be cancelled because
/// of it, or end well.
void Plans::note_failed(Task& task, std::string const& text, FailurePtr const& failure,
                        bool cancelled) {
  PlanState& plan = *task.node->plan;
  if (task.node->index >= plan.tasks.size()) {  // a piece
    for (Task* member : plan.pieces[task.node->index - plan.tasks.size()]->members)
      note_failed(*member, text, failure, cancelled);
    return;
  }
  std::lock_guard const lock(plan.lock);
  if (plan.failed
          .emplace(task.node->index, PlanState::Failed{copy_or_short(text), failure, cancelled})
          .second)
    task.ops->fail(task.body, cancelled ? 0 : failure->origin, text, failure);
}

/// Waits for the newest replay of the plan that a recorded task belongs to.
void Plans::wait_for_replay(TaskHandle const& handle) {
  std::optional<Workers::Narrowed> narrowed;  // once, however often it looks
  if (Frame* const frame = Frame::of(m_kernel)) narrowed.emplace(m_workers, frame->slot);
  for (;;) {
    TaskHandle whole;
    {
      std::lock_guard const lock(m_submission);
      if (m_kernel.is_done(handle)) return;
      whole = handle.task->node->plan->last;
    }
    if (whole.valid() && !m_kernel.is_done(whole)) {
      m_kernel.wait_for(whole, Frame::of(m_kernel));
    } else {
      m_kernel.resolve(handle);  // a replay may have been collected
      wait_for_older_replay(handle);
    }
  }
}

/// Waits for older replays when the newest is over: replays that only read are not ordered. Another
/// replay may be in submission, or about to be complete. This thread must not hold up what they
/// need: its place, if it runs a task, or the main thread.
void Plans::wait_for_older_replay(TaskHandle const& handle) {
  TaskHandle older = m_kernel.handle_of(nullptr, 0);
  {
    std::lock_guard const lock(m_submission);
    if (m_kernel.is_done(handle)) return;
    PlanState& plan = *handle.task->node->plan;
    std::lock_guard const plan_lock(plan.lock);
    older.task = plan.whole.load(std::memory_order_relaxed);
    if (older.task != nullptr && older.task->is_recorded()) older.task = nullptr;
    if (older.task != nullptr) older.id = older.task->id;
  }
  if (older.task != nullptr) return m_kernel.wait_for(older, Frame::of(m_kernel));
  constexpr std::chrono::microseconds nap{50};
  if (Frame* const frame = Frame::of(m_kernel)) {
    Workers::Absence const absence(m_workers, frame->slot);
    std::this_thread::sleep_for(nap);
  } else {
    m_kernel.wait_outside({[&] { return m_kernel.is_done(handle); }, &always});
    std::this_thread::yield();
  }
}

/// Notes the failures for futures that outlive the plan.
void Plans::note_failures(PlanState& plan) {
  std::lock_guard const lock(plan.lock);
  for (auto const& [index, failed] : plan.failed)
    m_failures.note_for_futures(plan.tasks[index]->id,
                                failed.cancelled ? 0 : failed.failure->origin, failed.text,
                                failed.failure);
  plan.failed.clear();
}

void Plans::rethrow_recorded(TaskHandle const& handle) const {
  PlanState::Failed failed;
  {
    std::lock_guard const lock(m_submission);
    if (handle.task->live_id.load(std::memory_order_acquire) == handle.id) {
      PlanState& plan = *handle.task->node->plan;
      std::lock_guard const plan_lock(plan.lock);
      auto const found = plan.failed.find(handle.task->node->index);
      if (found == plan.failed.end()) return;
      failed = found->second;
    }
  }
  if (failed.failure != nullptr)
    throw make_error(failed.cancelled ? 0 : failed.failure->origin, failed.text, *failed.failure);
  if (auto const found = m_failures.find(handle.id); found.failure != nullptr)
    throw make_error(found.shown_as, found.task_text, *found.failure);
}

}  // namespace trellis::Impl
