// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_PROVISIONAL_HPP
#define TRELLIS_IMPL_PROVISIONAL_HPP

#include <Trellis_TaskId.hpp>
#include <task/Trellis_Task.hpp>
#include <impl/Trellis_TaskHandle.hpp>

#include <atomic>
#include <mutex>

namespace trellis::Impl {

/// Provisional handles: those of tasks that an iteration has collected, see Iteration. Such a task
/// has no id before it is admitted. Its handle carries a provisional id, which is no task's id. A
/// thread that has the handle resolves it, and goes on with the id that the task got when it was
/// admitted.
///
/// Memory order: three things are stored in this order, each with release order. They are the
/// provisional id before `live_id`, the id before `live_id` again, and the provisional id of the
/// next collected task in this cell before the id of that one. A thread that has the handle happens
/// after the first store to `live_id`. If it reads another value there, the id has been stored. If
/// the id that it reads is the one of a later task, the provisional id has changed.
class Provisional {
 public:
  static constexpr TaskId bit = TaskId{1} << 62;  ///< in all provisional ids, and in no ids

  [[nodiscard]] static bool is(TaskId id) { return id >> 62 == 1; }

  /// The task is collected. It has extras, and no thread knows it yet.
  static void begin(Task& task, TaskId provisional) {
    task.id = provisional;
    task.extras->provisional.store(provisional, std::memory_order_release);
    task.live_id.store(provisional, std::memory_order_release);
  }
  /// The task is admitted, and gets its id.
  static void end(Task& task, TaskId id) {
    task.id = id;
    task.extras->admitted_as.store(id, std::memory_order_release);
    task.live_id.store(id, std::memory_order_release);
  }
  /// The provisional id of a task that has been collected.
  [[nodiscard]] static TaskId of(Task const& task) {
    return task.extras->provisional.load(std::memory_order_relaxed);
  }
  /// The provisional id that a task, which has an id, had before; 0 if it was not collected.
  ///
  /// It takes the task's lock. A thread that demotes the task from outside may give it extras at
  /// this moment, and does so under that lock. A collected task has had its extras from the start,
  /// so what is found there does not depend on the order of the two threads.
  [[nodiscard]] static TaskId before(Task& task) {
    std::lock_guard const lock(task.lock);
    bool const was_collected = task.extras != nullptr &&
                               task.extras->admitted_as.load(std::memory_order_relaxed) == task.id;
    return was_collected ? of(task) : 0;
  }

  /// The handle with the task's id, if the task has one. It stays as it is while the task is
  /// collected, and when the task is complete and its cell has been used for another collected one.
  /// Handles that are not provisional stay as they are.
  [[nodiscard]] static TaskHandle resolved(TaskHandle const& handle) {
    if (!is(handle.id) || handle.task->is_live(handle.id)) return handle;
    TaskExtras const& extras = *handle.task->extras;
    TaskId const id = extras.admitted_as.load(std::memory_order_acquire);
    if (extras.provisional.load(std::memory_order_relaxed) != handle.id) return handle;
    return {handle.control, handle.generation, handle.task, id};
  }
  /// Is the task collected, or in flight? If not, the calling thread happens after its body.
  ///
  /// The task may get its id between the two looks at `live_id`. Then it no longer has its
  /// provisional id there, and is live. Its extras still have the provisional id, so the handle is
  /// resolved once more, which gives the id. A task gets one id, so there is no third time.
  [[nodiscard]] static bool is_live(TaskHandle const& handle) {
    for (;;) {
      TaskHandle const task = resolved(handle);
      if (task.task->is_live(task.id)) return true;
      if (!is(task.id) || of(*task.task) != task.id) return false;
    }
  }
};

}  // namespace trellis::Impl

#endif
