// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <cancellation/Trellis_Cancellation.hpp>
#include <kernel/Trellis_Kernel.hpp>
#include <task/Trellis_PlanNode.hpp>
#include <failure/Trellis_Failure.hpp>
#include <scope/Trellis_Scope.hpp>
#include <task/Trellis_Task.hpp>
#include <scope/Trellis_TaskText.hpp>

#include <memory>
#include <utility>

namespace trellis::Impl {

void Cancellation::ask(TaskHandle const& asked) {
  if (m_kernel.lock().is_held_here()) Submitting::refuse();
  Reserve::require();
  TaskHandle const handle = m_kernel.resolve(asked);
  Task& task = *handle.task;
  std::string const text = text_of(LiveAccess{&task, handle.id}, m_kernel.lock());
  if ((handle.id & PlanNode::recorded) != 0)
    throw Error(Error::Kind::bad_input, "Trellis: " + text +
                                            " belongs to a plan and cannot be cancelled; the "
                                            "future that replay(...) has returned can");
  auto failure = make_shared_unlocked<Failure>();
  failure->origin = handle.id;
  failure->origin_text = text;
  failure->what = "the program asked for it";
  failure->is_asked = true;
  std::lock_guard const lock(task.lock);
  if (task.live_id.load(std::memory_order_relaxed) != handle.id) return;
  std::lock_guard const lock_of_requests(m_mutex);
  m_requests.emplace(handle.id, std::move(failure));
  m_count.store(m_requests.size(), std::memory_order_relaxed);
}

/// The tasks that a task belongs to are live as long as it is.
FailurePtr Cancellation::request_for(Task const& task) const {
  std::lock_guard const lock(m_mutex);
  for (Task const* each = &task; each != nullptr; each = enclosing(*each))
    if (auto const found = m_requests.find(each->id); found != m_requests.end())
      return found->second;
  return nullptr;
}

bool Cancellation::reach_asked(Task& task) {
  FailurePtr const request = request_for(task);
  if (request != nullptr) inherit(task, request);
  return request != nullptr;
}

void Cancellation::forget_asked(TaskId task) {
  std::lock_guard const lock(m_mutex);
  m_requests.erase(task);
  m_count.store(m_requests.size(), std::memory_order_relaxed);
}

}  // namespace trellis::Impl
