// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <Trellis_Label.hpp>
#include <Trellis_SchedulingPolicy.hpp>
#include <Trellis_WhatIf.hpp>
#include <task/Trellis_Task.hpp>
#include <tools/Trellis_Precedence.hpp>
#include <tools/Trellis_VirtualDevices.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace trellis {
namespace {

using Impl::Precedence;
using Impl::VirtualDevices;

/// The pace at which the tasks of a trace were submitted, one after the other, without children of
/// other tasks.
///
/// A record does not say when the submitting thread waited, but it shows where it must have: tasks
/// were in flight when one task was submitted, and none when the next one was.
class SubmissionPace {
 public:
  struct Step {
    std::size_t task = 0;     ///< position among the nodes
    double gap = 0;           ///< since the last submission, or the end of what it waited for
    bool has_waited = false;  ///< the thread waited until all earlier tasks were complete
  };

  explicit SubmissionPace(Graph const& graph) {
    std::vector<TaskRecord> const& nodes = graph.nodes();
    std::unordered_set<TaskId> ids;
    for (TaskRecord const& task : nodes) ids.insert(task.id);
    for (std::size_t p = 0; p < nodes.size(); ++p)
      if (!ids.contains(nodes[p].parent)) m_steps.push_back({p});
    std::stable_sort(m_steps.begin(), m_steps.end(), [&](Step const& a, Step const& b) {
      return nodes[a.task].submitted_ns < nodes[b.task].submitted_ns;
    });
    note_gaps(nodes);
  }

  [[nodiscard]] std::vector<Step> const& steps() const { return m_steps; }

 private:
  void note_gaps(std::vector<TaskRecord> const& nodes) {
    // Tasks on the first row run on the main thread, which submits, or waits for room.
    std::vector<std::pair<std::uint64_t, std::uint64_t>> main;
    for (TaskRecord const& task : nodes)
      if (task.row == 0 && task.finished_ns != 0)
        main.emplace_back(task.started_ns,
                          task.returned_ns != 0 ? task.returned_ns : task.finished_ns);
    std::sort(main.begin(), main.end());
    std::size_t next_main = 0;
    std::uint64_t covered = 0;
    auto const ran_between = [&](std::uint64_t from, std::uint64_t to) {
      std::uint64_t sum = 0;
      covered = std::max(covered, from);
      for (; next_main < main.size() && main[next_main].first < to; ++next_main) {
        auto const [begin, end] = main[next_main];
        std::uint64_t const first = std::max(begin, covered);
        std::uint64_t const last = std::min(end, to);
        if (last > first) sum += last - first;
        covered = std::max(covered, last);
        if (end > to) break;
      }
      return sum;
    };
    std::uint64_t before = m_steps.empty() ? 0 : nodes[m_steps.front().task].submitted_ns;
    std::uint64_t finished = 0;  // the latest end so far
    for (Step& step : m_steps) {
      std::uint64_t const now = nodes[step.task].submitted_ns;
      std::uint64_t const ran = ran_between(before, now);
      step.has_waited = finished > before && finished <= now;
      std::uint64_t const since = step.has_waited ? now - finished : now - before;
      step.gap = static_cast<double>(step.has_waited ? since : since - std::min(since, ran));
      before = now;
      std::uint64_t const end = nodes[step.task].finished_ns;
      finished = end != 0 ? std::max(finished, end) : ~std::uint64_t{0};
    }
  }

  std::vector<Step> m_steps;
};

/// Decides which of a trace's exclusive tasks may run, in virtual time. Tasks of one area exclude
/// each other. Their order is decided anew, as in Exclusion: a task gets all its areas at once,
/// turns go by rank and then by arrival, and no task passes the first one that waits. Other
/// exclusion between tasks is an edge of the record, which stays.
class VirtualExclusion {
 public:
  explicit VirtualExclusion(Graph const& graph) : m_areas_of(graph.nodes().size()) {
    std::map<std::pair<std::uint64_t, std::string>, std::size_t> numbers;
    for (std::size_t p = 0; p < graph.nodes().size(); ++p)
      for (AccessRecord const& access : graph.nodes()[p].accesses)
        if (access.mode == "exclusive" && access.resource_id != 0) {
          auto const key = std::pair(access.resource_id, access.area);
          std::size_t const number = numbers.try_emplace(key, numbers.size()).first->second;
          std::vector<std::size_t>& areas = m_areas_of[p];
          if (std::find(areas.begin(), areas.end(), number) == areas.end()) areas.push_back(number);
        }
    m_holder.assign(numbers.size(), false);
  }

