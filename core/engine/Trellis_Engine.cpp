// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <engine/Trellis_Engine.hpp>
#include <task/Trellis_GraphControl.hpp>
#include <kernel/Trellis_Frame.hpp>
#include <recorded/Trellis_PlanState.hpp>
#include <progress/Trellis_StallReport.hpp>
#include <trace/Trellis_Warnings.hpp>
#include <base/Trellis_Reserve.hpp>
#include <scope/Trellis_TaskText.hpp>
#include <impl/Trellis_Result.hpp>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <iostream>
#include <new>
#include <thread>
#include <utility>

/// The construction and the end of an engine, and the kernel's verbs.
namespace trellis::Impl {

Engine::Engine(TaskGraphOptions const& options)
    : Kernel(options, m_workers),
      m_room_check(std::bit_floor(std::clamp<std::uint64_t>(*options.in_flight / 32, 1, 64))),
      m_submission(*this, m_features, m_main, m_waiting),
      m_features(*this, m_submission),
      m_waiting(*this, m_features, m_main, m_serial_turn, m_polling),
      m_polling(*this, m_features.device_tasks, m_features.completions, m_main),
      m_wide_spaces(m_options),
      m_places(*options.bind, *options.threads_per_worker, options.name),
      m_workers(*this, m_serial ? 0 : *options.workers, *options.threads_per_worker,
                most_workers(options), m_places) {
  Reserve::require();
  if (Recorder const* const record = recorder()) m_workers.note_sleeps(record->start());
  if (std::atomic_ref(m_policy->m_serves_a_graph).exchange(true))
    throw Error(Error::Kind::bad_input,
                "Trellis: the scheduling policy \"" + std::string(m_policy->name()) +
                    "\" given to " + m_options.name +
                    " serves another graph; each graph needs a policy object of its own");
  m_policy->start(m_workers.max_slots());
  if (*options.watchdog > 0)
    m_stall_report = std::make_unique<StallReport>(
        *this, m_polling, m_features.waiters, m_submission.waiting_for_room(), *options.watchdog);
}

Engine::~Engine() {
  std::atomic_ref(m_policy->m_serves_a_graph).store(false);
}

void Engine::close() noexcept {
  if (Frame::of(*this) != nullptr) {
    std::cerr << "Trellis: " << m_options.name
              << " is destroyed inside one of its own tasks, and would wait for itself"
              << std::endl;
    std::abort();
  }
  // Tasks that a destructor of the user's submits are finished as well.
  do {
    m_features.destructors.drain();
    m_features.plans.dismantle_all();
    for (FailurePtr const& failure : m_failures.report().origins)
      if (!failure->observed.load(std::memory_order_relaxed))
        std::cerr << "Trellis: " << m_options.name
                  << " ends with an error that nobody asked for: " << failure->origin_text
                  << " failed: " << failure->what << std::endl;
    drop_objects(true);
    if (m_warnings != nullptr) m_warnings->drop_views();
  } while (!all_done());
  // Threads that use a future, or drop a plan, may still be in here.
  m_control->engine.store(nullptr, std::memory_order_seq_cst);
  while (m_control->users.load(std::memory_order_seq_cst) != 0) std::this_thread::yield();
  m_features.destructors.drain();
  m_features.plans.dismantle_all();
  if (m_warnings != nullptr) m_warnings->end();
  m_stall_report.reset();
  m_workers.stop();
}

void Engine::drop_objects(bool all) {
  if (m_events.recorder() != nullptr && !all) return;  // what is recorded must not depend on time
  if (all) {
    m_failures.clear();
    m_features.exclusion.clear_record();
  }
  std::lock_guard const lock(m_lock);
  Scope& root = m_submission.root();
  root.table.drop_unindexed(all);
  for (Vector<Scope::TagClass>& classes : root.classes)
    std::erase_if(classes, [&](Scope::TagClass& each) {
      root.table.drop_retired(each.tasks);
      return all || each.tasks.empty();
    });
}

Engine* EnginePin::running_here(TaskHandle const& task) noexcept {
  Frame* const frame = Frame::of(task);
  return frame != nullptr ? static_cast<Engine*>(&frame->kernel) : nullptr;
}

Kernel& EnginePin::kernel() const {
  return *m_engine;
}

std::vector<std::string> Engine::rows() const {
  std::vector<std::string> rows;
  for (int k = 0; k < m_workers.slot_count(); ++k) rows.push_back(m_workers.slot(k).name);
  rows.resize(static_cast<std::size_t>(m_workers.max_slots()));
  for (std::string& name : m_features.device_tasks.streams().names())
    rows.push_back(std::move(name));
  return rows;
}

/// Edges come before nodes: a task that another thread submits meanwhile must not have an edge
/// without a node.
Trace Engine::trace() {
  Recorder const& record = m_events.require_recorder();
  std::vector<EdgeRecord> edges = record.edges(false);
  return {{record.nodes(), std::move(edges)},
          rows(),
          *m_options.workers,
          threads(),
          record.start(),
          m_workers.sleeps()};
}

// --- the verbs of the kernel ---------------------------------------------------------------------

TaskHandle Kernel::resolve_special(TaskHandle const& handle) {
  return engine_of(*this).m_features.iterations.resolve(handle);
}
std::uint64_t Kernel::submitted() const {
  return engine_of(*this).submitted();
}
TaskHandle Kernel::submit(TaskSpec&& spec, Frame* frame) {
  return engine_of(*this).m_submission.submit(std::move(spec), frame);
}

void Kernel::close_children(Task& task, WorkerSlot& slot) {
  engine_of(*this).m_features.children.close_scope(task, slot);
}
void Kernel::ended(Task& task) {
  engine_of(*this).m_features.completed(task);
}
void Kernel::release_exclusive(Task& task, WorkerSlot& slot) {
  engine_of(*this).m_features.exclusion.release(task, slot.completion.ready);
}
void Kernel::dispatch(Task& task, WorkerSlot& slot) {
  engine_of(*this).dispatch(task, slot);
}
void Kernel::launch(Task& task, WorkerSlot& slot) {
  engine_of(*this).launch(task, slot);
}
bool Kernel::stop_serving(WorkerSlot& slot) {
  return engine_of(*this).m_features.device_tasks.stop_serving(slot);
}
void Kernel::let_others_pass(Task& task) {
  Vector<Task*> granted;
  for (Task* each = &task; each != nullptr; each = enclosing(*each)) {
    if (each->exclusive) engine_of(*this).m_features.exclusion.let_others_pass(*each, granted);
  }
  for (Task* other : granted) push(*other, nullptr);
}
void Kernel::parents_let_others_pass(Task const& child, Vector<Task*>& granted) {
  for (Task* task = parent_of(child); task != nullptr && !m_serial; task = enclosing(*task))
    if (task->exclusive) engine_of(*this).m_features.exclusion.let_others_pass(*task, granted);
}

WorkerSlot& Kernel::own_slot() {
  if (Frame* const frame = Frame::of(*this)) return frame->slot;
  return m_workers.on_main_thread() ? m_workers.slot(0) : Workers::no_slot();
}
void Kernel::run(Task* task, WorkerSlot& slot, Condition stop) {
  engine_of(*this).run(task, slot, stop);
}
Task* Kernel::complete(Task& task, WorkerSlot& slot, TaskState state, int row) {
  return engine_of(*this).complete(task, slot, state, row);
}

void Kernel::wait_for(TaskHandle const& handle, Frame* frame) {
  engine_of(*this).m_waiting.wait_for(handle, frame);
}
void Kernel::wait_for_started_children(TaskHandle const& self, TaskHandle const& running,
                                       Frame* frame) {
  engine_of(*this).m_waiting.wait_for_started_children(self, running, frame);
}
void Kernel::wait_for_fork_join(TaskHandle const& fork_join, ForkJoinGate& gate) {
  engine_of(*this).m_waiting.wait_for_fork_join(fork_join, gate);
}
void Kernel::rethrow(TaskHandle const& handle) const {
  engine_of(*this).m_waiting.rethrow(handle);
}
void Kernel::wait_outside(Until const& until) {
  engine_of(*this).m_waiting.wait_outside(until);
}
Task* Kernel::pop_wanted(WorkerSlot const& slot, FunctionRef<bool(Task const&)> wanted) {
  if (Task* const task = engine_of(*this).m_awaited.pop_wanted(wanted)) return task;
  return m_policy->pop_wanted(slot.number, [&](ReadyTask task) { return wanted(*task.impl()); })
      .impl();
}
Task* Kernel::pop_late(WorkerSlot& slot) {
  Engine& engine = engine_of(*this);
  if (engine.m_polling.busy()) engine.m_polling.poll(slot, true);
  return engine.complete_said(slot);
}
bool Kernel::any_awaited() const {
  return !engine_of(*this).m_awaited.empty(std::memory_order_relaxed);
}
bool Kernel::anyone_polls() const {
  Engine const& engine = engine_of(*this);
  return !engine.m_continuations.empty(std::memory_order_relaxed) ||
         engine.m_main.has_continuations();
}
bool Kernel::has_only_open_completions() const {
  Engine const& engine = engine_of(*this);
  if (!engine.m_features.completions.any_open()) return false;
  return m_policy->empty() && engine.m_continuations.empty() && engine.m_awaited.empty() &&
         engine.m_main.empty() && !engine.m_features.completions.any_said() &&
         !engine.m_features.fusion.any() && !engine.m_features.device_tasks.busy();
}
Waiting& Kernel::waiting() {
  return engine_of(*this).m_waiting;
}
bool Kernel::is_over(TaskHandle const& handle) const {
  return engine_of(*this).m_waiting.is_over(handle);
}
bool Kernel::may_be_helped_here() const {
  return m_serial || is_on_main();
}
void Kernel::help() {
  engine_of(*this).m_waiting.help();
}
void Kernel::drop_objects(bool all) {
  engine_of(*this).drop_objects(all);
}

}  // namespace trellis::Impl
