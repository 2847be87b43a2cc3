// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <engine/Trellis_Engine.hpp>
#include <kernel/Trellis_Finish.hpp>
#include <kernel/Trellis_Frame.hpp>
#include <task/Trellis_Provisional.hpp>
#include <impl/Trellis_Result.hpp>
#include <scope/Trellis_TaskText.hpp>

#include <algorithm>
#include <new>
#include <string>
#include <utility>

/// Completes tasks, and releases those that come after them.
namespace trellis::Impl {

inline void Engine::give_back(Task& task, WorkerSlot& slot) {
  task.free_body();
  task.next = slot.cells.first;
  slot.cells.first = &task;
  if (slot.cells.last == nullptr) slot.cells.last = &task;
  if (++slot.cells.count >= 32) idle(slot);
}

/// Notes the failure in the log and in the task's future, but not in the tasks that come after it.
void Engine::tell_failure(Task& task, TaskState state, FailurePtr const& failure) {
  std::string text = short_text;
  try {
    text = text_of(task, m_lock);
  } catch (std::bad_alloc const&) {  // then the log lacks its name
  }
  bool const is_of_child = state == TaskState::failed && failure->origin != task.id;
  FailurePtr const own = is_of_child ? of_child(failure) : failure;
  m_failures.note(task.id, text, own);
  if (TaskId const provisional = Provisional::before(task); provisional != 0)
    m_failures.note_for_futures(provisional, task.id, text, own);
  task.ops->fail(task.body, task.id, text, own);
}

void Engine::hand_on_failure(Task& task, WorkerSlot& slot, FailurePtr const& failure) {
  task.for_each_successor([&](Task* successor) {
    auto const& spared = slot.completion.spared;
    bool const stops = std::find(spared.begin(), spared.end(), successor->id) != spared.end();
    trigger(*successor, stops ? FailurePtr() : failure, slot.completion.ready);
  });
  slot.completion.spared.clear();
}

/// Ends a task: destroys its body, marks it as complete in `live_id`, and frees its cell for
/// another one.
class Engine::TaskEnds {
 public:
  TaskEnds(Engine& engine, Task& task, WorkerSlot& slot)
      : m_engine(engine), m_task(task), m_slot(slot) {}

  void tell(TaskState state, FailurePtr const& failure) {
    m_engine.tell_failure(m_task, state, failure);
  }
  [[gnu::always_inline]] void end_body(FailurePtr const& failure) {
    m_keeps_body = m_task.defers_body() && failure == nullptr && !m_task.is_split;
    if (!m_keeps_body) m_engine.m_features.destructors.destroy_body(m_task, m_slot);
  }
  [[gnu::always_inline]] void end_life(FailurePtr const& failure) {
    m_has_waiter = m_task.end_life([&]() __attribute__((always_inline)) {
      m_task.prefetch_successors();
      m_engine.give_up_exclusive(m_task, m_slot);
      if (failure != nullptr) [[unlikely]]
        m_engine.m_features.policy_edges.stops_failure(m_task.id, m_slot.completion.spared);
    });
    m_engine.m_features.completed(m_task);
  }
  [[gnu::always_inline]] void release(FailurePtr const& failure, Vector<Task*>& ready) {
    if (failure == nullptr)
      m_task.for_each_successor([&](Task* successor) { trigger(*successor, nullptr, ready); });
    else
      m_engine.hand_on_failure(m_task, m_slot, failure);
  }
  [[gnu::always_inline]] void leave(Task*& next) {
    Destructors& destructors = m_engine.m_features.destructors;
    Workers& workers = m_engine.m_workers;
    if (m_task.has_objects) destructors.destroy_extras(m_task, m_slot, next);
    bool too_many_deferred = false;
    if (m_keeps_body)
      too_many_deferred = !destructors.defer_body(m_task);
    else
      m_engine.give_back(m_task, m_slot);
    destructors.count_deferred();
    std::uint64_t const completed = m_slot.counts.completed.load(std::memory_order_relaxed) + 1;
    m_slot.counts.completed.store(completed, std::memory_order_release);
    if (m_has_waiter || ((completed & (m_engine.m_room_check - 1)) == 0 && workers.anyone_waits()))
      workers.wake_waiters();
    if (too_many_deferred && Frame::top == nullptr) {  // a destructor may wait for a task below it
      Holding const holding(m_slot, next);
      destructors.destroy_deferred(m_slot);
    }
  }

