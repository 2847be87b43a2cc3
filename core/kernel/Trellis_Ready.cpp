// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <engine/Trellis_Engine.hpp>
#include <kernel/Trellis_Frame.hpp>

#include <chrono>

/// Makes tasks ready, and takes ready ones for threads.
namespace trellis::Impl {

void Kernel::make_ready(Task& task, Seat* seat) {
  Engine& engine = engine_of(*this);
  task.state.store(TaskState::ready, std::memory_order_relaxed);
  m_events.changed(task, TaskState::ready);
  bool const cancelled = task.failure != nullptr;
  if (task.exclusive && !cancelled && !m_serial && !engine.may_exclude(task, seat)) return;
  if (goes_to_policy(task) || task.marks.has_own_queue) [[likely]]
    return push(task, seat);
  Task* const released = task.marks.is_fusable ? engine.m_fusion.hold(task) : &task;
  if (released == nullptr) return engine.m_fusion.tell();
  if (!engine.m_device_tasks.launches_here(*released)) return push(*released, seat);
  if (engine.m_device_tasks.offer(*released)) return;
  Seat& here = seat != nullptr ? *seat : Workers::no_seat();
  engine.launch(*released, here);
}

/// Asks Exclusion for the task's areas, and pushes tasks that get their turn by that. False: it
/// waits there.
bool Engine::may_exclude(Task& task, Seat* seat) {
  Vector<Task*> others;
  bool const may_run = m_exclusion.acquire(task, others);
  for (Task* other : others) push(*other, seat);
  return may_run;
}

void Kernel::push_own(Task& task) {
  Engine& engine = engine_of(*this);
  if (task.marks.main_thread) {
    engine.m_main.push(task);
    return m_workers.main_ready_added();
  }
  (task.marks.is_section ? engine.m_awaited : engine.m_rests).push(task);
  m_workers.ready_added();
}

bool Engine::has_ready(Seat const& seat) const {
  return has_task(seat) || m_polling.may_be_polled(seat) || m_fusion.any_deferred();
}

bool Engine::has_task(Seat const& seat) const {
  if (!m_policy->empty() || !m_rests.empty() || !m_awaited.empty() ||
      (seat.is_main && !m_main.empty()))
    return true;
  return m_completions.any_said() || m_fusion.may_be_taken();
}

std::chrono::nanoseconds Engine::nap(Seat const& seat) const {
  constexpr std::chrono::milliseconds before_look{1};
  if (has_task(seat)) return {};
  if (m_polling.any_function()) return m_polling.nap();
  bool const asks = m_polling.may_be_polled(seat);
  return m_fusion.any_deferred() && !asks ? before_look : std::chrono::nanoseconds(0);
}

bool Engine::has_own(Seat const& seat) const {
  return seat.is_main && (!m_main.empty() || m_polling.any_of_main());
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
/// A section that has had to wait for what comes before it has a thread that waits for it, and does
/// nothing else. So it goes before what the policy has, where it would be the last. Threads may
/// fork sections again and again until some other task is over. So the policy's tasks have a turn
/// after a few sections.
///
/// No wake-up is lost (see Workers). A section is in `m_awaited` before `push_own` looks for a
/// thread to wake. A thread that goes to sleep gives its permit back, and then asks `has_task`,
/// which looks there. Both are sequentially consistent. So a relaxed look in `pop` may miss a
/// section: `has_task` finds it before the thread sleeps.
///
/// Tasks whose last Completion has been resolved go first, as much may wait for them. A thread that
/// finds no task polls progress functions below.
Task* Engine::pop(Seat& seat) {
  m_polling.launch_offered(seat);
  if (seat.wants != nullptr) [[unlikely]]
    return pop_for_waiting(seat);
  if (!seat.searching && m_polling.is_due(seat)) m_polling.poll(seat, false);
  if (m_completions.any_said(std::memory_order_relaxed))
    if (Task* const task = complete_said(seat)) return task;
  bool const rests = any_rest(seat);
  if (rests && ++seat.since_rest > before_rest)
    if (Task* const rest = pop_rest(seat)) return rest;
  if (seat.is_main)
    if (Task* const task = pop_of_main(seat)) return task;
  if (!m_awaited.empty(std::memory_order_relaxed)) [[unlikely]]
    if (Task* const task = pop_awaited(seat)) return task;
  if (Task* const task = m_policy->pop(seat.number).impl()) return task;
  if (m_fusion.any())
    if (Task* const task = m_fusion.pop(seat, rests)) return task;
  if (m_polling.busy()) {
    if (m_polling.poll(seat, true)) {
      if (Task* const task = complete_said(seat)) return task;
      if (Task* const task = m_policy->pop(seat.number).impl()) return task;
    }
    m_polling.stand_by();
  }
  return rests ? pop_rest(seat) : nullptr;
}

/// Takes the next task of the main thread; after a few of them one of other threads, if there is
/// one.
Task* Engine::pop_of_main(Seat& seat) {
  if (!m_main.has_first()) return nullptr;
  if (seat.of_main_in_row < before_others) {
    ++seat.of_main_in_row;
    return m_main.pop();
  }
  seat.of_main_in_row = 0;
  if (Task* const task = m_awaited.pop()) return task;
  Task* const task = m_policy->pop(seat.number).impl();
  return task != nullptr ? task : m_main.pop();
}

Task* Engine::pop_awaited(Seat& seat) {
  if (seat.awaited_in_row < before_others) {
    ++seat.awaited_in_row;
    return m_awaited.pop();
  }
  seat.awaited_in_row = 0;
  Task* const task = m_policy->pop(seat.number).impl();
  return task != nullptr ? task : m_awaited.pop();
}

/// Takes, for a thread that waits, a task that it wants, or one that no other thread may run.
Task* Engine::pop_for_waiting(Seat& seat) {
  if (Task* const task = pop_wanted(seat, *seat.wants)) return task;
  return pop_own(seat);
}

/// Completes tasks whose last Completion has been resolved, until one of them leaves a task to run
/// next.
Task* Engine::complete_said(Seat& seat) {
  ++t_quiet_locks;
  constexpr int most = 32;
  bool any = false;
  Task* next = nullptr;
  for (int k = 0; k < most && next == nullptr; ++k) {
    if (!m_completions.any_said(std::memory_order_relaxed)) break;
    next = m_completions.complete_said(seat);
    any = true;
  }
  if (--t_quiet_locks == 0 && t_any_put_aside) m_destructors.destroy_put_aside_on(seat, next);
  // As with devices, perhaps no other thread notices what these completions have made true.
  if (any && m_workers.anyone_waits()) m_workers.wake_waiters();
  return next;
}

Task* Engine::pop_own(Seat& seat) {
  if (!seat.is_main) return nullptr;
  if (m_polling.any_of_main()) m_polling.poll_of_main(seat);
  if (Task* const task = m_main.pop()) return task;
  return m_main.pop_rest();
}

/// Takes a body that runs again. The main thread takes those that are bound to it, and others, by
/// turns.
Task* Engine::pop_rest(Seat& seat) {
  seat.since_rest = 0;
  if (!seat.is_main) return m_rests.pop();
  seat.own_rest_next = !seat.own_rest_next;
  Task* const first = seat.own_rest_next ? m_main.pop_rest() : m_rests.pop();
  if (first != nullptr) return first;
  return seat.own_rest_next ? m_rests.pop() : m_main.pop_rest();
}

void Engine::idle(Seat& seat) {
  if (seat.cells.first == nullptr) return;
  m_slab.recycle_chain(seat.cells.first, seat.cells.last);
  seat.cells = {};
}

void Engine::leaves(Seat& seat) {
  m_polling.stop(seat);
  if (Frame::top == nullptr)
    m_destructors.destroy_kept(seat, seat);  // else above a task, see run_one
}

}  // namespace trellis::Impl
