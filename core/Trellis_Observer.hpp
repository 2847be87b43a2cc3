// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_OBSERVER_HPP
#define TRELLIS_OBSERVER_HPP

#include <Trellis_Graph.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

/// With this header you follow what the tasks of a graph do while they do it.
namespace trellis {

/// A change of a task's state, as it happens.
struct TaskEvent {
  TaskId id = 0;
  TaskId parent = 0;       ///< the task that this one is a child of, or 0
  std::string_view label;  ///< valid during the call
  TaskState state = TaskState::pending;
  int row = -1;               ///< as in TaskRecord::row
  std::uint64_t time_ns = 0;  ///< since the graph was made
};

/// Called at every change of state, on the thread where it happens. For each task the calls come in
/// the order pending, ready, running, done. Calls for different tasks may come from several threads
/// at once. It must not throw and must not wait for tasks.
using TaskObserver = std::function<void(TaskEvent const&)>;

/// Returns an observer that writes one line with a time stamp per change of state to `destination`:
/// "stderr", "stdout" or the path of a file (overwritten). Throws `Error` when the file cannot be
/// opened, or when Trellis was built without spdlog.
[[nodiscard]] TaskObserver make_state_log(std::string const& destination,
                                          std::string const& graph_name = "");

}  // namespace trellis

#endif
