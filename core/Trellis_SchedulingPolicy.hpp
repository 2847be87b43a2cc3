// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_SCHEDULINGPOLICY_HPP
#define TRELLIS_SCHEDULINGPOLICY_HPP

#include <Trellis_Tag.hpp>
#include <task/Trellis_FunctionRef.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <typeindex>

/// With this header you pick, or write, the object that orders ready tasks and chooses which worker
/// runs them.
namespace trellis {

namespace Impl {
struct Task;
class Engine;
}  // namespace Impl

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
  /// The task's tag of this type, `T{}` when it has none.
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

/// Orders the ready tasks of one graph at a time. Any function may be called by several threads at
/// once. The engine handles exclusion and tasks bound to the main thread; a policy sees only tasks
/// that may run now, anywhere.
///
/// A seat stands for a thread that runs tasks; seat -1 is a thread that does not (it only submits).
class SchedulingPolicy {
 public:
  SchedulingPolicy() = default;
  SchedulingPolicy(SchedulingPolicy const&) = delete;
  SchedulingPolicy& operator=(SchedulingPolicy const&) = delete;
  virtual ~SchedulingPolicy() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Called once for each graph, before anything else, when the policy is empty. All later seat
  /// numbers are below `seats`.
  virtual void start(int seats) = 0;
  /// `task` became ready when it was submitted from this seat.
  virtual void push(ReadyTask task, int seat) = 0;
  /// A task that ran on this seat made these ready, in order of submission (never empty). Returns
  /// the one that the seat should run at once, or nothing.
  virtual ReadyTask finished(std::span<ReadyTask const> ready, int seat) = 0;
  /// A task for this seat to run, or nothing.
  virtual ReadyTask pop(int seat) = 0;
  /// A task for which `wanted` returns true, or nothing. A task on this seat waits for it, and its
  /// thread would run it meanwhile. A policy may miss one, or always return nothing; then the
  /// thread sleeps, and another one runs the awaited task. `wanted` is quick and may be called
  /// under the policy's locks.
  virtual ReadyTask pop_wanted(int /*seat*/, Impl::FunctionRef<bool(ReadyTask)> /*wanted*/) {
    return {};
  }
  /// True when no seat would get a task. The engine puts threads to sleep on this answer: a call
  /// that starts after a `push` has returned must see the pushed task, also across threads
  /// (sequentially consistent).
  [[nodiscard]] virtual bool empty() const = 0;

 private:
  friend class Impl::Engine;
  bool m_serves_a_graph = false;  ///< for the engine, which uses it atomically
};

/// The default. Each seat has its own double-ended queue. A finished task's first ready successor
/// stays on its seat; the others run there last in, first out; idle seats steal the oldest.
/// Submitted tasks go to a shared queue from which seats take batches. Positive priorities go
/// first, negative ones last.
[[nodiscard]] std::shared_ptr<SchedulingPolicy> make_work_stealing_policy();

/// One queue, first in, first out; ignores priorities.
[[nodiscard]] std::shared_ptr<SchedulingPolicy> make_fifo_policy();

/// For tests: picks at random and delays threads at random, to provoke orders that a quiet machine
/// never shows. The sequence of decisions depends on the seed and on thread timing.
[[nodiscard]] std::shared_ptr<SchedulingPolicy> make_shake_policy(std::uint64_t seed);

}  // namespace trellis

#endif
