// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <Trellis_SchedulingPolicy.hpp>
#include <launch/Trellis_PlanGraphs.hpp>
#include <destruction/Trellis_Destructors.hpp>
#include <task/Trellis_FoundEntries.hpp>
#include <engine/Trellis_Submission.hpp>
#include <kernel/Trellis_Frame.hpp>
#include <kernel/Trellis_Kernel.hpp>
#include <task/Trellis_NumberClaim.hpp>
#include <locks/Trellis_PlanRecording.hpp>
#include <recorded/Trellis_PlanState.hpp>
#include <recorded/Trellis_Plans.hpp>
#include <recorded/Trellis_RecordedGraph.hpp>
#include <trace/Trellis_Warnings.hpp>
#include <device/Trellis_AsyncStreams.hpp>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <span>
#include <thread>
#include <utility>

/// Records submitted tasks as a plan. Trellis_Replay.cpp runs plans.
namespace trellis::Impl {

/// The last reference is gone. So the only thread that may know the plan is the one that ends the
/// graph, and it takes only plans that still have a reference.
PlanState::~PlanState() {
  if (EnginePin const pin{graph}) plans->dismantle(*this);
}

PlanRecording* PlanRecording::find(Kernel const& kernel) {
  PlanRecording* recording = top;
  while (recording != nullptr && &recording->kernel != &kernel) recording = recording->outer;
  return recording;
}

PlanRecording::PlanRecording(Kernel& in_kernel, Iteration* of_iteration, IterationMemory* of_loop)
    : kernel(in_kernel),
      iteration(of_iteration),
      memory(of_loop),
      outer(std::exchange(top, this)) {}

PlanRecording::~PlanRecording() {
  top = outer;
}

Plans::Plans(Kernel& kernel, Submission& admission, Cancellation& cancellation,
             Destructors& destructors, PlanGraphs& graphs, Iterations& iterations,
             AsyncStreams& streams)
    : m_kernel(kernel),
      m_admission(admission),
      m_cancellation(cancellation),
      m_destructors(destructors),
      m_graphs(graphs),
      m_iterations(iterations),
      m_submission(kernel.lock()),
      m_slab(kernel.slab()),
      m_failures(kernel.failures()),
      m_rules(admission.rules()),
      m_streams(streams),
      m_workers(kernel.workers()),
      m_recorder(kernel.recorder()) {}

std::shared_ptr<PlanState> Plans::record(Label&& label, FunctionRef<void()> body) {
  if (PlanRecording const* const outer = PlanRecording::of(m_kernel);
      outer != nullptr && outer->iteration == nullptr)
    throw Error(Error::Kind::bad_input,
                "Trellis: " + m_kernel.options().name +
                    " is recording a plan on this thread already; to use a plan in "
                    "another one, record it before and replay it there");
  std::shared_ptr<PlanState> plan;
  {
    PlanRecording recording(m_kernel);
    plan = recording.plan = new_plan(std::move(label));
    Warnings* const warnings = m_kernel.warnings();
    if (warnings != nullptr) warnings->forget(*plan);  // an earlier plan at this address
    body();
    m_destructors.destroy_deferred();  // their references would count as those of others
    if (warnings != nullptr) {
      warnings->drop_views();  // these have some, too
      warnings->forget(*plan);
    }
    finish(*plan);
  }
  m_graphs.capture(*plan);
  link(*plan);
  find_components(*plan);
  if (SchedulingPolicy* const planner = m_kernel.planner()) plan->recorded->tell(*planner);
  return plan;
}

std::shared_ptr<PlanState> Plans::new_plan(Label&& label) {
  auto plan = std::make_shared<PlanState>();
  plan->plans = this;
  plan->label = std::move(label);
  plan->graph = m_kernel.handle_of(nullptr, 0);
  plan->recorded = std::make_unique<RecordedGraph>(m_slab, m_failures, m_streams);
  std::lock_guard const lock(m_submission);
  m_plans.reserve(m_plans.size() + 1);
  plan->parent = &m_slab.acquire();
  m_plans.push_back(plan.get());
  plan->graphs = &m_graphs;
  plan->parent->scope = nullptr;
  plan->parent->scope_kind = ScopeKind::graph;
  plan->parent->begin_plan();
  plan->recorded->scope().parent = plan->parent;
  return plan;
}

/// Makes a task of a plan, which is never complete while the plan exists. `index`: its place in
/// `runs`. The caller holds the graph's lock.
Task& Plans::make_recorded(TaskSpec& spec, PlanState& plan, std::size_t index) {
  PlanNode& node = plan.nodes.emplace_back();
  node.plan = &plan;
  node.index = static_cast<std::uint32_t>(index);
  Task& task = m_admission.make_task(spec);
  task.begin_recorded(++m_last_recorded, plan.parent);
  put_into(task, plan.recorded->scope());
  task.node = &node;
  return task;
}

/// Throws if a task could not be recorded in full. A body may have caught the exception, and the
/// task may lack edges.
void Plans::require_whole(PlanState const& plan) {
  if (plan.is_broken)
    throw Error(Error::Kind::bad_input,
                "Trellis: the plan \"" + plan.label.string() + "\" (" + plan.label.place() +
                    ") cannot be used, as an error was thrown while a task was recorded. Record it "
                    "again");
}

TaskHandle Plans::record_task(PlanRecording& recording, TaskSpec&& spec) {
  PlanState& plan = *recording.plan;
  RecordedGraph& recorded = *plan.recorded;
  Scope& scope = recorded.scope();
  std::lock_guard const lock(m_submission);
  require_whole(plan);
  for (TaskHandle const& before : spec.after)
    if ((before.id & PlanNode::recorded) != 0 &&
        (before.task->scope != &scope ||
         before.task->live_id.load(std::memory_order_acquire) != before.id))
      throw Error(Error::Kind::bad_input, "Trellis: task " + spec.label.text() +
                                              " is to come after a task of another plan; only "
                                              "tasks of the same plan, or tasks "
                                              "that are in no plan, can be named");
  FoundEntries found(spec.accesses.size());
  m_admission.find_entries(spec, scope, recorded.size(), found);
  FunctionRef<void(void*)> const construct = spec.construct;
  auto const construct_on_zeros = [&](void* memory) {  // for HeldResources
    std::memset(memory, 0, spec.body_size);
    construct(memory);
  };
  spec.construct = construct_on_zeros;
  if (plan.tasks.size() == plan.tasks.capacity())  // so that no task is made and lost
    plan.tasks.reserve(std::max<std::size_t>(64, 2 * plan.tasks.size()));
  Task& task = make_recorded(spec, plan, plan.tasks.size());
  if (task.marks.is_fork_join) {  // no thread waits for it
    task.marks.is_fork_join = false;
    task.marks.has_own_queue = task.marks.main_thread && !m_kernel.is_serial();
  }
  plan.tasks.push_back(&task);
  plan.is_broken = true;
  if (spec.replays != nullptr) {
    PlanState* const inner = static_cast<ReplayBody*>(task.body)->plan.get();
    if (std::find(plan.nested.begin(), plan.nested.end(), inner) == plan.nested.end())
      plan.nested.push_back(inner);
  }

  recorded.add(task, spec, found, m_rules);
  for (TaskHandle const& before : spec.after)
    if ((before.id & PlanNode::recorded) == 0) plan.after.push_back(before);
  plan.is_broken = false;
  plan.resources.count(task, task.node->index + 1, spec, found);
  TaskHandle const handle = m_kernel.handle_of(&task, task.id);
  if (spec.number != nullptr) spec.number->bound(handle);
  return handle;
}

/// Throws when the program held an allocation while the plan was recorded, and holds it no longer.
void Plans::check_still_held(PlanState const& plan) const {
  if (std::string const* const label = plan.resources.find_lost())
    throw Error(Error::Kind::bad_access,
                "Trellis: the plan \"" + plan.label.string() + "\" (" + plan.label.place() +
                    ") was recorded with the View \"" + *label +
                    "\", which nobody but the plan holds any more: it has been reallocated "
                    "(resize, realloc, assignment) or dropped. Record the plan again, or keep the "
                    "View");
  for (PlanState const* nested : plan.nested) check_still_held(*nested);
}

/// Derives the edges to the next round, and the accesses of the plan as a whole. Rounds overlap
/// where all conflicts are known by accesses, or by an edge.
void Plans::finish(PlanState& plan) {
  std::lock_guard const lock(m_submission);
  require_whole(plan);
  RecordedGraph& recorded = *plan.recorded;
  plan.rounds_overlap =
      recorded.barriers().empty() && std::all_of(m_rules.begin(), m_rules.end(), [](auto& rule) {
        return rule.constraint == Constraint::exclusive;
      });
  recorded.seal_rounds(plan.tasks, plan.rounds_overlap, m_rules);
  plan.runs = plan.tasks;
  plan.task_count = plan.tasks.size();
  plan.access_count = recorded.requests().size();
  for (RecordedEdge const& edge : recorded.edges().all()) {
    if (edge.kind == RecordedEdge::Kind::own_round)
      ++plan.edges_within_round;
    else if (plan.rounds_overlap && edge.from != edge.to)
      ++plan.edges_between_rounds;
  }
  plan.resources.recorded();
}

/// Gives the tasks that run their edges.
void Plans::link(PlanState& plan) {
  std::lock_guard const lock(m_submission);
  if (!plan.pieces.empty()) {
    std::vector<std::uint32_t> stands_for;
    for (Task const* task : plan.runs) stands_for.push_back(task->node->index);
    plan.between_pieces = plan.recorded->edges().contracted(stands_for, plan.runs.size());
  }
  plan.for_each_run([&](Task& task) {
    PlanNode& node = *task.node;
    for (RecordedEdge const& edge : plan.edges().from(node.index)) {
      bool const is_own = edge.kind == RecordedEdge::Kind::own_round;
      if (!is_own && !plan.rounds_overlap) continue;
      Task& next = *plan.runs[edge.to];
      if (&next == &task) {
        node.follows_itself = 1;
        continue;
      }
      task.add_successor(&next);
      ++next.node->edges;
      if (is_own) ++next.node->first_edges;
      if (is_own) node.own_round = task.successor_count;
      if (edge.kind != RecordedEdge::Kind::back) node.carrying = task.successor_count;
    }
    if (node.own_round == 0) ++plan.leaves;
  });
  plan.for_each_run([&](Task& task) {
    task.set_edges(task.node->first_edges);
    if (task.node->first_edges == 0) plan.roots.push_back(&task);
  });
  std::span<std::uint32_t const> const barriers = plan.recorded->barriers();
  if (barriers.empty()) return;
  plan.first_barrier = plan.runs[barriers.front()];
  plan.last_barrier = plan.runs[barriers.back()];
}

/// Finds the components, see PlanComponent.
void Plans::find_components(PlanState& plan) {
  std::vector<std::uint32_t> first(plan.runs.size());
  for (std::uint32_t k = 0; k < first.size(); ++k) first[k] = k;
  auto const first_of = [&](std::uint32_t k) {
    while (first[k] != k) k = first[k] = first[first[k]];
    return k;
  };
  plan.for_each_run([&](Task const& task) {
    task.for_each_successor([&](Task const* next) {
      std::uint32_t const a = first_of(task.node->index), b = first_of(next->node->index);
      first[std::max(a, b)] = std::min(a, b);
    });
  });
  std::vector<std::uint32_t> number(first.size());
  std::uint32_t count = 0;
  plan.for_each_run([&](Task const& task) {
    if (first_of(task.node->index) == task.node->index) number[task.node->index] = count++;
  });
  plan.components = std::vector<PlanComponent>(count);
  plan.for_each_run([&](Task& task) {
    PlanNode& node = *task.node;
    node.component = number[first_of(node.index)];
    PlanComponent& component = plan.components[node.component];
    ++component.tasks;
    bool const is_alone = node.follows_itself == 0 && task.successor_count == 0;
    if (node.carrying != task.successor_count || is_alone) component.fails_as_one = false;
  });
}

/// Destroys the tasks. Requires that no replay is under way. Does nothing the second time.
void Plans::dismantle(PlanState& plan) {
  {
    std::lock_guard const lock(m_submission);
    if (std::erase(m_plans, &plan) == 0) return;
    note_failures(plan);
    for (auto const& piece : plan.pieces) plan.tasks.push_back(piece->task);
    for (Task* task : plan.tasks) {
      {  // A thread that has found the task live under this lock may look at its node and its plan.
        std::lock_guard const ends(task->lock);
        task->end_recorded();
      }
      task->clear_extras();
    }
  }
  plan.resources.forget();
  Task* first = plan.parent;
  {
    auto const streams = m_streams.lock();
    plan.recorded->graph.release();
    for (auto const& piece : plan.pieces) piece->graph.release();
  }
  for (Task* task : plan.tasks) {
    // This happens without a lock, as it may free Views and other plans.
    m_destructors.destroy_body(*task, m_kernel.own_slot());
    task->free_body();
    task->failure = nullptr;
    task->label = {};
    task->next = first;
    first = task;
  }
  plan.resources.release();                 // a program may keep the plan for long, without Views
  std::unique_ptr<RecordedGraph> recorded;  // destroyed without the lock
  std::lock_guard const lock(m_submission);
  recorded = std::move(plan.recorded);
  for (Task* task = first; task != nullptr; task = task == plan.parent ? nullptr : task->next) {
    task->scope = nullptr;  // under the lock, as other threads read it in any cell
    task->scope_kind = ScopeKind::graph;
  }
  m_slab.recycle_chain(first, plan.parent);
}

/// Dismantles all plans. Plans that are dropped meanwhile are dismantled by the threads that drop
/// them.
void Plans::dismantle_all() {
  for (;;) {
    std::shared_ptr<PlanState> plan;
    {
      std::lock_guard const lock(m_submission);
      if (m_plans.empty()) return;
      plan = m_plans.back()->weak_from_this().lock();
    }
    if (plan != nullptr)
      dismantle(*plan);
    else
      std::this_thread::yield();
  }
}

}  // namespace trellis::Impl
