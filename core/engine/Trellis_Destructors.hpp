// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_DESTRUCTORS_HPP
#define TRELLIS_IMPL_DESTRUCTORS_HPP

#include <task/Trellis_KeptBodies.hpp>
#include <kernel/Trellis_Task.hpp>
#include <threads/Trellis_Unlocked.hpp>
#include <threads/Trellis_Workers.hpp>

#include <atomic>

namespace trellis::Impl {

class DeviceTasks;
class Kernel;
class TaskSlab;
struct TaskSpec;

/// A ready task that this thread has in hand while it runs destructors of the user's. One that
/// waits may wait for this task, so before it sleeps the task is given to the policy, and the
/// variable becomes null.
struct Holding {
  Holding(Seat& in_seat, Task*& task) : seat(in_seat) { seat.holding.push_back(&task); }
  Holding(Holding const&) = delete;
  Holding& operator=(Holding const&) = delete;
  ~Holding() { seat.holding.pop_back(); }
  Seat& seat;
};

/// As long as one is there nothing of the user's that has been put aside is destroyed, see
/// Trellis_Unlocked.hpp: the thread has something in hand that a destructor might wait for, such as
/// a task that is not published yet.
struct Quiet {
  Quiet() { ++t_quiet_locks; }
  Quiet(Quiet const&) = delete;
  Quiet& operator=(Quiet const&) = delete;
  ~Quiet() {
    if (--t_quiet_locks == 0 && t_any_put_aside) destroy_put_aside();
  }
};

/// The end of functors, tags, states and exceptions, which is code of the user's, and the tasks
/// that are done but for that.
///
/// A functor's destructor may submit tasks, and wait for some. It is run in a frame, so that what
/// it submits may exceed the cap, and it waits as a task does, by sleeping. What the thread has in
/// hand meanwhile must not be what it waits for: see Holding. No lock is held.
class Destructors {
 public:
  Destructors(Kernel& kernel, DeviceTasks& devices);
  /// A thread that ends a graph in a task of another one may have put something aside.
  ~Destructors() { forget_marks_put_aside(this); }
  Destructors(Destructors const&) = delete;
  Destructors& operator=(Destructors const&) = delete;

  // Of one task.
  /// Only where that delays the end of little memory: a task that accesses much takes so long that
  /// its end costs nothing beside. On a device freeing anything is costly.
  [[nodiscard]] bool may_keep_body(Task& task, TaskSpec const& spec) const;
  /// False: there are so many that this thread is to destroy them, when the task has been counted
  /// as complete.
  [[nodiscard]] bool keep_body(Task& task, Seat& seat) {
    return task.runs_on_device() ? m_kept_of_devices.push(task, task.on_device->bytes)
                                 : seat.kept.push(task);
  }
  void destroy_body(Task& task, Seat& seat) {
    if (task.ops->end == TaskOps::End::nothing) return;
    if (task.ops->end == TaskOps::End::plain) return task.ops->destroy(task.body);
    destroy_body_in_frame(task, seat);
  }
  /// The task is over, but for whoever looks at it under the graph's lock.
  void destroy_extras(Task& task, Seat& seat, Task*& next);

  // Of tasks that are kept.
  /// Those of a seat, on this thread, which has `on`.
  void destroy_kept(Seat& seat, Seat& on);
  void destroy_kept_of_workers();
  [[nodiscard]] bool too_many_of_devices() { return m_kept_of_devices.is_full(); }
  void destroy_kept_of_devices(Seat& on);
  /// Of all tasks that the caller knows to be done. Returns when other threads that destroy
  /// something of tasks that are done are through.
  void destroy_kept();
  /// Until nothing is in flight. What a functor's destructor submits is waited for as well.
  void drain();

  /// Before a task is counted as complete: `destroy_kept` then waits until this thread has
  /// destroyed what it has put aside of the task.
  void count_put_aside() {
    if (t_any_put_aside) count_what_is_put_aside();
  }
  /// What has been put aside, on a thread that runs tasks, when it has nothing in hand but perhaps
  /// the next one.
  void destroy_put_aside_on(Seat& seat, Task*& in_hand);

 private:
  struct Destroyer;
  struct InUsersCode;
  void destroy_body_in_frame(Task& task, Seat& seat);
  void destroy_bodies(Task* first, Seat& on);
  void count_what_is_put_aside();
  void end_destroyer();

  Kernel& m_kernel;
  DeviceTasks& m_devices;
  SubmissionLock& m_submission;
  TaskSlab& m_tasks;
  Workers& m_workers;
  bool const m_serial;
  KeptDeviceTasks m_kept_of_devices;
  /// calls, on all threads, that have taken kept tasks, or are about to, and what threads have put
  /// aside
  std::atomic<int> m_destroyers{0};
  Task m_nobody;  ///< in whose name tags, states and exceptions are destroyed
};

}  // namespace trellis::Impl

#endif