  [[nodiscard]] bool has(std::size_t task) const { return !m_areas_of[task].empty(); }
  /// True if this object keeps the two tasks apart, so that an edge between them is not needed.
  [[nodiscard]] bool share_an_area(std::size_t a, std::size_t b) const {
    return std::any_of(m_areas_of[a].begin(), m_areas_of[a].end(), [&](std::size_t area) {
      return std::find(m_areas_of[b].begin(), m_areas_of[b].end(), area) != m_areas_of[b].end();
    });
  }
  /// False: the task waits, and `release` will return it.
  [[nodiscard]] bool acquire(std::size_t task, std::int64_t rank) {
    Turn const turn{-rank, m_arrivals++, task};
    if (may_run(turn)) {
      hold(task, true);
      return true;
    }
    m_waiting.insert(turn);
    return false;
  }
  /// Returns the tasks that may run now.
  [[nodiscard]] std::vector<std::size_t> release(std::size_t task) {
    hold(task, false);
    std::vector<std::size_t> granted;
    for (auto each = m_waiting.begin(); each != m_waiting.end();) {
      if (!may_run(*each)) {
        ++each;
        continue;
      }
      hold(each->task, true);
      granted.push_back(each->task);
      each = m_waiting.erase(each);
    }
    return granted;
  }

 private:
  struct Turn {
    std::int64_t behind_rank;
    std::uint64_t arrival;
    std::size_t task;
    auto operator<=>(Turn const&) const = default;
  };
  [[nodiscard]] bool may_run(Turn const& turn) const {
    for (std::size_t const area : m_areas_of[turn.task])
      if (m_holder[area]) return false;
    if (m_waiting.empty()) return true;
    Turn const& first = *m_waiting.begin();
    return first.task == turn.task || turn < first || !share_an_area(first.task, turn.task);
  }
  void hold(std::size_t task, bool holds) {
    for (std::size_t const area : m_areas_of[task]) m_holder[area] = holds;
  }

  std::vector<std::vector<std::size_t>> m_areas_of;
  std::vector<bool> m_holder;
  std::set<Turn> m_waiting;
  std::uint64_t m_arrivals = 0;
};

/// One run of a recorded graph in virtual time: a list scheduler that asks a scheduling policy, as
/// the engine does, with a queue of future events.
///
/// A task is ready when its `m_to_begin` is 0, which counts the arcs to its begin that have not
/// fired, and the submission. It is complete when its `m_to_end` is 0, which counts its body and
/// the arcs to its end.
class VirtualRun {
 public:
  VirtualRun(Trace const& trace, Machine const& machine, WhatIf const& what_if)
      : m_graph(trace.graph),
        m_what_if(what_if),
        m_machine(machine),
        m_workers(machine.workers != 0 ? machine.workers : std::max(1, trace.workers)),
        m_order(m_graph),
        m_pace(m_graph),
        m_policy(what_if.policy != nullptr ? what_if.policy : make_work_stealing_policy()),
        m_devices(trace, machine),
        m_exclusion(m_graph) {
    check_machine();
    (void)m_order.in_order();  // throws when there is a circle
    std::size_t const size = m_order.size();
    for (std::size_t p = 0; p < size; ++p)
      m_cost.push_back(what_if.cost != nullptr ? what_if.cost(record(p))
                                               : m_order.times()[p].all());
    m_to_begin.assign(size, 0);
    m_to_end.assign(size, 1);
    m_runs.resize(size);
    m_shown.resize(size);
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
    m_is_idle.assign(static_cast<std::size_t>(m_workers), true);
  }

