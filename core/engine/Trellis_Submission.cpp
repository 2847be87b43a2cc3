// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <Trellis_SchedulingPolicy.hpp>
#include <engine/Trellis_Features.hpp>
#include <engine/Trellis_Submission.hpp>
#include <engine/Trellis_Waiting.hpp>
#include <kernel/Trellis_Frame.hpp>
#include <task/Trellis_NumberClaim.hpp>
#include <task/Trellis_Provisional.hpp>
#include <locks/Trellis_PlanRecording.hpp>
#include <recorded/Trellis_PlanState.hpp>
#include <base/Trellis_ProgressSource.hpp>
#include <threads/Trellis_MainQueue.hpp>
#include <trace/Trellis_Warnings.hpp>
#include <scope/Trellis_TaskText.hpp>

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

/// Makes nodes with edges from calls such as `parallel_for`.
namespace trellis::Impl {

Submission::Submission(Kernel& kernel, Features& features, MainQueue& main, Waiting& waiting)
    : m_kernel(kernel),
      m_features(features),
      m_submission(kernel.lock()),
      m_slab(kernel.slab()),
      m_failures(kernel.failures()),
      m_recorder(kernel.recorder()),
      m_warnings(kernel.warnings()),
      m_main(main),
      m_workers(kernel.workers()),
      m_waiting(waiting),
      m_tells_policy(!kernel.is_serial() && kernel.policy().sees_submissions()),
      m_serial(kernel.is_serial()),
      m_all_ids(kernel.recorder() != nullptr || kernel.is_serial()),
      m_root(kernel.slab(), kernel.failures(), kernel.recorder() != nullptr) {
  m_root.kind = ScopeKind::graph;
}

/// Works like `publish`, for a task whose handle no other thread has yet.
inline void Submission::publish_new(Task& task, std::int32_t rest, Frame* frame) {
  m_kernel.events().changed(task, TaskState::pending);
  if (task.publish_new(rest)) m_kernel.make_ready(task, frame != nullptr ? &frame->slot : nullptr);
}

inline Task& Submission::take_cell(WorkerSlot* slot) {
  if (slot == nullptr) return m_slab.acquire();
  TaskSlab::Chain& cells = slot->cells;
  if (cells.first == nullptr) cells = m_slab.acquire_chain();
  if (cells.first == nullptr) {
    NestedHold const graph(m_submission);
    cells = m_slab.acquire_last_chain();
  }
  Task& task = *cells.first;
  cells.first = task.next;
  if (cells.first == nullptr) cells.last = nullptr;
  --cells.count;
  return task;
}

std::string Submission::user_of(Area const& area) {
  if (m_submission.is_held_here()) Submitting::refuse();
  LiveAccess found{};
  {
    std::lock_guard const lock(m_submission);
    found = m_root.table.find_live(area);
  }
  return found.task != nullptr ? text_of(found, m_submission) : std::string();
}

void Submission::add_rule(TagRule&& rule) {
  std::lock_guard const lock(m_submission);
  if (m_kernel.submitted() != 0)
    throw Error(Error::Kind::bad_input, "Trellis: " + m_kernel.options().name +
                                            " already has tasks, so the rule \"" + rule.name +
                                            "\" comes too late");
  m_rules.push_back(std::move(rule));
  m_features.children.need_graph();
}

TaskHandle Submission::submit(TaskSpec&& spec, Frame* frame) {
  if (m_warnings != nullptr) [[unlikely]]
    return take_warned(std::move(spec), frame);
  return take(std::move(spec), frame);
}

/// The warnings look at the call before the task is submitted, as its body may submit others.
TaskHandle Submission::take_warned(TaskSpec&& spec, Frame* frame) {
  PlanRecording const* const recording = PlanRecording::of(m_kernel);
  bool const is_recorded = recording != nullptr && recording->iteration == nullptr;
  // Tasks may be ordered by the body that submits them, and by rules.
  bool const ordered_otherwise = Frame::top != nullptr || !m_rules.empty();
  std::unique_ptr<Warnings::Call> const call = m_warnings->begin_call(
      spec, is_recorded ? recording->plan.get() : nullptr, ordered_otherwise);
  return take(std::move(spec), frame);
}

/// Chooses the way that the task takes. Most tasks are plain: a call with accesses, and nothing
/// more.
[[gnu::always_inline]] inline TaskHandle Submission::take(TaskSpec&& spec, Frame* frame) {
  bool const is_plain = spec.after.empty() && spec.instance == nullptr && !m_tells_policy;
  if (!is_plain) return take_other(std::move(spec), frame);
  if (spec.parent.task != nullptr) return submit_child(spec, frame);
  if (PlanRecording::top != nullptr || m_serial) [[unlikely]]
    return submit_root(std::move(spec), frame);
  if (frame == nullptr) has_news();
  return admit_and_publish(spec, frame);
}

TaskHandle Submission::take_other(TaskSpec&& spec, Frame* frame) {
  if (spec.instance != nullptr) {
    m_features.device_tasks.close_offers();
    spec.stream =
        m_features.device_tasks.streams().stream_for(*spec.space->device(), spec.instance);
  }
  bool const names_tasks = !spec.after.empty();
  std::vector<TaskHandle> resolved;
  for (TaskHandle const& before : spec.after) {
    TaskHandle const task = m_kernel.resolve(before);
    // The id of a task that is complete long ago is not known; only its failure may matter.
    if (!Provisional::is(task.id) || m_failures.poisons(task.id) != nullptr)
      resolved.push_back(task);
  }
  if (names_tasks) spec.after = resolved;
  if (spec.parent.task == nullptr) return submit_root(std::move(spec), frame);
  return names_tasks || m_tells_policy ? submit_checked(spec, frame) : submit_child(spec, frame);
}

/// Submits a task that is a child of none. A thread that records, or an iteration that collects,
/// takes it first.
TaskHandle Submission::submit_root(TaskSpec&& spec, Frame* frame) {
  if (PlanRecording* const recording = PlanRecording::of(m_kernel)) {
    if (recording->iteration == nullptr)
      return m_features.plans.record_task(*recording, std::move(spec));
    if (frame == nullptr) has_news();
    if (TaskHandle const task = m_features.iterations.collect_task(*recording, spec); task.valid())
      return task;
  }
  if (m_serial && frame == nullptr) return run_at_once(spec);
  if (frame == nullptr) has_news();
  return m_tells_policy ? submit_checked(spec, frame) : admit_and_publish(spec, frame);
}

/// Submits the task in a serial graph, and runs what can run. Threads take turns.
TaskHandle Submission::run_at_once(TaskSpec& spec) {
  has_news();
  TaskHandle const task = admit_and_publish(spec, nullptr);
  if (ProgressSource::is_calling(&m_kernel)) return task;  // the caller of the function runs it
  // A task that is over later than its body, and the tasks after it, may need what the program does
  // next.
  auto const all_done = [&] { return m_kernel.all_done(); };
  auto const only_open = [&] { return m_kernel.has_only_open_completions(); };
  Condition const rather_than_sleep = only_open;
  m_waiting.wait_serially({all_done, &rather_than_sleep});
  return task;
}

TaskHandle Submission::admit_and_publish(TaskSpec& spec, Frame* frame) {
  DeferDestructors const until_published;
  Admitted admitted;
  TaskHandle task;
  {
    SubmissionLock::WhileDeferring submission(m_submission);
    std::unique_lock lock(submission);
    if (frame == nullptr) make_room(lock);
    admitted = admit_root(spec, frame);
    task = m_kernel.handle_of(admitted.task, admitted.task->id);
  }
  publish_new(*admitted.task, admitted.rest, frame);
  return task;
}

/// Admits a task that is a child of none. The caller holds the lock of the graph.
inline Submission::Admitted Submission::admit_root(TaskSpec& spec, Frame const* frame) {
  if (spec.after.empty() && spec.replays == nullptr) return admit(spec, m_root, frame);
  return admit_behind(spec, frame);
}

/// Admits a task that is a child of none behind what the call names.
Submission::Admitted Submission::admit_behind(TaskSpec& spec, Frame const* frame) {
  std::vector<TaskHandle> resolved;
  if (!spec.after.empty()) m_features.plans.resolve_after(spec, resolved);
  if (spec.replays != nullptr) Plans::order_behind_replays(spec, resolved);
  Admitted const admitted = admit(spec, m_root, frame);
  if (spec.replays != nullptr)
    for_each_plan(*spec.replays, [&](PlanState& plan) {
      plan.last = m_kernel.handle_of(admitted.task, admitted.task->id);
    });
  return admitted;
}

/// Called in a `DeferDestructors`.
[[gnu::always_inline]] inline Submission::Admitted Submission::admit_child(TaskSpec& spec,
                                                                           Frame const* frame) try {
  WorkerSlot* const slot = m_features.children.slot_for_children(frame);
  ChildrenHold const lock(*spec.parent.task, m_submission, ChildrenHold::first_while_deferring);
  NestedHold const graph(m_submission, slot == nullptr);
  Scope& scope =
      m_features.children.open_scope(Kernel::require_live(spec.parent, "gets a child"), slot);
  Admitted admitted = admit(spec, scope, frame, slot);
  m_features.children.add_child(scope, *admitted.task, frame);
  if (scope.waits_for_parent) --admitted.rest;
  return admitted;
} catch (Children::NotWithin const& wrong) {
  throw m_features.children.error_of(wrong, spec);
}

TaskHandle Submission::submit_child(TaskSpec& spec, Frame* frame) {
  DeferDestructors const until_published;
  Admitted const admitted = admit_child(spec, frame);
  TaskId const id = admitted.task->id;
  publish_new(*admitted.task, admitted.rest, frame);
  return m_kernel.handle_of(admitted.task, id);
}

/// Submits a task whose edges might close a circle of waits. That is a child that names tasks to
/// come after, or any task where the policy sees each one before it can start, and may add edges.
/// Until its edges are there no task may begin a wait that they would make hopeless.
TaskHandle Submission::submit_checked(TaskSpec& spec, Frame* frame) {
  bool const is_child = spec.parent.task != nullptr;
  DeferDestructors const until_published;
  if (!is_child && frame == nullptr) {
    SubmissionLock::WhileDeferring submission(m_submission);
    std::unique_lock lock(submission);
    make_room(lock);
  } else if (m_submission.is_held_here()) {
    Submitting::refuse();  // the thread may hold the other lock as well
  }
  // The lock is taken only now, as tasks may be run to make room.
  std::unique_lock waiters_lock(m_features.waiters.mutex());
  std::vector<TaskHandle> resolved;
  Admitted admitted;
  bool waits_outside = false;
  if (is_child) {
    {
      std::lock_guard const lock(m_submission);
      m_features.plans.resolve_after(spec, resolved);
    }
    waits_outside = m_features.children.check_explicit(spec);
    admitted = admit_child(spec, frame);
  } else {
    std::lock_guard const lock(m_submission);
    admitted = admit_root(spec, frame);
  }
  TaskHandle const task = m_kernel.handle_of(admitted.task, admitted.task->id);
  PolicyEdges::Reported reported;
  if (m_tells_policy) reported = m_features.policy_edges.tell(*admitted.task);
  if (waits_outside) m_kernel.parents_let_others_pass(*admitted.task, reported.granted);
  waiters_lock.unlock();
  publish(*admitted.task, admitted.rest, frame);
  m_features.policy_edges.release(reported);
  // What the task comes after now may hold up its parent, and the policy may have put something of
  // the main thread's before what that thread waits for: it may have to run something else. (Other
  // new tasks hold up none.) The edges are there before the epoch moves.
  if (!m_main.empty()) m_waiting.main_looks_again();
  return task;
}

/// Publishes a task. It cannot start, and its cell cannot be reused, before this takes `rest` off
/// its count.
void Submission::publish(Task& task, std::int32_t rest, Frame* frame) {
  m_kernel.events().changed(task, TaskState::pending);
  if (task.count_down(rest)) m_kernel.make_ready(task, frame != nullptr ? &frame->slot : nullptr);
}

/// Waits for room, without locks. Meanwhile the thread is counted for StallReport.
void Submission::wait_for_room(Until const& until) {
  struct Counted {
    std::atomic<int>& threads;
    explicit Counted(std::atomic<int>& all) : threads(all) {
      threads.fetch_add(1, std::memory_order_relaxed);
    }
    Counted(Counted const&) = delete;
    Counted& operator=(Counted const&) = delete;
    ~Counted() { threads.fetch_sub(1, std::memory_order_relaxed); }
  } const counted(m_waiting_for_room);
  m_waiting.wait_outside(until);
}

/// Returns with the lock held and fewer tasks in flight than the cap. When the cap was reached and
/// there are tasks to run, most of it is free on return. So a thread that is at the cap all the
/// time seldom changes between submitting and running. At each change a worker goes to sleep or is
/// woken, and the system may put it in the place of one that is in the middle of a task. But when
/// there is nothing to run, any room is enough: what the tasks in flight wait for may be what this
/// thread does next. When bodies poll there always is something to run, so any room is enough then,
/// too.
void Submission::look_for_room(std::unique_lock<SubmissionLock::WhileDeferring>& lock) {
  constexpr std::uint64_t looked_ahead = 64;  // then children are counted, too
  std::uint64_t const cap = *m_kernel.options().in_flight;
  while (m_submitted.load(std::memory_order_relaxed) >= m_room_until) {
    if (std::uint64_t const now = m_kernel.in_flight(); now < cap) {
      m_room_until =
          m_submitted.load(std::memory_order_relaxed) + std::min(cap - now, looked_ahead);
      return;
    }
    auto const make_an_exception = [&] {
      m_room_until = m_submitted.load(std::memory_order_relaxed) + 1;
    };
    if (ProgressSource::is_calling()) return make_an_exception();  // it does not wait
    lock.unlock();
    auto const is_room = [&] {
      return m_kernel.in_flight() < cap || m_kernel.has_only_open_completions();
    };
    Condition const any_room = is_room;
    auto const is_much_room = [&] {
      std::uint64_t const now = m_kernel.in_flight();
      return now <= cap / 4 || (now < cap && m_kernel.anyone_polls());
    };
    wait_for_room({is_much_room, &any_room, true});
    lock.lock();
    // The tasks in flight may wait for what this thread does next. It has slept, so it is not fast.
    if (m_kernel.in_flight() >= cap && m_kernel.has_only_open_completions())
      return make_an_exception();
  }
}

/// Makes a task with its body and its properties, but without an id and accesses.
[[gnu::always_inline]] inline void Submission::make_task_here(Task& task, TaskSpec& spec) {
  try {
    if (spec.is_fusable || (spec.space != nullptr && spec.space->device() != nullptr))
      task.prepare_for_device(spec.stream);
    if (spec.body_size <= Task::inline_body && spec.body_alignment <= alignof(Task)) {
      task.body = task.storage;
    } else {
      task.body = ::operator new(spec.body_size, std::align_val_t(spec.body_alignment));
      task.body_alignment = spec.body_alignment;
    }
    spec.construct(task.body);
  } catch (...) {
    task.free_body();
    m_slab.recycle_chain(&task, &task);
    throw;
  }
  task.begin_submission();
  task.launched = false;
  task.has_waiter = false;
  task.clear_successors();
  task.ops = spec.ops;
  task.space = spec.space;
  task.priority = spec.priority;
  task.marks = spec;
  if (!task.marks.none()) [[unlikely]]
    task.marks.has_own_queue =
        !m_serial && (spec.main_thread || spec.is_resumed || spec.is_fork_join);
  if (spec.space != nullptr && !spec.space->is_plain()) {
    task.marks.runs_elsewhere = true;
    if (task.runs_on_device())
      task.on_device->deferred_bytes = m_features.destructors.bytes_to_defer(spec);
  }
  task.exclusive = false;
  task.clear_accesses();
  task.state.store(TaskState::pending, std::memory_order_relaxed);
  if (task.failure != nullptr) task.failure = nullptr;
  task.label = std::move(spec.label);
  if (spec.parent.task != nullptr) {
    put_into(task, *spec.parent.task->inner);
  } else if (task.scope_kind != ScopeKind::graph) {
    task.scope = nullptr;
    task.scope_kind = ScopeKind::graph;
  }
  task.clear_extras();
  if (!spec.tags.empty()) {
    task.tags_or_after().tags.assign(spec.tags.begin(), spec.tags.end());
    task.has_objects = true;
  }
  m_features.made(task);
}

/// Destroys a task that has no id yet. The caller holds no lock, as the functor is the user's.
void Submission::unmake_task(Task& task) {
  task.ops->destroy(task.body);
  task.free_body();
  task.clear_extras();
  m_slab.recycle_chain(&task, &task);
}

Task& Submission::make_task(TaskSpec& spec) {
  Task& task = m_slab.acquire();
  try {
    task.extras_memory();
  } catch (...) {
    m_slab.recycle_chain(&task, &task);
    throw;
  }
  make_task_here(task, spec);
  return task;
}

/// Makes a task, gives it its place in the order of submission, and the edges that lead to it. It
/// cannot start before it is published. The caller holds the lock of the scope. `slot`: its counts
/// and cells are used; null: the caller holds the lock of the graph, too.
Submission::Admitted Submission::admit(TaskSpec& spec, Scope& scope, Frame const* frame,
                                       WorkerSlot* slot) {
  Reserve::require();
  if (m_recorder != nullptr) [[unlikely]]
    m_recorder->require_room(1);
  TaskIds::Block& ids = slot != nullptr ? slot->ids : m_ids;
  TaskId above = scope.newest;
  auto const comes_before = [&](TaskId other) {
    if (other < Provisional::bit) above = std::max(above, other);
  };
  // A recorded task that runs has no such id, but its replay has.
  auto const is_within = [&](Task const* whole) {
    while (whole != nullptr && whole->is_recorded()) whole = enclosing(*whole);
    if (whole != nullptr) comes_before(whole->id);
  };
  bool const in_body = frame != nullptr && frame->what != Frame::What::destroys;
  if (in_body)
    is_within(&frame->task);
  else if (frame != nullptr)
    comes_before(frame->task.id);
  // A thread that the body has made has no frame.
  if (spec.parent.task != nullptr && !(in_body && &frame->task == spec.parent.task))
    is_within(spec.parent.task);
  for (TaskHandle const& before : spec.after) comes_before(before.id);
  TaskId const id = m_all_ids.peek(ids, above);
  bool const has_accesses = !spec.accesses.empty();
  // These two throw if the call is wrong, or if memory is lacking, before anything is half done.
  // The rest needs no more memory than the reserve.
  FoundEntries found(spec.accesses.size());
  if (has_accesses) find_entries(spec, scope, id - 1, found);
  Task& task = take_cell(slot);
  make_task_here(task, spec);
  scope.newest = id;
  ++ids.next;
  task.id = id;
  task.live_id.store(id, std::memory_order_release);
  if (spec.number != nullptr) spec.number->bound(m_kernel.handle_of(&task, id));
  if (slot != nullptr)
    slot->counts.submitted.store(slot->counts.submitted.load(std::memory_order_relaxed) + 1,
                                 std::memory_order_release);
  else
    count_submitted(1);
  bool const is_alone = slot != nullptr || (m_rules.empty() && !m_recorder);
  bool const is_free = is_alone && !has_accesses && spec.after.empty() &&
                       !task.marks.synchronizing && scope.barrier.task == nullptr;
  std::int32_t rest = Task::being_submitted;
  if (task.marks.is_fork_join && !m_serial) [[unlikely]]
    --rest;  // see ForkJoinGate
  if (is_free) return {&task, rest};
  return {&task, rest - connect(task, spec, scope, has_accesses ? &found : nullptr, slot)};
}

}  // namespace trellis::Impl
