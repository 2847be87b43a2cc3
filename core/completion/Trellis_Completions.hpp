// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_COMPLETIONS_HPP
#define TRELLIS_IMPL_COMPLETIONS_HPP

#include <task/Trellis_Task.hpp>
#include <impl/Trellis_TaskHandle.hpp>
#include <threads/Trellis_TaskQueue.hpp>

#include <atomic>
#include <exception>

namespace trellis::Impl {

class Cancellation;
class Kernel;
class Children;
struct WorkerSlot;

/// Handles tasks that are over later than their bodies, see Completion.
///
/// An open Completion counts as a child of its task, though it is no task, see OpenChildren. So all
/// rules for tasks with children hold for these tasks: in plans and iterations, as children
/// themselves, when they are waited for, and when they fail or are cancelled.
///
/// INVARIANT. The count goes up while the body runs, on its thread. It goes down when a Completion
/// is resolved, once, as the Completion then forgets its task. Until then the task is not complete,
/// so its scope and its result are there. What the resolving thread has done before, such as
/// setting the value of the future, happens before the acquire-release decrement, and so before the
/// task is complete. That thread does not touch the task afterwards, unless its Completion was the
/// last open one. Then it alone has the task, but it may have no slot to complete it on, and may
/// hold locks of the user's. So it puts the task into `m_said`, where threads look before they look
/// for ready tasks, and calls `ready_added`. For the argument of Workers that is a push like any
/// other.
///
/// The graph may end as soon as the task is complete, so a thread that resolves a Completion keeps
/// the engine by an EnginePin.
class Completions {
 public:
  Completions(Kernel& kernel, Cancellation& cancellation, Children& children)
      : m_kernel(kernel), m_cancellation(cancellation), m_children(children) {}
  Completions(Completions const&) = delete;
  Completions& operator=(Completions const&) = delete;

  /// Called by the body of the task.
  void open(TaskHandle const& self);
  enum class What { done, failed, dropped };
  void say(TaskHandle const& task, What what, std::exception_ptr const& cause);

  /// True if a resolved Completion lets a task be completed.
  [[nodiscard]] bool any_said(std::memory_order order = std::memory_order_seq_cst) const {
    return !m_said.empty(order);
  }
  /// Completes one such task. Returns the task to run next on this slot, if any.
  Task* complete_said(WorkerSlot& slot);
  [[nodiscard]] bool any_open() const { return m_open.load(std::memory_order_seq_cst) > 0; }

 private:
  void fail(Task& task, What what, std::exception_ptr const& cause);

  Kernel& m_kernel;
  Cancellation& m_cancellation;
  Children& m_children;
  TaskQueue m_said;
  std::atomic<int> m_open{0};  ///< goes down after `m_said` has got the task
};

}  // namespace trellis::Impl

#endif
