// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_CHILDREN_HPP
#define TRELLIS_IMPL_CHILDREN_HPP

#include <Trellis_Error.hpp>
#include <Trellis_Tag.hpp>
#include <demotion/Trellis_Demotion.hpp>
#include <kernel/Trellis_Frame.hpp>
#include <kernel/Trellis_Kernel.hpp>
#include <base/Trellis_FunctionRef.hpp>
#include <scope/Trellis_Scope.hpp>
#include <task/Trellis_Task.hpp>
#include <impl/Trellis_TaskHandle.hpp>
#include <base/Trellis_Reserve.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace trellis::Impl {

struct AccessRequest;
struct TaskSpec;
class Waiters;

/// Splits tasks into children, while they run or before. Keeps the scopes of the children, checks
/// what a child may ask for, and starts and ends the split tasks.
class Children {
 public:
  Children(Kernel& kernel, Waiters& waiters)
      : m_kernel(kernel),
        m_submission(kernel.lock()),
        m_waiters(waiters),
        m_recorder(kernel.recorder()),
        m_needs_graph(kernel.recorder() != nullptr || kernel.is_serial()) {}
  Children(Children const&) = delete;
  Children& operator=(Children const&) = delete;

  // Called by the body of a running task, see TaskScope.
  void add_local(TaskHandle const& self, AccessRequest const& what);
  /// Replaces the body of a pending task by children that `split` submits at once. False when the
  /// task is not pending.
  bool refine(TaskHandle const& handle, FunctionRef<void(TaskHandle const&)> split);
  /// Submits what is left of a task's body when it returns, as a child that comes after all its
  /// children so far.
  TaskHandle submit_continuation(TaskHandle const& self, TaskSpec&& spec);
  /// Holds new children of the running task back from here on, see ForkJoins.
  void hold_children(TaskHandle const& self);
  /// Returns the held children, and holds no new ones from here on. Each of them has one edge that
  /// belongs to the caller.
  Vector<LiveAccess> take_held(Task& parent);

  // Used while a child is submitted:
  void need_graph() { m_needs_graph = true; }
  /// Returns the slot whose counts, cells and ids a child uses that the calling thread submits.
  /// Null: it uses those of the graph, under the graph's lock.
  [[nodiscard]] WorkerSlot* slot_for_children(Frame const* frame) const {
    bool const has_slot = frame != nullptr && frame->slot.number >= 0 && !m_needs_graph;
    return has_slot ? &frame->slot : nullptr;
  }
  Scope& open_scope(Task& parent, WorkerSlot* slot) {
    return parent.inner != nullptr ? *parent.inner : make_scope(parent, slot);
  }
  /// `frame`: the one in which the calling thread submits the child, or null.
  void add_child(Scope& scope, Task& child, Frame const* frame) {
    scope.open.add(runs_body(frame, scope));
    if (scope.children.size() == scope.children.capacity()) make_room_for_child(scope);
    scope.children.push_back({&child, child.id});
    if (scope.shrinks) Demotions::count_child(scope, child);
  }
  /// Thrown for an access that a child asks for and its parent does not have.
  struct NotWithin {
    AccessRequest const* request;
    std::string why;
  };
  /// Throws NotWithin. `hash`: of the area.
  static void check_within(Scope& scope, AccessRequest const& request, std::uint64_t hash);
  [[nodiscard]] Error error_of(NotWithin const& wrong, TaskSpec const& spec) const;
  /// Throws if a task that the child is to come after cannot be complete before the child's parent
  /// is. True: one of those tasks is neither complete nor a child of the same parent.
  [[nodiscard]] bool check_explicit(TaskSpec const& spec);

  // For a task that has been split:
  /// True if this is the frame of the body that was split into the children of the scope.
  [[nodiscard]] static bool runs_body(Frame const* frame, Scope const& scope) {
    return frame != nullptr && &frame->task == scope.parent && frame->what == Frame::What::runs;
  }
  [[nodiscard]] ScopePtr take_scope();
  void close_scope(Task& parent, WorkerSlot& slot);
  void start_children(Task& parent, WorkerSlot& slot);
  Task* body_over(Task& parent, WorkerSlot& slot, TaskState state);
  /// Called when the body and all children are over. Returns the task to run next, if any.
  Task* parent_over(Task& parent, WorkerSlot& slot);

 private:
  Scope& make_scope(Task& parent, WorkerSlot* slot);
  void make_room_for_child(Scope& scope) const;

  Kernel& m_kernel;
  SubmissionLock& m_submission;
  Waiters& m_waiters;
  Recorder* const m_recorder;  ///< null: the graph does not record
  /// True if children are submitted under the graph's lock, too. Rules compare all tasks, a record
  /// keeps the order of submission, and the serial order is that of the ids. It does not change
  /// once there are tasks.
  bool m_needs_graph;
  /// Scopes of tasks that are over, for reuse. Guarded by m_submission.
  Vector<ScopePtr> m_spare_scopes;
};

}  // namespace trellis::Impl

#endif
