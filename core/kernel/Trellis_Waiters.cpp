// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kernel/Trellis_Waiters.hpp>
#include <exclusion/Trellis_Exclusion.hpp>
#include <scope/Trellis_Scope.hpp>
#include <task/Trellis_TaskSlab.hpp>
#include <base/Trellis_Reserve.hpp>

#include <unordered_set>

/// Finds the tasks that cannot be complete before a given one.
namespace trellis::Impl {

void Waiters::remove(Waiter const& waiter) {
  std::erase_if(m_waiters, [&](Waiter const& other) {
    return other.task.task == waiter.task.task && other.task.id == waiter.task.id &&
           other.awaited.id == waiter.awaited.id;
  });
}

std::vector<std::pair<TaskId, TaskId>> Waiters::all() {
  std::lock_guard const lock(m_mutex);
  std::vector<std::pair<TaskId, TaskId>> all;
  for (Waiter const& each : m_waiters) all.emplace_back(each.task.id, each.awaited.id);
  return all;
}

/// Calls `f(task)` for each task that cannot be complete before `from` is.
template <class F>
void Waiters::for_each_held_up(LiveAccess from, F&& f) {
  Vector<LiveAccess> next;
  Task* guard = nullptr;
  {
    std::lock_guard const lock(from.task->lock);
    if (from.task->live_id.load(std::memory_order_relaxed) != from.id) return;
    // Under the lock a task in the list is still to be triggered, so its id does not change.
    from.task->for_each_successor([&](Task* successor) {
      if (TaskId const id = successor->live_id.load(std::memory_order_acquire); id != 0)
        next.push_back({successor, id});
    });
    // The task that this one is a child of is live as long as this one.
    if (Task* const parent = enclosing(*from.task)) f(LiveAccess{parent, parent->id});
    // So is the replay of a recorded task, behind which others may wait for the same plan.
    if (from.task->is_recorded()) for_each_replay_behind(*from.task, f);
    guard = guard_of(*from.task);
  }
  for (LiveAccess const& successor : next) f(successor);
  // A pending task that has been refined holds up its children until it starts, whatever holds it
  // up itself.
  next.push_back(from);
  for (std::size_t k = 0; k < next.size(); ++k) {
    LiveAccess const here = next[k];
    ScopeHold const lock(here.task, m_submission);
    if (here.task->live_id.load(std::memory_order_acquire) != here.id) continue;
    Scope const* const scope = here.task->inner.get();
    if (scope == nullptr || !scope->waits_for_parent) continue;
    for (LiveAccess const child : scope->children) {
      if (child.id < scope->held_from) continue;
      f(child);
      next.push_back(child);
    }
  }
  for (Waiter const& waiter : m_waiters)
    if (waiter.awaited.task == from.task && waiter.awaited.id == from.id) f(waiter.task);
  for_each_excluded(from, guard, f);
}

/// Calls `f` for the tasks that wait for exclusive areas of `from`. A task has its exclusive areas
/// until it is complete, whatever other task of its scope needs them.
///
/// While a thread has the lock of the scope, no task is submitted to it, and no task of it gives
/// up what it has. A task that is live under its own lock cannot become complete. So a task of this
/// scope that is live then does not change while it is compared. That must hold for both tasks:
/// the holder may meanwhile have lost what made it wait, and run.
///
/// Two locks of tasks are held at the same time in no other place, and here under the mutex.
template <class F>
void Waiters::for_each_excluded(LiveAccess from, Task* guard, F&& f) {
  ScopeHold const lock(guard, m_submission);
  Task& holder = *from.task;
  if (!holder.exclusive) return;
  std::lock_guard const holder_stays_live(holder.lock);
  if (holder.live_id.load(std::memory_order_relaxed) != from.id || !holder.exclusive) return;
  if (!m_exclusion.holds(holder)) return;
  Scope const* const scope = holder.scope;
  m_tasks.for_each([&](Task& other) {
    TaskId const id = other.live_id.load(std::memory_order_acquire);
    if (id == 0 || &other == &holder || !other.exclusive || other.scope != scope) return;
    std::lock_guard const stays_live(other.lock);
    if (other.live_id.load(std::memory_order_relaxed) == id && other.scope == scope &&
        m_exclusion.conflict(holder, other))
      f(LiveAccess{&other, id});
  });
}

/// True when the task with this id is `from`, or cannot be complete before `from` is.
bool Waiters::holds_up(LiveAccess from, TaskId awaited) {
  HashSet<TaskId> seen{from.id};
  Vector<LiveAccess> stack{from};
  while (!stack.empty()) {
    LiveAccess const here = stack.back();
    stack.pop_back();
    if (here.id == awaited) return true;
    for_each_held_up(here, [&](LiveAccess next) {
      if (seen.insert(next.id).second) stack.push_back(next);
    });
  }
  return false;
}

}  // namespace trellis::Impl