  [[nodiscard]] Schedule run() {
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

 private:
  struct Event {
    double time;
    std::uint64_t order;  ///< at one time, events go in the order of posting
    /// An arc to the begin or the end of a task fires, or its latency is over; its body is over.
    enum Kind : std::uint8_t { submission, to_begin, to_end, body_end } kind;
    std::size_t what;  ///< a step of the pace, or a task
    auto operator<=>(Event const&) const = default;
  };
  /// What a policy sees of a task, and which one of the graph it stands for.
  struct Cell : Impl::Task {
    std::size_t stands_for = 0;
  };
  static constexpr std::size_t none = ~std::size_t{0};

  [[nodiscard]] TaskRecord const& record(std::size_t task) const { return m_graph.nodes()[task]; }

  void check_machine() const {
    auto const refuse = [](std::string const& what) {
      throw Error(Error::Kind::bad_input, "no machine has " + what);
    };
    if (m_workers < 1) refuse(std::to_string(m_workers) + " workers");
    if (m_machine.devices < 0) refuse(std::to_string(m_machine.devices) + " devices");
    if (m_machine.tasks_per_device < 0)
      refuse("devices that run " + std::to_string(m_machine.tasks_per_device) + " tasks at a time");
    if (!(m_machine.overhead >= 0)) refuse("an overhead below zero");
  }

  void post(double time, Event::Kind kind, std::size_t what) {
    m_events.push({time, m_posted++, kind, what});
  }
  void happen(Event const& event) {
    switch (event.kind) {
      case Event::submission:
        reach_begin(m_pace.steps()[event.what].task);
        if (m_what_if.as_submitted) submit_next(event.what + 1);
        return;
      case Event::to_begin:
        return reach_begin(event.what);
      case Event::to_end:
        return reach_end(event.what);
      case Event::body_end:
        return body_over(event.what);
    }
  }
  /// Submits this step when it is due. The earlier steps have been submitted.
  void submit_next(std::size_t step) {
    if (step == m_pace.steps().size()) return;
    SubmissionPace::Step const& next = m_pace.steps()[step];
    m_next_step = step;
    if (next.has_waited && m_roots_complete < step) {
      m_submitter_waits = true;
      return;
    }
    post(m_now + (step == 0 ? 0 : next.gap), Event::submission, step);
  }

  // --- from arcs to ready, and from over to complete ---------------------------------------------

  void reach_begin(std::size_t task) {
    if (--m_to_begin[task] == 0) make_ready(task);
  }
  void reach_end(std::size_t task) {
    if (--m_to_end[task] == 0) complete(task);
  }

  /// True if the two tasks take their turns anew, whichever came first in the record.
  [[nodiscard]] bool is_by_turns(Precedence::Arc const& arc) const {
    return arc.kind == Precedence::Kind::order && arc.edge->reason == EdgeReason::exclusion &&
           m_exclusion.share_an_area(arc.from, arc.to);
  }
  void fire(Precedence::Arc const& arc) {
    if (is_by_turns(arc)) return;
    double const delay = Precedence::weight(arc, m_cost, m_what_if.edge_cost);
    bool const to_end = arc.kind == Precedence::Kind::remainder;
    if (delay > 0)
      post(m_now + delay, to_end ? Event::to_end : Event::to_begin, arc.to);
    else if (to_end)
      reach_end(arc.to);
    else
      reach_begin(arc.to);
  }

  void complete(std::size_t task) {
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

  /// Returns the share of a task's cost in which it holds a worker. In the rest it waits for a
  /// Completion.
  [[nodiscard]] double held_share(std::size_t task) const {
    Impl::TaskTimes const& times = m_order.times()[task];
    return times.all() > 0 ? times.own / times.all() : 1;
  }

  /// Frees the task's place. A worker may go on with a task that this has made ready, as the policy
  /// decides.
  void body_over(std::size_t task) {
    int const row = m_runs[task].row;
    m_runs[task].body_end = m_now;
    m_shown[task].reset();
    if (m_devices.has(task)) {
      m_devices.give_back(task, m_device_of[task]);
      return reach_end(task);
    }
    for (int const slot : m_slots_of[task]) m_is_idle[static_cast<std::size_t>(slot)] = true;
    m_slots_of[task].clear();
    double const latency = m_cost[task] * (1 - held_share(task));
    if (latency > 0) return post(m_now + latency, Event::to_end, task);
    m_in_completion = true;
    reach_end(task);
    m_in_completion = false;
    std::vector<ReadyTask> ready;
    for (std::size_t const each : m_finished) ready.push_back(shown(each));
    m_finished.clear();
    if (ready.empty()) return;
    ReadyTask const next = m_policy->finished(ready, row);
    if (!next) return;
    if (m_gatherer == none)
      take_up(stands_for(next), row);
    else
      m_policy->push(next, row);
  }

  void make_ready(std::size_t task) {
    if (m_exclusion.has(task) && !m_exclusion.acquire(task, m_policy->exclusive_rank(shown(task))))
      return;
    bool const to_policy = !m_devices.has(task) && !record(task).main_thread;
    if (m_in_completion && to_policy)
      m_finished.push_back(task);
    else
      push(task);
  }

  void push(std::size_t task) {
    if (m_devices.has(task)) {
      std::size_t device = VirtualDevices::none;
      double latest = -1;
      for (TaskId const before : m_graph.predecessors(record(task).id)) {
        std::size_t const p = m_order.position(before);
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

  // --- places ------------------------------------------------------------------------------------

  void start_on_devices() {
    for (;;) {
      auto const [task, device] = m_devices.take();
      if (task == VirtualDevices::none) return;
      m_device_of[task] = device;
      m_runs[task].row = m_workers + m_devices.row_of(task, device);
      begin(task, m_cost[task]);
    }
  }

  void dispatch() {
    serve_gatherer();
    for (bool any = true; any;) {
      any = false;
      for (int slot = 0; slot < m_workers; ++slot) {
        if (!m_is_idle[static_cast<std::size_t>(slot)] || m_gatherer != none) continue;
        std::size_t const task = next_for(slot);
        if (task == none) continue;
        take_up(task, slot);
        any = true;
      }
    }
  }
  std::size_t next_for(int slot) {
    if (slot == 0 && !m_main.empty()) {
      std::size_t const task = m_main.front();
      m_main.pop_front();
      return task;
    }
    ReadyTask const task = m_policy->pop(slot);
    return task ? stands_for(task) : none;
  }

  /// Gives the task to a worker. A task with the threads of several workers waits there until so
  /// many are free, and no other task begins meanwhile.
  void take_up(std::size_t task, int slot) {
    m_is_idle[static_cast<std::size_t>(slot)] = false;
    m_slots_of[task] = {slot};
    m_runs[task].row = slot;
    m_gatherer = task;
    serve_gatherer();
  }
  void serve_gatherer() {
    if (m_gatherer == none) return;
    std::vector<int> free;
    for (int slot = 0; slot < m_workers; ++slot)
      if (m_is_idle[static_cast<std::size_t>(slot)]) free.push_back(slot);
    int const asked = record(m_gatherer).workers;
    auto const wanted = static_cast<std::size_t>(std::clamp(asked, 1, m_workers) - 1);
    if (free.size() < wanted) return;
    std::size_t const task = std::exchange(m_gatherer, none);
    for (std::size_t k = 0; k < wanted; ++k) {
      m_is_idle[static_cast<std::size_t>(free[k])] = false;
      m_slots_of[task].push_back(free[k]);
    }
    // A task that has fewer workers than it asks for takes longer in proportion.
    double const slower = std::max(1.0, static_cast<double>(asked) / m_workers);
    begin(task, m_cost[task] * held_share(task) * slower + m_machine.overhead);
  }

  /// Begins the task on the place that it has.
  void begin(std::size_t task, double held) {
    m_runs[task].begin = m_now;
    post(m_now + held, Event::body_end, task);
    for (Precedence::Arc const& arc : m_order.from(task))
      if (arc.kind == Precedence::Kind::progress) fire(arc);
  }

  // --- what a policy sees ------------------------------------------------------------------------

  /// All tasks are of one scope here, so children of different tasks may take turns that they do
  /// not take in a real run.
  ReadyTask shown(std::size_t task) {
    std::unique_ptr<Cell>& cell = m_shown[task];
    if (cell == nullptr) {
      cell = std::make_unique<Cell>();
      cell->id = record(task).id;
      cell->stands_for = task;
      cell->priority = record(task).priority;
      cell->exclusive = m_exclusion.has(task);
      cell->label = Label(record(task).label);
    }
    return ReadyTask(cell.get());
  }
  static std::size_t stands_for(ReadyTask task) {
    return static_cast<Cell const*>(task.impl())->stands_for;
  }

  Graph const& m_graph;
  WhatIf const& m_what_if;
  Machine const m_machine;
  int const m_workers;
  Precedence const m_order;
  SubmissionPace const m_pace;
  std::shared_ptr<SchedulingPolicy> const m_policy;
  std::vector<double> m_cost;
  VirtualDevices m_devices;
  VirtualExclusion m_exclusion;

  double m_now = 0;
  std::uint64_t m_posted = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> m_events;
  std::vector<std::uint32_t> m_to_begin;
  std::vector<std::uint32_t> m_to_end;
  std::vector<Schedule::Run> m_runs;
  std::size_t m_complete = 0;

  // The state of the thread that submits.
  std::size_t m_next_step = 0;
  std::size_t m_roots_complete = 0;
  bool m_submitter_waits = false;
  std::vector<bool> m_is_root;

  std::vector<bool> m_is_idle;          ///< by worker
  std::deque<std::size_t> m_main;       ///< ready, bound to the main thread: slot 0
  std::size_t m_gatherer = none;        ///< has a worker, and waits for the others that it needs
  std::vector<std::size_t> m_finished;  ///< tasks made ready by the current completion
  bool m_in_completion = false;
  std::vector<std::vector<int>> m_slots_of;    ///< of tasks that workers run
  std::vector<std::size_t> m_device_of;        ///< of tasks that have begun on one
  std::vector<std::unique_ptr<Cell>> m_shown;  ///< from when a task is ready until its body is over
};

}  // namespace

Schedule simulate(Trace const& trace, Machine const& machine, WhatIf const& what_if) {
  return VirtualRun(trace, machine, what_if).run();
}

}  // namespace trellis
