// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_SCOPE_HPP
#define TRELLIS_IMPL_SCOPE_HPP

#include <Trellis_Area.hpp>
#include <Trellis_Graph.hpp>
#include <Trellis_Tag.hpp>
#include <access/Trellis_AccessTable.hpp>
#include <scope/Trellis_AreaPlaces.hpp>
#include <scope/Trellis_Shrinking.hpp>
#include <task/Trellis_Task.hpp>
#include <base/Trellis_Relaxed.hpp>
#include <locks/Trellis_Unlocked.hpp>
#include <base/Trellis_FunctionRef.hpp>
#include <base/Trellis_Reserve.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace trellis::Impl {

/// Counts what has to be over before a split task is complete: its body and its children. An open
/// Completion counts as a child.
///
/// INVARIANT. The sum of the two counts is `body` while the body runs, and one more for each
/// unfinished child. `m_own` belongs to the thread that runs the body. That thread counts there
/// what it submits, and what it runs above the body while the body waits. Where no other thread
/// takes part, no locked instruction counts. A child is added while the body or another child is
/// unfinished, so before the sum can be 0. While the body runs, the two counts drift apart: by one
/// for each child that one of them begins and the other ends. As a body cannot have `body` children
/// in all its life, `m_others` is not 0 before its end joins them. All decrements of it are
/// acquire-release, and the body's thread reads it with acquire order. So the thread that finds
/// that nothing is left happens after the body and all children. It completes the task.
class OpenChildren {
 public:
  /// Resets the counts, with so many `children` that no thread has begun to run.
  void renew(std::uint64_t children = 0) {
    m_others.store(body + children, std::memory_order_relaxed);
    m_own = 0;
  }
  void add(bool on_thread_of_body) {
    if (on_thread_of_body)
      ++m_own;
    else
      m_others.fetch_add(1, std::memory_order_relaxed);
  }
  /// True: nothing is left.
  [[nodiscard]] bool child_over(bool on_thread_of_body) {
    if (!on_thread_of_body) return m_others.fetch_sub(1, std::memory_order_acq_rel) == 1;
    --m_own;
    return false;
  }
  /// True: nothing is left.
  [[nodiscard]] bool body_over() {
    if (is_only_body()) return true;
    std::uint64_t const all = body - m_own;
    m_own = 0;
    return m_others.fetch_sub(all, std::memory_order_acq_rel) == all;
  }
  /// Called by the thread that runs the body, or has run it.
  [[nodiscard]] bool is_only_body() const {
    return m_others.load(std::memory_order_acquire) + m_own == body;
  }

  /// Called by the child that is the rest of the body, when the body is over. True if all others
  /// are over. It is false for a moment while the body's thread leaves the body.
  [[nodiscard]] bool is_one_child() const { return m_others.load(std::memory_order_acquire) == 1; }

 private:
  static constexpr std::uint64_t body = std::uint64_t{1} << 62;
  std::atomic<std::uint64_t> m_others{body};
  std::uint64_t m_own = 0;  ///< may be "negative": others have submitted what is run here
};

/// Tasks that are ordered among themselves: those of a graph, the children that one task was split
/// into, or those that a plan runs in rounds. Tasks of two scopes have no edges by access. What
/// the children of a task touch lies within what the task declared, so the edges of the task itself
/// keep its children apart from all other tasks.
///
/// INVARIANT (locks). A scope of children is guarded by the `children_lock` of its parent, all
/// others by the lock of the graph; when the graph is recorded, has rules, or runs serially,
/// submission takes that in addition. `kind` and `parent` are set before there are tasks. A thread
/// that holds two of these locks has taken that of the inner scope first, and that of the graph
/// last.
///
/// A scope of children is given back, under the lock, when its parent is complete.
struct Scope {
  Scope(TaskSlab& tasks, FailureLog const& failures, bool keep_all)
      : table(tasks, failures, keep_all) {}

  ScopeKind kind = ScopeKind::children;
  Task* parent = nullptr;  ///< has these as children, or is a plan's; null: the graph's
  AccessTable table;
  TaskId newest = 0;               ///< of the tasks so far; ids grow within a scope
  LiveAccess barrier{nullptr, 0};  ///< the newest synchronizing task
  Vector<TaskId> recorded;         ///< tasks since then; only when the graph records
  TaskId relinked = 0;  ///< the newest task that was there when a pending one demoted, see Relink

  /// The tasks with one value of a rule's tag.
  struct TagClass {
    TagPtr value;
    Vector<LiveAccess> tasks;
  };
  Vector<Vector<TagClass>> classes;  ///< by rule

