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

/// Splits tasks into parts, while they run or before. Keeps the regions of the parts, checks what a
/// part may ask for, and starts and ends the split tasks.
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

  // Called by the body of a running task, see TaskScope.
  void add_local(TaskHandle const& self, AccessRequest const& what);
  /// Replaces the body of a pending task by parts that `split` submits at once. False when the task
  /// is not pending.
  bool refine(TaskHandle const& handle, FunctionRef<void(TaskHandle const&)> split);
  /// Submits what is left of a task's body when it returns, as a part that comes after all its
  /// parts so far.
  TaskHandle submit_rest(TaskHandle const& self, TaskSpec&& spec);
  /// Holds new parts of the running task back from here on, see Sections. Returns the newest one
  /// that is not held.
  TaskId hold_parts(TaskHandle const& self);
  /// Returns the held parts, which come after `behind`, and holds no new ones from here on. Each of
  /// them has one edge that belongs to the caller.
  Vector<LiveAccess> take_held(Task& owner, TaskId behind);

  // Used while a part is submitted:
  void need_graph() { m_needs_graph = true; }
  /// Returns the seat whose counts, cells and ids a part uses that the calling thread submits.
  /// Null: it uses those of the graph, under the graph's lock.
  [[nodiscard]] Seat* seat_for_parts(Frame const* frame) const {
    bool const has_seat = frame != nullptr && frame->seat.number >= 0 && !m_needs_graph;
    return has_seat ? &frame->seat : nullptr;
  }
  Region& open_region(Task& owner, Seat* seat) {
    return owner.inner != nullptr ? *owner.inner : make_region(owner, seat);
  }
  /// `frame`: the one in which the calling thread submits the part, or null.
  void add_part(Region& region, Task& part, Frame const* frame) {
    region.open.add(runs_body(frame, region));
    if (region.parts.size() == region.parts.capacity()) make_room_for_part(region);
    region.parts.push_back({&part, part.id});
    if (region.shrinks) Demotions::count_part(region, part);
  }
  /// Thrown for an access that a part asks for and its owner does not have.
  struct NotWithin {
    AccessRequest const* request;
    std::string why;
  };
  /// Throws NotWithin. `hash`: of the area.
  static void check_within(Region& region, AccessRequest const& request, std::uint64_t hash);
  [[nodiscard]] Error error_of(NotWithin const& wrong, TaskSpec const& spec) const;
  /// Throws if a task that the part is to come after cannot be complete before the part's owner is.
  /// True: one of those tasks is neither complete nor a part of the same owner.
  [[nodiscard]] bool check_explicit(TaskSpec const& spec);

  // For a task that has been split:
  /// True if this is the frame of the body that was split into the parts of the region.
  [[nodiscard]] static bool runs_body(Frame const* frame, Region const& region) {
    return frame != nullptr && &frame->task == region.owner && frame->what == Frame::What::runs;
  }
  [[nodiscard]] RegionPtr take_region();
  void close_region(Task& owner, Seat& seat);
  void start_parts(Task& owner, Seat& seat);
  Task* body_over(Task& owner, Seat& seat, TaskState state);
  /// Called when the body and all parts are over. Returns the task to run next, if any.
  Task* whole_over(Task& owner, Seat& seat);

 private:
  Region& make_region(Task& owner, Seat* seat);
  void make_room_for_part(Region& region) const;

  Kernel& m_kernel;
  SubmissionLock& m_submission;
  TaskSlab& m_slab;
  FailureLog const& m_failures;
  Waiters& m_waiters;
  Recorder* const m_recorder;  ///< null: the graph does not record
  /// True if parts are submitted under the graph's lock, too: rules compare all tasks, a record
  /// keeps the order of submission, and the serial order is that of the ids. It does not change
  /// once there are tasks.
  bool m_needs_graph;
  /// Regions of tasks that are over, for reuse. Guarded by m_submission.
  Vector<RegionPtr> m_spare_regions;
};

}  // namespace trellis::Impl

#endif
