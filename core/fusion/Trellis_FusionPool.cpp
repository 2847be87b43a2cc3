// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cancellation/Trellis_Cancellation.hpp>
#include <impl/Trellis_FusionOps.hpp>
#include <fusion/Trellis_FusionPool.hpp>
#include <fusion/Trellis_Orchestrator.hpp>
#include <kernel/Trellis_Frame.hpp>
#include <kernel/Trellis_Kernel.hpp>
#include <trace/Trellis_Statistics.hpp>
#include <base/Trellis_Reserve.hpp>
#include <Trellis_DeviceAdapter.hpp>
#include <destruction/Trellis_Destructors.hpp>

#include <algorithm>
#include <utility>

namespace trellis::Impl {

namespace {

/// If nothing has been completed for this time, deferred tasks are released.
constexpr std::chrono::milliseconds overdue{10};

}  // namespace

FusionPool::FusionPool(Kernel& kernel, Orchestrator& orchestrator, Cancellation& cancellation)
    : m_kernel(kernel),
      m_orchestrator(orchestrator),
      m_cancellation(cancellation),
      m_workers(kernel.workers()),
      m_statistics(kernel.events().statistics()),
      m_serial(kernel.is_serial()) {}

TaskKind FusionPool::kind_of(Task const& task) {
  return {task.ops->fusion, task.space, task.runs_on_device() ? task.on_device->wanted_stream : -1};
}

/// False for tasks that others are kept away from, that belong to one thread, or that are cancelled
/// and only have to end. On the host it is true only for tasks that any worker's own instance can
/// run.
bool FusionPool::may_be_held(Task const& task) {
  return !task.exclusive && !task.marks.main_thread && !task.marks.synchronizing &&
         task.failure == nullptr && !task.is_split.load(std::memory_order_relaxed) &&
         (task.space == nullptr || task.space->is_plain() || task.runs_on_device());
}

FusionPool::Kind& FusionPool::find(TaskKind kind) {
  for (auto const& each : m_kinds)
    if (each->kind == kind) return *each;
  m_kinds.push_back(std::make_unique<Kind>());
  m_kinds.back()->kind = kind;
  return *m_kinds.back();
}

void FusionPool::set_deferred(Kind& kind, bool is_deferred) {
  if (std::exchange(kind.is_deferred, is_deferred) == is_deferred) return;
  if (is_deferred)
    m_deferred.fetch_add(kind.count, std::memory_order_seq_cst);
  else
    m_deferred.fetch_sub(kind.count, std::memory_order_seq_cst);
}

std::size_t FusionPool::batch_size(FuseInstruction const& advice, std::size_t held) {
  std::size_t const min = std::max<std::size_t>(advice.min, 1);
  return min != FuseInstruction::never && held >= min ? std::min(held, std::max(advice.max, min))
                                                      : 0;
}

/// Takes the oldest tasks. The most urgent of them goes first, and stands for all.
FusionPool::Taken FusionPool::take(Kind& kind, std::size_t count, bool as_batch) {
  Taken taken;
  taken.held = kind.count;
  taken.count = count;
  taken.is_batch = as_batch;
  if (as_batch)
    kind.mean_held = kind.mean_held == 0
                         ? static_cast<double>(kind.count)
                         : (7 * kind.mean_held + static_cast<double>(kind.count)) / 8;
  taken.mean_held = kind.mean_held;
  Task* before_urgent = nullptr;
  Task* last = kind.first;
  for (std::size_t k = 1; k < count; ++k) {
    Task const& urgent = before_urgent != nullptr ? *before_urgent->next : *kind.first;
    if (last->next->priority > urgent.priority) before_urgent = last;
    last = last->next;
  }
  taken.first = kind.first;
  kind.first = std::exchange(last->next, nullptr);
  if (kind.first == nullptr) kind.last = nullptr;
  kind.count -= count;
  if (before_urgent != nullptr) {
    Task* const urgent = before_urgent->next;
    before_urgent->next = urgent->next;
    urgent->next = taken.first;
    taken.first = urgent;
  }
  if (kind.is_deferred) m_deferred.fetch_sub(count, std::memory_order_seq_cst);
  m_held.fetch_sub(count, std::memory_order_seq_cst);
  m_statistics.held(-static_cast<std::int64_t>(count));
  return taken;
}

/// Takes nothing if there are no tasks, or they are to wait.
FusionPool::Taken FusionPool::take_advised(TaskKind kind, FuseInstruction const& advice,
                                           bool forced) {
  std::lock_guard const lock(m_mutex);
  Kind& in = find(kind);
  set_deferred(in, advice.when == When::fork_join_end);
  if (in.count == 0 || (in.is_deferred && !forced)) return {};
  std::size_t const size = batch_size(advice, in.count);
  return take(in, std::max<std::size_t>(size, 1), size != 0);
}

Task* FusionPool::hold(Task& task) noexcept {
  Task* released = nullptr;
  Task* const one = &task;
  (void)hold(std::span(&one, 1), [&](Task& each) { released = &each; });
  return released;
}

bool FusionPool::hold(std::span<Task* const> tasks, FunctionRef<void(Task&)> release) noexcept {
  std::shared_ptr<Orchestration> advice;
  bool any_held = false;
  while (!tasks.empty()) {
    Task& task = *tasks.front();
    std::size_t alike = 1;
    if (m_serial || !may_be_held(task)) {
      release(task);
    } else {
      TaskKind const kind = kind_of(task);
      while (alike < tasks.size() && kind_of(*tasks[alike]) == kind && may_be_held(*tasks[alike]))
        ++alike;
      if (advice == nullptr) advice = m_orchestrator.current();
      any_held = hold_alike(*advice, kind, tasks.first(alike), release) || any_held;
    }
    tasks = tasks.subspan(alike);
  }
  return any_held;
}

/// Works as if the tasks came one by one: each added task releases at most one task, or one batch.
/// The advice is asked for the first task, and again when some are released.
bool FusionPool::hold_alike(Orchestration& advice, TaskKind kind, std::span<Task* const> tasks,
                            FunctionRef<void(Task&)> release) {
  bool any_held = false;
  while (!tasks.empty()) {
    std::size_t const most = advice.hold_back(kind);
    if (most == 0) {
      for (Task* const task : tasks) release(*task);
      return any_held;
    }
    try {  // a known kind remains
      std::lock_guard const lock(m_mutex);
      (void)find(kind);
    } catch (std::bad_alloc const&) {  // there is no memory to hold any
      for (Task* const task : tasks) release(*task);
      return any_held;
    }
    FuseInstruction const how = advice.fuse(kind);
    Taken taken;
    std::size_t added = 0;
    {
      std::lock_guard const lock(m_mutex);
      Kind& in = find(kind);
      set_deferred(in, how.when == When::fork_join_end);
      std::size_t batch = 0;
      do {
        Task& task = *tasks[added++];
        task.next = nullptr;
        (in.last != nullptr ? in.last->next : in.first) = &task;
        in.last = &task;
        ++in.count;
        if (how.when == When::at_spawn) batch = batch_size(how, in.count);
      } while (added < tasks.size() && batch == 0 && in.count <= most);
      if (in.is_deferred) m_deferred.fetch_add(added, std::memory_order_seq_cst);
      m_held.fetch_add(added, std::memory_order_seq_cst);
      m_statistics.held(static_cast<std::int64_t>(added));
      if (batch != 0)
        taken = take(in, batch, true);
      else if (in.count > most)
        taken = take(in, 1, false);
    }
    if (taken.first != nullptr) {
      note(advice, kind, taken, how.device);
      release(*taken.first);
    }
    if (taken.first == nullptr || added > taken.count) any_held = true;
    tasks = tasks.subspan(added);
  }
  if (any_held)
    m_added.store(m_added.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return any_held;
}

/// Wakes a thread to take the tasks, or to check whether they are overdue.
void FusionPool::tell() {
  if (any_deferred() || may_be_taken()) m_workers.ready_added();
}

bool FusionPool::may_be_taken() const {
  std::size_t const held = m_held.load(std::memory_order_seq_cst);
  if (held == 0) return false;
  return m_deferred.load(std::memory_order_seq_cst) < held ||
         m_fork_joins.load(std::memory_order_seq_cst) == 0 || m_workers.nobody_runs();
}

/// Called again and again by threads that have nothing else to do.
bool FusionPool::is_overdue() {
  auto const now = std::chrono::steady_clock::now();
  std::uint64_t const completed = m_kernel.completed();
  std::lock_guard const lock(m_mutex);
  if (std::exchange(m_seen_completed, completed) != completed) m_seen_at = now;
  return now - m_seen_at >= overdue;
}

/// Waits a moment while other threads may make such tasks ready, by running or submitting some. It
/// continues as long as such tasks come, so that a thread with nothing else to do gets a batch.
void FusionPool::linger(TaskKind kind, std::size_t enough) {
  using std::chrono::microseconds;
  constexpr microseconds without_news{20};
  constexpr microseconds without_submissions{5};
  constexpr microseconds in_all{500};
  constexpr int between = 20;
  std::uint64_t seen = m_added.load(std::memory_order_relaxed);
  std::uint64_t seen_submitted = m_kernel.submitted();
  auto const begin = std::chrono::steady_clock::now();
  auto submission = begin;
  for (auto news = begin, now = begin; now - news < without_news && now - begin < in_all;
       now = std::chrono::steady_clock::now()) {
    for (int spin = 0; spin < between; ++spin) cpu_relax();
    std::uint64_t const submitted = m_kernel.submitted();
    if (submitted != std::exchange(seen_submitted, submitted)) submission = now;
    if (m_workers.nobody_runs() &&
        (m_workers.anyone_waits() || now - submission >= without_submissions))
      return;
    std::uint64_t const added = m_added.load(std::memory_order_relaxed);
    if (added == std::exchange(seen, added)) continue;
    news = now;
    std::lock_guard const lock(m_mutex);
    if (find(kind).count >= enough) return;
  }
}

Task* FusionPool::pop(WorkerSlot& slot, bool only_rests) noexcept {
  std::shared_ptr<Orchestration> const advice = m_orchestrator.current();
  while (any()) {
    bool const all_are_deferred =
        m_deferred.load(std::memory_order_seq_cst) >= m_held.load(std::memory_order_seq_cst);
    bool const forced = only_rests || m_fork_joins.load(std::memory_order_seq_cst) == 0 ||
                        (all_are_deferred && (m_workers.nobody_runs() || is_overdue()));
    TaskKind kind;
    std::size_t held = 0;
    {
      std::lock_guard const lock(m_mutex);
      for (auto const& each : m_kinds)
        if ((forced || !each->is_deferred) && each->count > held) {
          kind = each->kind;
          held = each->count;
        }
    }
    if (!kind) return nullptr;
    FuseInstruction const how = advice->fuse(kind);
    if (how.min != FuseInstruction::never && held < how.min && how.when != When::fork_join_end)
      linger(kind, how.min);
    Taken const taken = take_advised(kind, how, forced);
    if (taken.first == nullptr) continue;
    note(*advice, kind, taken, how.device);
    if (!taken.first->goes_to_device()) return taken.first;
    release_batch(*taken.first, slot);
  }
  return nullptr;
}

/// Moves tasks to a device, and returns whether they are there now.
///
/// Device tasks go to another device of the same space, if events keep the order between the two.
/// Then each edge of the tasks remains of its kind. (All edges to them are satisfied; a thread that
/// adds an edge from them holds their locks.)
///
/// A batch of host tasks goes to a device that their kernels are compiled for. Their edges remain
/// those of host tasks, see DeviceTasks::offload_batch. Host tasks that are too few for a batch do
/// not move.
bool FusionPool::move_to(int device, TaskKind kind, Taken const& taken) {
  if (device == FuseInstruction::home || kind.ops()->device == nullptr) return false;
  DeviceAdapter* const to = kind.ops()->device(device);
  bool are_there = to != nullptr && (kind.ops()->offload == nullptr || taken.is_batch);
  for (Task* task = taken.first; are_there && task != nullptr; task = task->next) {
    DeviceAdapter const* const from = task->device();
    if (from == to) continue;
    bool const may_go = from == nullptr || (task->on_device->wanted_stream < 0 &&
                                            to->can_wait_for(*from) && from->can_wait_for(*to));
    if (!may_go) return false;  // all have the same home
    std::lock_guard const lock(task->lock);
    if (from == nullptr)
      task->on_device->offloaded = to;
    else
      task->space = to;
  }
  return are_there;
}

void FusionPool::stay_home(Task& task) {
  if (task.offloaded() == nullptr) return;
  std::lock_guard const lock(task.lock);
  task.on_device->offloaded = nullptr;
}

void FusionPool::note(Orchestration& advice, TaskKind kind, Taken const& taken, int device) {
  if (!move_to(device, kind, taken)) device = FuseInstruction::home;
  if (taken.count > 1) {
    m_statistics.batch(taken.count);
    m_batches.fetch_add(1, std::memory_order_relaxed);
    m_fused.fetch_add(taken.count, std::memory_order_relaxed);
  }
  advice.formed(kind, {.batch = taken.count,
                       .held = taken.held,
                       .mean_held = taken.mean_held,
                       .done_when_awaited = done_when_awaited(),
                       .device = device});
}

void FusionPool::release_batch(Task& first, WorkerSlot& slot) {
  m_kernel.dispatch(first, slot);
}

void FusionPool::release_down_to(std::size_t left, WorkerSlot& slot) noexcept {
  if (m_held.load(std::memory_order_seq_cst) <= left) return;
  std::shared_ptr<Orchestration> const advice = m_orchestrator.current();
  for (std::size_t k = 0;; ++k) {
    TaskKind kind;
    {
      std::lock_guard const lock(m_mutex);
      if (k >= m_kinds.size()) return;
      kind = m_kinds[k]->kind;
    }
    while (m_held.load(std::memory_order_seq_cst) > left) {
      FuseInstruction const how = advice->fuse(kind);
      Taken const taken = take_advised(kind, how, true);
      if (taken.first == nullptr) break;
      note(*advice, kind, taken, how.device);
      release_batch(*taken.first, slot);
    }
  }
}

void FusionPool::release_needed(FunctionRef<bool(Task const&)> needed, WorkerSlot& slot) noexcept {
  struct Found {
    TaskKind kind;
    Vector<Task*> tasks;
    std::size_t held;
    double mean_held;
  };
  Vector<Found> found;
  {
    std::lock_guard const lock(m_mutex);
    for (auto const& each : m_kinds) {
      Found of{each->kind, {}, each->count, each->mean_held};
      Task** link = &each->first;
      each->last = nullptr;
      while (Task* const task = *link) {
        if (needed(*task)) {
          of.tasks.push_back(task);
          *link = std::exchange(task->next, nullptr);
        } else {
          each->last = task;
          link = &task->next;
        }
      }
      if (of.tasks.empty()) continue;
      each->count -= of.tasks.size();
      if (each->is_deferred) m_deferred.fetch_sub(of.tasks.size(), std::memory_order_seq_cst);
      m_held.fetch_sub(of.tasks.size(), std::memory_order_seq_cst);
      m_statistics.held(-static_cast<std::int64_t>(of.tasks.size()));
      found.push_back(std::move(of));
    }
  }
  if (found.empty()) return;
  std::shared_ptr<Orchestration> const advice = m_orchestrator.current();
  for (Found& each : found) {
    for (std::span<Task* const> rest = each.tasks; !rest.empty();) {
      FuseInstruction const how = advice->fuse(each.kind);
      std::size_t const advised = batch_size(how, rest.size());
      std::size_t const size = std::max<std::size_t>(advised, 1);
      link(rest.first(size));
      note(*advice, each.kind, {rest.front(), size, each.held, each.mean_held, advised != 0},
           how.device);
      release_batch(*rest.front(), slot);
      rest = rest.subspan(size);
    }
  }
}

void FusionPool::fork_join_over(std::size_t may_stay, WorkerSlot& slot) {
  bool const was_last = m_fork_joins.fetch_sub(1, std::memory_order_seq_cst) == 1;
  release_down_to(may_stay, slot);
  // The deferred tasks are no longer deferred.
  if (was_last && any()) m_workers.ready_added();
}

void FusionPool::look_again() noexcept {
  std::shared_ptr<Orchestration> const advice = m_orchestrator.current();
  Vector<TaskKind> kinds;
  {
    std::lock_guard const lock(m_mutex);
    for (auto const& each : m_kinds) kinds.push_back(each->kind);
  }
  for (TaskKind const kind : kinds) {
    bool const is_deferred = advice->fuse(kind).when == When::fork_join_end;
    std::lock_guard const lock(m_mutex);
    set_deferred(find(kind), is_deferred);
  }
  if (any()) m_workers.ready_added();
}

// --- running -------------------------------------------------------------------------------------

Vector<Task*> FusionPool::unlink(Task& first) {
  Vector<Task*> tasks;
  for (Task* task = &first; task != nullptr; task = std::exchange(task->next, nullptr))
    tasks.push_back(task);
  return tasks;
}

void FusionPool::link(std::span<Task* const> tasks) {
  for (std::size_t k = 0; k + 1 < tasks.size(); ++k) tasks[k]->next = tasks[k + 1];
}

bool FusionPool::run(Task& task, WorkerSlot& slot, Task*& next) {
  if (!task.marks.is_fusable) return false;
  // A thread that waited within the end of one of them has left the others in the queue.
  if (task.state.load(std::memory_order_relaxed) == TaskState::running) {
    next = complete_all(task, slot);
    return true;
  }
  FusionOps const* const of_kind = task.ops->fusion;  // null: it has been refined
  // It was made ready within a launch.
  if (of_kind != nullptr && of_kind->offload != nullptr && task.offloaded() != nullptr) {
    m_kernel.launch(task, slot);
    return true;
  }
  if (task.next == nullptr || task.runs_on_device()) return false;
  FusionOps const& ops = *of_kind;
  void* const instance = task.space != nullptr ? m_workers.instance(slot, *task.space) : nullptr;
  bool const has_form = ops.run != nullptr && (ops.loops == nullptr || !ops.loops(instance));
  std::shared_ptr<Orchestration> const advice = m_orchestrator.current();
  TaskKind const kind = kind_of(task);
  auto const begin = std::chrono::steady_clock::now();
  FusionSample sample;
  for (Task const* each = &task; each != nullptr; each = each->next) ++sample.batch;
  m_kernel.events().batch(task);
  next = has_form ? run_fused(unlink(task), instance, slot) : run_one_by_one(task, slot);
  sample.time = std::chrono::steady_clock::now() - begin;
  sample.done_when_awaited = done_when_awaited();
  {
    std::lock_guard const lock(m_mutex);
    Kind const& of = find(kind);
    sample.held = of.count;
    sample.mean_held = of.mean_held;
  }
  Holding const holding(slot, next);
  advice->observed(kind, sample);
  return true;
}

/// A body may wait for another one of the batch: the rest then go where other threads find them.
Task* FusionPool::run_one_by_one(Task& first, WorkerSlot& slot) {
  Task* next = nullptr;
  Task* rest = &first;
  while (rest != nullptr) {
    Task& task = *rest;
    rest = std::exchange(task.next, nullptr);
    Task* another = nullptr;
    {
      Holding const holding_rest(slot, rest);
      Holding const holding_next(slot, next);
      another = m_kernel.run_deferring(task, slot);
    }
    if (another == nullptr) continue;
    if (next == nullptr)
      next = another;
    else
      m_kernel.push(*another, &slot);
  }
  return next;
}

Task* FusionPool::run_fused(Vector<Task*> const& tasks, void* instance, WorkerSlot& slot) {
  Vector<Task*> live;
  Vector<void*> bodies;
  for (Task* const task : tasks) {
    m_cancellation.reach(*task);
    if (task->failure != nullptr) {
      m_kernel.push(*task, &slot);
      continue;
    }
    live.push_back(task);
    bodies.push_back(task->body);
  }
  if (live.size() < 2) return live.empty() ? nullptr : live.front();
  Task& first = *live.front();
  for (Task* const task : live) {
    task->state.store(TaskState::running, std::memory_order_relaxed);
    m_kernel.events().changed(*task, TaskState::running, slot.number);
  }
  std::size_t at = bodies.size();
  {
    Frame const frame(m_kernel, slot, first, Frame::What::fuses);
    try {
      first.ops->fusion->run(bodies, instance, first.label, at);
      at = live.size();
    } catch (...) {
      if (at < live.size()) {
        inherit(*live[at], m_kernel.current_failure(*live[at]));
        ++at;
      } else {
        at = 0;
      }
    }
  }
  for (std::size_t k = at; k < live.size(); ++k) {  // they have not begun
    live[k]->state.store(TaskState::ready, std::memory_order_relaxed);
    m_kernel.events().changed(*live[k], TaskState::ready);
    m_kernel.push(*live[k], &slot);
  }
  live.resize(at);
  if (live.empty()) return nullptr;
  link(live);
  return complete_all(first, slot);
}

/// The end of a task may be user code that waits for another one, see `run`.
Task* FusionPool::complete_all(Task& first, WorkerSlot& slot) {
  Task* next = nullptr;
  Task* rest = &first;
  while (rest != nullptr) {
    Task& task = *rest;
    rest = std::exchange(task.next, nullptr);
    TaskState state = TaskState::done;
    if (m_cancellation.reach(task))
      state = TaskState::cancelled;
    else if (task.failure != nullptr)
      state = task.failure->origin == task.id || task.is_recorded() ? TaskState::failed
                                                                    : TaskState::cancelled;
    Task* another = nullptr;
    {
      Holding const holding_rest(slot, rest);
      Holding const holding_next(slot, next);
      another = m_kernel.complete(task, slot, state, slot.number);
    }
    if (another == nullptr) continue;
    if (next == nullptr)
      next = another;
    else
      m_kernel.push(*another, &slot);
  }
  return next;
}

}  // namespace trellis::Impl