  // Only a scope of children uses these.
  Vector<LiveAccess> children;  ///< may hold some that are done
  Vector<Area> local;           ///< what the parent made itself, and its children may use freely
  AreaPlaces places_of_local;
  AreaPlaces places_of_declared;  ///< among the parent's accesses
  OpenChildren open;
  /// The parent keeps only what its unfinished children need. Set under the lock; see Shrinking for
  /// why it may be read without the lock.
  Relaxed<bool> shrinks{false};
  std::unique_ptr<Shrinking> shrinking;  ///< counts what they need
  bool is_planned = false;  ///< the children's order is that of an iteration before, see Iteration
  /// The scheduling policy knows the iteration by this number, and a child by its place in it. 0:
  /// the scope is not planned, or the policy does not ask for iterations.
  std::uint64_t plan_number = 0;
  bool waits_for_parent =
      false;             ///< the children may not start before their parent, which is pending
  TaskId held_from = 0;  ///< the first child that waits so; see ForkJoins
  bool has_completions = false;              ///< the parent's body has made some
  std::atomic<int> open_completions{0};      ///< for messages
  TaskState parent_state = TaskState::done;  ///< how the parent's body ended
  int parent_row = -1;

  /// True if it is small enough to be kept for another task.
  [[nodiscard]] bool is_small() const {
    constexpr std::size_t few = 128;
    return table.is_small() && children.capacity() <= few && local.capacity() <= few &&
           recorded.capacity() <= few;
  }
  /// Resets the scope for another task.
  void renew() {
    parent = nullptr;
    newest = 0;
    relinked = 0;
    table.clear();
    barrier = {nullptr, 0};
    recorded.clear();
    classes.clear();
    children.clear();
    local.clear();
    places_of_local.clear();
    places_of_declared.clear();
    open.renew();
    shrinks = false;
    shrinking.reset();
    is_planned = waits_for_parent = has_completions = false;
    held_from = 0;
    open_completions.store(0, std::memory_order_relaxed);
    parent_state = TaskState::done;
    parent_row = -1;
  }
};

inline void put_into(Task& task, Scope& scope) {
  task.scope = &scope;
  task.scope_kind = scope.kind;
}

/// Holds the lock of a task's children. A thread of the user's that submits to the graph already
/// gets an error, as from the lock of the graph. `nested`: below another lock of the graph's.
/// `first_while_deferring`: in a `DeferDestructors` that is there for longer.
class ChildrenHold {
 public:
  enum How { first, nested, first_while_deferring };
  [[gnu::always_inline]] ChildrenHold(Task& parent, SubmissionLock const& graph, How how = first)
      : m_parent(parent), m_submitting(&graph), m_is_deferring(how != first_while_deferring) {
    if (how != nested && graph.is_held_here()) Submitting::refuse();
    m_parent.children_lock.lock();
    if (m_is_deferring) ++t_deferring_locks;
    m_submitting.begin();
  }
  ChildrenHold(ChildrenHold const&) = delete;
  ChildrenHold& operator=(ChildrenHold const&) = delete;
  [[gnu::always_inline]] ~ChildrenHold() {
    m_submitting.end();
    m_parent.children_lock.unlock();
    if (m_is_deferring && --t_deferring_locks == 0 && t_any_deferred_objects)
      destroy_deferred_objects();
  }

 private:
  Task& m_parent;
  Submitting m_submitting;
  bool const m_is_deferring;  ///< this object itself defers destructors
};

/// Holds what guards a scope, and the lock of the graph below it. Meanwhile no task is submitted
/// to the scope, and nothing that its tasks access gets another name. The thread must not hold the
/// lock of this scope, but may hold that of a scope within it. `parent`: of children; else null,
/// see `guard_of`.
class ScopeHold {
 public:
  ScopeHold(Task* parent, SubmissionLock& graph) {
    if (parent != nullptr) m_children.emplace(*parent, graph, ChildrenHold::nested);
    m_graph.emplace(graph);
  }

 private:
  std::optional<ChildrenHold> m_children;
  std::optional<NestedHold> m_graph;
};

/// Returns the task whose `children_lock` guards the scope of this one, which is live. Null: the
/// graph's lock does.
[[nodiscard]] inline Task* guard_of(Task const& task) {
  return task.scope_kind == ScopeKind::children ? task.scope->parent : nullptr;
}

/// Returns the task that this one is a child, or a run, of; null: of none.
[[nodiscard]] inline Task* parent_of(Task const& task) {
  return task.scope != nullptr ? task.scope->parent : nullptr;
}

/// Returns the replay of a recorded task that is under way; null: there is none.
[[nodiscard]] Task* replay_of(Task const& task);
/// Calls `f` for the replays that start when the replay of this recorded task is over, see
/// PlanState::waiting. The caller has the task's lock, and has found the task live under it.
void for_each_replay_behind(Task const& task, FunctionRef<void(LiveAccess)> f);
/// Returns the parent, or for a recorded task the replay.
[[nodiscard]] inline Task* enclosing(Task const& task) {
  return task.is_recorded() ? replay_of(task) : parent_of(task);
}

}  // namespace trellis::Impl

#endif
