// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_TASKHANDLE_HPP
#define TRELLIS_IMPL_TASKHANDLE_HPP

#include <Trellis_TaskId.hpp>

#include <cstdint>

namespace trellis::Impl {

struct GraphControl;
class EnginePin;
struct Task;

/// A plain value that names a task of a graph. It is valid for ever; once the task is complete it
/// says so.
struct TaskHandle {
  GraphControl* control = nullptr;
  std::uint64_t generation = 0;
  Task* task = nullptr;
  TaskId id = 0;

  /// Ids of submitted tasks are below this; those of recorded and collected ones, see PlanNode and
  /// Iteration, are not.
  static constexpr TaskId end_of_submitted = TaskId{1} << 62;

  [[nodiscard]] bool valid() const { return control != nullptr; }
  /// Returns the engine. Null when the graph is gone; then the task is complete.
  [[nodiscard]] EnginePin pin() const;
  [[nodiscard]] bool is_done() const;
  void wait() const;  ///< returns when complete, also when failed
  void wait_and_rethrow() const;
};

}  // namespace trellis::Impl

#endif
