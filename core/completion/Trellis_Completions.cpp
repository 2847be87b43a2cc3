// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <cancellation/Trellis_Cancellation.hpp>
#include <completion/Trellis_Completions.hpp>
#include <demotion/Trellis_Demotion.hpp>
#include <children/Trellis_Children.hpp>
#include <kernel/Trellis_Frame.hpp>
#include <kernel/Trellis_Kernel.hpp>
#include <scope/Trellis_Scope.hpp>
#include <trace/Trellis_Recorder.hpp>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

namespace trellis::Impl {

void Completions::open(TaskHandle const& self) {
  Reserve::require();
  Frame const* const frame = Frame::of(m_kernel);
  m_open.fetch_add(1, std::memory_order_relaxed);
  try {
    ChildrenHold const lock(*self.task, m_kernel.lock());
    Scope& scope = m_children.open_scope(Kernel::require_live(self, "is to be complete later"),
                                         m_children.slot_for_children(frame));
    if (scope.shrinks) Demotions::refuse_completions();
    scope.has_completions = true;
    scope.open_completions.fetch_add(1, std::memory_order_relaxed);
    scope.open.add(Children::runs_body(frame, scope));
  } catch (...) {
    m_open.fetch_sub(1, std::memory_order_seq_cst);
    throw;
  }
  if (Recorder* const recorder = m_kernel.recorder()) recorder->completes_later(*self.task);
  m_kernel.let_others_pass(*self.task);
}

/// Gives the task its failure. What the body itself throws ranks before a dropped Completion, which
/// may be dropped because of it.
void Completions::fail(Task& task, What what, std::exception_ptr const& cause) {
  try {
    if (what == What::failed && cause != nullptr) std::rethrow_exception(cause);
    throw Error(Error::Kind::task_failed,
                what == What::failed
                    ? "fail() was called with no exception"
                    : "its Completion was dropped: neither done() nor fail() was called");
  } catch (...) {
    std::shared_ptr<Failure> const failure = m_kernel.current_failure(task);
    if (what == What::dropped) failure->place = std::numeric_limits<std::uint64_t>::max();
    inherit(task, failure);
  }
}

void Completions::say(TaskHandle const& handle, What what, std::exception_ptr const& cause) {
  Task& task = *handle.task;
  Scope& scope = *task.inner;
  if (what != What::done) fail(task, what, cause);
  scope.open_completions.fetch_sub(1, std::memory_order_relaxed);
  bool const is_last = scope.open.child_over(Children::runs_body(Frame::top, scope));
  if (is_last) m_said.push(task);
  m_open.fetch_sub(1, std::memory_order_seq_cst);
  if (is_last) m_kernel.workers().ready_added();
}

Task* Completions::complete_said(WorkerSlot& slot) {
  Task* const task = m_said.pop();
  if (task == nullptr) return nullptr;
  if (m_cancellation.reach(*task)) task->inner->parent_state = TaskState::cancelled;
  return m_children.parent_over(*task, slot);
}

}  // namespace trellis::Impl
