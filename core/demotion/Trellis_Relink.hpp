// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_RELINK_HPP
#define TRELLIS_IMPL_RELINK_HPP

#include <Trellis_Graph.hpp>
#include <Trellis_Tag.hpp>
#include <task/Trellis_AnyState.hpp>
#include <base/Trellis_SmallSet.hpp>
#include <task/Trellis_Task.hpp>
#include <base/Trellis_Reserve.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace trellis::Impl {

struct AreaEntry;
class FailureLog;
class PolicyEdges;
class Recorder;
struct Scope;
class TaskSlab;

/// Changes the edges around a pending task T that gives up accesses, to what they would be if it
/// had never had them.
///
/// Unlike a running task, T may have unfinished predecessors. So three orders may be lost with an
/// edge that ends or begins at T:
/// - T waits for a task that it still conflicts with, through a predecessor that it need not wait
///   for.
/// - A task behind T that still conflicts with T waits for it, through a successor that need not.
/// - A task behind T waits for one before T, if their only path led through T.
///
/// INVARIANT. Let A be before T, and B behind it, in the order that the edges of the scope make.
/// Afterwards there is a path between any two of A, T and B that must be ordered (by a conflict, or
/// for another reason), or the first of them is complete. For T and the tasks around it the
/// argument is that for a running task, in both directions: on each path the first task that T
/// still conflicts with gets an edge. For A and B, all pairs (A, B) on the two sides of a cut are
/// checked, from the inside to the outside. The search goes no further where a pair gets an edge,
/// as that is a path for all pairs beyond.
///
/// INVARIANT (no task is missed). The lock of the scope is held, so no task is submitted to it,
/// none of its tasks demotes, and no edge within it is added. T is held back, so no task behind it
/// can start, and adding 1 to their counts is safe. Tasks before T may run, and be complete and
/// reused, at any time. So all that is needed of a task is copied first, under its own lock, while
/// it is live. An edge from it is added under that lock, too, if it is still live. If it is not,
/// there is nothing to wait for, and only its failure is handed on. A task that was complete before
/// it was copied has not failed: while there is a failure that `wait` has not reported, the whole
/// demotion is refused before anything has changed.
///
/// Where T has taken the place of tasks before it, the table does not know them any more. So they
/// become unindexed accesses there, as T itself does: see `enter_before`.
class Relink {
 public:
  Relink(TaskSlab& slab, FailureLog const& failures, std::deque<TagRule> const& rules,
         PolicyEdges& policy_edges, Recorder* recorder)
      : m_slab(slab),
        m_failures(failures),
        m_rules(rules),
        m_policy_edges(policy_edges),
        m_recorder(recorder) {}

  /// Copies the accesses and the edges of the scope's tasks. False when a task has failed, as T
  /// may have to be cancelled: then it is too late.
  [[nodiscard]] bool look(Task& task);
  /// Returns the newest task that was copied.
  [[nodiscard]] TaskId newest() const { return m_newest; }
  /// Called when T has demoted. `ready` gets the tasks that wait for nothing else. T itself is
  /// released later.
  void change(Vector<Task*>& ready);
  /// Enters the tasks before T as unindexed accesses to these areas: those that T has given up or
  /// changed, and all that overlap them.
  void enter_before(SmallSet<AreaEntry> const& areas);
  /// Calls `f(task)` for each task that was live when it was copied, under its lock, if it still
  /// is.
  template <class F>
  void for_each_live(F&& f) {
    for (Node& node : m_nodes) with_live(node, f);
  }

 private:
  struct Access {
    AreaEntry* entry;
    Mode mode;
    StatePtr state;
    [[nodiscard]] AccessKind kind() const { return {mode, state.get()}; }
  };
  struct Node {
    Task* task;
    TaskId id;
    bool synchronizing;
    Vector<Access> accesses{};
    Vector<TaskId> explicit_before{};  ///< by `after(...)`
    Vector<TagPtr> tags{};             ///< only where there are rules
    Vector<Node*> before{};
    Vector<Node*> behind{};
    Vector<Node*> before_on_device{};  ///< these are also in `before`
  };

  template <class F>
  static void with_live(Node& node, F&& f) {
    std::lock_guard const lock(node.task->lock);
    if (node.task->live_id.load(std::memory_order_relaxed) == node.id) f(*node.task);
  }
  void copy(Task& task, Node& node) const;
  [[nodiscard]] bool conflict(Node const& first, Node const& second) const;
  [[nodiscard]] bool depends(Node const& first, Node const& second) const;
  [[nodiscard]] bool needed(Node const& first, Node const& second) const;
  void join(Node& first, Node& second);
  void bridge();
  void find_before();
  void find_behind();
  void record_done_before(Node const& node, Node const& behind);

  TaskSlab& m_slab;
  FailureLog const& m_failures;
  std::deque<TagRule> const& m_rules;
  PolicyEdges& m_policy_edges;
  Recorder* const m_recorder;
  std::deque<Node> m_nodes;
  std::unordered_map<Task*, Node*> m_node_of;
  Node* m_node = nullptr;  ///< T's
  TaskId m_newest = 0;
  Vector<Node*> m_free_before;  ///< predecessors that T no longer has to wait for
  Vector<Node*> m_free_behind;  ///< successors that no longer have to wait for T
  std::unordered_map<TaskId, Vector<TaskId>> m_recorded_before;
};

}  // namespace trellis::Impl

#endif
