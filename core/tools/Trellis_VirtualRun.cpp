// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <Trellis_Label.hpp>
#include <tools/Trellis_VirtualRun.hpp>

#include <algorithm>
#include <string>

namespace trellis::Impl {

namespace {

int workers_of(Trace const& trace, Machine const& machine) {
  if (machine.workers != 0) return machine.workers;
  return std::max(1, trace.workers);
}

}  // namespace

struct VirtualRun::Cell : Task {
  std::size_t stands_for = 0;
};

VirtualRun::~VirtualRun() = default;

VirtualRun::VirtualRun(Trace const& trace, Machine const& machine, WhatIf const& what_if)
    : m_graph(trace.graph),
      m_what_if(what_if),
      m_machine(machine),
      m_workers(workers_of(trace, machine)),
      m_order(m_graph),
      m_pace(m_graph),
      m_policy(what_if.policy != nullptr ? what_if.policy : make_work_stealing_policy()),
      m_devices(trace, machine),
      m_exclusion(m_graph) {
  check_machine();
  (void)m_order.in_order(m_graph);  // throws when there is a circle
  std::size_t const size = m_order.size();
  for (std::size_t p = 0; p < size; ++p)
    m_cost.push_back(what_if.cost != nullptr ? what_if.cost(record(p)) : m_order.times()[p].all());
  m_to_begin.assign(size, 0);
  m_to_end.assign(size, 1);
  m_runs.resize(size);
  m_shown.assign(size, nullptr);
  m_slots_of.resize(size);
  m_device_of.assign(size, VirtualDevices::none);
  m_is_root.assign(size, false);
  for (Precedence::Arc const& arc : m_order.arcs()) {
    if (arc.kind == Precedence::Kind::remainder)
      ++m_to_end[arc.to];
    else if (!is_by_turns(arc))
      ++m_to_begin[arc.to];
  }
  for (SubmissionPace::Step const& step : m_pace.steps()) {
    ++m_to_begin[step.task];
    m_is_root[step.task] = true;
  }
  m_slots.resize(static_cast<std::size_t>(m_workers));
}

void VirtualRun::check_machine() const {
  auto const refuse = [](std::string const& what) {
    throw Error(Error::Kind::bad_input, "no machine has " + what);
  };
  if (m_workers < 1) refuse(std::to_string(m_workers) + " workers");
  if (m_machine.devices < 0) refuse(std::to_string(m_machine.devices) + " devices");
  if (m_machine.tasks_per_device < 0)
    refuse("devices that run " + std::to_string(m_machine.tasks_per_device) + " tasks at a time");
  if (!(m_machine.overhead >= 0)) refuse("an overhead below zero");
}

Schedule VirtualRun::run() {
  m_policy->start(m_workers);
  if (m_what_if.as_submitted)
    submit_next(0);
  else
    for (std::size_t step = 0; step < m_pace.steps().size(); ++step)
      post(0, Event::submission, step);
  while (!m_events.empty()) {
    m_now = m_events.top().time;
    while (!m_events.empty() && m_events.top().time == m_now) {
      Event const event = m_events.top();
      m_events.pop();
      happen(event);
    }
    start_on_devices();
    dispatch();
  }
  Schedule schedule;
  if (m_complete != m_runs.size())
    throw Error(Error::Kind::bad_input,
                "the policy " + std::string(m_policy->name()) + " never gives out " +
                    std::to_string(m_runs.size() - m_complete) + " of the tasks");
  for (std::size_t p = 0; p < m_runs.size(); ++p) {
    m_runs[p].id = record(p).id;
    schedule.makespan = std::max(schedule.makespan, m_runs[p].end);
  }
  schedule.runs = std::move(m_runs);
  schedule.workers = m_workers;
  for (int k = 0; k < m_workers; ++k) schedule.rows.push_back("worker " + std::to_string(k));
  m_devices.add_rows(schedule.rows);
  return schedule;
}

void VirtualRun::post(double time, Event::Kind kind, std::size_t what) {
  m_events.push({time, m_posted++, kind, what});
}

void VirtualRun::happen(Event const& event) {
  switch (event.kind) {
    case Event::submission:
      return submit(event.what);
    case Event::arc_to_begin:
      return reach_begin(event.what);
    case Event::arc_to_end:
      return reach_end(event.what);
    case Event::body_over:
      return body_over(event.what);
    case Event::latency_over:
      return reach_end(event.what);
  }
}

// --- submission ----------------------------------------------------------------------------------

void VirtualRun::submit(std::size_t step) {
  reach_begin(m_pace.steps()[step].task);
  if (m_what_if.as_submitted) submit_next(step + 1);
}

/// Submits this step when it is due. The earlier steps have been submitted.
void VirtualRun::submit_next(std::size_t step) {
  if (step == m_pace.steps().size()) return;
  SubmissionPace::Step const& next = m_pace.steps()[step];
  m_next_step = step;
  if (next.has_waited && m_roots_complete < step) {
    m_submitter_waits = true;
    return;
  }
  post(m_now + (step == 0 ? 0 : next.gap), Event::submission, step);
}

// --- from arcs to ready, and from over to complete -----------------------------------------------

void VirtualRun::reach_begin(std::size_t task) {
  if (--m_to_begin[task] == 0) make_ready(task, m_in_completion);
}

void VirtualRun::reach_end(std::size_t task) {
  if (--m_to_end[task] == 0) complete(task);
}

/// True if the two tasks take their turns anew, whichever came first in the record.
bool VirtualRun::is_by_turns(Precedence::Arc const& arc) const {
  return arc.kind == Precedence::Kind::order && arc.edge->reason == EdgeReason::exclusion &&
         m_exclusion.share_an_area(arc.from, arc.to);
}

void VirtualRun::fire(Precedence::Arc const& arc) {
  if (is_by_turns(arc)) return;
  double delay = 0;
  switch (arc.kind) {
    case Precedence::Kind::order:
      delay = m_what_if.edge_cost != nullptr ? m_what_if.edge_cost(*arc.edge) : 0;
      break;
    case Precedence::Kind::progress:
      delay = arc.share * m_cost[arc.from];
      break;
    case Precedence::Kind::remainder:
      delay = arc.share * m_cost[arc.to];
      break;
  }
  bool const to_end = arc.kind == Precedence::Kind::remainder;
  if (delay > 0)
    post(m_now + delay, to_end ? Event::arc_to_end : Event::arc_to_begin, arc.to);
  else if (to_end)
    reach_end(arc.to);
  else
    reach_begin(arc.to);
}

void VirtualRun::complete(std::size_t task) {
  m_runs[task].end = m_now;
  ++m_complete;
  if (m_exclusion.has(task))
    for (std::size_t const granted : m_exclusion.release(task)) push(granted);
  for (Precedence::Arc const& arc : m_order.from(task))
    if (arc.kind != Precedence::Kind::progress) fire(arc);
  if (m_is_root[task] && ++m_roots_complete >= m_next_step && m_submitter_waits) {
    m_submitter_waits = false;
    post(m_now + m_pace.steps()[m_next_step].gap, Event::submission, m_next_step);
  }
}

/// Frees the task's place. A worker may go on with a task that this has made ready, as the policy
/// decides.
void VirtualRun::body_over(std::size_t task) {
  int const row = m_runs[task].row;
  m_runs[task].body_end = m_now;
  if (m_devices.has(task)) {
    m_devices.give_back(task, static_cast<std::size_t>(m_slots_of[task].front()));
  } else {
    for (int const slot : m_slots_of[task]) m_slots[static_cast<std::size_t>(slot)].is_idle = true;
  }
  m_slots_of[task].clear();
  give_back(task);
  bool const is_host = !m_devices.has(task);
  double const latency = m_cost[task] * (1 - held_share(task));
  if (is_host && latency > 0) return post(m_now + latency, Event::latency_over, task);
  m_in_completion = is_host;
  reach_end(task);
  m_in_completion = false;
  std::vector<ReadyTask> ready;
  for (std::size_t const each : m_finished) ready.push_back(shown(each));
  m_finished.clear();
  if (ready.empty()) return;
  ReadyTask const next = m_policy->finished(ready, row);
  if (!next) return;
  auto const position = static_cast<Cell const*>(next.impl())->stands_for;
  if (m_gatherers.empty())
    take_up(position, row);
  else
    m_policy->push(next, row);
}

void VirtualRun::make_ready(std::size_t task, bool by_completion) {
  if (m_exclusion.has(task) && !m_exclusion.acquire(task, m_policy->exclusive_rank(shown(task))))
    return;
  bool const to_policy = !m_devices.has(task) && !record(task).main_thread;
  if (by_completion && to_policy)
    m_finished.push_back(task);
  else
    push(task);
}

void VirtualRun::push(std::size_t task) {
  if (m_devices.has(task)) {
    std::size_t device = VirtualDevices::none;
    double latest = -1;
    for (TaskId const before : m_graph.predecessors(record(task).id)) {
      auto const found =
          std::lower_bound(m_graph.nodes().begin(), m_graph.nodes().end(), before,
                           [](TaskRecord const& each, TaskId id) { return each.id < id; });
      if (found == m_graph.nodes().end() || found->id != before) continue;
      auto const p = static_cast<std::size_t>(found - m_graph.nodes().begin());
      if (!m_devices.has(p) || m_runs[p].end <= latest) continue;
      latest = m_runs[p].end;
      device = m_device_of[p];
    }
    m_devices.push(task, device);
  } else if (record(task).main_thread) {
    m_main.push_back(task);
  } else {
    m_policy->push(shown(task), -1);
  }
}

// --- places --------------------------------------------------------------------------------------

void VirtualRun::start_on_devices() {
  for (;;) {
    VirtualDevices::Placed const next = m_devices.take();
    if (next.task == VirtualDevices::none) return;
    m_device_of[next.task] = next.device;
    m_slots_of[next.task] = {static_cast<int>(next.device)};
    m_runs[next.task].row = m_workers + m_devices.row_of(next.task, next.device);
    m_runs[next.task].begin = m_now;
    post(m_now + m_cost[next.task], Event::body_over, next.task);
    fire_progress(next.task);
  }
}

void VirtualRun::dispatch() {
  serve_gatherers();
  for (bool any = true; any;) {
    any = false;
    for (int slot = 0; slot < m_workers; ++slot) {
      if (!m_slots[static_cast<std::size_t>(slot)].is_idle || !m_gatherers.empty()) continue;
      std::size_t const task = next_for(slot);
      if (task == none) continue;
      take_up(task, slot);
      any = true;
    }
  }
}

std::size_t VirtualRun::next_for(int slot) {
  if (slot == 0 && !m_main.empty()) {
    std::size_t const task = m_main.front();
    m_main.pop_front();
    return task;
  }
  ReadyTask const task = m_policy->pop(slot);
  return task ? static_cast<Cell const*>(task.impl())->stands_for : none;
}

/// Gives the task to a worker. A task with the threads of several workers waits there until so many
/// are free, and no other task begins meanwhile.
void VirtualRun::take_up(std::size_t task, int slot) {
  m_slots[static_cast<std::size_t>(slot)].is_idle = false;
  m_slots_of[task] = {slot};
  m_runs[task].row = slot;
  if (permits(task) == 1) return start(task);
  m_gatherers.push_back(task);
  serve_gatherers();
}

void VirtualRun::serve_gatherers() {
  while (!m_gatherers.empty()) {
    std::size_t const task = m_gatherers.front();
    std::vector<int> free;
    for (int slot = 0; slot < m_workers; ++slot)
      if (m_slots[static_cast<std::size_t>(slot)].is_idle) free.push_back(slot);
    auto const wanted = static_cast<std::size_t>(permits(task) - 1);
    if (free.size() < wanted) return;
    m_gatherers.pop_front();
    for (std::size_t k = 0; k < wanted; ++k) {
      m_slots[static_cast<std::size_t>(free[k])].is_idle = false;
      m_slots_of[task].push_back(free[k]);
    }
    start(task);
  }
}

/// Starts the task on the slots that it has.
void VirtualRun::start(std::size_t task) {
  double const held = m_cost[task] * held_share(task);
  // A task that has fewer workers than it asks for takes longer in proportion.
  double const slower = std::max(1.0, static_cast<double>(record(task).workers) / m_workers);
  m_runs[task].begin = m_now;
  post(m_now + held * slower + m_machine.overhead, Event::body_over, task);
  fire_progress(task);
}

void VirtualRun::fire_progress(std::size_t task) {
  for (Precedence::Arc const& arc : m_order.from(task))
    if (arc.kind == Precedence::Kind::progress) fire(arc);
}

// --- what a policy sees --------------------------------------------------------------------------

/// All tasks are of one scope here, so children of different tasks may take turns that they do not
/// take in a real run.
ReadyTask VirtualRun::shown(std::size_t task) {
  Cell*& cell = m_shown[task];
  if (cell == nullptr) {
    if (m_free_cells.empty()) {
      m_cells.push_back(std::make_unique<Cell>());
      m_free_cells.push_back(m_cells.back().get());
    }
    cell = m_free_cells.back();
    m_free_cells.pop_back();
    cell->id = record(task).id;
    cell->stands_for = task;
    cell->priority = record(task).priority;
    cell->exclusive = m_exclusion.has(task);
    cell->label = Label(record(task).label);
  }
  return ReadyTask(cell);
}

void VirtualRun::give_back(std::size_t task) {
  if (m_shown[task] == nullptr) return;
  m_free_cells.push_back(m_shown[task]);
  m_shown[task] = nullptr;
}

}  // namespace trellis::Impl
