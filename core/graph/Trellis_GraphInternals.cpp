// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <Trellis_SchedulingPolicy.hpp>
#include <Trellis_TaskGraph.hpp>
#include <engine/Trellis_Engine.hpp>
#include <kernel/Trellis_HelpedGraphs.hpp>
#include <task/Trellis_GraphControl.hpp>
#include <graph/Trellis_GraphInternals.hpp>
#include <graph/Trellis_ModelTasks.hpp>
#include <locks/Trellis_PlanRecording.hpp>
#include <recorded/Trellis_PlanState.hpp>
#include <kernel/Trellis_Frame.hpp>

namespace trellis::Impl {

namespace {

/// Checks `after(...)`, `value(...)`, a range that is a future, and everything else that names one.
void check_after(TaskSpec const& spec, GraphControl const* control, std::uint64_t generation) {
  for (TaskHandle const& before : spec.after)
    if (!before.valid() || before.control != control || before.generation != generation)
      throw Error(
          Error::Kind::bad_input,
          "Trellis: task " + spec.label.text() + " is to come after " +
              (is_model_task(before)
                   ? model_task_text(before) + ", which runs once in each iteration: let it write "
                                               "a field or a Token that this one reads"
               : before.valid() ? "a future of another graph"
                                : "a future that belongs to no task"));
}

class EngineOf {
 public:
  explicit EngineOf(TaskHandle const& task) : m_pin(task) {
    if (!task.valid())
      throw Error(Error::Kind::bad_input, "Trellis: this future belongs to no task");
    refuse_model_task(task);
    if (!m_pin)
      throw Error(Error::Kind::closed, "Trellis: the graph of task #" + std::to_string(task.id) +
                                           " is not there any more");
  }
  Engine* operator->() const { return m_pin.operator->(); }

