// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <Trellis_PriorityPolicy.hpp>
#include <Trellis_SchedulingPolicy.hpp>
#include <Trellis_TaskGraph.hpp>
#include <engine/Trellis_Engine.hpp>
#include <engine/Trellis_HelpedGraphs.hpp>
#include <graph/Trellis_AnalysisAtEnd.hpp>
#include <graph/Trellis_Environment.hpp>
#include <graph/Trellis_GraphControl.hpp>
#include <graph/Trellis_GraphDoor.hpp>
#include <graph/Trellis_ModelTasks.hpp>
#include <numbers/Trellis_NumberTable.hpp>
#include <numbers/Trellis_NumberedTasks.hpp>
#include <trace/Trellis_GraphLog.hpp>
#include <recorded/Trellis_PlanRecording.hpp>
#include <recorded/Trellis_PlanState.hpp>
#include <graph/Trellis_Runtime.hpp>
#include <graph/Trellis_TraceAtEnd.hpp>
#include <kernel/Trellis_Frame.hpp>
#include <threads/Trellis_Places.hpp>
#include <threads/Trellis_SerialOrder.hpp>
#include <warn/Trellis_Warnings.hpp>

#include <algorithm>
#include <charconv>
#include <iostream>
#include <mutex>
#include <string_view>
#include <vector>

namespace trellis {

namespace Impl {

Runtime& runtime() {
  static Runtime instance;
  return instance;
}

namespace {

/// All controls ever made, and the free ones. Never destroyed: futures may outlive everything.
struct Controls {
  std::mutex mutex;
  std::vector<GraphControl*> all;
  std::vector<GraphControl*> free;
  bool hooked = false;

