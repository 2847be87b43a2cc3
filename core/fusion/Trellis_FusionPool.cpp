// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cancellation/Trellis_Cancellation.hpp>
#include <impl/Trellis_FusionOps.hpp>
#include <fusion/Trellis_FusionPool.hpp>
#include <kernel/Trellis_Frame.hpp>
#include <kernel/Trellis_Kernel.hpp>
#include <trace/Trellis_TaskCounters.hpp>
#include <base/Trellis_Reserve.hpp>
#include <Trellis_DeviceAdapter.hpp>
#include <destruction/Trellis_Destructors.hpp>

#include <algorithm>
#include <utility>

namespace trellis::Impl {

namespace {

/// If nothing has been completed for this time, deferred tasks are released.
constexpr std::chrono::milliseconds overdue{10};

/// False for tasks that others are kept away from, that belong to one thread, or that are cancelled
/// and only have to end. On the host it is true only for tasks that any worker's own instance can
/// run.
bool may_be_held(Task const& task) {
  return !task.exclusive && !task.marks.main_thread && !task.marks.synchronizing &&
         task.failure == nullptr && !task.is_split.load(std::memory_order_relaxed) &&
         (task.space == nullptr || task.space->is_plain() || task.runs_on_device());
}

/// Returns how many of these tasks go as a batch; 0: they are too few.
std::size_t batch_size(FuseInstruction const& advice, std::size_t held) {
  std::size_t const min = std::max<std::size_t>(advice.min, 1);
  return min != FuseInstruction::never && held >= min ? std::min(held, std::max(advice.max, min))
                                                      : 0;
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
bool move_to(int device, TaskKind kind, Task* first, bool is_batch) {
  if (device == FuseInstruction::home || kind.ops()->device == nullptr) return false;
  DeviceAdapter* const to = kind.ops()->device(device);
  bool are_there = to != nullptr && (kind.ops()->offload == nullptr || is_batch);
  for (Task* task = first; are_there && task != nullptr; task = task->next) {
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

}  // namespace

FusionPool::FusionPool(Kernel& kernel, std::shared_ptr<Orchestration> advice,
                       Cancellation& cancellation)
    : m_kernel(kernel),
      m_cancellation(cancellation),
      m_workers(kernel.workers()),
      m_statistics(kernel.events().statistics()),
      m_serial(kernel.is_serial()),
      m_advice(std::move(advice)) {}

TaskKind FusionPool::kind_of(Task const& task) {
  return {task.ops->fusion, task.space, task.runs_on_device() ? task.on_device->wanted_stream : -1};
}

// --- the held tasks; the caller of most of these holds the mutex ---------------------------------

/// Null: there is no memory to hold any. Called without the mutex.
FusionPool::Kind* FusionPool::find(TaskKind kind) noexcept {
  std::lock_guard const lock(m_mutex);
  for (auto const& each : m_kinds)
    if (each->kind == kind) return each.get();
  try {
    return m_kinds.emplace_back(std::make_unique<Kind>(Kind{kind})).get();
  } catch (std::bad_alloc const&) {
    return nullptr;
  }
}

/// Null: there are no more. Called without the mutex.
FusionPool::Kind* FusionPool::kind_at(std::size_t k) {
  std::lock_guard const lock(m_mutex);
  return k < m_kinds.size() ? m_kinds[k].get() : nullptr;
}

void FusionPool::defer(Kind& kind, bool is_deferred) {
  if (std::exchange(kind.is_deferred, is_deferred) == is_deferred) return;
  m_deferred.fetch_add(is_deferred ? kind.count : 0 - kind.count, std::memory_order_seq_cst);
}

/// Counts tasks that have come, or gone: then `by` is 0 - their number.
void FusionPool::count(Kind& kind, std::size_t by) {
  kind.count += by;
  if (kind.is_deferred) m_deferred.fetch_add(by, std::memory_order_seq_cst);
  m_held.fetch_add(by, std::memory_order_seq_cst);
  m_statistics.held(static_cast<std::int64_t>(by));
}

/// Takes the oldest tasks: a batch, or one if that is 0. The most urgent of them goes first, and
/// stands for all.
FusionPool::Taken FusionPool::take(Kind& kind, std::size_t batch) {
  auto const held = static_cast<double>(kind.count);
  if (batch != 0) kind.mean_held = kind.mean_held == 0 ? held : (7 * kind.mean_held + held) / 8;
  std::size_t const size = std::max<std::size_t>(batch, 1);
  Task* before_urgent = nullptr;
  Task* last = kind.first;
  for (std::size_t k = 1; k < size; ++k) {
    Task const& urgent = before_urgent != nullptr ? *before_urgent->next : *kind.first;
    if (last->next->priority > urgent.priority) before_urgent = last;
    last = last->next;
  }
  Taken taken{
      kind.first, {.batch = size, .held = kind.count, .mean_held = kind.mean_held}, batch != 0};
  kind.first = std::exchange(last->next, nullptr);
  if (kind.first == nullptr) kind.last = nullptr;
  if (before_urgent != nullptr) {
    Task* const urgent = before_urgent->next;
    before_urgent->next = urgent->next;
    urgent->next = taken.first;
    taken.first = urgent;
  }
  count(kind, 0 - size);
  return taken;
}

/// Moves the needed tasks before the others, and returns how many they are.
std::size_t FusionPool::bring_forward(Kind& kind, FunctionRef<bool(Task const&)> needed) {
  std::size_t found = 0;
  std::lock_guard const lock(m_mutex);
  Task** end_of_needed = &kind.first;
  for (Task** link = &kind.first; Task* const task = *link;) {
    if (!needed(*task)) {
      kind.last = task;
      link = &task->next;
      continue;
    }
    ++found;
    bool const is_in_place = link == end_of_needed;
    *link = task->next;
    task->next = *end_of_needed;
    *end_of_needed = task;
    end_of_needed = &task->next;
    if (is_in_place) link = end_of_needed;
    if (task->next == nullptr) kind.last = task;
  }
  return found;
}

/// Takes tasks as the advice says, at most so many: a batch, or one by itself. Takes none if there
/// are none, or they are to wait. The caller does not hold the mutex.
FusionPool::Taken FusionPool::form(Orchestration& advice, Kind& kind, FuseInstruction const& how,
                                   bool forced, std::size_t most) {
  Taken taken;
  {
    std::lock_guard const lock(m_mutex);
    defer(kind, how.when == When::fork_join_end);
    if (kind.count == 0 || (kind.is_deferred && !forced)) return taken;
    taken = take(kind, batch_size(how, std::min(kind.count, most)));
  }
  note(advice, kind.kind, taken, how.device);
  return taken;
}

void FusionPool::note(Orchestration& advice, TaskKind kind, Taken& taken, int device) {
  FusionSample& sample = taken.sample;
  if (move_to(device, kind, taken.first, taken.is_batch)) sample.device = device;
  if (sample.batch > 1) m_statistics.batch(sample.batch);
  sample.done_when_awaited = done_when_awaited();
  advice.formed(kind, sample);
}

// --- holding tasks back --------------------------------------------------------------------------

Task* FusionPool::hold(Task& task) noexcept {
  Task* released = nullptr;
  Task* const one = &task;
  (void)hold(std::span(&one, 1), [&](Task& each) { released = &each; });
  return released;
}

/// Works as if the tasks came one by one: each added task releases at most one task, or one batch.
/// For tasks of one kind the advice is asked once, and again when some are released.
bool FusionPool::hold(std::span<Task* const> tasks, FunctionRef<void(Task&)> release) noexcept {
  std::shared_ptr<Orchestration> advice;
  bool any_held = false;
  while (!tasks.empty()) {
    Task& front = *tasks.front();
    TaskKind const kind = kind_of(front);
    std::size_t most = 0;
    if (!m_serial && may_be_held(front)) {
      if (advice == nullptr) advice = this->advice();
      most = advice->hold_back(kind);
    }
    Kind* const in = most != 0 ? find(kind) : nullptr;
    if (in == nullptr) {
      release(front);
      tasks = tasks.subspan(1);
      continue;
    }
    FuseInstruction const how = advice->fuse(kind);
    Taken taken;
    std::size_t added = 0;
    {
      std::lock_guard const lock(m_mutex);
      defer(*in, how.when == When::fork_join_end);
      std::size_t batch = 0;
      do {
        Task& task = *tasks[added++];
        task.next = nullptr;
        (in->last != nullptr ? in->last->next : in->first) = &task;
        in->last = &task;
        if (how.when == When::at_spawn) batch = batch_size(how, in->count + added);
      } while (added < tasks.size() && batch == 0 && in->count + added <= most &&
               kind_of(*tasks[added]) == kind && may_be_held(*tasks[added]));
      count(*in, added);
      if (batch != 0 || in->count > most) taken = take(*in, batch);
    }
    if (taken.first != nullptr) {
      note(*advice, kind, taken, how.device);
      release(*taken.first);
    }
    if (added > taken.sample.batch) any_held = true;
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

// --- releasing them ------------------------------------------------------------------------------

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
void FusionPool::linger(Kind const& kind, std::size_t enough) {
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
    if (kind.count >= enough) return;
  }
}

Task* FusionPool::pop(WorkerSlot& slot, bool only_rests) noexcept {
  std::shared_ptr<Orchestration> const advice = this->advice();
  while (any()) {
    bool const all_are_deferred =
        m_deferred.load(std::memory_order_seq_cst) >= m_held.load(std::memory_order_seq_cst);
    bool const forced = only_rests || m_fork_joins.load(std::memory_order_seq_cst) == 0 ||
                        (all_are_deferred && (m_workers.nobody_runs() || is_overdue()));
    Kind* most = nullptr;
    std::size_t held = 0;
    {
      std::lock_guard const lock(m_mutex);
      for (auto const& each : m_kinds)
        if ((forced || !each->is_deferred) && each->count > held) {
          most = each.get();
          held = each->count;
        }
    }
    if (most == nullptr) return nullptr;
    FuseInstruction const how = advice->fuse(most->kind);
    if (how.min != FuseInstruction::never && held < how.min && how.when != When::fork_join_end)
      linger(*most, how.min);
    Task* const first = form(*advice, *most, how, forced).first;
    if (first == nullptr) continue;
    if (!first->goes_to_device()) return first;
    m_kernel.dispatch(*first, slot);
  }
  return nullptr;
}

void FusionPool::release_down_to(std::size_t left, WorkerSlot& slot) noexcept {
  if (m_held.load(std::memory_order_seq_cst) <= left) return;
  std::shared_ptr<Orchestration> const advice = this->advice();
  for (std::size_t k = 0; Kind* const kind = kind_at(k); ++k)
    while (m_held.load(std::memory_order_seq_cst) > left) {
      Task* const first = form(*advice, *kind, advice->fuse(kind->kind), true).first;
      if (first == nullptr) break;
      m_kernel.dispatch(*first, slot);
    }
}

/// Other threads may take some of the needed tasks meanwhile; then others are released instead.
void FusionPool::release_needed(FunctionRef<bool(Task const&)> needed, WorkerSlot& slot) noexcept {
  std::shared_ptr<Orchestration> const advice = this->advice();
  for (std::size_t k = 0; Kind* const kind = kind_at(k); ++k)
    for (std::size_t left = bring_forward(*kind, needed); left != 0;) {
      Taken const taken = form(*advice, *kind, advice->fuse(kind->kind), true, left);
      if (taken.first == nullptr) break;
      left -= taken.sample.batch;
      m_kernel.dispatch(*taken.first, slot);
    }
}

void FusionPool::fork_join_over(std::size_t may_stay, WorkerSlot& slot) {
  bool const was_last = m_fork_joins.fetch_sub(1, std::memory_order_seq_cst) == 1;
  release_down_to(may_stay, slot);
  // The deferred tasks are no longer deferred.
  if (was_last && any()) m_workers.ready_added();
}

std::shared_ptr<Orchestration> FusionPool::follow(std::shared_ptr<Orchestration> next) noexcept {
  std::shared_ptr<Orchestration> before = next;
  {
    std::lock_guard const lock(m_advice_mutex);
    before.swap(m_advice);
  }
  for (std::size_t k = 0; Kind* const kind = kind_at(k); ++k) {
    bool const is_deferred = next->fuse(kind->kind).when == When::fork_join_end;
    std::lock_guard const lock(m_mutex);
    defer(*kind, is_deferred);
  }
  if (any()) m_workers.ready_added();
  return before;
}

// --- running -------------------------------------------------------------------------------------

void FusionPool::stay_home(Task& task) {
  if (task.offloaded() == nullptr) return;
  std::lock_guard const lock(task.lock);
  task.on_device->offloaded = nullptr;
}

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
  std::shared_ptr<Orchestration> const advice = this->advice();
  TaskKind const kind = kind_of(task);
  auto const begin = std::chrono::steady_clock::now();
  FusionSample sample;
  for (Task const* each = &task; each != nullptr; each = each->next) ++sample.batch;
  m_kernel.events().batch(task);
  next = has_form ? run_fused(unlink(task), instance, slot)
                  : one_by_one(task, slot,
                               [&](Task& each) { return m_kernel.run_deferring(each, slot); });
  sample.time = std::chrono::steady_clock::now() - begin;
  sample.done_when_awaited = done_when_awaited();
  if (Kind const* const of = find(kind)) {
    std::lock_guard const lock(m_mutex);
    sample.held = of->count;
    sample.mean_held = of->mean_held;
  }
  Holding const holding(slot, next);
  advice->observed(kind, sample);
  return true;
}

/// Calls `run` for each task of a batch. The body or the end of one may be user code that waits for
/// another one of them: the rest then go where other threads find them.
Task* FusionPool::one_by_one(Task& first, WorkerSlot& slot, FunctionRef<Task*(Task&)> run) {
  Task* next = nullptr;
  Task* rest = &first;
  while (rest != nullptr) {
    Task& task = *rest;
    rest = std::exchange(task.next, nullptr);
    Task* another = nullptr;
    {
      Holding const holding_rest(slot, rest);
      Holding const holding_next(slot, next);
      another = run(task);
    }
    if (next == nullptr)
      next = another;
    else if (another != nullptr)
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

Task* FusionPool::complete_all(Task& first, WorkerSlot& slot) {
  return one_by_one(first, slot, [&](Task& task) {
    TaskState state = TaskState::done;
    if (m_cancellation.reach(task))
      state = TaskState::cancelled;
    else if (task.failure != nullptr)
      state = task.failure->origin == task.id || task.is_recorded() ? TaskState::failed
                                                                    : TaskState::cancelled;
    return m_kernel.complete(task, slot, state, slot.number);
  });
}

}  // namespace trellis::Impl
