// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_WAITERS_HPP
#define TRELLIS_IMPL_WAITERS_HPP

#include <access/Trellis_AccessTable.hpp>
#include <locks/Trellis_Unlocked.hpp>
#include <base/Trellis_Reserve.hpp>

#include <mutex>
#include <utility>
#include <vector>

namespace trellis::Impl {

class Exclusion;
class TaskSlab;

/// The tasks whose bodies wait for others, and the search for circles: a wait that cannot end is
/// an error.
///
/// INVARIANT. A task is added under the mutex, after a check under the same hold that it closes no
/// circle. Edges to a new task hold up no other task. But edges that a child gets by `after(...)`
/// do, so they are added under the mutex as well. So where two threads would close a circle
/// together, the second one finds it. A replay that queues behind another one of its plan is the
/// exception, so a thread that waits for long looks again. It finds no circle that is none: as long
/// as it waits, nothing that it holds up becomes complete, so each step of the search stays true.
class Waiters {
 public:
  struct Waiter {
    LiveAccess task;
    LiveAccess awaited;
  };

  Waiters(SubmissionLock& submission, TaskSlab& tasks, Exclusion& exclusion)
      : m_submission(submission), m_tasks(tasks), m_exclusion(exclusion) {}

  /// The first of all locks; everything else here but `all` requires it.
  [[nodiscard]] DeferringLock<std::mutex>& mutex() { return m_mutex; }
  void add(Waiter const& waiter) { m_waiters.push_back(waiter); }
  void remove(Waiter const& waiter);
  /// Returns which task waits for which. It takes the mutex itself.
  [[nodiscard]] std::vector<std::pair<TaskId, TaskId>> all();
  /// True when the task with the id `awaited` is `from`, or cannot be complete before `from` is: by
  /// dependencies, by other tasks that wait, or by exclusive areas.
  [[nodiscard]] bool holds_up(LiveAccess from, TaskId awaited);

 private:
  template <class F>
  void for_each_held_up(LiveAccess from, F&& f);
  template <class F>
  void for_each_excluded(LiveAccess from, Task* guard, F&& f);

  SubmissionLock& m_submission;
  TaskSlab& m_tasks;
  Exclusion& m_exclusion;
  DeferringLock<std::mutex> m_mutex;
  Vector<Waiter> m_waiters;
};

}  // namespace trellis::Impl

#endif
