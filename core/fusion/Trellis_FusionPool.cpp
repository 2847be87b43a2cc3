// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cancellation/Trellis_Cancellation.hpp>
#include <impl/Trellis_FusionOps.hpp>
#include <fusion/Trellis_FusionPool.hpp>
#include <kernel/Trellis_Frame.hpp>
#include <kernel/Trellis_Kernel.hpp>
#include <Trellis_DeviceAdapter.hpp>
#include <destruction/Trellis_Destructors.hpp>

#include <algorithm>
#include <new>
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
  return held >= min ? std::min(held, std::max(advice.max, min)) : 0;
}

/// Moves tasks of a kind to a device, and returns whether they are there now.
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
  DeviceAdapter* const from = first->device();
  if (to == nullptr || from == to) return to != nullptr;
  bool const may_go = from == nullptr ? is_batch
                                      : first->on_device->wanted_stream < 0 &&
                                            to->can_wait_for(*from) && from->can_wait_for(*to);
  for (Task* task = first; may_go && task != nullptr; task = task->next) {
    std::lock_guard const lock(task->lock);
    if (from == nullptr)
      task->on_device->offloaded = to;
    else
      task->space = to;
  }
  return may_go;
}

}  // namespace

FusionPool::FusionPool(Kernel& kernel, std::shared_ptr<Orchestration> advice,
                       Cancellation& cancellation)
    : m_kernel(kernel),
      m_cancellation(cancellation),
      m_statistics(kernel.events().statistics()),
      m_advice(std::move(advice)) {}

TaskKind FusionPool::kind_of(Task const& task) {
  return {task.ops->fusion, task.space, task.runs_on_device() ? task.on_device->wanted_stream : -1};
}

// --- the held tasks; the caller of most of these holds the mutex ---------------------------------

/// Null: there is no memory for a new one. Called without the mutex.
FusionPool::Kind* FusionPool::find(TaskKind kind) noexcept try {
  std::lock_guard const lock(m_mutex);
  for (Kind& each : m_kinds)
    if (each.kind == kind) return &each;
  return &m_kinds.emplace_back(kind);
} catch (std::bad_alloc const&) {
  return nullptr;
}

