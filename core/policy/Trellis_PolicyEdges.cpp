// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <kernel/Trellis_Link.hpp>
#include <kernel/Trellis_Waiters.hpp>
#include <policy/Trellis_PolicyEdges.hpp>
#include <kernel/Trellis_Frame.hpp>
#include <kernel/Trellis_Kernel.hpp>
#include <scope/Trellis_Scope.hpp>
#include <base/Trellis_Reserve.hpp>
#include <scope/Trellis_TaskText.hpp>

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>

/// Edges that a scheduling policy adds.
namespace trellis::Impl {

PolicyEdges::PolicyEdges(Kernel& kernel, Waiters& waiters)
    : m_kernel(kernel),
      m_waiters(waiters),
      m_submission(kernel.lock()),
      m_policy(kernel.policy()),
      m_recorder(kernel.recorder()),
      m_are_wanted(!kernel.is_serial() && kernel.policy().sees_submissions()) {}

PolicyEdges::Reported PolicyEdges::tell(Task& task) {
  /// Any other use of the graph meanwhile gets an error.
  struct Refusal {
    explicit Refusal(SubmissionLock const& graph) : submitting(&graph) { submitting.begin(); }
    Refusal(Refusal const&) = delete;
    Refusal& operator=(Refusal const&) = delete;
    ~Refusal() { submitting.end(); }
    Submitting submitting;
  };
  try {
    Refusal const refusal(m_submission);
    m_policy.submitted(SubmittedTask(&task, task.id), *this);
  } catch (...) {
    inherit(task, m_kernel.current_failure(task));
  }
  return std::exchange(m_reported, {});
}

void PolicyEdges::release(Reported const& reported) {
  Frame* const frame = Frame::of(m_kernel);
  WorkerSlot* const slot = frame != nullptr ? &frame->slot : nullptr;
  for (Task* task : reported.granted) m_kernel.push(*task, slot);
  for (Task* task : reported.held)
    if (task->count_down()) m_kernel.make_ready(*task, slot);
  m_kernel.look_again();
}

/// Keeps a pending task from starting until `release`. False when it is not pending.
bool PolicyEdges::hold_back(Task& task, TaskId id) {
  std::lock_guard const lock(task.lock);  // while it is live under the lock, it is the same task
  if (task.live_id.load(std::memory_order_relaxed) != id) return false;
  Vector<Task*>& held = m_reported.held;
  if (std::find(held.begin(), held.end(), &task) != held.end()) return true;
  if (task.hold_back() == 0) return false;
  held.push_back(&task);
  return true;
}

bool PolicyEdges::add(SubmittedTask before, SubmittedTask after) {
  if (!before || !after)
    throw Error(Error::Kind::bad_input, "Trellis: the scheduling policy \"" +
                                            std::string(m_policy.name()) +
                                            "\" adds an edge without a task at each end");
  Task& first = *before.impl();
  Task& second = *after.impl();
  if (!hold_back(second, after.id())) return false;
  if (m_waiters.holds_up({&second, after.id()}, before.id()))
    throw Error(Error::Kind::deadlock,
                "Trellis: the scheduling policy \"" + std::string(m_policy.name()) +
                    "\" adds an edge from " +
                    text_of(LiveAccess{&first, before.id()}, m_submission) + " to " +
                    text_of(second, m_submission) +
                    ", which holds up the first: the edge would close a circle");
  if (m_recorder) m_recorder->edge(before.id(), after.id(), EdgeReason::policy);
  link(first, before.id(), second, after.id());
  if (second.scope_kind == ScopeKind::children && second.scope != first.scope)
    m_kernel.parents_let_others_pass(second, m_reported.granted);
  return true;
}

/// The second task is held back. The lock of the scope keeps the first one from demoting
/// meanwhile.
void PolicyEdges::link(Task& first, TaskId before, Task& second, TaskId after) {
  Task* guard = nullptr;
  {
    std::lock_guard const lock(first.lock);
    if (first.live_id.load(std::memory_order_relaxed) != before) return;
    guard = guard_of(first);
  }
  ScopeHold const scope(guard, m_submission);
  (void)Impl::link(first, before, second,
                   [&](bool carries) { note(first, before, after, carries); });
}

void PolicyEdges::note(Task& first, TaskId before, TaskId after, bool carries) {
  std::lock_guard const lock(m_lock);
  if (m_notes.size() >= m_tidy_at) {
    std::erase_if(m_notes, [](auto const& notes) {
      return notes.second.task->live_id.load(std::memory_order_acquire) != notes.first;
    });
    m_tidy_at = std::max<std::size_t>(256, 2 * m_notes.size());
  }
  Notes& notes = m_notes.try_emplace(before, Notes{&first, {}}).first->second;
  notes.edges.push_back({after, carries});
  m_any.store(true, std::memory_order_relaxed);
}

/// The caller holds the lock.
PolicyEdges::Note* PolicyEdges::find(TaskId before, TaskId after) {
  auto const notes = m_notes.find(before);
  if (notes == m_notes.end()) return nullptr;
  Vector<Note>& edges = notes->second.edges;
  auto const found = std::find_if(edges.begin(), edges.end(),
                                  [&](Note const& note) { return note.after == after; });
  return found != edges.end() ? &*found : nullptr;
}

bool PolicyEdges::has(TaskId before, TaskId after) {
  if (!m_any.load(std::memory_order_relaxed)) return false;
  std::lock_guard const lock(m_lock);
  return find(before, after) != nullptr;
}

void PolicyEdges::add_spared(TaskId before, Vector<TaskId>& spared) {
  std::lock_guard const lock(m_lock);
  if (auto const notes = m_notes.find(before); notes != m_notes.end())
    for (Note const& note : notes->second.edges)
      if (!note.carries) spared.push_back(note.after);
}

void PolicyEdges::set_carries(TaskId before, TaskId after, bool carries) {
  if (!m_any.load(std::memory_order_relaxed)) return;
  std::lock_guard const lock(m_lock);
  if (Note* const note = find(before, after)) note->carries = carries;
}

}  // namespace trellis::Impl
