// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <impl/Trellis_Engine.hpp>
#include <impl/Trellis_EngineFrame.hpp>

#include <cassert>
#include <new>

/// From a call of `parallel_for` to a node with its edges.
namespace trellis::Impl {

TaskHandle Engine::submit(TaskSpec&& spec) {
  Frame* const frame = Frame::of(*this);
  std::unique_lock<std::mutex> serial_lock(m_serial_mutex, std::defer_lock);
  if (m_serial && frame == nullptr) serial_lock.lock();

  TaskHandle handle;
  Task* ready = nullptr;
  {
    std::unique_lock lock(m_submission);
    if (frame == nullptr) make_room(lock);
    Task& task = new_task(spec);
    handle.task = &task;
    handle.id = task.id;
    std::int32_t const edges = connect(task, spec);
    m_edges.store(m_edges.load(std::memory_order_relaxed) + static_cast<std::uint64_t>(edges),
                  std::memory_order_relaxed);
    std::int32_t const rest = Task::being_submitted - edges;
    if (task.unfinished.fetch_sub(rest, std::memory_order_acq_rel) == rest) ready = &task;
  }
  if (ready != nullptr) make_ready(*ready, frame != nullptr ? &frame->slot : nullptr);
  if (m_serial && frame == nullptr) m_workers.work_until([&] { return all_done(); });
  return handle;
}

/// Returns with the lock held and fewer tasks in flight than the cap. With an eighth of it free, so that a
/// thread that is at the cap all the time does not change between submitting and running for each task.
void Engine::make_room(std::unique_lock<SpinLock>& lock) {
  std::uint64_t const cap = *m_options.in_flight;
  while (submitted() >= m_room_until) {
    m_room_until = completed() + cap;
    if (submitted() < m_room_until) return;
    lock.unlock();
    m_workers.work_until([&] { return in_flight() <= cap - (cap + 7) / 8; });
    lock.lock();
  }
}

Task& Engine::new_task(TaskSpec& spec) {
  // What can throw comes first: nothing is lost or half done when it does.
  TaskId const submitted = m_submitted.load(std::memory_order_relaxed);
  m_entries.clear();
  for (AccessRequest const& request : spec.accesses) {
    bool const counts = !request.area.empty() && request.mode != Mode::none;
    m_entries.push_back(counts ? &m_table.find_or_make(request, submitted) : nullptr);
  }
  Task& task = m_slab.acquire();
  try {
    if (spec.body_size <= Task::inline_body && spec.body_alignment <= alignof(Task)) {
      task.body = task.storage;
    } else {
      task.body = ::operator new(spec.body_size, std::align_val_t(spec.body_alignment));
      task.body_alignment = spec.body_alignment;
      task.body_on_heap = true;
    }
    spec.construct(task.body);
  } catch (...) {
    task.free_body();
    m_slab.recycle_chain(&task, &task);
    throw;
  }
  task.unfinished.store(Task::being_submitted, std::memory_order_relaxed);
  task.launched = false;
  task.has_waiter = false;
  task.successor_count = 0;
  task.more_successors.clear();
  task.ops = spec.ops;
  task.space = spec.space;
  task.asynchronous = spec.space != nullptr && spec.space->asynchronous();
  task.id = submitted + 1;
  task.priority = spec.priority;
  task.main_thread = spec.main_thread;
  task.synchronizing = spec.synchronizing;
  task.exclusive = false;
  task.access_count = 0;
  task.more_accesses.clear();
  task.state.store(TaskState::pending, std::memory_order_relaxed);
  task.failure = nullptr;
  task.label = std::move(spec.label);
  task.device_predecessors.clear();
  task.event = nullptr;
  task.stream = -1;
  task.live_id.store(task.id, std::memory_order_release);
  m_submitted.store(task.id, std::memory_order_release);
  return task;
}

std::int32_t Engine::connect(Task& task, TaskSpec const& spec) {
  for (std::size_t k = 0; k < spec.accesses.size(); ++k)
    if (m_entries[k] != nullptr) {
      task.add_access({m_entries[k], spec.accesses[k].mode});
      if (spec.accesses[k].mode == Mode::exclusive) task.exclusive = true;
    }
  if (m_recorder) m_recorder->submitted(task);

  std::int32_t edges = 0;
  auto const after_access = [&](LiveAccess before) {
    return order_after(before, task, EdgeReason::access, edges);
  };
  for (std::size_t k = 0; k < spec.accesses.size(); ++k)
    if (m_entries[k] != nullptr)
      m_table.enter(*m_entries[k], spec.accesses[k].mode, task, task.id, after_access);
  for (TaskHandle const& before : spec.after)
    order_after({before.task, before.id}, task, EdgeReason::after, edges);

  if (task.synchronizing) {
    m_slab.for_each([&](Task& other) {
      TaskId const id = other.live_id.load(std::memory_order_acquire);
      if (id > m_barrier.id && id != task.id)
        order_after({&other, id}, task, EdgeReason::synchronizing, edges);
    });
    if (FailurePtr const failure = m_failures.unreported()) inherit(task, failure);
    if (m_recorder)  // also after those that are done: the dependency graph knows nothing of time
      for (TaskId id = m_barrier.id + 1; id < task.id; ++id)
        m_recorder->edge(id, task.id, EdgeReason::synchronizing);
  }
  if (m_barrier.task != nullptr) {
    bool const kept = order_after(m_barrier, task, EdgeReason::synchronizing, edges);
    if (!kept && !m_recorder) m_barrier = {nullptr, m_barrier.id};
  }
  if (task.synchronizing) m_barrier = {&task, task.id};
  return edges;
}

/// Makes `task` wait for another one. False when that is done and nobody need be ordered after it any more.
///
/// Memory order: that the other is done is read with acquire order or under its lock, so `task`, published
/// after this, happens after the other's body. Else the edge's decrement of `unfinished` orders the two.
bool Engine::order_after(LiveAccess before, Task& task, EdgeReason reason, std::int32_t& edges) {
  assert(before.id < task.id);
  if (m_recorder) m_recorder->edge(before.id, task.id, reason);
  Task& other = *before.task;
  if (other.live_id.load(std::memory_order_acquire) == before.id) {
    std::lock_guard const lock(other.lock);
    if (other.live_id.load(std::memory_order_relaxed) == before.id) {
      if (trigger_between(other, task) == Trigger::launch) {
        task.device_predecessors.push_back({&other, before.id});
        if (other.launched) return true;
      }
      if (other.last_successor() != &task) {
        other.add_successor(&task);
        ++edges;
      }
      return true;
    }
  }
  if (FailurePtr const failure = m_failures.poisons(before.id)) {
    inherit(task, failure);
    return true;
  }
  return false;
}

}  // namespace trellis::Impl
