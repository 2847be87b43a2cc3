// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_SCHEDULINGPOLICY_HPP
#define TRELLIS_SCHEDULINGPOLICY_HPP

#include <Trellis_Tag.hpp>
#include <base/Trellis_FunctionRef.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <typeindex>
#include <utility>

/// With this header you pick, or write, the object that orders ready tasks and chooses which worker
/// runs them. It also chooses which of the tasks that exclude each other goes first, and which
/// edges the scheduling graph has besides the dependencies.
namespace trellis {

namespace Impl {
struct Task;
class Engine;
}  // namespace Impl

/// The position of a task among those whose order is known before they run, see PlannedTasks.
struct PlannedPlace {
  std::uint64_t plan = 0;   ///< `PlannedTasks::number`
  std::uint32_t index = 0;  ///< into `PlannedTasks::tasks`
  friend bool operator==(PlannedPlace const&, PlannedPlace const&) = default;
};

/// A task that is ready to run, as a scheduling policy sees it. A handle, valid until the task has
/// run.
class ReadyTask {
 public:
  ReadyTask() = default;
  explicit ReadyTask(Impl::Task* task) : m_task(task) {}

  [[nodiscard]] explicit operator bool() const { return m_task != nullptr; }
  [[nodiscard]] std::uint64_t id() const;  ///< position in the order of submission
  [[nodiscard]] std::string_view label() const;
  [[nodiscard]] int priority() const;  ///< larger is more urgent, 0 by default
  /// The place of a task of a plan, of a replayed iteration of `iterate` or of a model, if
  /// the policy sees these.
  [[nodiscard]] std::optional<PlannedPlace> place() const;
  /// The task's tag of this type, or `T{}` when it has none.
  template <TagValue T>
  [[nodiscard]] T tag() const {
    Impl::AnyTag const* const found = find_tag(typeid(T));
    return found != nullptr ? static_cast<Impl::TagOf<T> const*>(found)->value : T{};
  }
  [[nodiscard]] Impl::Task* impl() const { return m_task; }

 private:
  [[nodiscard]] Impl::AnyTag const* find_tag(std::type_index type) const;
  Impl::Task* m_task = nullptr;
};

/// A task that has been submitted, as a scheduling policy sees it. Its properties exist only during
/// the call of `SchedulingPolicy::submitted` that is about it. Its id, and the value itself as an
/// end of an edge, may be used at any time.
class SubmittedTask {
 public:
  SubmittedTask() = default;
  SubmittedTask(Impl::Task* task, std::uint64_t id) : m_task(task), m_id(id) {}

  [[nodiscard]] explicit operator bool() const { return m_task.impl() != nullptr; }
  [[nodiscard]] std::uint64_t id() const { return m_id; }
  [[nodiscard]] std::string_view label() const { return m_task.label(); }
  [[nodiscard]] int priority() const { return m_task.priority(); }
  template <TagValue T>
  [[nodiscard]] T tag() const {
    return m_task.tag<T>();
  }
  [[nodiscard]] Impl::Task* impl() const { return m_task.impl(); }

 private:
  ReadyTask m_task;
  std::uint64_t m_id = 0;
};

/// The scheduling graph, to which a policy may add edges. Edges cannot be removed.
class SchedulingEdges {
 public:
  /// Makes `after` start when `before` is complete (done, failed or cancelled). A failure of
  /// `before` does not cancel `after`, except between two tasks on one device. Either of the two
  /// may be the one submitted later. The edge is in the scheduling graph, not in the dependency
  /// graph.
  ///
  /// Returns false, and changes nothing, when it is too late: `after` is ready, or has started.
  /// Returns true when `before` is complete: then there is nothing to wait for. Throws `Error` when
  /// the edge would close a cycle: `before` cannot be complete before `after` is, because of
  /// dependencies, other added edges, or tasks that wait.
  virtual bool add(SubmittedTask before, SubmittedTask after) = 0;

