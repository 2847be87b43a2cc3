// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <engine/Trellis_Engine.hpp>
#include <kernel/Trellis_Frame.hpp>
#include <recorded/Trellis_PlanState.hpp>
#include <base/Trellis_Reserve.hpp>
#include <impl/Trellis_Result.hpp>
#include <scope/Trellis_TaskText.hpp>

#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>

/// Runs tasks on a thread, and handles what their bodies throw.
namespace trellis::Impl {

void Engine::run(Task* task, WorkerSlot& slot, Condition stop) {
  m_polling.stop(slot);
  while (task != nullptr) {
    if (--slot.back_off.until_next < 0 && Frame::top == nullptr) back_off(slot);
    task = run_deferring(*task, slot);
    if (task != nullptr && (stop() || something_is_due(slot) || slot.wait.wants != nullptr)) {
      push(*task, &slot);
      return;
    }
  }
}

/// In a serial graph a task has its turn when it is about to run, not when it becomes ready: so
/// those that exclude each other run in the order of submission. A task may have to wait for one
/// that is over later than its body, is on a device, or waits on the stack of another thread. That
/// one pushes it again when it gives up what is needed.
bool Engine::may_not_exclude_serially(Task& task, WorkerSlot& slot) {
  if (task.failure != nullptr || m_features.exclusion.holds(task)) return false;
  return !may_exclude(task, &slot);
}

/// Runs the body. Returns the state that the task ends with if no child is left.
[[gnu::always_inline]] inline TaskState Engine::run_body(Task& task, WorkerSlot& slot) {
  TaskState state = TaskState::done;
  bool const refined = task.is_split;
  if (task.is_recorded()) task.prefetch_successors();  // its list does not change
  task.state.store(TaskState::running, std::memory_order_relaxed);
  m_events.changed(task, TaskState::running, slot.number);
  if (refined) {
    m_features.children.start_children(task, slot);
  } else {
    Frame const frame(*this, slot, task);
    try {
      task.ops->run(task.body,
                    task.space != nullptr ? m_workers.instance(slot, *task.space) : nullptr,
                    task.label);
    } catch (ChildFailed const&) {
      state = TaskState::failed;  // the child has left its failure here
    } catch (...) {
      state = TaskState::failed;
      inherit(task, current_failure(task));
    }
  }
  return m_features.cancellation.reach(task) ? TaskState::cancelled : state;
}

/// Runs a task with another number of threads than a worker has. A task that has been refined has
/// no body, and needs none.
TaskState Engine::run_wide(Task& task, WorkerSlot& slot) {
  if (task.is_split) return run_body(task, slot);
  WideSpace const& space = *wide_space(task.space);
  try {
    m_wide_spaces.require_room(space, task.label);
  } catch (Error const&) {
    inherit(task, current_failure(task));
    return TaskState::failed;
  }
  Workers::Gathered const gathered(m_workers, slot, space.permits());
  // To gather permits may have taken long.
  return m_features.cancellation.reach(task) ? TaskState::cancelled : run_body(task, slot);
}

/// Runs a task that features want to see, or that has a failure.
Task* Engine::run_special(Task& task, WorkerSlot& slot) {
  if (m_serial && task.exclusive && may_not_exclude_serially(task, slot)) return nullptr;
  if (Task* next = nullptr; m_features.run(task, slot, next)) return next;
  TaskState state = TaskState::cancelled;
  if (task.failure == nullptr) {
    bool const is_wide = task.space != nullptr && !task.space->is_plain();
    state = is_wide ? run_wide(task, slot) : run_body(task, slot);
  } else {
    // The failure may be its own: the function that refined it threw, or its launch on a thread
    // that runs no tasks, or the policy.
    if (task.failure->origin == task.id && !task.failure->is_asked) state = TaskState::failed;
    if (task.is_split) m_features.children.start_children(task, slot);
  }
  return task.is_split ? m_features.children.body_over(task, slot, state)
                       : complete(task, slot, state, slot.number);
}

[[gnu::always_inline]] inline Task* Engine::run_one(Task& task, WorkerSlot& slot) {
  m_features.cancellation.reach(task);
  bool const is_plain = task.marks.none() && task.failure == nullptr && !m_serial;
  if (!is_plain) return run_special(task, slot);
  TaskState const state = run_body(task, slot);
  return task.is_split ? m_features.children.body_over(task, slot, state)
                       : complete(task, slot, state, slot.number);
}

/// Objects of the user's whose destruction is deferred meanwhile are destroyed when the task is
/// over.
Task* Kernel::run_deferring(Task& task, WorkerSlot& slot) {
  Engine& engine = engine_of(*this);
  ++t_deferring_locks;
  Task* next = engine.run_one(task, slot);
  if (--t_deferring_locks == 0 && t_any_deferred_objects)
    engine.m_features.destructors.destroy_deferred_objects_on(slot, next);
  return next;
}

std::shared_ptr<Failure> Kernel::current_failure(Task const& task, std::string const& remark) {
  Engine& engine = engine_of(*this);
  auto failure = make_shared_unlocked<Failure>();
  failure->origin = task.id;
  if (task.is_recorded()) {  // for other tasks the replay fails
    failure->place = task.node->round * task.node->plan->tasks.size() + task.node->index + 1;
    for (Task const* whole = &task; whole->is_recorded();) {
      whole = enclosing(*whole);
      failure->origin = whole->id;
    }
  }
  failure->cause = std::current_exception();
  failure->is_asked =
      engine.m_features.cancellation.is_asked(task);  // then it stops by this exception
  try {
    engine.describe_failure(*failure, task, remark);
  } catch (std::bad_alloc const&) {  // the text is as long as memory allows
    if (failure->what.empty()) failure->what = "out of memory";
    if (failure->origin_text.empty()) failure->origin_text = short_text;
  }
  return failure;
}

/// Called in a handler.
void Engine::describe_failure(Failure& failure, Task const& task, std::string const& remark) {
  std::string what;
  try {
    throw;
  } catch (std::exception const& error) {
    what = error.what();
  } catch (...) {
    what = "an exception that is no std::exception";
  }
  what += remark;
  if (failure.is_asked) what = "the program asked for it, and its body threw: " + what;
  failure.what = std::move(what);
  failure.origin_text = text_of(task, m_lock);
}

}  // namespace trellis::Impl
