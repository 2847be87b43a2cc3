// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_VIRTUALRUN_HPP
#define TRELLIS_IMPL_VIRTUALRUN_HPP

#include <Trellis_SchedulingPolicy.hpp>
#include <Trellis_WhatIf.hpp>
#include <task/Trellis_Task.hpp>
#include <tools/Trellis_Precedence.hpp>
#include <tools/Trellis_SubmissionPace.hpp>
#include <tools/Trellis_VirtualDevices.hpp>
#include <tools/Trellis_VirtualExclusion.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <utility>
#include <vector>

namespace trellis::Impl {

/// One run of a recorded graph in virtual time: a list scheduler that asks a scheduling policy, as
/// the engine does, with a queue of future events.
///
/// A task is ready when its `m_to_begin` is 0, which counts the arcs to its begin that have not
/// fired, and the submission. It is complete when its `m_to_end` is 0, which counts its body and
/// the arcs to its end.
class VirtualRun {
 public:
  VirtualRun(Trace const& trace, Machine const& machine, WhatIf const& what_if);
  ~VirtualRun();
  [[nodiscard]] Schedule run();

 private:
  struct Event {
    double time;
    std::uint64_t order;  ///< at one time, events go in the order of posting
    enum Kind : std::uint8_t { submission, arc_to_begin, arc_to_end, body_over, latency_over } kind;
    std::size_t what;  ///< a step of the pace, or a task
    bool operator>(Event const& other) const {
      return std::pair(time, order) > std::pair(other.time, other.order);
    }
  };
  struct WorkerSlot {
    bool is_idle = true;
  };
  static constexpr std::size_t none = ~std::size_t{0};

  void check_machine() const;
  void post(double time, Event::Kind kind, std::size_t what);
  void happen(Event const& event);
  void submit(std::size_t step);
  void submit_next(std::size_t step);
  void reach_begin(std::size_t task);
  void reach_end(std::size_t task);
  [[nodiscard]] bool is_by_turns(Precedence::Arc const& arc) const;
  void fire(Precedence::Arc const& arc);
  void complete(std::size_t task);
  void body_over(std::size_t task);

  void make_ready(std::size_t task, bool by_completion);
  void push(std::size_t task);
  void start_on_devices();
  void dispatch();
  [[nodiscard]] std::size_t next_for(int slot);
  void take_up(std::size_t task, int slot);
  void serve_gatherers();
  void start(std::size_t task);
  void fire_progress(std::size_t task);

  [[nodiscard]] TaskRecord const& record(std::size_t task) const { return m_graph.nodes()[task]; }
  [[nodiscard]] int permits(std::size_t task) const {
    return std::min(std::max(1, record(task).workers), m_workers);
  }
  /// Returns the share of a task's cost in which it holds a worker. In the rest it waits for a
  /// Completion.
  [[nodiscard]] double held_share(std::size_t task) const {
    TaskTimes const& times = m_order.times()[task];
    return times.all() > 0 ? times.own / times.all() : 1;
  }
  // The cell that a policy sees of a task is made when it is ready, and given back when it has run.
  [[nodiscard]] ReadyTask shown(std::size_t task);
  void give_back(std::size_t task);

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

  std::vector<WorkerSlot> m_slots;
  std::deque<std::size_t> m_main;       ///< ready, bound to the main thread: slot 0
  std::deque<std::size_t> m_gatherers;  ///< wide tasks that wait for workers, each on its slot
  std::vector<std::size_t> m_finished;  ///< tasks made ready by the current completion
  bool m_in_completion = false;
  std::vector<std::vector<int>> m_slots_of;  ///< of running tasks; on a device its number
  std::vector<std::size_t> m_device_of;      ///< of tasks that have begun on one
  struct Cell;                               // a task, and which one of the graph it stands for
  std::vector<std::unique_ptr<Cell>> m_cells;
  std::vector<Cell*> m_free_cells;
  std::vector<Cell*> m_shown;  ///< by task, or null
};

}  // namespace trellis::Impl

#endif