 private:
  EnginePin const m_pin;
};

}  // namespace

TaskHandle GraphInternals::submit(TaskGraph& graph, TaskSpec&& spec) {
  if (!spec.after.empty()) check_after(spec, graph.m_control, graph.m_generation);
  Engine& engine = graph.engine();
  return engine.submission().submit(std::move(spec), Frame::of(engine));
}

TaskHandle GraphInternals::submit_behind(TaskSpec&& spec) {
  if (spec.after.empty())
    throw Error(Error::Kind::bad_input, "Trellis: task " + spec.label.text() +
                                            " is to come after no tasks, so nobody knows its "
                                            "graph: name that, too");
  TaskHandle const first = spec.after.front();
  check_after(spec, first.control, first.generation);
  EnginePin const engine = first.pin();
  if (!engine) {
    refuse_model_task(first);
    return first;
  }
  return engine->submission().submit(std::move(spec), Frame::of(first));
}

TaskHandle GraphInternals::submit_beside(TaskHandle const& other, TaskSpec&& spec) {
  EngineOf const engine(other);
  check_after(spec, other.control, other.generation);
  return engine->submission().submit(std::move(spec), Frame::of(other));
}

TaskHandle GraphInternals::handle(TaskGraph const& graph) {
  static_cast<void>(graph.engine());
  return {graph.m_control, graph.m_generation};
}

bool GraphInternals::is_serial(TaskHandle const& task) {
  EnginePin const engine = task.pin();
  return engine && *engine->options().serial;
}

std::string GraphInternals::user_of(TaskHandle const& graph, Area const& area) {
  EnginePin const engine(graph);
  if (!engine) return {};
  std::string const task = engine->submission().user_of(area);
  return task.empty() ? task : task + " of " + engine->options().name;
}
std::string GraphInternals::name_of(TaskHandle const& graph) {
  EnginePin const engine(graph);
  return engine ? engine->options().name : std::string();
}

Progress GraphInternals::add_progress(TaskHandle const& task,
                                      std::shared_ptr<ProgressSource> source) {
  EnginePin const engine(task);
  if (!engine) throw Error(Error::Kind::closed, "Trellis: progress of a graph that is gone");
  source->belongs_to(&engine.kernel());
  if (*engine->options().serial || source->is_of_main()) HelpedGraphs::note(task);
  engine->polling().add(source);
  return {std::move(source), {task.control, task.generation, nullptr, 0}};
}
Plan GraphInternals::record(TaskGraph& graph, Label&& label, FunctionRef<void()> body) {
  return Plan(graph.engine().features().plans.record(std::move(label), body));
}

bool GraphInternals::is_recording(TaskGraph const& graph) {
  PlanRecording const* const recording = PlanRecording::of(graph.engine());
  return recording != nullptr && recording->iteration == nullptr;
}

TaskHandle GraphInternals::replay(TaskGraph& graph, Plan const& plan, std::uint64_t rounds) {
  if (!plan.valid())
    throw Error(Error::Kind::bad_input,
                "Trellis: " + graph.m_options.name + " is to replay an empty plan");
  PlanState const& state = *plan.m_state;
  if (state.graph.control != graph.m_control || state.graph.generation != graph.m_generation)
    throw Error(Error::Kind::bad_input,
                "Trellis: " + graph.m_options.name + " is to replay the plan \"" + plan.name() +
                    "\" (" + state.label.place() + "), which belongs to another graph");
  return graph.engine().features().plans.replay(Label(state.label), plan.m_state, rounds);
}

bool GraphInternals::sees_plans(TaskGraph const& graph) {
  return graph.engine().planner() != nullptr;
}
void GraphInternals::planned(TaskGraph const& graph, PlannedTasks const& tasks) {
  if (SchedulingPolicy* const planner = graph.engine().planner()) planner->planned(tasks);
}

TaskHandle GraphInternals::running() {
  return Frame::running();
}
TaskHandle GraphInternals::submit_child(TaskHandle const& parent, TaskSpec&& spec) {
  if (!spec.after.empty()) check_after(spec, parent.control, parent.generation);
  spec.parent = parent;
  if (Frame* const frame = Frame::of(parent)) return frame->kernel.submit(std::move(spec), frame);
  return EngineOf(parent)->submission().submit(std::move(spec), nullptr);
}
TaskHandle GraphInternals::submit_continuation(TaskHandle const& self, TaskSpec&& spec) {
  check_after(spec, self.control, self.generation);
  EngineOf const engine(self);
  return engine->features().children.submit_continuation(self, std::move(spec));
}
bool GraphInternals::stop_requested(TaskHandle const& self) {
  return EngineOf(self)->features().cancellation.is_asked(*self.task);
}
void GraphInternals::demote(TaskHandle const& self, std::span<AccessRequest const> to) {
  EngineOf(self)->features().demotions.demote(self, to);
}
void GraphInternals::release(TaskHandle const& self, std::span<AccessRequest const> what) {
  EngineOf(self)->features().demotions.release(self, what);
}
void GraphInternals::shrink_to_children(TaskHandle const& self) {
  EngineOf(self)->features().demotions.shrink_to_children(self);
}

void GraphInternals::require_of(TaskGraph const& graph, TaskHandle const& task, char const* wrong) {
  if (task.valid() && task.control == graph.m_control && task.generation == graph.m_generation)
    return;
  refuse_model_task(task);
  throw Error(Error::Kind::bad_input, "Trellis: " + graph.m_options.name + " is to " + wrong);
}

static constexpr char demotes_none[] =
    "demote a task of another graph, or a future that no task belongs to";

bool GraphInternals::demote_other(TaskGraph const& graph, TaskHandle const& task,
                                  std::span<AccessRequest const> to) {
  require_of(graph, task, demotes_none);
  return graph.engine().features().demotions.demote_other(task, to);
}
bool GraphInternals::release_other(TaskGraph const& graph, TaskHandle const& task,
                                   std::span<AccessRequest const> what) {
  require_of(graph, task, demotes_none);
  return graph.engine().features().demotions.release_other(task, what);
}
void GraphInternals::add_local(TaskHandle const& self, AccessRequest const& what) {
  EngineOf(self)->features().children.add_local(self, what);
}
int GraphInternals::threads_per_worker(TaskHandle const& self) {
  return *EngineOf(self)->options().threads_per_worker;
}
SpaceAdapter* GraphInternals::space_with(TaskHandle const& other, SpaceAdapter* space,
                                         AskedThreads asked, Label const& task) {
  return EngineOf(other)->wide_spaces().find(space, asked, task);
}
int GraphInternals::threads_of(TaskHandle const& other, AskedThreads asked) {
  return EngineOf(other)->wide_spaces().count(asked);
}
void GraphInternals::wait_for_children(TaskHandle const& self, TaskHandle const& running) {
  if (Frame* const frame = Frame::of(self))
    return frame->kernel.waiting().wait_for_children(self, running, frame);
  EngineOf(self)->waiting().wait_for_children(self, running, nullptr);
}
int GraphInternals::fork_join_depth() {
  return ForkJoins::depth_here();
}
void GraphInternals::require_may_join(TaskGraph const& graph) {
  graph.engine().waiting().require_may_wait();
}
void GraphInternals::require_may_join(TaskHandle const& other) {
  EngineOf(other)->waiting().require_may_wait();
}
void GraphInternals::run_fork_join(TaskHandle const& self, TaskHandle const& running, int depth,
                                   FunctionRef<void()> body) {
  EngineOf(self)->features().fork_joins.run(self, running, depth, body);
}
void GraphInternals::join_fork_join(TaskHandle const& fork_join) {
  EngineOf(fork_join)->features().fork_joins.join(fork_join);
}
bool GraphInternals::refine(TaskHandle const& task, FunctionRef<void(TaskHandle const&)> split) {
  return EngineOf(task)->features().children.refine(task, split);
}

}  // namespace trellis::Impl
