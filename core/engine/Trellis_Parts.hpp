// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_PARTS_HPP
#define TRELLIS_IMPL_PARTS_HPP

#include <Trellis_Error.hpp>
#include <Trellis_Tag.hpp>
#include <engine/Trellis_Demotion.hpp>
#include <task/Trellis_FunctionRef.hpp>
#include <task/Trellis_Region.hpp>
#include <task/Trellis_Task.hpp>
#include <task/Trellis_TaskHandle.hpp>
#include <task/Trellis_Reserve.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace trellis::Impl {

struct AccessRequest;
class Engine;
class FailureLog;
struct Frame;
class Recorder;
struct Seat;
class SubmissionLock;
class TaskSlab;
struct TaskSpec;

/// Tasks that are split into parts, while they run or before: the regions of their parts, what a
/// part may ask for, and the start and the end of the tasks themselves.
class Parts {
 public:
  Parts(Engine& engine, SubmissionLock& submission, TaskSlab& slab, FailureLog const& failures,
        Recorder* recorder, bool serial)
      : m_engine(engine),
        m_submission(submission),
        m_slab(slab),
        m_failures(failures),
        m_recorder(recorder),
        m_needs_graph(recorder != nullptr || serial) {}
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
  /// The task cannot become complete meanwhile if the calling thread runs its body.
  Task& require_live(TaskHandle const& self, char const* what) const;
  void need_graph() { m_needs_graph = true; }
  [[nodiscard]] Seat* seat_for_parts(Frame const* frame) const;
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
  [[nodiscard]] static bool runs_body(Frame const* frame, Region const& region);
  [[nodiscard]] std::unique_ptr<Region> take_region();
  void close_region(Task& owner, Seat& seat);
  void start_parts(Task& owner, Seat& seat);
  Task* body_over(Task& owner, Seat& seat, TaskState state);
  /// The body of the task and all its parts are over. Returns the task to run next, if any.
  Task* whole_over(Task& owner, Seat& seat);

 private:
  [[noreturn]] static void refuse_complete(TaskHandle const& self, char const* what);
  Region& make_region(Task& owner, Seat* seat);
  void make_room_for_part(Region& region) const;

  Engine& m_engine;
  SubmissionLock& m_submission;
  TaskSlab& m_slab;
  FailureLog const& m_failures;
  Recorder* const m_recorder;  ///< null: does not record
  /// Parts are submitted under the graph's lock, too: rules ask all, a record keeps the order of
  /// submission, and the serial order is that of the ids. Does not change once there are tasks.
  bool m_needs_graph;
  /// Guarded by m_submission: of tasks that are over, for others.
  Vector<std::unique_ptr<Region>> m_spare_regions;
};

}  // namespace trellis::Impl

#endif
