// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_POLICYEDGES_HPP
#define TRELLIS_IMPL_POLICYEDGES_HPP

#include <Trellis_SchedulingPolicy.hpp>
#include <Trellis_TaskId.hpp>
#include <base/Trellis_SpinLock.hpp>
#include <base/Trellis_Reserve.hpp>

#include <atomic>
#include <cstddef>

namespace trellis::Impl {

class Kernel;
class Recorder;
class SubmissionLock;
struct Task;
class Waiters;

/// The edges that a scheduling policy adds to the scheduling graph.
///
/// INVARIANT (no cycle). The policy sees a task, and adds edges, under the mutex of `Waiters`.
/// Tasks that begin to wait, and children that name tasks to come after, are entered under it as
/// well. Other new edges lead to new tasks, which hold up no task. So the search for a cycle sees
/// all edges that might close one with the new edge. If two edges would close one together, the
/// second is refused.
///
/// INVARIANT (no missed start). A task is held back while an edge to it is added: its count of
/// unfinished edges, which was not 0, is one higher. All held tasks are released when the policy
/// has returned and no lock is held. (The new task is held back by its own submission, too.) So the
/// count cannot reach 0 before the edge is counted.
///
/// INVARIANT (failures). In the list of successors an edge of a policy is like any other, but it
/// does not hand on a failure, as no data depends on it. Its note here is written under the lock.
/// That happens before the edge is in the list, under the lock of the first task. It may also be
/// done by a demotion of that task, which cannot become complete meanwhile. The thread that
/// completes the task reads the note afterwards.
class PolicyEdges final : private SchedulingEdges {
 public:
  PolicyEdges(Kernel& kernel, Waiters& waiters);
  PolicyEdges(PolicyEdges const&) = delete;
  PolicyEdges& operator=(PolicyEdges const&) = delete;

  [[nodiscard]] bool are_wanted() const { return m_are_wanted; }
  /// What the policy's edges have changed: to be passed to `release`.
  struct Reported {
    Vector<Task*> held;     ///< tasks held back
    Vector<Task*> granted;  ///< tasks that got their exclusive areas
  };
  /// Reports to the policy a task that has been admitted and is not published. The caller holds the
  /// mutex of the waiters, and no other lock. It passes the result to `release`.
  [[nodiscard]] Reported tell(Task& task);
  /// The caller holds no lock. Called when the task that the policy has seen is published.
  void release(Reported const& reported);

  [[nodiscard]] bool has(TaskId before, TaskId after);
  /// From now on `carries` says whether a failure of the first cancels the second: whether there is
  /// an edge for another reason as well.
  void set_carries(TaskId before, TaskId after, bool carries);
  /// Adds the tasks that a failure of the first one does not reach. Called under that task's lock,
  /// before it is complete; its notes may be removed later.
  void stops_failure(TaskId before, Vector<TaskId>& spared) {
    if (m_any.load(std::memory_order_relaxed)) add_spared(before, spared);
  }

 private:
  struct Note {
    TaskId after;
    bool carries;
  };
  struct Notes {
    Task* task;
    Vector<Note> edges;
  };
  bool add(SubmittedTask before, SubmittedTask after) override;
  [[nodiscard]] bool hold_back(Task& task, TaskId id);
  void link(Task& first, TaskId before, Task& second, TaskId after);
  void note(Task& first, TaskId before, TaskId after, bool carries);
  [[nodiscard]] Note* find(TaskId before, TaskId after);
  void add_spared(TaskId before, Vector<TaskId>& spared);

  Kernel& m_kernel;
  Waiters& m_waiters;
  SubmissionLock& m_submission;
  SchedulingPolicy& m_policy;
  Recorder* const m_recorder;  ///< null: does not record
  bool const m_are_wanted;
  Reported m_reported;  ///< guarded by the mutex of the waiters
  std::atomic<bool> m_any{false};
  SpinLock m_lock;  ///< a last one
  /// By the first task's id. Notes of complete tasks are removed when there are many.
  HashMap<TaskId, Notes> m_notes;
  std::size_t m_tidy_at = 256;
};

}  // namespace trellis::Impl

#endif