/// Null: there are no more. Called without the mutex.
FusionPool::Kind* FusionPool::kind_at(std::ptrdiff_t k) {
  std::lock_guard const lock(m_mutex);
  auto const at = std::next(m_kinds.begin(), k);
  return at != m_kinds.end() ? &*at : nullptr;
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

/// Describes a batch of so many tasks.
FusionSample FusionPool::sample(Kind const& kind, std::size_t batch) const {
  auto const awaited = static_cast<double>(m_awaited.load(std::memory_order_relaxed));
  auto const done = static_cast<double>(m_awaited_done.load(std::memory_order_relaxed));
  return {.batch = batch,
          .held = kind.count,
          .mean_held = kind.mean_held,
          .done_when_awaited = done / std::max(awaited, 1.)};
}

/// Takes the oldest tasks: a batch, or one if that is 0. The most urgent of them, or the first of
/// these, goes first, and stands for all.
FusionPool::Taken FusionPool::take(Kind& kind, std::size_t batch) {
  auto const held = static_cast<double>(kind.count);
  if (batch != 0) kind.mean_held = kind.mean_held == 0 ? held : (7 * kind.mean_held + held) / 8;
  std::size_t const size = std::max<std::size_t>(batch, 1);
  Taken taken{{}, sample(kind, size), batch != 0};
  Task** urgent = &kind.first;
  Task* last = kind.first;
  for (std::size_t k = 1; k < size; ++k) {
    if (last->next->priority > (*urgent)->priority) urgent = &last->next;
    last = last->next;
  }
  Task* const rest = std::exchange(last->next, nullptr);
  taken.first = *urgent;
  if (taken.first != kind.first) {
    *urgent = taken.first->next;
    taken.first->next = kind.first;
  }
  kind.first = rest;
  if (rest == nullptr) kind.end = &kind.first;
  count(kind, 0 - size);
  return taken;
}

/// Moves the needed tasks before the others, and returns how many they are.
std::size_t FusionPool::bring_forward(Kind& kind, FunctionRef<bool(Task const&)> needed) {
  std::size_t found = 0;
  std::lock_guard const lock(m_mutex);
  Task* others = nullptr;
  Task** end_of_others = &others;
  Task** end_of_needed = &kind.first;
  for (Task* task = kind.first; task != nullptr; task = task->next) {
    bool const is_needed = needed(*task);
    Task**& end = is_needed ? end_of_needed : end_of_others;
    *end = task;
    end = &task->next;
    found += is_needed ? 1 : 0;
  }
  *end_of_others = nullptr;
  *end_of_needed = others;
  kind.end = others != nullptr ? end_of_others : end_of_needed;
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
  advice.formed(kind, sample);
}

// --- holding tasks back --------------------------------------------------------------------------

/// Works as if the tasks came one by one: each added task releases at most one task, or one batch.
/// For tasks of one kind the advice is asked once, and again when some are released.
void FusionPool::hold(std::span<Task* const> tasks, FunctionRef<void(Task&)> release) noexcept {
  std::shared_ptr<Orchestration> const advice = this->advice();
  bool any_held = false;
  while (!tasks.empty()) {
    Task& front = *tasks.front();
    TaskKind const kind = kind_of(front);
    bool const may_be = !m_kernel.is_serial() && may_be_held(front);
    std::size_t const most = may_be ? advice->hold_back(kind) : 0;
    Kind* const found = most != 0 ? find(kind) : nullptr;
    if (found == nullptr) {
      release(front);
      tasks = tasks.subspan(1);
      continue;
    }
    Kind& in = *found;
    FuseInstruction const how = advice->fuse(kind);
    Taken taken;
    std::size_t added = 0;
    {
      std::lock_guard const lock(m_mutex);
      defer(in, how.when == When::fork_join_end);
      std::size_t batch = 0;
      do {
        Task& task = *tasks[added++];
        task.next = nullptr;
        *in.end = &task;
        in.end = &task.next;
        if (how.when == When::at_spawn) batch = batch_size(how, in.count + added);
      } while (added < tasks.size() && batch == 0 && in.count + added <= most &&
               kind_of(*tasks[added]) == kind && may_be_held(*tasks[added]));
      count(in, added);
      if (batch != 0 || in.count > most) taken = take(in, batch);
    }
    if (taken.first != nullptr) {
      note(*advice, kind, taken, how.device);
      release(*taken.first);
    }
    any_held = any_held || added > taken.sample.batch;
    tasks = tasks.subspan(added);
  }
  // A thread takes them, or checks whether they are overdue.
  if (any_held && (any_deferred() || may_be_taken())) m_kernel.workers().ready_added();
}

bool FusionPool::may_be_taken() const {
  std::size_t const held = m_held.load(std::memory_order_seq_cst);
  if (held == 0) return false;
  return m_deferred.load(std::memory_order_seq_cst) < held ||
         m_fork_joins.load(std::memory_order_seq_cst) == 0 || m_kernel.workers().nobody_runs();
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
  constexpr microseconds in_all{500};
  constexpr int between = 20;
  std::size_t seen = m_held.load(std::memory_order_relaxed);
  auto const begin = std::chrono::steady_clock::now();
  for (auto news = begin, now = begin; now - news < without_news && now - begin < in_all;
       now = std::chrono::steady_clock::now()) {
    for (int spin = 0; spin < between; ++spin) cpu_relax();
    if (m_kernel.workers().nobody_runs() && m_kernel.workers().anyone_waits()) return;
    std::size_t const held = m_held.load(std::memory_order_relaxed);
    if (held == std::exchange(seen, held)) continue;
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
                        (all_are_deferred && (m_kernel.workers().nobody_runs() || is_overdue()));
    Kind* most = nullptr;
    std::size_t held = 0;
    {
      std::lock_guard const lock(m_mutex);
      for (Kind& each : m_kinds)
        if ((forced || !each.is_deferred) && each.count > held) {
          most = &each;
          held = each.count;
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

/// Other threads may take some of the needed tasks meanwhile; then others are released instead.
void FusionPool::release(WorkerSlot& slot, FunctionRef<bool(Task const&)> needed,
                         std::size_t may_stay) noexcept {
  auto const too_many = [&] { return m_held.load(std::memory_order_seq_cst) > may_stay; };
  if (!too_many()) return;
  std::shared_ptr<Orchestration> const advice = this->advice();
  for (std::ptrdiff_t k = 0; Kind* const kind = kind_at(k); ++k)
    // A launch may make others of them ready, which are held then. So they are counted again.
    for (std::size_t left = 0;
         too_many() && (left != 0 || (left = bring_forward(*kind, needed)) != 0);) {
      Taken const taken = form(*advice, *kind, advice->fuse(kind->kind), true, left);
      if (taken.first == nullptr) break;
      left -= taken.sample.batch;
      m_kernel.dispatch(*taken.first, slot);
    }
}

void FusionPool::fork_join_over(std::size_t may_stay, WorkerSlot& slot) {
  bool const was_last = m_fork_joins.fetch_sub(1, std::memory_order_seq_cst) == 1;
  release(slot, all, may_stay);
  // The deferred tasks are no longer deferred.
  if (was_last && any()) m_kernel.workers().ready_added();
}

std::shared_ptr<Orchestration> FusionPool::follow(std::shared_ptr<Orchestration> next) noexcept {
  std::unique_lock lock_of_advice(m_advice_mutex);
  std::shared_ptr<Orchestration> const before = std::exchange(m_advice, next);
  lock_of_advice.unlock();
  {
    std::lock_guard const lock(m_mutex);
    for (Kind& each : m_kinds) defer(each, false);
  }
  if (any()) m_kernel.workers().ready_added();  // the thread that takes tasks asks the advice
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

void FusionPool::give_back(std::span<Task* const> tasks, WorkerSlot& slot) {
  for (Task* const task : tasks) {
    stay_home(*task);
    task->state.store(TaskState::ready, std::memory_order_relaxed);
    m_kernel.events().changed(*task, TaskState::ready);
    m_kernel.push(*task, &slot);
  }
}

bool FusionPool::run(Task& task, WorkerSlot& slot, Task*& next) {
  if (!task.marks.is_fusable) return false;
  if (task.state.load(std::memory_order_relaxed) == TaskState::running)
    // A thread that waited within the end of one of them has left the others in the queue.
    next = complete_all(unlink(task), slot);
  else if (task.offloaded() != nullptr)
    m_kernel.launch(task, slot);  // it was made ready within a launch
  else if (task.next != nullptr && !task.runs_on_device())
    next = run_batch(unlink(task), slot);
  else
    return false;
  return true;
}

Task* FusionPool::run_batch(std::span<Task* const> tasks, WorkerSlot& slot) {
  Task const& first = *tasks.front();
  FusionOps const& ops = *first.ops->fusion;
  void* const instance =
      first.space != nullptr ? m_kernel.workers().instance(slot, *first.space) : nullptr;
  bool const has_form = ops.run != nullptr && (ops.loops == nullptr || !ops.loops(instance));
  std::shared_ptr<Orchestration> const advice = this->advice();
  TaskKind const kind = kind_of(first);
  auto const begin = std::chrono::steady_clock::now();
  m_kernel.events().batch(tasks);
  Task* next =
      has_form
          ? run_fused(tasks, instance, slot)
          : one_by_one(tasks, slot, [&](Task& each) { return m_kernel.run_deferring(each, slot); });
  auto const end = std::chrono::steady_clock::now();
  Kind const& of = *find(kind);  // its tasks were held, so it is there
  std::unique_lock lock(m_mutex);
  FusionSample sample = this->sample(of, tasks.size());
  lock.unlock();
  sample.time = end - begin;
  Holding const holding(slot, next);
  advice->observed(kind, sample);
  return next;
}

/// Calls `run` for each task of a batch. The body or the end of one may be user code that waits for
/// another one of them: the rest then go where other threads find them.
Task* FusionPool::one_by_one(std::span<Task* const> tasks, WorkerSlot& slot,
                             FunctionRef<Task*(Task&)> run) {
  Task* next = nullptr;
  Task* rest = nullptr;
  for (std::size_t k = tasks.size(); k-- != 0; rest = tasks[k]) tasks[k]->next = rest;
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

Task* FusionPool::run_fused(std::span<Task* const> tasks, void* instance, WorkerSlot& slot) {
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
  for (Task* const task : live) {
    task->state.store(TaskState::running, std::memory_order_relaxed);
    m_kernel.events().changed(*task, TaskState::running, slot.number);
  }
  Task& first = *live.front();
  std::size_t at = live.size();
  try {
    Frame const frame(m_kernel, slot, first, Frame::What::fuses);
    first.ops->fusion->run(bodies, instance, first.label, at);
    at = live.size();
  } catch (...) {
    if (at < live.size()) {
      Task& thrown = *live[at++];
      inherit(thrown, m_kernel.current_failure(thrown));
    } else {
      at = 0;
    }
  }
  give_back(std::span(live).subspan(at), slot);
  return complete_all(std::span(live).first(at), slot);
}

Task* FusionPool::complete_all(std::span<Task* const> tasks, WorkerSlot& slot) {
  return one_by_one(tasks, slot, [&](Task& task) {
    TaskState const of_body = task.failure != nullptr ? TaskState::failed : TaskState::done;
    TaskState const state = m_cancellation.reach(task) ? TaskState::cancelled : of_body;
    return m_kernel.complete(task, slot, state, slot.number);
  });
}

}  // namespace trellis::Impl
