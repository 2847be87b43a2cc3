// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <engine/Trellis_Engine.hpp>
#include <kernel/Trellis_Frame.hpp>

#include <chrono>

/// Makes tasks ready, and takes ready ones for threads.
namespace trellis::Impl {

void Kernel::make_ready(Task& task, WorkerSlot* slot) {
  Engine& engine = engine_of(*this);
  task.state.store(TaskState::ready, std::memory_order_relaxed);
  m_events.changed(task, TaskState::ready);
  bool const cancelled = task.failure != nullptr;
  if (task.exclusive && !cancelled && !m_serial && !engine.may_exclude(task, slot)) return;
  if (goes_to_policy(task) || task.marks.has_own_queue) [[likely]]
    return push(task, slot);
  auto const release = [&](Task& released) {
    if (!engine.m_features.device_tasks.launches_here(released)) return push(released, slot);
    if (engine.m_features.device_tasks.offer(released)) return;
    engine.launch(released, slot != nullptr ? *slot : Workers::no_slot());
  };
  if (!task.marks.is_fusable) return release(task);
  Task* const one = &task;
  engine.m_features.fusion.hold(std::span(&one, 1), release);
}

/// Asks Exclusion for the task's areas, and pushes tasks that get their turn by that. False: it
/// waits there.
bool Engine::may_exclude(Task& task, WorkerSlot* slot) {
  Vector<Task*> others;
  bool const may_run = m_features.exclusion.acquire(task, others);
  for (Task* other : others) push(*other, slot);
  return may_run;
}

void Kernel::push_own(Task& task) {
  Engine& engine = engine_of(*this);
  if (task.marks.main_thread) {
    engine.m_main.push(task);
    return m_workers.main_ready_added();
  }
  (task.marks.is_fork_join ? engine.m_awaited : engine.m_continuations).push(task);
  m_workers.ready_added();
}

bool Engine::has_ready(WorkerSlot const& slot) const {
  return has_task(slot) || m_polling.may_be_polled(slot) || m_features.fusion.any_deferred();
}

bool Engine::has_task(WorkerSlot const& slot) const {
  if (!m_policy->empty() || !m_continuations.empty() || !m_awaited.empty() ||
      (slot.is_main && !m_main.empty()))
    return true;
  return m_features.completions.any_said() || m_features.fusion.may_be_taken();
}

std::chrono::nanoseconds Engine::nap(WorkerSlot const& slot) const {
  constexpr std::chrono::milliseconds before_look{1};
  if (has_task(slot)) return {};
  if (m_polling.any_function()) return m_polling.nap();
  bool const asks = m_polling.may_be_polled(slot);
  return m_features.fusion.any_deferred() && !asks ? before_look : std::chrono::nanoseconds(0);
}

bool Engine::has_own(WorkerSlot const& slot) const {
  return slot.is_main && (!m_main.empty() || m_polling.any_of_main());
}

/// FAIRNESS. A body may run again and again until something happens that another task does, or a
/// device. So every other task goes before a body that runs again, whatever the policy prefers and
/// whatever queue the task is in. Bodies that run again go in the order of arrival. But a body that
/// does a bit at a time must not wait for the end of all that others submit: after a few other
/// tasks it has its turn. It must not wait for the end of a chain either, and nor must a task of
/// the main thread. So a thread that goes on with what the policy keeps asks after each task
/// whether anything goes before that (`something_is_due`). Tasks of the main thread may submit
/// others of its own until some other task is over. So another task has its turn after a few.
///
/// A fork-join that has had to wait for what comes before it has a thread that waits for it, and
/// does nothing else. So it goes before what the policy has, where it would be the last. Threads
/// may start fork-joins again and again until some other task is over. So the policy's tasks have a
/// turn after a few fork-joins.
///
/// No wake-up is lost (see Workers). A fork-join is in `m_awaited` before `push_own` looks for a
/// thread to wake. A thread that goes to sleep gives its permit back, and then asks `has_task`,
/// which looks there. Both are sequentially consistent. So a relaxed look in `pop` may miss a
/// fork-join: `has_task` finds it before the thread sleeps.
///
/// Tasks whose last Completion has been resolved go first, as much may wait for them. A thread that
/// finds no task polls progress functions below.
Task* Engine::pop(WorkerSlot& slot) {
  m_polling.launch_offered(slot);
  if (slot.wait.wants != nullptr) [[unlikely]] {  // also tasks that no other thread may run
    Task* const task = pop_wanted(slot, *slot.wait.wants);
    return task != nullptr ? task : pop_own(slot);
  }
  if (!slot.search.is_on && m_polling.is_due(slot)) m_polling.poll(slot, false);
  if (m_features.completions.any_said(std::memory_order_relaxed))
    if (Task* const task = complete_said(slot)) return task;
  bool const rests = any_continuation(slot);
  if (rests && ++slot.turns.since_continuation > before_continuation)
    if (Task* const rest = pop_continuation(slot)) return rest;
  if (slot.is_main)
    if (Task* const task = pop_of_main(slot)) return task;
  if (!m_awaited.empty(std::memory_order_relaxed)) [[unlikely]]
    if (Task* const task = pop_awaited(slot)) return task;
  if (Task* const task = m_policy->pop(slot.number).impl()) return task;
  if (m_features.fusion.any())
    if (Task* const task = m_features.fusion.pop(slot, rests)) return task;
  if (m_polling.busy()) {
    if (m_polling.poll(slot, true)) {
      if (Task* const task = complete_said(slot)) return task;
      if (Task* const task = m_policy->pop(slot.number).impl()) return task;
    }
    m_polling.become_proxy();
  }
  return rests ? pop_continuation(slot) : nullptr;
}

/// Takes a task from the queue; after a few of them one of the others, if there is one.
template <class Queue, class Others>
Task* Engine::pop_by_turns(Queue& queue, int& in_row, Others const& pop_other) {
  if (in_row++ < before_others) return queue.pop();
  in_row = 0;
  Task* const task = pop_other();
  return task != nullptr ? task : queue.pop();
}

Task* Engine::pop_of_main(WorkerSlot& slot) {
  if (!m_main.has_first()) return nullptr;
  return pop_by_turns(m_main, slot.turns.of_main_in_row, [&] {
    Task* const task = m_awaited.pop();
    return task != nullptr ? task : m_policy->pop(slot.number).impl();
  });
}

Task* Engine::pop_awaited(WorkerSlot& slot) {
  return pop_by_turns(m_awaited, slot.turns.awaited_in_row,
                      [&] { return m_policy->pop(slot.number).impl(); });
}

/// Completes tasks whose last Completion has been resolved, until one of them leaves a task to run
/// next.
Task* Engine::complete_said(WorkerSlot& slot) {
  ++t_deferring_locks;
  constexpr int most = 32;
  bool any = false;
  Task* next = nullptr;
  for (int k = 0; k < most && next == nullptr; ++k) {
    if (!m_features.completions.any_said(std::memory_order_relaxed)) break;
    next = m_features.completions.complete_said(slot);
    any = true;
  }
  if (--t_deferring_locks == 0 && t_any_deferred_objects)
    m_features.destructors.destroy_deferred_objects_on(slot, next);
  // As with devices, perhaps no other thread notices what these completions have made true.
  if (any && m_workers.anyone_waits()) m_workers.wake_waiters();
  return next;
}

Task* Engine::pop_own(WorkerSlot& slot) {
  if (!slot.is_main) return nullptr;
  if (m_polling.any_of_main()) m_polling.poll_of_main(slot);
  if (Task* const task = m_main.pop()) return task;
  return m_main.pop_continuation();
}

/// Takes a body that runs again. The main thread takes those that are bound to it, and others, by
/// turns.
Task* Engine::pop_continuation(WorkerSlot& slot) {
  slot.turns.since_continuation = 0;
  if (!slot.is_main) return m_continuations.pop();
  slot.turns.own_continuation_next = !slot.turns.own_continuation_next;
  Task* const first =
      slot.turns.own_continuation_next ? m_main.pop_continuation() : m_continuations.pop();
  if (first != nullptr) return first;
  return slot.turns.own_continuation_next ? m_continuations.pop() : m_main.pop_continuation();
}

/// Gives the cells that the thread has freed back to all.
void Engine::idle(WorkerSlot& slot) {
  if (slot.cells.first == nullptr) return;
  m_slab.recycle_chain(slot.cells.first, slot.cells.last);
  slot.cells = {};
}

void Engine::leaves(WorkerSlot& slot) {
  idle(slot);
  m_polling.stop(slot);
}

}  // namespace trellis::Impl