 protected:
  ~SchedulingEdges() = default;
};

/// Tasks whose order is known before they run, and that run again and again: those of a plan, or
/// of an iteration of `iterate` or of a model of fields. What this refers to exists only during the
/// call of `SchedulingPolicy::planned`.
struct PlannedTasks {
  struct Node {
    std::string_view label;
    int priority;
  };
  /// Positions in `tasks`. These are edges within one round; those to the next round are left out.
  struct Edge {
    std::uint32_t from;
    std::uint32_t to;
  };
  std::uint64_t number = 0;  ///< of this plan or iteration, and of no other one of the process
  std::span<Node const> tasks;
  std::span<Edge const> edges;
};

/// Orders the ready tasks of one graph at a time. Any function may be called by several threads at
/// once. The engine itself handles exclusion and tasks bound to the main thread. It also handles
/// fork-joins (`fork_join`), for which a thread waits, and bodies that run again and again
/// (`self.respawn()`), which run whatever the policy prefers. `push`, `finished` and `pop` see only
/// tasks that may run now, anywhere.
///
/// A worker slot stands for a thread that runs tasks; slot -1 is a thread that only submits.
class SchedulingPolicy {
 public:
  SchedulingPolicy() = default;
  SchedulingPolicy(SchedulingPolicy const&) = delete;
  SchedulingPolicy& operator=(SchedulingPolicy const&) = delete;
  virtual ~SchedulingPolicy() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Called once for each graph, before anything else, when the policy is empty. All later slot
  /// numbers are below `slots`.
  virtual void start(int slots) = 0;
  /// Takes a task that became ready when it was submitted from this slot. The policy may also have
  /// given it out before, to a thread that has to do something else first.
  virtual void push(ReadyTask task, int slot) = 0;
  /// A task that ran on this slot made these ready, in order of submission (never empty). Returns
  /// the task that the slot should run at once, or nothing. It may also return a task that `pop`
  /// could have returned. It keeps those of `ready` that it does not return, as if they had been
  /// pushed.
  virtual ReadyTask finished(std::span<ReadyTask const> ready, int slot) = 0;
  /// Returns a task for this slot to run, or nothing.
  virtual ReadyTask pop(int slot) = 0;
  /// Returns a task for which `wanted` returns true, or nothing. A task on this slot, or the thread
  /// that has called `fork_join`, waits for it and would run it meanwhile. The task is removed, as
  /// by `pop`. `wanted` is quick and may be called under the policy's locks. It asks nothing of the
  /// policy, and must not be kept.
  ///
  /// A policy may miss a task, or always return nothing, as the default does. Nothing hangs: the
  /// thread then sleeps, and another one runs the awaited task when `pop` gives it out. That costs
  /// two thread switches for each wait for a ready task, and children of a task wait behind
  /// everything that the policy prefers. So a policy should look where tasks of the calling slot
  /// are, newest first, and at tasks without a slot. It chooses how far to look; the default policy
  /// looks at some hundred.
  virtual ReadyTask pop_wanted(int /*slot*/, Impl::FunctionRef<bool(ReadyTask)> /*wanted*/) {
    return {};
  }
  /// True when no slot would get a task. The engine puts threads to sleep on this answer. A call
  /// that starts after a `push` has returned must see the pushed task, also across threads
  /// (sequentially consistent).
  [[nodiscard]] virtual bool empty() const = 0;
  /// About how many tasks slots would get. A thread that was woken and got a task wakes two more,
  /// while there are enough tasks for both. With 0, the default, each thread wakes only the next
  /// one. The answer may be outdated, but should be quick: take no locks for it.
  [[nodiscard]] virtual std::size_t backlog() const { return 0; }

  /// Ranks ready tasks that wait for the same exclusive area, or exclude each other by a rule. The
  /// largest rank goes first; among equals, the task that became ready first. Tasks of a smaller
  /// rank may have to wait as long as others of a larger one keep coming. It is asked once for each
  /// task that may exclude others, when it becomes ready. The default is the priority.
  ///
  /// Device tasks are launched without the policy. If several become ready together, or wait for
  /// one thread to launch them, those of one priority go in this order, too. Then it is also asked
  /// of these, by any thread, several at a time.
  [[nodiscard]] virtual std::int64_t exclusive_rank(ReadyTask task) { return task.priority(); }

  /// True if `submitted` does anything. Asked once for each graph, before `start`. If false,
  /// submission takes no lock more than it needs.
  [[nodiscard]] virtual bool sees_submissions() const { return false; }
  /// A task has been submitted and cannot start yet. The policy may add edges to it, from it, or
  /// between tasks before it, and keep it in mind for later ones. Called for one task at a time, in
  /// the order of submission, within the call that submits it. It is called for children of tasks,
  /// and for a replay as a whole, but not for the tasks in it. It is not called with
  /// `TRELLIS_SERIAL=1`.
  ///
  /// It may not use the graph otherwise. An exception, such as the `Error` of an edge that closes a
  /// cycle, is the failure of this task. When it returns, the engine asks `empty` again, so a
  /// policy may keep ready tasks until it has seen others. Tasks that it never gives out never run.
  virtual void submitted(SubmittedTask /*task*/, SchedulingEdges& /*edges*/) {}

