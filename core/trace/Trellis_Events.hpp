// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_EVENTS_HPP
#define TRELLIS_IMPL_EVENTS_HPP

#include <Trellis_Graph.hpp>
#include <Trellis_SchedulingPolicy.hpp>
#include <Trellis_TaskGraphOptions.hpp>
#include <task/Trellis_Task.hpp>
#include <trace/Trellis_Recorder.hpp>
#include <trace/Trellis_TaskCounters.hpp>

#include <chrono>
#include <memory>
#include <span>

namespace trellis::Impl {

/// Passes the events of a graph's tasks to its recorder, its statistics, its observer, and a
/// policy that wants to know how long the tasks take.
class Events {
 public:
  explicit Events(TaskGraphOptions const& options)
      : m_options(options),
        m_recorder(*options.record ? std::make_unique<Recorder>() : nullptr),
        m_statistics(options.statistics ? &*options.statistics : nullptr, options.name),
        m_timed(options.policy->wants_times() ? options.policy.get() : nullptr),
        m_watched(*options.record || options.observer != nullptr || m_statistics.are_on()),
        m_tells(m_watched || m_timed != nullptr) {}

  /// True if the events are recorded, observed or counted.
  [[nodiscard]] bool is_watched() const { return m_watched; }
  /// Null: the graph does not record.
  [[nodiscard]] Recorder* recorder() const { return m_recorder.get(); }
  /// Throws when the graph does not record.
  [[nodiscard]] Recorder const& require_recorder() const;

  [[nodiscard]] TaskCounters& statistics() { return m_statistics; }

  /// `row`: the slot or the stream that runs it, -1: none.
  void changed(Task const& task, TaskState state, int row = -1) {
    if (m_tells) tell(task, state, row);
  }
  /// Notes that these tasks run as one.
  void batch(std::span<Task* const> tasks) {
    if (m_recorder != nullptr) tell_batch(tasks);
  }
  /// True if times are wanted, also those of devices.
  [[nodiscard]] bool are_timed() const { return m_recorder != nullptr || m_timed != nullptr; }
  [[nodiscard]] std::chrono::steady_clock::time_point start() const {
    return m_recorder != nullptr ? m_recorder->start() : m_start;
  }
  /// Notes the times of a task that is about to be over; see Recorder.
  void ran_on_device(Task& task, std::uint64_t started_ns, std::uint64_t finished_ns);

 private:
  void tell(Task const& task, TaskState state, int row);
  void tell_batch(std::span<Task* const> tasks);
  void take_time(Task const& task, TaskState state);
  [[nodiscard]] std::uint64_t since_start() const;

  TaskGraphOptions const& m_options;
  std::unique_ptr<Recorder> const m_recorder;
  TaskCounters m_statistics;
  SchedulingPolicy* const m_timed;  ///< null: it wants no times
  bool const m_watched;
  bool const m_tells;
  std::chrono::steady_clock::time_point const m_start = std::chrono::steady_clock::now();
};

}  // namespace trellis::Impl

#endif
