// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <launch/Trellis_PlanGraphs.hpp>
#include <device/Trellis_AsyncStreams.hpp>
#include <destruction/Trellis_Destructors.hpp>
#include <kernel/Trellis_Frame.hpp>
#include <task/Trellis_Provisional.hpp>
#include <recorded/Trellis_Iteration.hpp>
#include <scope/Trellis_TaskText.hpp>

/// Iterations of a loop as graphs of a device.
///
/// If all tasks of an iteration only launch work on one device, the whole iteration is a task of
/// that device, which launches them as one graph. The children do not run: the graph is captured
/// from them, and they are complete when it has passed. An iteration updates the graph of its plan
/// with its own functors. That does not affect earlier launches, and a graph waits for the end of
/// its own previous launch.
namespace trellis::Impl {

TaskOps const PlanGraphs::iteration_graph_ops{.pattern = "iterate",
                                              .run = &run_iteration_graph,
                                              .destroy = &destroy_iteration_graph,
                                              .fail = &fail_iteration_graph,
                                              .finish = &finish_iteration_graph};

/// A record or an observer of single tasks sees them run one by one.
void PlanGraphs::choose_graph(RecordedGraph& plan, std::vector<Task*> const& tasks) const {
  if (m_kernel.numbers_runs() || !prepare(plan, tasks)) return;
  plan.has_graph.store(true, std::memory_order_relaxed);
}

/// The caller holds the lock of the streams.
void PlanGraphs::run_iteration_graph(void* body, void* instance, Label const& /*label*/) {
  auto& [plan, graphs, children] = *static_cast<WholeIteration*>(body);
  PlanGraph& graph = plan->graph;
  if (graphs->try_to_capture(graph, 1, children))
    return graph.device->launch_graph(instance, graph.one.handle);
  plan->has_graph.store(false, std::memory_order_relaxed);
  for (Task* child : children) {
    Frame const frame(graphs->m_kernel, Workers::no_slot(), *child, Frame::What::launches);
    child->ops->run(child->body, instance, child->label);
  }
}

void PlanGraphs::finish_iteration_graph(void* body) {
  auto& [plan, graphs, children] = *static_cast<WholeIteration*>(body);
  FailurePtr first;
  for (Task* child : children)
    if (child->ops->finish != nullptr) try {
        child->ops->finish(child->body);
      } catch (...) {
        child->failure = graphs->m_kernel.current_failure(*child);
        inherit(*child->scope->parent, child->failure);
        if (first == nullptr) first = child->failure;
      }
  if (first != nullptr)
    throw ChildFailed(Error::Kind::task_failed, first->origin_text + " failed: " + first->what,
                      first->cause);
}

void PlanGraphs::fail_iteration_graph(void* body, TaskId id, std::string const& /*text*/,
                                      FailurePtr const& failure) noexcept {
  auto& [plan, graphs, children] = *static_cast<WholeIteration*>(body);
  FailurePtr const& cause = failure->of_child != nullptr ? failure->of_child : failure;
  for (Task* child : children) {
    std::string const text = describe_or_short(*child, graphs->m_submission);
    bool const own = child->failure != nullptr && child->failure->origin == child->id;
    if (!own) child->failure = cause;
    TaskId const shown_as =
        own || cause->origin != id ? child->id : id;  // else the launch of all has failed
    if (own)
      graphs->m_failures.note(child->id, text, child->failure);
    else
      graphs->m_failures.note_for_futures(child->id, shown_as, text, child->failure);
    graphs->m_failures.note_for_futures(Provisional::of(*child), shown_as, text, child->failure);
    child->ops->fail(child->body, shown_as, text, child->failure);
  }
}

void PlanGraphs::destroy_iteration_graph(void* body) noexcept {
  auto* const whole = static_cast<WholeIteration*>(body);
  whole->graphs->end_children(whole->children);
  whole->~WholeIteration();
}

/// Called when the graph has passed, or will not be launched.
void PlanGraphs::end_children(std::vector<Task*> const& children) {
  WorkerSlot& slot = m_kernel.own_slot();
  bool anyone_waits = false;
  bool too_many = false;
  for (Task* child : children) {
    bool const keeps_body = child->defers_body() && child->failure == nullptr;
    if (!keeps_body) m_destructors.destroy_body(*child, slot);
    child->failure = nullptr;
    {
      std::lock_guard const lock(child->lock);
      child->live_id.store(0, std::memory_order_release);
      anyone_waits = anyone_waits || child->has_waiter;
    }
    m_kernel.ended(*child);
    if (keeps_body) {
      too_many = !m_destructors.defer_body(*child) || too_many;
    } else {
      child->free_body();
      m_slab.recycle_chain(child, child);
    }
  }
  if (too_many) m_destructors.destroy_deferred(slot);
  if (anyone_waits) m_workers.wake_waiters();
}

}  // namespace trellis::Impl