  /// True if `planned` does anything and the policy asks `ReadyTask::place`. The answer does not
  /// change.
  [[nodiscard]] virtual bool sees_plans() const { return false; }
  /// A plan has been recorded, or the first of several iterations of `iterate`, or of a model, that
  /// are alike. None of its tasks is ready yet. The policy is not informed when it will never run
  /// again. It must not use the graph.
  virtual void planned(PlannedTasks const& /*plan*/) {}

  /// True if `ran` does anything. Asked once for each graph; if false, no clock is read.
  [[nodiscard]] virtual bool wants_times() const { return false; }
  /// A task has run for this time: from the start of its body until it was complete, children
  /// included. For a device task it is the time on the device, by the device's events or its
  /// virtual clock. Called before its successors are ready. Tasks of a plan that is a graph of its
  /// device are not reported one by one.
  virtual void ran(ReadyTask /*task*/, std::chrono::nanoseconds /*time*/) {}

 private:
  friend class Impl::Engine;
  bool m_serves_a_graph = false;  ///< for the engine, which uses it atomically
};

/// A base for policies that change some decisions of another one and leave the rest to it.
class ForwardingPolicy : public SchedulingPolicy {
 public:
  explicit ForwardingPolicy(std::shared_ptr<SchedulingPolicy> to) : m_to(std::move(to)) {}

  [[nodiscard]] std::string_view name() const override { return m_to->name(); }
  void start(int slots) override { m_to->start(slots); }
  void push(ReadyTask task, int slot) override { m_to->push(task, slot); }
  ReadyTask finished(std::span<ReadyTask const> ready, int slot) override {
    return m_to->finished(ready, slot);
  }
  ReadyTask pop(int slot) override { return m_to->pop(slot); }
  ReadyTask pop_wanted(int slot, Impl::FunctionRef<bool(ReadyTask)> wanted) override {
    return m_to->pop_wanted(slot, wanted);
  }
  [[nodiscard]] bool empty() const override { return m_to->empty(); }
  [[nodiscard]] std::size_t backlog() const override { return m_to->backlog(); }
  [[nodiscard]] std::int64_t exclusive_rank(ReadyTask task) override {
    return m_to->exclusive_rank(task);
  }
  [[nodiscard]] bool sees_submissions() const override { return m_to->sees_submissions(); }
  void submitted(SubmittedTask task, SchedulingEdges& edges) override {
    m_to->submitted(task, edges);
  }
  [[nodiscard]] bool sees_plans() const override { return m_to->sees_plans(); }
  void planned(PlannedTasks const& plan) override { m_to->planned(plan); }
  [[nodiscard]] bool wants_times() const override { return m_to->wants_times(); }
  void ran(ReadyTask task, std::chrono::nanoseconds time) override { m_to->ran(task, time); }

 private:
  std::shared_ptr<SchedulingPolicy> const m_to;
};

/// The default policy. Each slot has its own double-ended queue. A finished task's first ready
/// successor remains on its slot; the others run there last in, first out; idle slots steal the
/// oldest. After four tasks in a row, each a successor of the one before, a waiting task that was
/// submitted earlier takes its turn, so chains of tasks advance side by side. This holds among
/// tasks of the graph, among children of one task, and within one plan, where at most 16 tasks
/// wait. Submitted tasks go to a shared queue from which slots take batches. Positive priorities go
/// first, negative ones last.
[[nodiscard]] std::shared_ptr<SchedulingPolicy> make_work_stealing_policy();

/// One queue, first in, first out. It ignores priorities, also among exclusive tasks.
[[nodiscard]] std::shared_ptr<SchedulingPolicy> make_fifo_policy();

/// A policy for tests. It picks at random and delays threads at random, to provoke orders that a
/// quiet machine never shows. The sequence of decisions depends on the seed and on thread timing.
[[nodiscard]] std::shared_ptr<SchedulingPolicy> make_shake_policy(std::uint64_t seed);

}  // namespace trellis

#endif
