// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_PARTS_HPP
#define TRELLIS_IMPL_PARTS_HPP

#include <Trellis_Error.hpp>
#include <Trellis_Tag.hpp>
#include <engine/Trellis_Demotion.hpp>
#include <kernel/Trellis_Frame.hpp>
#include <kernel/Trellis_Kernel.hpp>
#include <task/Trellis_FunctionRef.hpp>
#include <kernel/Trellis_Region.hpp>
#include <kernel/Trellis_Task.hpp>
#include <kernel/Trellis_TaskHandle.hpp>
#include <task/Trellis_Reserve.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace trellis::Impl {

struct AccessRequest;
struct TaskSpec;
class Waiters;

/// Tasks that are split into parts, while they run or before: the regions of their parts, what a
/// part may ask for, and the start and the end of the tasks themselves.
class Parts {
 public:
  Parts(Kernel& kernel, Waiters& waiters)
      : m_kernel(kernel),
        m_submission(kernel.lock()),
        m_slab(kernel.slab()),
        m_failures(kernel.failures()),
        m_waiters(waiters),
        m_recorder(kernel.recorder()),
        m_needs_graph(kernel.recorder() != nullptr || kernel.is_serial()) {}
  Parts(Parts const&) = delete;
  Parts& operator=(Parts const&) = delete;

  // For the body of a running task, see TaskScope.
  void add_local(TaskHandle const& self, AccessRequest const& what);
  /// Replaces the body of a pending task by parts that `split` submits at once. False when it is
  /// not pending.
  bool refine(TaskHandle const& handle, FunctionRef<void(TaskHandle const&)> split);
  /// What is left of the body of a task when it returns, as a part that comes after all its parts
  /// so far.
  TaskHandle submit_rest(TaskHandle const& self, TaskSpec&& spec);
  /// From here on new parts of the running task are held, see Sections. Returns the newest one that
  /// is not.
  TaskId hold_parts(TaskHandle const& self);
  /// Those that are held, behind that one; from here on new ones are not. Each has one edge that is
  /// the caller's.
  Vector<LiveAccess> take_held(Task& owner, TaskId behind);

  // A part is submitted.
  void need_graph() { m_needs_graph = true; }
  /// The seat whose counts, cells and ids serve a part that the calling thread submits. Null: those
  /// of the graph do, under its lock.
  [[nodiscard]] Seat* seat_for_parts(Frame const* frame) const {
    bool const has_seat = frame != nullptr && frame->seat.number >= 0 && !m_needs_graph;
    return has_seat ? &frame->seat : nullptr;
  }
  Region& open_region(Task& owner, Seat* seat) {
    return owner.inner != nullptr ? *owner.inner : make_region(owner, seat);
  }
  /// `frame`: in which the calling thread submits it, or null.
  void add_part(Region& region, Task& part, Frame const* frame) {
    region.open.add(runs_body(frame, region));
    if (region.parts.size() == region.parts.capacity()) make_room_for_part(region);
    region.parts.push_back({&part, part.id});
    if (region.shrinks) Demotions::count_part(region, part);
  }
  /// What a part asks for that its owner does not have.
  struct NotWithin {
    AccessRequest const* request;
    std::string why;
  };
  /// `hash`: of the area.
  static void check_within(Region& region, AccessRequest const& request, std::uint64_t hash);
  [[nodiscard]] Error error_of(NotWithin const& wrong, TaskSpec const& spec) const;
  /// Throws where what the part is to come after cannot be complete before its owner is. True:
  /// some of that is neither complete nor a part of the same owner.
  [[nodiscard]] bool check_explicit(TaskSpec const& spec);

  // A task that has been split.
  /// Is this the frame of the body that was split into the parts of the region?
  [[nodiscard]] static bool runs_body(Frame const* frame, Region const& region) {
    return frame != nullptr && &frame->task == region.owner && frame->what == Frame::What::runs;
  }
  [[nodiscard]] RegionPtr take_region();
  void close_region(Task& owner, Seat& seat);
  void start_parts(Task& owner, Seat& seat);
  Task* body_over(Task& owner, Seat& seat, TaskState state);
  /// The body of the task and all its parts are over. Returns the task to run next, if any.
  Task* whole_over(Task& owner, Seat& seat);

 private:
  Region& make_region(Task& owner, Seat* seat);
  void make_room_for_part(Region& region) const;

  Kernel& m_kernel;
  SubmissionLock& m_submission;
  TaskSlab& m_slab;
  FailureLog const& m_failures;
  Waiters& m_waiters;
  Recorder* const m_recorder;  ///< null: does not record
  /// Parts are submitted under the graph's lock, too: rules ask all, a record keeps the order of
  /// submission, and the serial order is that of the ids. Does not change once there are tasks.
  bool m_needs_graph;
  /// Guarded by m_submission: of tasks that are over, for others.
  Vector<RegionPtr> m_spare_regions;
};

}  // namespace trellis::Impl

#endif
