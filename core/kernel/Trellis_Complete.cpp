// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <engine/Trellis_Engine.hpp>
#include <kernel/Trellis_Frame.hpp>
#include <task/Trellis_Result.hpp>
#include <kernel/Trellis_TaskText.hpp>

#include <algorithm>
#include <new>
#include <string>
#include <utility>

/// A task is completed, and releases those that come after it.
namespace trellis::Impl {

inline void Engine::give_back(Task& task, Seat& seat) {
  task.free_body();
  task.next = seat.cells.first;
  seat.cells.first = &task;
  if (seat.cells.last == nullptr) seat.cells.last = &task;
  if (++seat.cells.count >= 32) idle(seat);
}

/// Completes a part, and the task that it is a part of, if nothing else of that is left.
Task* Engine::complete_part(Task& task, Seat& seat, TaskState state, int row) {
  Region* region = task.region;
  TaskId id = task.id;
  if (task.failure != nullptr) inherit(*region->owner, task.failure);
  Task* next = complete_one(task, seat, state, row);
  if (region->shrinks) m_demotions.part_over(*region, id, seat);
  while (region != nullptr && region->open.part_over(Parts::runs_body(Frame::top, *region))) {
    Task& whole = *region->owner;
    TaskState const body = region->owner_state;
    int const owner_row = region->owner_row;
    region = whole.region_kind == RegionKind::parts ? static_cast<Region*>(whole.region) : nullptr;
    Holding const holding(seat, next);
    id = whole.id;
    if (region != nullptr && whole.failure != nullptr) inherit(*region->owner, whole.failure);
    state = body == TaskState::done ? state_of_whole(whole) : body;
    Task* const another = whole.is_recorded() ? m_plans.complete_run(whole, seat, state, owner_row)
                                              : complete_one(whole, seat, state, owner_row);
    if (region != nullptr && region->shrinks) m_demotions.part_over(*region, id, seat);
    if (another == nullptr) continue;
    if (next == nullptr)
      next = another;
    else
      push(*another, &seat);
  }
  return next;
}

/// Tells the log of failures and the task's future; not the tasks that come after it.
void Engine::tell_failure(Task& task, TaskState state, FailurePtr const& failure) {
  std::string text = short_text;
  try {
    text = text_of(task, m_lock);
  } catch (std::bad_alloc const&) {  // then without its name
  }
  bool const is_of_part = state == TaskState::failed && failure->origin != task.id;
  FailurePtr const own = is_of_part ? of_part(failure) : failure;
  m_failures.note(task.id, text, own);
  if (task.ticket_for.load(std::memory_order_relaxed) == task.id)
    m_failures.note_for_futures(task.ticket.load(std::memory_order_relaxed), task.id, text, own);
  task.ops->fail(task.body, task.id, text, own);
}

void Engine::hand_on_failure(Task& task, Seat& seat, FailurePtr const& failure) {
  task.for_each_successor([&](Task* successor) {
    auto const& spared = seat.spared;
    bool const stops = std::find(spared.begin(), spared.end(), successor->id) != spared.end();
    trigger(*successor, stops ? FailurePtr() : failure, seat.ready);
  });
  seat.spared.clear();
}

/// Returns the task that this thread is to run next, if the policy keeps one here.
Task* Engine::complete_one(Task& task, Seat& seat, TaskState state, int row) {
  FailurePtr const failure = std::move(task.failure);
  if (failure != nullptr) [[unlikely]]
    tell_failure(task, state, failure);
  // Above a task that waits, no thread would destroy what is kept before that task is over.
  bool const keeps_body = task.keeps_body && failure == nullptr && !task.is_split &&
                          (task.runs_on_device() || Frame::top == nullptr);
  if (!keeps_body) m_destructors.destroy_body(task, seat);  // before the successors go on
  run_over(task, seat, state, row);

  bool const has_waiter = task.end_life([&]() __attribute__((always_inline)) {
    task.prefetch_successors();
    give_up_exclusive(task, seat);
    if (failure != nullptr) [[unlikely]]
      m_policy_edges.stops_failure(task.id, seat.spared);
  });
  m_cancellation.forget(task.id);

  Vector<Task*>& ready = seat.ready;
  std::size_t const granted = ready.size();  // these have been made ready before
  if (failure == nullptr)
    task.for_each_successor([&](Task* successor) { trigger(*successor, nullptr, ready); });
  else
    hand_on_failure(task, seat, failure);
  Task* next = nullptr;
  if (!ready.empty()) next = hand_over(ready, granted, seat);
  if (task.has_objects) m_destructors.destroy_extras(task, seat, next);
  bool too_many_kept = false;
  if (keeps_body)
    too_many_kept = !m_destructors.keep_body(task, seat);
  else
    give_back(task, seat);
  m_destructors.count_put_aside();
  std::uint64_t const completed = seat.completed.load(std::memory_order_relaxed) + 1;
  seat.completed.store(completed, std::memory_order_release);
  if (has_waiter || ((completed & (m_room_check - 1)) == 0 && m_workers.anyone_waits()))
    m_workers.wake_waiters();
  if (too_many_kept && Frame::top == nullptr) {  // else later, see run_one
    Holding const holding(seat, next);
    m_destructors.destroy_kept(seat, seat);
    if (!m_device_tasks.busy() || m_destructors.too_many_of_devices())
      m_destructors.destroy_kept_of_devices(seat);
  }
  return next;
}

Task* Kernel::hand_over_many(Vector<Task*>& ready, std::size_t granted, Seat& seat) {
  Engine& engine = engine_of(*this);
  std::size_t count = 0;
  bool all_go_to_policy = true;
  for (std::size_t k = 0; k < ready.size(); ++k) {
    Task& task = *ready[k];
    if (k >= granted) {
      task.state.store(TaskState::ready, std::memory_order_relaxed);
      m_events.changed(task, TaskState::ready);
      if (task.exclusive && task.failure == nullptr && !m_serial &&
          !engine.may_exclude(task, &seat))
        continue;
    }
    all_go_to_policy = all_go_to_policy && goes_to_policy(task);
    ready[count++] = &task;
  }
  ready.resize(count);
  if (!all_go_to_policy) return engine.hand_over_each(ready, seat);
  return ready.empty() ? nullptr : give_to_policy(ready, seat);
}

/// All these tasks are ready and have their exclusive areas. Some of them go elsewhere than to the
/// policy.
Task* Engine::hand_over_each(Vector<Task*>& ready, Seat& seat) {
  std::size_t const count = ready.size();
  std::size_t kept = 0;
  bool any_held = false;
  Vector<Task*> to_launch;
  auto const release = [&](Task& task) {
    if (task.marks.has_own_queue)
      push(task, &seat);
    else if (m_device_tasks.launches_here(task))
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
      any_held = m_fusion.hold(std::span(ready).subspan(first, k - first), release) || any_held;
  }
  ready.resize(kept);
  Task* next = nullptr;
  if (!ready.empty()) next = give_to_policy(ready, seat);
  if (any_held) m_fusion.tell();
  // Now the others can be found, and `ready` may be used again.
  if (!to_launch.empty()) {
    m_device_tasks.order_launches(to_launch);
    for (Task* task : to_launch) m_device_tasks.launch(*task, seat);
    m_workers.ready_added();
  }
  return next;
}

}  // namespace trellis::Impl
