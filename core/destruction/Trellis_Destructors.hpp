// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_DESTRUCTORS_HPP
#define TRELLIS_IMPL_DESTRUCTORS_HPP

#include <destruction/Trellis_DeferredDeviceTasks.hpp>
#include <task/Trellis_Task.hpp>
#include <locks/Trellis_Unlocked.hpp>
#include <threads/Trellis_Workers.hpp>

#include <atomic>
#include <cstdint>
#include <optional>

namespace trellis::Impl {

class Kernel;
class LaunchQueue;
class TaskSlab;
struct TaskSpec;

/// Registers a ready task that this thread holds while it runs destructors of the user's. A
/// destructor may wait for this very task. So before it sleeps the task is given to the policy, and
/// the variable becomes null.
struct Holding {
  Holding(WorkerSlot& in_slot, Task*& task) : slot(in_slot) { slot.holding.push_back(&task); }
  Holding(Holding const&) = delete;
  Holding& operator=(Holding const&) = delete;
  ~Holding() { slot.holding.pop_back(); }
  WorkerSlot& slot;
};

/// While this object exists, deferred destructors of the user's do not run on this thread, see
/// Trellis_Unlocked.hpp. The thread holds something that a destructor might wait for, such as a
/// task that is not published yet.
struct DeferDestructors {
  DeferDestructors() { ++t_deferring_locks; }
  DeferDestructors(DeferDestructors const&) = delete;
  DeferDestructors& operator=(DeferDestructors const&) = delete;
  ~DeferDestructors() {
    if (--t_deferring_locks == 0 && t_any_deferred_objects) destroy_deferred_objects();
  }
};

/// Runs the destructors of functors, tags, states and exceptions, which are user code. Keeps the
/// tasks that are done except for that.
///
/// A functor's destructor may submit tasks, and wait for some. It runs in a frame, so that what it
/// submits may exceed the cap, and it waits as a task does, by sleeping. The thread must not hold
/// the task that it waits for: see Holding. No lock is held.
class Destructors {
 public:
  Destructors(Kernel& kernel, LaunchQueue& offered);
  /// A thread that ends a graph in a task of another one may have deferred some destructors.
  ~Destructors() { forget_marks_of_deferred(this); }
  Destructors(Destructors const&) = delete;
  Destructors& operator=(Destructors const&) = delete;

  // For one task:
  /// For a device task: the bytes that it accesses if its body may be destroyed later.
  [[nodiscard]] std::optional<std::uint64_t> bytes_to_defer(TaskSpec const& spec) const;
  /// Keeps the body. False: there are so many that this thread is to destroy them, once the task
  /// has been counted as complete.
  [[nodiscard]] bool defer_body(Task& task) {
    return m_deferred.push(task, *task.on_device->deferred_bytes);
  }
  void destroy_body(Task& task, WorkerSlot& slot) {
    if (task.ops->end == TaskOps::End::nothing) return;
    if (task.ops->end == TaskOps::End::plain) return task.ops->destroy(task.body);
    destroy_body_in_frame(task, slot);
  }
  /// Called when the task is over, except for threads that look at it under the graph's lock.
  void destroy_extras(Task& task, WorkerSlot& slot, Task*& next);

  // For deferred bodies:
  /// Destroys them on this thread, whose slot is `on`. Not called above a task that waits: a
  /// destructor may wait for that one.
  void destroy_deferred(WorkerSlot& on);
  /// Destroys the deferred bodies of all tasks that the caller knows to be done. Returns when other
  /// threads that destroy something of such tasks have finished.
  void destroy_deferred();
  /// Waits and destroys until nothing is in flight, including what a functor's destructor submits.
  void drain();

  /// Called before a task is counted as complete. `destroy_deferred` then waits until this thread
  /// has run the destructors that it has deferred for the task.
  void count_deferred() {
    if (t_any_deferred_objects) count_what_is_deferred();
  }
  /// Runs the deferred destructors on a thread that runs tasks, and holds no task except perhaps
  /// the next one, `in_hand`.
  void destroy_deferred_objects_on(WorkerSlot& slot, Task*& in_hand);

 private:
  struct Destroyer;
  struct InUsersCode;
  void destroy_body_in_frame(Task& task, WorkerSlot& slot);
  void count_what_is_deferred();
  void end_destroyer();

  Kernel& m_kernel;
  LaunchQueue& m_offered;
  SubmissionLock& m_submission;
  TaskSlab& m_tasks;
  Workers& m_workers;
  bool const m_serial;
  DeferredDeviceTasks m_deferred;
  /// Counts the calls, on all threads, that have taken kept tasks or are about to, and the threads'
  /// deferred destructions.
  std::atomic<int> m_destroyers{0};
  Task m_no_task;  ///< stands for tags, states and exceptions that are destroyed
};

}  // namespace trellis::Impl

#endif