  static Controls& get() {
    static Controls* const instance = new Controls;
    return *instance;
  }
};

/// Called when the runtime ends: finishes what is under way and closes every remaining graph.
void close_all() {
  Controls& controls = Controls::get();
  std::vector<GraphControl*> open;
  {
    std::lock_guard const lock(controls.mutex);
    controls.hooked = false;
    open = controls.all;
  }
  for (GraphControl* control : open)
    if (Engine* const engine = control->engine.load()) {
      std::cerr << "Trellis: " << engine->options().name
                << " outlives Kokkos::finalize(); it is closed now and cannot be used any more"
                << std::endl;
      engine->close();
      write_analysis_at_end(*engine);
      write_trace_at_end(*engine);
      delete engine;
    }
}

std::shared_ptr<SchedulingPolicy> policy_from_environment() {
  std::string const text = text_from(Variable::policy).value_or("work_stealing");
  std::string_view const name = text;
  if (name == "work_stealing") return make_work_stealing_policy();
  if (name == "fifo") return make_fifo_policy();
  if (name == "priority") return experimental::make_priority_policy();
  if (name == "shake") return make_shake_policy(1);
  if (name.starts_with("shake:")) {
    std::uint64_t seed = 0;
    auto const [end, error] = std::from_chars(name.data() + 6, name.data() + name.size(), seed);
    if (error == std::errc() && end == name.data() + name.size()) return make_shake_policy(seed);
  }
  bad_value(Variable::policy, name);
}

std::shared_ptr<Orchestration> orchestration_from_environment() {
  std::optional<std::string> const text = text_from(Variable::orchestration);
  if (!text) return make_native();
  try {
    return make_orchestration(*text);
  } catch (Error const&) {
    bad_value(Variable::orchestration, *text);
  }
}

/// A file named `1` in `TRELLIS_LOG=1` is not meant (`./1` would be one).
std::optional<std::string> log_from_environment() {
  std::optional<std::string> destination = text_from(Variable::log);
  if (destination && flag_of(*destination)) bad_value(Variable::log, *destination);
  return destination;
}

std::optional<std::string> analysis_from_environment() {
  std::optional<std::string> destination = text_from(Variable::analysis);
  if (destination && flag_of(*destination)) bad_value(Variable::analysis, *destination);
  return destination;
}

std::optional<std::string> trace_from_environment() {
  std::optional<std::string> folder = text_from(Variable::trace);
  if (folder && (folder->empty() || flag_of(*folder))) bad_value(Variable::trace, *folder);
  return folder;
}

std::optional<std::string> statistics_from_environment() {
  std::optional<std::string> file = text_from(Variable::statistics);
  if (file && (file->empty() || flag_of(*file))) bad_value(Variable::statistics, *file);
  return file;
}

int default_workers(int threads_per_worker) {
  int threads = cores_of_process();
  if (runtime().concurrency != nullptr) threads = std::min(threads, runtime().concurrency());
  return std::clamp(threads / threads_per_worker, 1, Workers::most_permits);
}

/// Enough tasks for each worker to have some, and so few that they remain in a core's caches. If
/// the submitter of short tasks is further ahead, they cost more, for itself and for the workers.
std::size_t default_in_flight(int workers) {
  return std::max<std::size_t>(2048, 128 * static_cast<std::size_t>(workers));
}

template <class T>
void require_positive(TaskGraphOptions const& options, char const* what,
                      std::optional<T> const& value) {
  if (*value >= 1) return;
  throw Error(Error::Kind::bad_input,
              "Trellis: " + options.name + " cannot have " + std::to_string(*value) + ' ' + what);
}

TaskGraphOptions resolve(TaskGraphOptions const& asked) {
  TaskGraphOptions options = asked;
  if (runtime().is_usable != nullptr && !runtime().is_usable())
    throw Error(Error::Kind::closed,
                "Trellis: " + options.name +
                    " is made before Kokkos::initialize() or after Kokkos::finalize()");
  tell_unknown_variables_once();
  if (!options.threads_per_worker)
    options.threads_per_worker = number_from<int>(Variable::threads_per_worker).value_or(1);
  require_positive(options, "threads per worker", options.threads_per_worker);
  if (!options.workers) options.workers = number_from<int>(Variable::workers);
  if (!options.workers) options.workers = default_workers(*options.threads_per_worker);
  require_positive(options, "workers", options.workers);
  if (*options.workers > Workers::most_permits)
    throw Error(Error::Kind::bad_input, "Trellis: " + options.name + " cannot have more than " +
                                            std::to_string(Workers::most_permits) + " workers");
  if (!options.in_flight)
    options.in_flight = number_from<std::uint64_t>(Variable::in_flight)
                            .value_or(default_in_flight(*options.workers));
  require_positive(options, "tasks in flight", options.in_flight);
  if (!options.bind) options.bind = text_from(Variable::bind).value_or("auto");
  if (!options.streams) options.streams = number_from<int>(Variable::streams).value_or(8);
  require_positive(options, "streams", options.streams);
  bool const has_analysis = analysis_from_environment().has_value();
  bool const has_trace = trace_from_environment().has_value();
  if (!options.record)
    options.record = flag_from(Variable::record).value_or(has_analysis || has_trace);
  options.serial = flag_from(Variable::serial).value_or(options.serial.value_or(false));
  if (*options.serial)
    options.policy = std::make_shared<SerialOrder>();
  else if (!options.policy || std::dynamic_pointer_cast<SerialOrder>(options.policy) != nullptr)
    options.policy = policy_from_environment();
  if (!options.orchestration) options.orchestration = orchestration_from_environment();
  if (!options.warn) options.warn = flag_from(Variable::warn).value_or(false);
  if (!options.watchdog) options.watchdog = number_from<double>(Variable::watchdog).value_or(0);
  if (!(*options.watchdog >= 0 && *options.watchdog <= 1e9))
    throw Error(Error::Kind::bad_input, "Trellis: " + options.name + " cannot have a watchdog of " +
                                            std::to_string(*options.watchdog) + " seconds");
  if (!options.log) options.log = log_from_environment();
  if (!options.statistics) options.statistics = statistics_from_environment();
  static_cast<void>(Places(*options.bind, *options.threads_per_worker, options.name));
  tell_help_once(asked, options);
  if (*options.record) check_analysis_at_end(options.name);
  if (*options.record) check_trace_at_end();
  // Last: errors above leave no file behind.
  if (options.log && !options.log->empty()) {
    TaskObserver write = make_graph_log(*options.log, options.name);
    if (options.observer == nullptr)
      options.observer = std::move(write);
    else
      options.observer = [first = std::move(options.observer),
                          then = std::move(write)](TaskEvent const& event) {
        first(event);
        then(event);
      };
  }
  return options;
}

}  // namespace

namespace {

/// Checks `after(...)`, `value(...)`, a range that is a future, and everything else that names one.
void check_after(TaskSpec const& spec, GraphControl const* control, std::uint64_t generation) {
  for (TaskHandle const& before : spec.after)
    if (!before.valid() || before.control != control || before.generation != generation)
      throw Error(Error::Kind::bad_input,
                  "Trellis: task " + spec.label.text() + " is to come after " +
                      (is_model_task(before) ? model_task_text(before) +
                                                   ", which runs once in each pass: let it write "
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

TaskHandle GraphDoor::submit(TaskGraph& graph, TaskSpec&& spec) {
  if (!spec.after.empty()) check_after(spec, graph.m_control, graph.m_generation);
  Engine& engine = graph.engine();
  return engine.submission().submit(std::move(spec), Frame::of(engine));
}

TaskHandle GraphDoor::submit_behind(TaskSpec&& spec) {
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

TaskHandle GraphDoor::submit_beside(TaskHandle const& other, TaskSpec&& spec) {
  EngineOf const engine(other);
  check_after(spec, other.control, other.generation);
  return engine->submission().submit(std::move(spec), Frame::of(other));
}

TaskHandle GraphDoor::handle(TaskGraph const& graph) {
  static_cast<void>(graph.engine());
  return {graph.m_control, graph.m_generation};
}

bool GraphDoor::is_serial(TaskHandle const& task) {
  EnginePin const engine = task.pin();
  return engine && *engine->options().serial;
}

std::string GraphDoor::user_of(TaskHandle const& graph, Area const& area) {
  EnginePin const engine(graph);
  if (!engine) return {};
  std::string const task = engine->submission().user_of(area);
  return task.empty() ? task : task + " of " + engine->options().name;
}
std::string GraphDoor::name_of(TaskHandle const& graph) {
  EnginePin const engine(graph);
  return engine ? engine->options().name : std::string();
}

Progress GraphDoor::add_progress(TaskHandle const& task, std::shared_ptr<ProgressSource> source) {
  EnginePin const engine(task);
  if (!engine) throw Error(Error::Kind::closed, "Trellis: progress of a graph that is gone");
  source->belongs_to(&engine.kernel());
  if (*engine->options().serial || source->is_of_main()) HelpedGraphs::note(task);
  engine->polling().add(source);
  return {std::move(source), {task.control, task.generation, nullptr, 0}};
}
Plan GraphDoor::record(TaskGraph& graph, Label&& label, FunctionRef<void()> body) {
  return Plan(graph.engine().plans().record(std::move(label), body));
}

bool GraphDoor::is_recording(TaskGraph const& graph) {
  PlanRecording const* const recording = PlanRecording::of(graph.engine());
  return recording != nullptr && recording->pass == nullptr;
}

TaskHandle GraphDoor::replay(TaskGraph& graph, Plan const& plan, std::uint64_t rounds) {
  if (!plan.valid())
    throw Error(Error::Kind::bad_input,
                "Trellis: " + graph.m_options.name + " is to replay an empty plan");
  PlanState const& state = *plan.m_state;
  if (state.control != graph.m_control || state.generation != graph.m_generation)
    throw Error(Error::Kind::bad_input,
                "Trellis: " + graph.m_options.name + " is to replay the plan \"" + plan.name() +
                    "\" (" + state.label.place() + "), which belongs to another graph");
  return graph.engine().plans().replay(Label(state.label), plan.m_state, rounds);
}

bool GraphDoor::sees_plans(TaskGraph const& graph) {
  return graph.engine().planner() != nullptr;
}
void GraphDoor::planned(TaskGraph const& graph, PlannedTasks const& tasks) {
  if (SchedulingPolicy* const planner = graph.engine().planner()) planner->planned(tasks);
}

TaskHandle GraphDoor::running() {
  return Frame::running();
}
TaskHandle GraphDoor::submit_part(TaskHandle const& owner, TaskSpec&& spec) {
  if (!spec.after.empty()) check_after(spec, owner.control, owner.generation);
  spec.parent = owner;
  if (Frame* const frame = Frame::of(owner)) return frame->kernel.submit(std::move(spec), frame);
  return EngineOf(owner)->submission().submit(std::move(spec), nullptr);
}
TaskHandle GraphDoor::submit_rest(TaskHandle const& self, TaskSpec&& spec) {
  check_after(spec, self.control, self.generation);
  EngineOf const engine(self);
  return engine->parts().submit_rest(self, std::move(spec));
}
bool GraphDoor::stop_requested(TaskHandle const& self) {
  return EngineOf(self)->cancellation().is_asked(*self.task);
}
void GraphDoor::demote(TaskHandle const& self, std::span<AccessRequest const> to) {
  EngineOf(self)->demotions().demote(self, to);
}
void GraphDoor::release(TaskHandle const& self, std::span<AccessRequest const> what) {
  EngineOf(self)->demotions().release(self, what);
}
void GraphDoor::shrink_to_parts(TaskHandle const& self) {
  EngineOf(self)->demotions().shrink_to_parts(self);
}

namespace {

void check_is_of(TaskGraph const& graph, TaskHandle const& task, GraphControl const* control,
                 std::uint64_t generation) {
  if (task.valid() && task.control == control && task.generation == generation) return;
  refuse_model_task(task);
  throw Error(Error::Kind::bad_input,
              "Trellis: " + graph.options().name +
                  " is to demote a task of another graph, or a future that no task belongs to");
}

}  // namespace

bool GraphDoor::demote_other(TaskGraph const& graph, TaskHandle const& task,
                             std::span<AccessRequest const> to) {
  check_is_of(graph, task, graph.m_control, graph.m_generation);
  return graph.engine().demotions().demote_other(task, to);
}
bool GraphDoor::release_other(TaskGraph const& graph, TaskHandle const& task,
                              std::span<AccessRequest const> what) {
  check_is_of(graph, task, graph.m_control, graph.m_generation);
  return graph.engine().demotions().release_other(task, what);
}
void GraphDoor::add_local(TaskHandle const& self, AccessRequest const& what) {
  EngineOf(self)->parts().add_local(self, what);
}
int GraphDoor::threads_per_worker(TaskHandle const& self) {
  return *EngineOf(self)->options().threads_per_worker;
}
SpaceAdapter* GraphDoor::space_with(TaskGraph const& graph, SpaceAdapter* space, AskedThreads asked,
                                    Label const& task) {
  return graph.engine().wide_spaces().find(space, asked, task);
}
int GraphDoor::threads_of(TaskGraph const& graph, AskedThreads asked) {
  return graph.engine().wide_spaces().count(asked);
}
SpaceAdapter* GraphDoor::space_with(TaskHandle const& other, SpaceAdapter* space,
                                    AskedThreads asked, Label const& task) {
  return EngineOf(other)->wide_spaces().find(space, asked, task);
}
int GraphDoor::threads_of(TaskHandle const& other, AskedThreads asked) {
  return EngineOf(other)->wide_spaces().count(asked);
}
void GraphDoor::wait_for_parts(TaskHandle const& self, TaskHandle const& running) {
  if (Frame* const frame = Frame::of(self))
    return frame->kernel.waiting().wait_for_parts(self, running, frame);
  EngineOf(self)->waiting().wait_for_parts(self, running, nullptr);
}
int GraphDoor::section_depth() {
  return Sections::depth_here();
}
void GraphDoor::require_may_join(TaskGraph const& graph) {
  graph.engine().waiting().require_may_wait();
}
void GraphDoor::require_may_join(TaskHandle const& other) {
  EngineOf(other)->waiting().require_may_wait();
}
void GraphDoor::run_section(TaskHandle const& self, TaskHandle const& running, int depth,
                            FunctionRef<void()> body) {
  EngineOf(self)->sections().run(self, running, depth, body);
}
void GraphDoor::join_section(TaskHandle const& section) {
  EngineOf(section)->sections().join(section);
}
bool GraphDoor::refine(TaskHandle const& task, FunctionRef<void(TaskHandle const&)> split) {
  return EngineOf(task)->parts().refine(task, split);
}

}  // namespace Impl

using Impl::Controls;

// A program that gives no options need not compile them.
TaskGraph::TaskGraph() : TaskGraph(TaskGraphOptions()) {}

TaskGraph::TaskGraph(TaskGraphOptions const& options) : m_options(Impl::resolve(options)) {
  auto engine = std::make_unique<Impl::Engine>(m_options);
  Controls& controls = Controls::get();
  std::lock_guard const lock(controls.mutex);
  if (!controls.hooked && Impl::runtime().at_finalize != nullptr) {
    Impl::runtime().at_finalize(&Impl::close_all);
    controls.hooked = true;
  }
  if (controls.free.empty()) {
    controls.all.push_back(new Impl::GraphControl);
    controls.free.push_back(controls.all.back());
  }
  m_control = controls.free.back();
  controls.free.pop_back();
  m_generation = m_control->generation.fetch_add(1) + 1;
  engine->bind(*m_control, m_generation);
  m_control->engine.store(engine.release());
}

TaskGraph::~TaskGraph() {
  if (Impl::Engine* const engine = m_control->engine.load()) {
    engine->close();
    Impl::write_analysis_at_end(*engine);
    Impl::write_trace_at_end(*engine);
    delete engine;
  }
  Controls& controls = Controls::get();
  std::lock_guard const lock(controls.mutex);
  controls.free.push_back(m_control);
}

Impl::Engine& TaskGraph::engine() const {
  if (Impl::Engine* const engine = m_control->engine.load(std::memory_order_acquire))
    return *engine;
  throw Error(Error::Kind::closed,
              "Trellis: " + m_options.name + " is used after Kokkos::finalize()");
}

void TaskGraph::ask_to_stop(Impl::TaskHandle const& task) {
  Impl::refuse_model_task(task);
  if (!task.valid() || task.control != m_control || task.generation != m_generation)
    throw Error(Error::Kind::bad_input,
                "Trellis: " + m_options.name +
                    " is to cancel a future of another graph, or one that no task belongs to");
  engine().cancellation().ask(task);
}
void TaskGraph::add(Impl::TagRule&& rule) {
  engine().submission().add_rule(std::move(rule));
}
Progress TaskGraph::add(std::shared_ptr<Impl::ProgressSource> source) {
  return Impl::GraphDoor::add_progress({m_control, m_generation, nullptr, 0}, std::move(source));
}
Plan TaskGraph::make_plan(Label&& label, Impl::FunctionRef<void()> body) {
  return Impl::GraphDoor::record(*this, std::move(label), body);
}
IterateReport TaskGraph::run_passes(Label&& label, std::uint64_t passes,
                                    Impl::FunctionRef<bool(std::uint64_t)> body) {
  return engine().passes().iterate(std::move(label), passes, body);
}
Future<void> TaskGraph::replay(Plan const& plan, std::uint64_t rounds) {
  return Impl::FutureDoor::make(Impl::GraphDoor::replay(*this, plan, rounds));
}
void TaskGraph::wait(std::source_location site) {
  Impl::Engine& engine = this->engine();
  struct AtEnd {
    Impl::Warnings* const warnings;
    std::source_location const& site;
    ~AtEnd() {
      if (warnings != nullptr) warnings->waited(site);
    }
  } const at_end{engine.warnings(), site};
  engine.waiting().wait();
}
void TaskGraph::wait(std::initializer_list<TaskNumber> numbers, Awaited what,
                     std::source_location site) {
  wait_for({numbers.begin(), numbers.size()}, what, site);
}

void TaskGraph::wait_for(std::span<TaskNumber const> numbers, Awaited what,
                         std::source_location const& site) {
  Impl::Engine& engine = this->engine();
  std::vector<Impl::TaskHandle> const tasks = tasks_of(numbers, "waits for", site);
  for (std::size_t gone = tasks.size(); gone < numbers.size(); ++gone)
    engine.fusion().awaited(true);
  engine.waiting().wait_for_all(tasks, what);
}
bool TaskGraph::are_done(std::span<TaskNumber const> numbers,
                         std::source_location const& site) const {
  Impl::Engine& engine = this->engine();
  return engine.waiting().are_done(tasks_of(numbers, "asks", site));
}
std::vector<Impl::TaskHandle> TaskGraph::tasks_of(std::span<TaskNumber const> numbers,
                                                  char const* what,
                                                  std::source_location const& site) const {
  return Impl::tasks_of(numbers, {m_control, m_generation}, m_options.name, what, site);
}
TaskGraphOptions const& TaskGraph::options() const {
  return m_options;
}
int TaskGraph::workers() const {
  return *m_options.workers;
}
int TaskGraph::threads_per_worker() const {
  return *m_options.threads_per_worker;
}
void TaskGraph::set_threads(int workers, int threads_per_worker) {
  Impl::Engine& engine = this->engine();
  engine.set_threads(workers, threads_per_worker);
  m_options.workers = workers;
  m_options.threads_per_worker = threads_per_worker;
}
std::shared_ptr<Orchestration> TaskGraph::orchestrate(
    std::shared_ptr<Orchestration> orchestration) {
  if (orchestration == nullptr)
    throw Error(Error::Kind::bad_input, "Trellis: " + m_options.name +
                                            " is given no orchestration; make_native() holds "
                                            "nothing back");
  Impl::Engine& engine = this->engine();
  std::shared_ptr<Orchestration> before = engine.orchestrator().exchange(std::move(orchestration));
  engine.fusion().look_again();
  return before;
}
std::shared_ptr<Orchestration> TaskGraph::orchestration() const {
  return engine().orchestrator().current();
}
int TaskGraph::most_workers() const {
  return engine().most_workers();
}
int TaskGraph::concurrency() const {
  return *m_options.serial ? 1 : static_cast<int>(engine().threads());
}
std::uint64_t TaskGraph::submitted() const {
  return engine().submitted();
}
std::uint64_t TaskGraph::edges() const {
  return engine().edges();
}
std::uint64_t TaskGraph::in_flight() const {
  // In this order the result is never more than the number at the first reading, though it may be
  // less.
  std::uint64_t const submitted = engine().submitted();
  std::uint64_t const completed = engine().completed();
  return submitted > completed ? submitted - completed : 0;
}
GraphStatistics TaskGraph::statistics() const {
  Impl::Statistics const& statistics = engine().events().statistics();
  if (statistics.are_on()) return statistics.now();
  throw Error(Error::Kind::bad_input,
              "Trellis: " + m_options.name +
                  " counts nothing; set TaskGraphOptions::statistics or the environment variable "
                  "TRELLIS_STATISTICS=file.csv");
}
std::size_t TaskGraph::task_memory() const {
  return engine().task_memory();
}

namespace {

/// Reports if anything has been left out for lack of memory.
Impl::Recorder const& record_to_look_at(Impl::Events const& events, std::string const& graph) {
  Impl::Recorder const& recorder = events.require_recorder();
  if (!recorder.is_complete())
    std::cerr << "Trellis: memory has run out, so the record of " << graph << " is incomplete"
              << std::endl;
  return recorder;
}

}  // namespace

// Edges before nodes: a task that another thread submits meanwhile must not have an edge without a
// node.
DependencyGraph TaskGraph::dependency_graph() const {
  Impl::Recorder const& recorder = record_to_look_at(engine().events(), m_options.name);
  auto edges = recorder.edges(true);
  return {recorder.nodes(), std::move(edges)};
}

SchedulingGraph TaskGraph::scheduling_graph() const {
  Impl::Recorder const& recorder = record_to_look_at(engine().events(), m_options.name);
  auto edges = recorder.edges(false);
  return {recorder.nodes(), std::move(edges)};
}

Trace TaskGraph::trace() const {
  return {scheduling_graph(), engine().rows(), workers(), engine().threads(),
          engine().events().require_recorder().start()};
}

}  // namespace trellis
