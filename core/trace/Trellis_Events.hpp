// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_EVENTS_HPP
#define TRELLIS_IMPL_EVENTS_HPP

#include <Trellis_Graph.hpp>
#include <Trellis_TaskGraph.hpp>
#include <task/Trellis_Task.hpp>
#include <trace/Trellis_Recorder.hpp>

#include <chrono>
#include <memory>

namespace trellis::Impl {

/// What happens to the tasks of a graph, for its recorder and its observer.
class Events {
 public:
  explicit Events(TaskGraphOptions const& options)
      : m_options(options),
        m_recorder(*options.record ? std::make_unique<Recorder>() : nullptr),
        m_watched(*options.record || options.observer != nullptr) {}

  /// Somebody looks.
  [[nodiscard]] bool is_watched() const { return m_watched; }
  /// Null: the graph does not record.
  [[nodiscard]] Recorder* recorder() const { return m_recorder.get(); }
  /// Throws when the graph does not record.
  [[nodiscard]] Recorder const& require_recorder() const;

  /// `row`: the seat or the stream that runs it, -1: none.
  void changed(Task const& task, TaskState state, int row = -1) {
    if (m_watched) tell(task, state, row);
  }

 private:
  void tell(Task const& task, TaskState state, int row);

  TaskGraphOptions const& m_options;
  std::unique_ptr<Recorder> const m_recorder;
  bool const m_watched;
  std::chrono::steady_clock::time_point const m_start = std::chrono::steady_clock::now();
};

}  // namespace trellis::Impl

#endif
