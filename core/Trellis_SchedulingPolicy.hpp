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

/// With this header a user picks, or writes, the object that orders ready tasks and chooses which
/// worker runs them.
namespace trellis {

namespace Impl {
struct Task;
class Engine;
}  // namespace Impl

/// A task that is ready to run, as a scheduling policy sees it. A handle: valid until the task has
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

/// Orders the ready tasks of one graph at a time. Every call may come from several threads at once.
/// Tasks bound to the main thread, and exclusion, are the engine's business; a policy sees only
/// tasks that may run now, anywhere.
///
/// A slot stands for a thread that runs tasks; slot -1 is a thread that does not (it only submits).
class SchedulingPolicy {
 public:
  SchedulingPolicy() = default;
  SchedulingPolicy(SchedulingPolicy const&) = delete;
  SchedulingPolicy& operator=(SchedulingPolicy const&) = delete;
  virtual ~SchedulingPolicy() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Called once for each graph, before anything else, when the policy is empty. `slots`: slot
  /// numbers to come are below this.
  virtual void start(int slots) = 0;
  /// `task` became ready by its submission on this slot.
  virtual void push(ReadyTask task, int slot) = 0;
  /// A task that ran on this slot made these ready, in order of submission (never empty). Returns
  /// the one that the slot should run at once, or nothing.
  virtual ReadyTask finished(std::span<ReadyTask const> ready, int slot) = 0;
  /// A task for this slot to run, or nothing.
  virtual ReadyTask pop(int slot) = 0;
  /// One that `wanted` says yes to, or nothing: a task that runs on this slot waits for it, and its
  /// thread would run it meanwhile. A policy may miss one, or always give nothing; then the thread
  /// sleeps, and another one runs what it waits for. `wanted` is quick, and may be called under
  /// locks of the policy's.
  virtual ReadyTask pop_wanted(int /*slot*/, Impl::FunctionRef<bool(ReadyTask)> /*wanted*/) {
    return {};
  }
  /// True when no slot would get a task. The engine puts threads to sleep on this answer: a call
  /// that starts after a `push` has returned must see it, also across threads (sequentially
  /// consistent).
  [[nodiscard]] virtual bool empty() const = 0;

 private:
  friend class Impl::Engine;
  bool m_serves_a_graph = false;  ///< the engine's, which uses it atomically
};

/// The default. Each slot has its own double-ended queue: a finished task's first ready successor
/// stays on its slot, the others are run there last in, first out, and idle slots steal the oldest.
/// Submitted tasks go to a shared queue that slots take from in batches. Positive priorities go
/// first, negative ones last.
[[nodiscard]] std::shared_ptr<SchedulingPolicy> make_work_stealing_policy();

/// One queue, first in, first out; priorities do not count.
[[nodiscard]] std::shared_ptr<SchedulingPolicy> make_fifo_policy();

/// For tests: picks at random and delays threads at random, to shake out orders that a quiet
/// machine never shows. The sequence of decisions depends on the seed and on thread timing.
[[nodiscard]] std::shared_ptr<SchedulingPolicy> make_shake_policy(std::uint64_t seed);

}  // namespace trellis

#endif
