// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <engine/Trellis_Waiters.hpp>
#include <exclusion/Trellis_Exclusion.hpp>
#include <task/Trellis_Region.hpp>
#include <task/Trellis_TaskSlab.hpp>

#include <unordered_set>

/// Who cannot be complete before whom.
namespace trellis::Impl {

void Waiters::remove(Waiter const& waiter) {
  std::erase_if(m_waiters, [&](Waiter const& other) {
    return other.task.task == waiter.task.task && other.task.id == waiter.task.id &&
           other.awaited.id == waiter.awaited.id;
  });
}

/// Calls `f(task, id)` for each task that cannot be complete before `from` is.
template <class F>
void Waiters::for_each_held_up(LiveAccess from, F&& f) {
  std::vector<Task*> next;
  {
    std::lock_guard const lock(from.task->lock);
    if (from.task->live_id.load(std::memory_order_relaxed) != from.id) return;
    from.task->for_each_successor([&](Task* successor) { next.push_back(successor); });
    // The task that this one is a part of; it is live as long as this one.
    if (Task* const owner = whole_of(*from.task)) f(LiveAccess{owner, owner->id});
  }
  for (Task* successor : next)
    if (TaskId const id = successor->live_id.load(std::memory_order_acquire); id != 0)
      f(LiveAccess{successor, id});
  {
    // A pending task that has been refined holds up its parts until it starts, whatever holds it up
    // itself.
    std::lock_guard const lock(m_submission);
    if (from.task->live_id.load(std::memory_order_acquire) == from.id) next.push_back(from.task);
    for (std::size_t k = 0; k < next.size(); ++k) {
      Region const* const region = next[k]->inner.get();
      if (next[k]->live_id.load(std::memory_order_acquire) == 0 || region == nullptr ||
          !region->waits_for_owner)
        continue;
      for (LiveAccess const part : region->parts) {
        f(part);
        next.push_back(part.task);
      }
    }
  }
  for (Waiter const& waiter : m_waiters)
    if (waiter.awaited.task == from.task && waiter.awaited.id == from.id) f(waiter.task);
  // A task has its exclusive areas until it is complete, whoever else needs them.
  std::lock_guard const lock(m_submission);
  if (from.task->live_id.load(std::memory_order_acquire) != from.id || !from.task->exclusive)
    return;
  if (m_serial ? from.task->state.load(std::memory_order_relaxed) != TaskState::running
               : !m_exclusion.holds(*from.task))
    return;
  m_tasks.for_each([&](Task& other) {
    TaskId const id = other.live_id.load(std::memory_order_acquire);
    if (id != 0 && id != from.id && other.exclusive && m_exclusion.conflict(*from.task, other))
      f(LiveAccess{&other, id});
  });
}

/// True when the task with this id is `from`, or cannot be complete before `from` is.
bool Waiters::holds_up(LiveAccess from, TaskId awaited) {
  std::unordered_set<TaskId> seen{from.id};
  std::vector<LiveAccess> stack{from};
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
