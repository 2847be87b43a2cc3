// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Completion.hpp>
#include <Trellis_Error.hpp>
#include <Trellis_Plan.hpp>
#include <Trellis_Progress.hpp>
#include <Trellis_ThisWorker.hpp>
#include <engine/Trellis_Engine.hpp>
#include <task/Trellis_GraphControl.hpp>
#include <graph/Trellis_GraphInternals.hpp>
#include <graph/Trellis_ModelTasks.hpp>
#include <kernel/Trellis_Frame.hpp>
#include <recorded/Trellis_PlanState.hpp>

#include <string>
#include <utility>

/// A program's access to a graph: handles of its tasks, completions, progress functions, plans.
namespace trellis::Impl {

bool TaskHandle::is_done() const {
  EnginePin const graph = pin();
  if (!graph) {
    refuse_model_task(*this);
    return true;
  }
  if (!graph->waiting().is_done_now(*this)) return false;
  graph->waiting().note_known(*this);
  graph.kernel().note_look();
  return true;
}

void TaskHandle::wait() const {
  auto const wait_in = [&](Kernel& kernel, Frame* frame) {
    kernel.waiting().wait_for(*this, frame);
    kernel.waiting().note_known(*this);
    kernel.note_look();
  };
  if (Frame* const frame = Frame::of(*this))
    wait_in(frame->kernel, frame);
  else if (EnginePin const graph = pin())
    wait_in(graph.kernel(), nullptr);
  else
    refuse_model_task(*this);
}

void TaskHandle::wait_and_rethrow() const {
  wait();
  if (EnginePin const graph = pin()) graph->waiting().rethrow(*this);
}

namespace {

/// A task with an open Completion is not complete, so its engine exists.
void say(TaskHandle const& task, Completions::What what, std::exception_ptr const& cause) {
  if (EnginePin const engine = task.pin()) engine->features().completions.say(task, what, cause);
}

}  // namespace

TaskHandle const& CompletionInternals::count(TaskHandle const& task) {
  if (EnginePin const engine = task.pin()) engine->features().completions.open(task);
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
  return GraphInternals::stop_requested(m_task);
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

namespace trellis {

Progress::~Progress() {
  if (m_source == nullptr) return;
  if (Impl::EnginePin const engine = m_graph.pin())
    engine->polling().remove(m_source);
  else
    (void)m_source->take_away();
}

void Progress::ask() {
  if (m_source == nullptr)
    throw Error(Error::Kind::bad_input, "Trellis: ask() of a Progress that belongs to no graph");
  if (Impl::EnginePin const engine = m_graph.pin()) engine->polling().ask(*m_source);
}

std::string Plan::name() const {
  return valid() ? m_state->label.string() : std::string();
}
std::size_t Plan::tasks() const {
  return valid() ? m_state->task_count : 0;
}
std::size_t Plan::edges() const {
  return valid() ? m_state->edges_within_round : 0;
}
std::size_t Plan::edges_between_rounds() const {
  return valid() ? m_state->edges_between_rounds : 0;
}
std::size_t Plan::accesses() const {
  return valid() ? m_state->access_count : 0;
}

// A body runs on a slot, which belongs to one thread at a time and has a unique number in its
// graph. A serial graph has no slots for the threads that submit, but its bodies run one at a time.
int this_worker::index() {
  Impl::Frame const* const frame = Impl::Frame::top;
  if (frame == nullptr || frame->what != Impl::Frame::What::runs)
    throw Error(Error::Kind::bad_input,
                "Trellis: this_worker::index() is asked for by a thread that runs no task's body");
  return frame->kernel.is_serial() ? 0 : frame->slot.number;
}

}  // namespace trellis
