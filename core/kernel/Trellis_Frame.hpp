// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_FRAME_HPP
#define TRELLIS_IMPL_FRAME_HPP

#include <access/Trellis_AccessTable.hpp>
#include <kernel/Trellis_Kernel.hpp>
#include <locks/Trellis_PlanRecording.hpp>
#include <task/Trellis_Task.hpp>
#include <impl/Trellis_TaskHandle.hpp>
#include <locks/Trellis_Unlocked.hpp>

#include <utility>

namespace trellis::Impl {

/// A task whose body the calling thread runs, runs as one with others, launches on a device, or
/// destroys. Frames nest when a thread that waits in a body, or runs a destructor, runs further
/// tasks of this graph or of another one.
struct Frame {
  enum class What { runs, fuses, launches, destroys };
  Frame(Kernel& in_kernel, WorkerSlot& on_slot, Task& its_task, What does = What::runs)
      : kernel(in_kernel),
        slot(on_slot),
        task(its_task),
        what(does),
        outer(top),
        recording(PlanRecording::top),
        deferring_locks(std::exchange(t_deferring_locks, 0)) {
    top = this;
    if (recording != nullptr)
      PlanRecording::top = nullptr;  // the tasks that this one submits are not recorded
  }
  Frame(Frame const&) = delete;
  Frame& operator=(Frame const&) = delete;
  ~Frame() {
    t_deferring_locks = deferring_locks;
    top = outer;
    if (recording != nullptr) PlanRecording::top = recording;
  }

  /// Returns the innermost frame of this graph on the calling thread, or null.
  static Frame* of(Kernel const& kernel) {
    Frame* frame = top;
    while (frame != nullptr && &frame->kernel != &kernel) frame = frame->outer;
    return frame;
  }

  /// Returns the innermost frame of a task's graph, which need not exist any more.
  static Frame* of(TaskHandle const& task) noexcept {
    Frame* frame = top;
    while (frame != nullptr && !frame->kernel.is_of(task)) frame = frame->outer;
    return frame;
  }

  /// The tasks that cannot be complete before a wait in this frame is over. That is its own task
  /// (unless only its destructor is left), and for a destructor above the body of another task,
  /// that one, too.
  struct HeldUp {
    LiveAccess tasks[2];
    int count;
    [[nodiscard]] LiveAccess const* begin() const { return tasks; }
    [[nodiscard]] LiveAccess const* end() const { return tasks + count; }
  };
  [[nodiscard]] HeldUp held_up() const {
    HeldUp held{{{&task, task.id}, {}}, 1};
    if (what != What::destroys) return held;
    for (Frame const* frame = outer; frame != nullptr; frame = frame->outer)
      if (frame->what != What::destroys && &frame->kernel == &kernel) {
        held.tasks[held.count++] = {&frame->task, frame->task.id};
        break;
      }
    return held;
  }

  /// Returns the innermost task of any graph whose body the calling thread runs.
  [[nodiscard]] static TaskHandle running() {
    if (top == nullptr) return {};
    return top->kernel.handle_of(&top->task, top->task.id);
  }

  /// No wait is allowed in these.
  [[nodiscard]] bool is_launch() const { return what == What::fuses || what == What::launches; }

  Kernel& kernel;
  WorkerSlot& slot;
  Task& task;  ///< may be complete while its body is destroyed
  What const what;
  Frame* const outer;
  /// of the thread, when it runs a task of another graph meanwhile
  PlanRecording* const recording;
  /// Saved: user code may destroy what the engine must not destroy yet, see DeferDestructors.
  int const deferring_locks;
  static constinit inline thread_local Frame* top = nullptr;
};

}  // namespace trellis::Impl

#endif