 private:
  Engine& m_engine;
  Task& m_task;
  WorkerSlot& m_slot;
  bool m_keeps_body = false;
  bool m_has_waiter = false;
};

Task* Engine::finish_task(Task& task, WorkerSlot& slot, TaskState state, int row) {
  return Impl::finish(*this, task, slot, state, row, TaskEnds(*this, task, slot));
}

/// Completes a child, and the task that it is a child of if nothing else of that is left. (This is
/// a loop, as tasks nest deep.)
Task* Engine::finish_child(Task& first, WorkerSlot& slot, TaskState state, int row) {
  Scope* scope = static_cast<Scope*>(first.scope);
  TaskId id = first.id;
  if (first.failure != nullptr) inherit(*scope->parent, first.failure);
  Task* next = finish_task(first, slot, state, row);
  if (scope->shrinks) m_features.demotions.child_over(*scope, id, slot);
  while (scope != nullptr && scope->open.child_over(Children::runs_body(Frame::top, *scope))) {
    Task& whole = *scope->parent;
    state = scope->parent_state == TaskState::done ? state_of_parent(whole) : scope->parent_state;
    row = scope->parent_row;
    scope = whole.scope_kind == ScopeKind::children ? static_cast<Scope*>(whole.scope) : nullptr;
    id = whole.id;
    Holding const holding(slot, next);
    if (scope != nullptr && whole.failure != nullptr) inherit(*scope->parent, whole.failure);
    Task* const another = finish_one(whole, slot, state, row);
    if (scope != nullptr && scope->shrinks) m_features.demotions.child_over(*scope, id, slot);
    if (next == nullptr)
      next = another;
    else if (another != nullptr)
      push(*another, &slot);
  }
  return next;
}

Task* Kernel::hand_over_many(Vector<Task*>& ready, std::size_t granted, WorkerSlot& slot) {
  Engine& engine = engine_of(*this);
  std::size_t count = 0;
  bool all_go_to_policy = true;
  for (std::size_t k = 0; k < ready.size(); ++k) {
    Task& task = *ready[k];
    if (k >= granted) {
      task.state.store(TaskState::ready, std::memory_order_relaxed);
      m_events.changed(task, TaskState::ready);
      if (task.exclusive && task.failure == nullptr && !m_serial &&
          !engine.may_exclude(task, &slot))
        continue;
    }
    all_go_to_policy = all_go_to_policy && goes_to_policy(task);
    ready[count++] = &task;
  }
  ready.resize(count);
  if (!all_go_to_policy) return engine.hand_over_each(ready, slot);
  return ready.empty() ? nullptr : give_to_policy(ready, slot);
}

/// Hands over tasks that are ready and have their exclusive areas. Some of them do not go to the
/// policy.
Task* Engine::hand_over_each(Vector<Task*>& ready, WorkerSlot& slot) {
  std::size_t const count = ready.size();
  std::size_t kept = 0;
  Vector<Task*> to_launch;
  auto const release = [&](Task& task) {
    if (task.marks.has_own_queue)
      push(task, &slot);
    else if (m_features.device_tasks.launches_here(task))
      to_launch.push_back(&task);
    else
      ready[kept++] = &task;  // this place has been read already
  };
  for (std::size_t k = 0; k < count;) {
    std::size_t const first = k;
    while (k < count && ready[k]->marks.is_fusable) ++k;
    if (k == first)
      release(*ready[k++]);
    else
      m_features.fusion.hold(std::span(ready).subspan(first, k - first), release);
  }
  ready.resize(kept);
  Task* next = nullptr;
  if (!ready.empty()) next = give_to_policy(ready, slot);
  // Now other threads can find the rest, and `ready` may be used again.
  if (!to_launch.empty()) {
    m_features.device_tasks.order_launches(to_launch);
    for (Task* task : to_launch) m_features.device_tasks.launch(*task, slot);
    m_workers.ready_added();
  }
  return next;
}

}  // namespace trellis::Impl
