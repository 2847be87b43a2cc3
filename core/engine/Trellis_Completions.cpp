// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Completion.hpp>
#include <Trellis_Error.hpp>
#include <engine/Trellis_Completions.hpp>
#include <engine/Trellis_Engine.hpp>
#include <engine/Trellis_EngineFrame.hpp>
#include <graph/Trellis_GraphDoor.hpp>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

namespace trellis::Impl {

void Completions::open(TaskHandle const& self) {
  Reserve::require();
  Frame const* const frame = Frame::of(m_engine);
  m_open.fetch_add(1, std::memory_order_relaxed);
  try {
    PartsHold const lock(*self.task, m_submission);
    Parts& parts = m_engine.parts();
    Region& region = parts.open_region(parts.require_live(self, "is to be complete later"),
                                       parts.seat_for_parts(frame));
    if (region.shrinks) Demotions::refuse_completions();
    region.has_completions = true;
    region.open_completions.fetch_add(1, std::memory_order_relaxed);
    region.open.add(Parts::runs_body(frame, region));
  } catch (...) {
    m_open.fetch_sub(1, std::memory_order_seq_cst);
    throw;
  }
  if (Recorder* const recorder = m_engine.events().recorder())
    recorder->completes_later(*self.task);
  m_engine.hinder(*self.task);
}

/// What the body itself throws comes before a Completion that is dropped, for instance for that
/// reason.
void Completions::fail(Task& task, What what, std::exception_ptr const& cause) {
  try {
    if (what == What::failed && cause != nullptr) std::rethrow_exception(cause);
    throw Error(Error::Kind::task_failed,
                what == What::failed
                    ? "fail() was called with no exception"
                    : "its Completion was dropped: neither done() nor fail() was called");
  } catch (...) {
    std::shared_ptr<Failure> const failure = m_engine.current_failure(task);
    if (what == What::dropped) failure->place = std::numeric_limits<std::uint64_t>::max();
    inherit(task, failure);
  }
}

void Completions::say(TaskHandle const& handle, What what, std::exception_ptr const& cause) {
  Task& task = *handle.task;
  Region& region = *task.inner;
  if (what != What::done) fail(task, what, cause);
  region.open_completions.fetch_sub(1, std::memory_order_relaxed);
  bool const is_last = region.open.part_over(Parts::runs_body(Frame::top, region));
  if (is_last) m_said.push(task);
  m_open.fetch_sub(1, std::memory_order_seq_cst);
  if (is_last) m_workers.wake_to_complete();
}

Task* Completions::complete_said(Seat& seat) {
  Task* const task = m_said.pop();
  if (task == nullptr) return nullptr;
  if (m_engine.cancellation().reach(*task)) task->inner->owner_state = TaskState::cancelled;
  return m_engine.parts().whole_over(*task, seat);
}

// --- what a program has in hand ------------------------------------------------------------------

namespace {

/// Nobody but a task's own Completion keeps it from being complete, so the engine is there.
void say(TaskHandle const& task, Completions::What what, std::exception_ptr const& cause) {
  if (EnginePin const engine = task.pin()) engine->completions().say(task, what, cause);
}

}  // namespace

TaskHandle const& CompletionDoor::count(TaskHandle const& task) {
  if (EnginePin const engine = task.pin()) engine->completions().open(task);
  return task;
}

void OpenCompletion::require_valid(char const* what) const {
  if (valid()) return;
  throw Error(Error::Kind::bad_input,
              std::string("Trellis: ") + what +
                  "() of a Completion that has nothing to say: done() or fail() was called "
                  "before, or it was moved from, or belongs to no task");
}

bool OpenCompletion::stop_requested() const {
  require_valid("stop_requested");
  return GraphDoor::stop_requested(m_task);
}

void OpenCompletion::say() {
  Impl::say(std::exchange(m_task, {}), Completions::What::done, nullptr);
}

void OpenCompletion::fail(std::exception_ptr const& cause) {
  require_valid("fail");
  Impl::say(std::exchange(m_task, {}), Completions::What::failed, cause);
}

void OpenCompletion::drop() noexcept {
  if (valid()) Impl::say(std::exchange(m_task, {}), Completions::What::dropped, nullptr);
}

}  // namespace trellis::Impl
