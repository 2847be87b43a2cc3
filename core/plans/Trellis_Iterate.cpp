// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_SchedulingPolicy.hpp>
#include <launch/Trellis_PlanGraphs.hpp>
#include <destruction/Trellis_Destructors.hpp>
#include <children/Trellis_Children.hpp>
#include <engine/Trellis_Submission.hpp>
#include <policy/Trellis_PolicyEdges.hpp>
#include <kernel/Trellis_Frame.hpp>
#include <kernel/Trellis_Kernel.hpp>
#include <task/Trellis_NumberClaim.hpp>
#include <recorded/Trellis_Iteration.hpp>
#include <locks/Trellis_PlanRecording.hpp>
#include <recorded/Trellis_PlanState.hpp>
#include <recorded/Trellis_Iterations.hpp>
#include <launch/Trellis_DeviceTasks.hpp>
#include <base/Trellis_AtEnd.hpp>

#include <algorithm>
#include <utility>

/// Loops whose iterations submit the same tasks again and again.
///
/// The tasks that the body of an iteration submits are collected (see Iteration) and compared, one
/// by one, with the iterations that are remembered. At its end the iteration is submitted as one
/// task, the parent, with the union of the accesses; the collected tasks are its children. The
/// parent is like a task that was refined while it was pending: the children may start when the
/// parent does, and when the last one is complete, so is the parent. Only their edges need not be
/// derived. From there on a task of an iteration is an ordinary task, and any number of iterations
/// with one plan may be in flight.
///
/// An iteration that is like none of these is recorded: its edges are derived while it is
/// collected, among its tasks alone.
namespace trellis::Impl {

namespace {

constexpr TaskOps whole_ops{
    "iterate", [](void*, void*, Label const&) {},
    [](void* body) noexcept { static_cast<WholeIteration*>(body)->~WholeIteration(); },
    [](void*, TaskId, std::string const&, FailurePtr const&) noexcept {}};

/// True if a plan may have this task. It may have no explicit dependencies, as these would lead to
/// different tasks the next time, and no states of the user's, as user code compares them.
bool can_be_collected(TaskSpec const& spec) {
  return spec.after.empty() &&
         std::all_of(spec.accesses.begin(), spec.accesses.end(),
                     [](AccessRequest const& each) { return each.state == nullptr; });
}

}  // namespace

Iterations::Iterations(Kernel& kernel, Submission& admission, PlanGraphs& graphs,
                       Children& children, PolicyEdges& policy_edges, AsyncStreams& streams)
    : m_kernel(kernel),
      m_admission(admission),
      m_graphs(graphs),
      m_children(children),
      m_policy_edges(policy_edges),
      m_submission(kernel.lock()),
      m_root(admission.root()),
      m_slab(kernel.slab()),
      m_failures(kernel.failures()),
      m_rules(admission.rules()),
      m_streams(streams),
      m_recorder(kernel.recorder()) {}

IterateReport Iterations::iterate(Label&& label, std::uint64_t iterations,
                                  FunctionRef<bool(std::uint64_t)> body) {
  IterateReport report;
  // No iteration is collected in these cases. An outer recording takes the tasks as they come.
  // Rules compare each task with those around the iteration. A policy that adds edges wants to see
  // each task.
  bool const never = m_kernel.is_serial() || PlanRecording::of(m_kernel) != nullptr ||
                     !m_rules.empty() || m_policy_edges.are_wanted();
  IterationMemory memory;
  Iteration iteration;
  std::uint64_t in_vain = 0;  // iterations in a row that were like none of those remembered
  for (std::uint64_t k = 0; k < iterations; ++k) {
    // Where too many iterations differ, collecting costs more than it gains. Then it is only tried
    // now and then.
    if (never || (in_vain >= IterationMemory::most && in_vain % IterationMemory::most != 0)) {
      ++in_vain;
      ++report.dynamic;
      if (!body(k)) break;
      continue;
    }
    iteration.begin(m_last_iteration.fetch_add(1, std::memory_order_relaxed) + 1);
    memory.begin();
    bool continues = false;
    std::shared_ptr<RecordedGraph> plan;
    try {
      {
        PlanRecording const recording(m_kernel, &iteration, &memory);
        continues = body(k);
      }
      plan = plan_of(iteration, memory);
      if (plan != nullptr && !admit_whole(label, iteration, plan)) plan = nullptr;
    } catch (...) {
      admit(&iteration);  // what it has submitted stays submitted
      throw;
    }
    if (plan == nullptr) {
      ++in_vain;
      ++report.dynamic;
    } else if (plan == iteration.recorded) {
      ++in_vain;
      ++report.recorded;
      memory.add(std::move(plan));
    } else {
      in_vain = 0;
      ++report.replayed;
    }
    if (!continues) break;
  }
  return report;
}

// --- collecting ----------------------------------------------------------------------------------

TaskHandle Iterations::collect_task(PlanRecording& recording, TaskSpec& spec) {
  Iteration& iteration = *recording.iteration;
  TaskHandle handle;
  if (iteration.collects.load(std::memory_order_relaxed) && can_be_collected(spec)) try {
      handle = collect(iteration, *recording.memory, spec);
    } catch (...) {
      admit(&iteration);  // the plan may be one task ahead
      throw;
    }
  if (!handle.valid()) admit(&iteration);
  return handle;
}

/// Collects the task. Returns an invalid handle, and does nothing, when the iteration does not
/// collect any more.
TaskHandle Iterations::collect(Iteration& iteration, IterationMemory& memory, TaskSpec& spec) {
  bool const known = iteration.recorded == nullptr && memory.next(spec);  // may ask the user's tags
  std::unique_lock lock(m_submission);
  std::size_t const place = iteration.tasks.size();
  FoundEntries found(known ? 0 : spec.accesses.size());
  if (!iteration.collects || place == Iteration::most_tasks) return {};
  if (known) {
    memory.for_each_like([&](RecordedGraph& plan) {
      iteration.plan = &plan;
      plan.note_identities(place, spec, iteration.number());
    });
  } else {
    if (iteration.recorded == nullptr) begin_plan(iteration);
    m_admission.find_entries(spec, iteration.recorded->scope(), place, found);
  }
  iteration.tasks.reserve(place + 1);
  if (place == 0) m_iterations.reserve(m_iterations.size() + 1);
  Task& task = m_admission.make_task(spec);
  if (!known) try {
      std::weak_ptr<PlanState> replays;
      if (spec.replays != nullptr) replays = spec.replays->weak_from_this();
      iteration.recorded->add(task, spec, found, m_rules, replays);
      task.clear_accesses();  // it gets them when it is submitted
    } catch (...) {
      lock.unlock();
      m_admission.unmake_task(task);
      throw;
    }
  Provisional::begin(task, iteration.provisional_id(place));
  if (place == 0) {
    m_iterations.push_back(&iteration);
    m_collecting.fetch_add(1, std::memory_order_relaxed);
  }
  iteration.tasks.push_back(&task);
  TaskHandle const handle = m_kernel.handle_of(&task, task.id);
  if (spec.number != nullptr) spec.number->bound(handle);
  return handle;
}

/// Begins the plan of this iteration with the tasks that have been collected. The caller holds the
/// graph's lock.
void Iterations::begin_plan(Iteration& iteration) {
  auto plan = std::make_shared<RecordedGraph>(m_slab, m_failures, m_streams);
  for (std::size_t k = 0; k < iteration.tasks.size(); ++k)
    plan->add_like(*iteration.plan, k, *iteration.tasks[k]);
  iteration.plan = plan.get();
  iteration.recorded = std::move(plan);
}

/// Returns the plan with which an iteration is to be submitted whose body is over. Null when the
/// iteration has been submitted, or is empty.
std::shared_ptr<RecordedGraph> Iterations::plan_of(Iteration& iteration, IterationMemory& memory) {
  {
    std::lock_guard const lock(m_submission);
    if (!iteration.collects || iteration.tasks.empty()) return nullptr;
    if (iteration.recorded == nullptr) {
      if (std::shared_ptr<RecordedGraph> known = memory.end()) return known;
      begin_plan(iteration);  // the iteration ends earlier than the known ones
    }
  }
  iteration.recorded->seal();
  if (SchedulingPolicy* const planner = m_kernel.planner()) iteration.recorded->tell(*planner);
  std::lock_guard const lock(m_submission);
  if (!iteration.collects)
    return nullptr;  // so its tasks may be over, and their cells used for others
  m_graphs.choose_graph(*iteration.recorded, iteration.tasks);
  return iteration.recorded;
}

// --- submitting ----------------------------------------------------------------------------------

/// Gives a collected task its id, and with it its place in the order of submission. The caller
/// holds the submission lock.
void Iterations::number(Task& task) {
  Provisional::end(task, m_admission.take_id());
  if (task.marks.is_replay)
    for_each_plan(*static_cast<ReplayBody*>(task.body)->plan,
                  [&](PlanState& plan) { plan.last = m_kernel.handle_of(&task, task.id); });
}

/// Submits the iteration as one task with children. False when it has been submitted on demand.
bool Iterations::admit_whole(Label const& label, Iteration& iteration,
                             std::shared_ptr<RecordedGraph> const& plan) {
  bool const as_graph = plan->has_graph.load(std::memory_order_relaxed);
  std::vector<Task*> const& children = iteration.tasks;
  auto const construct = [&](void* storage) {
    ::new (storage) WholeIteration{plan, &m_graphs, as_graph ? children : std::vector<Task*>()};
  };
  TaskSpec spec(Label(label), as_graph ? PlanGraphs::iteration_graph_ops : whole_ops,
                sizeof(WholeIteration), alignof(WholeIteration), construct);
  spec.accesses = plan->requests();
  spec.priority = plan->priority();
  spec.synchronizing = !plan->barriers().empty();
  if (as_graph) spec.space = plan->graph.device;
  ScopePtr scope;
  {
    std::lock_guard const lock(m_submission);
    scope = m_children.take_scope();
  }
  scope->waits_for_parent = true;
  scope->is_planned = true;
  scope->plan_number = 0;
  if (!as_graph) scope->open.renew(children.size());
  scope->children.reserve(as_graph ? children.size() : plan->roots().size());

  Frame* const frame = Frame::of(m_kernel);
  Task* whole = nullptr;
  std::int32_t rest = 0;
  if (frame == nullptr) m_admission.has_news();
  DeferDestructors const until_published;
  {
    SubmissionLock::WhileDeferring submission(m_submission);
    std::unique_lock lock(submission);
    if (frame == nullptr) m_admission.make_room(lock);
    if (!iteration.collects) return false;
    if (m_recorder) m_recorder->require_room(1 + children.size());
    Submission::Admitted const admitted = m_admission.admit(spec, m_root, frame);
    whole = admitted.task;
    rest = admitted.rest;
    scope->parent = whole;
    for (std::size_t k = 0; k < children.size(); ++k) {
      put_into(*children[k],
               *scope);  // first: a thread with the handle may look once it has its id
      number(*children[k]);
    }
    for (std::size_t k = 0; k < children.size(); ++k) {
      plan->give_accesses(k, *children[k]);
      if (m_recorder) m_recorder->submitted(*children[k]);  // all nodes come before their edges
    }
    for (std::size_t k = 0; k < children.size(); ++k) link_child(*plan, children, k, as_graph);
    if (as_graph)
      for (Task* child : children) scope->children.push_back({child, child->id});
    else
      for (std::uint32_t const root : plan->roots())
        scope->children.push_back({children[root], children[root]->id});
    if (m_kernel.planner() != nullptr) scope->plan_number = plan->number();
    whole->inner = std::move(scope);
    whole->is_split = true;
    // Children that are launched as a graph are complete with it.
    if (!as_graph) m_admission.count_submitted(children.size());
    collects_no_more(iteration);
  }
  if (m_kernel.events().is_watched())
    for (Task const* child : children) m_kernel.events().changed(*child, TaskState::pending);
  m_admission.publish(*whole, rest, frame);
  return true;
}

/// Gives a child the edges that it has by the plan. A child without any gets one from the start of
/// the parent.
void Iterations::link_child(RecordedGraph const& plan, std::vector<Task*> const& children,
                            std::size_t k, bool as_graph) {
  Task& child = *children[k];
  std::lock_guard const lock(child.lock);  // a search for circles may look at its successors
  for (RecordedEdge const& edge : plan.edges().from(k)) {
    Task& next = *children[edge.to];
    if (m_recorder) m_recorder->edge(child.id, next.id, edge.reason);
    if (as_graph) continue;
    child.add_successor(&next);
    if (next.runs_on_device() && trigger_between(child, next) == Trigger::launch)
      next.on_device->predecessors.push_back({&child, child.id});
  }
  if (!as_graph) child.set_edges(std::max(plan.edges_to(k), 1));
}

/// The caller holds the graph's lock.
void Iterations::collects_no_more(Iteration& iteration) {
  iteration.collects = false;
  if (std::erase(m_iterations, &iteration) != 0)
    m_collecting.fetch_sub(1, std::memory_order_release);
}

/// Turns the tasks that the iteration has collected into ordinary tasks; later ones are not
/// collected. The caller holds the submission lock, and publishes the tasks afterwards.
void Iterations::admit_collected(Iteration& iteration, Vector<Unpublished>& admitted) {
  if (!iteration.collects) return;
  iteration.collects = false;
  // A thread that finds that no iteration collects uses the ids, see `resolve`. So they are given
  // before.
  AtEnd const at_end([&] { collects_no_more(iteration); });
  auto const made_before = [](void*) {};
  Vector<AccessRequest> requests;
  for (std::size_t k = 0; k < iteration.tasks.size(); ++k) {
    Task& task = *iteration.tasks[k];
    requests.clear();
    for (TaskAccess const& access : iteration.plan->accesses(k))
      requests.push_back(request_like(access));
    TaskSpec spec(Label(), *task.ops, 0, 0, made_before);
    spec.accesses = requests;
    FoundEntries found(spec.accesses.size());
    m_admission.find_entries(spec, m_root, m_admission.next_id() - 1, found);
    number(task);
    m_admission.count_submitted(1);
    admitted.push_back(
        {&task, Task::being_submitted - m_admission.connect(task, spec, m_root, &found)});
  }
}

/// Calls `collect`, which admits tasks, under the lock, and publishes these.
void Iterations::admit_and_publish(FunctionRef<void(Vector<Unpublished>& admitted)> collect) {
  Vector<Unpublished> admitted;
  DeferDestructors const until_published;
  {
    std::lock_guard const lock(m_submission);
    collect(admitted);
  }
  Frame* const frame = Frame::of(m_kernel);
  for (Unpublished const& each : admitted) m_admission.publish(*each.task, each.rest, frame);
}

void Iterations::admit(Iteration* iteration) {
  admit_and_publish([&](auto& admitted) { admit_collected(*iteration, admitted); });
}

/// Admits the collected tasks of the iterations that `which` chooses, on all threads.
void Iterations::admit(FunctionRef<bool(Iteration const&)> which) {
  if (m_collecting.load(std::memory_order_acquire) == 0) return;
  admit_and_publish([&](auto& admitted) {
    for (std::size_t k = m_iterations.size(); k-- > 0;)
      if (which(*m_iterations[k])) admit_collected(*m_iterations[k], admitted);
  });
}

/// A thread that finds that no iteration collects happens after the tasks have got their ids: the
/// counter is taken down with release order after that.
TaskHandle Iterations::resolve(TaskHandle const& handle) {
  if ((handle.id & PlanNode::recorded) != 0) {
    if (m_collecting.load(std::memory_order_relaxed) != 0 && !m_kernel.is_done(handle))
      admit([](Iteration const& iteration) {
        return std::any_of(iteration.tasks.begin(), iteration.tasks.end(),
                           [](Task const* task) { return task->marks.is_replay; });
      });
    return handle;
  }
  if (handle.task->is_live(handle.id))
    admit([&](Iteration const& iteration) { return iteration.gave_out(handle.id); });
  return Provisional::resolved(handle);
}

}  // namespace trellis::Impl
