// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <Trellis_TaskGraph.hpp>
#include <engine/Trellis_Engine.hpp>
#include <task/Trellis_NumberedTasks.hpp>
#include <graph/Trellis_Environment.hpp>
#include <task/Trellis_GraphControl.hpp>
#include <graph/Trellis_GraphInternals.hpp>
#include <graph/Trellis_Runtime.hpp>
#include <trace/Trellis_GraphTools.hpp>
#include <trace/Trellis_Warnings.hpp>
#include <base/Trellis_AtEnd.hpp>

#include <iostream>
#include <mutex>
#include <vector>

namespace trellis {

namespace Impl {

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

void end(Engine* engine) {
  engine->close();
  if (GraphTools const* const tools = graph_tools()) tools->write_end(*engine);
  delete engine;
}

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
      end(engine);
    }
}

}  // namespace

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
  if (Impl::Engine* const engine = m_control->engine.load()) Impl::end(engine);
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
  Impl::GraphInternals::require_of(
      *this, task, "cancel a future of another graph, or one that no task belongs to");
  engine().features().cancellation.ask(task);
}
void TaskGraph::add(Impl::TagRule&& rule) {
  engine().submission().add_rule(std::move(rule));
}
Progress TaskGraph::add(std::shared_ptr<Impl::ProgressSource> source) {
  return Impl::GraphInternals::add_progress({m_control, m_generation, nullptr, 0},
                                            std::move(source));
}
Plan TaskGraph::make_plan(Label&& label, Impl::FunctionRef<void()> body) {
  return Impl::GraphInternals::record(*this, std::move(label), body);
}
IterateReport TaskGraph::run_iterations(Label&& label, std::uint64_t iterations,
                                        Impl::FunctionRef<bool(std::uint64_t)> body) {
  return engine().features().iterations.iterate(std::move(label), iterations, body);
}
Future<void> TaskGraph::replay(Plan const& plan, std::uint64_t rounds) {
  return Impl::FutureInternals::make(Impl::GraphInternals::replay(*this, plan, rounds));
}
void TaskGraph::wait(std::source_location site) {
  Impl::Engine& engine = this->engine();
  Impl::AtEnd const at_end([&] {
    if (Impl::Warnings* const warnings = engine.warnings()) warnings->waited(site);
  });
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
    engine.features().fusion.awaited(true);
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
  return engine().features().fusion.follow(std::move(orchestration));
}
std::shared_ptr<Orchestration> TaskGraph::orchestration() const {
  return engine().features().fusion.advice();
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
  Impl::TaskCounters const& statistics = engine().events().statistics();
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
  record_to_look_at(engine().events(), m_options.name);
  return engine().trace();
}

}  // namespace trellis
