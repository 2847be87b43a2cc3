// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_ENGINEFRAME_HPP
#define TRELLIS_IMPL_ENGINEFRAME_HPP

#include <engine/Trellis_Engine.hpp>
#include <plan/Trellis_PlanRecording.hpp>
#include <threads/Trellis_SerialOrder.hpp>
#include <threads/Trellis_Unlocked.hpp>

#include <utility>

namespace trellis::Impl {

/// A task whose body the calling thread runs, runs as one with others, launches on a device, or
/// destroys. Frames nest when a thread that waits in one graph runs tasks of another.
struct Frame {
  enum class What { runs, fuses, launches, destroys };
  Frame(Engine& in_engine, Seat& on_seat, Task& its_task, What does = What::runs)
      : engine(in_engine),
        seat(on_seat),
        task(its_task),
        what(does),
        outer(top),
        recording(PlanRecording::top),
        quiet_locks(std::exchange(t_quiet_locks, 0)) {
    top = this;
    if (recording != nullptr)
      PlanRecording::top = nullptr;  // what this task submits is not what that thread records
  }
  Frame(Frame const&) = delete;
  Frame& operator=(Frame const&) = delete;
  ~Frame() {
    t_quiet_locks = quiet_locks;
    top = outer;
    if (recording != nullptr) PlanRecording::top = recording;
  }

  /// The innermost frame of this engine on the calling thread, or null.
  static Frame* of(Engine const& engine) {
    Frame* frame = top;
    while (frame != nullptr && &frame->engine != &engine) frame = frame->outer;
    return frame;
  }

  /// The same for the engine of a task, whether the graph is there or not.
  static Frame* of(TaskHandle const& task) noexcept {
    Frame* frame = top;
    while (frame != nullptr && !frame->engine.is_of(task)) frame = frame->outer;
    return frame;
  }

  /// What cannot be complete before a wait in this frame is over: its own task (unless that is over
  /// but for a destructor), and above the body of another one that one, too.
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
      if (frame->what != What::destroys && &frame->engine == &engine) {
        held.tasks[held.count++] = {&frame->task, frame->task.id};
        break;
      }
    return held;
  }

  /// Then no wait is allowed.
  [[nodiscard]] bool is_launch() const { return what == What::fuses || what == What::launches; }

  Engine& engine;
  Seat& seat;
  Task& task;  ///< which may be complete, while its body is destroyed
  What const what;
  Frame* const outer;
  /// of the thread, when it runs a task of another graph meanwhile
  PlanRecording* const recording;
  int const quiet_locks;  ///< what the engine must not destroy now, the user may, see Quiet
  static constinit inline thread_local Frame* top = nullptr;
};

inline TaskHandle Engine::running() {
  if (Frame::top == nullptr) return {};
  Frame const& frame = *Frame::top;
  return frame.engine.handle_of(&frame.task, frame.task.id);
}

inline Task& Parts::require_live(TaskHandle const& self, char const* what) const {
  if (m_engine.is_done(self)) refuse_complete(self, what);
  return *self.task;
}

inline bool Parts::runs_body(Frame const* frame, Region const& region) {
  return frame != nullptr && &frame->task == region.owner && frame->what == Frame::What::runs;
}

/// The seat whose counts, cells and ids serve a part that the calling thread submits. Null: those
/// of the graph do, under its lock.
inline Seat* Parts::seat_for_parts(Frame const* frame) const {
  bool const has_seat = frame != nullptr && frame->seat.number >= 0 && !m_needs_graph;
  return has_seat ? &frame->seat : nullptr;
}

}  // namespace trellis::Impl

#endif
