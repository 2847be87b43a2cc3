// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_TASKSPEC_HPP
#define TRELLIS_IMPL_TASKSPEC_HPP

#include <Trellis_Label.hpp>
#include <Trellis_Space.hpp>
#include <Trellis_Tag.hpp>
#include <task/Trellis_AccessRequest.hpp>
#include <base/Trellis_FunctionRef.hpp>
#include <impl/Trellis_TaskHandle.hpp>
#include <task/Trellis_TaskMarks.hpp>
#include <task/Trellis_TaskOps.hpp>

#include <cstddef>
#include <span>
#include <utility>

namespace trellis::Impl {

class NumberClaim;
struct PlanState;

/// The description of a task that the typed fronts hand to the engine.
struct TaskSpec : TaskMarks {
  /// `construct(storage)` moves the body in.
  TaskSpec(Label&& name, TaskOps const& operations, std::size_t size, std::size_t alignment,
           FunctionRef<void(void* storage)> construct_body)
      : label(std::move(name)),
        ops(&operations),
        body_size(size),
        body_alignment(alignment),
        construct(construct_body) {
    is_fusable = operations.fusion != nullptr;
    is_fork_join = operations.fork_join_depth != nullptr;
  }

  Label label;
  TaskOps const* ops;
  std::size_t body_size;
  std::size_t body_alignment;
  FunctionRef<void(void* storage)> construct;
  SpaceAdapter* space = nullptr;   ///< null: host task
  void const* instance = nullptr;  ///< of a device, given by the user; null: any
  std::span<AccessRequest const> accesses;
  std::span<TaskHandle const> after;
  std::span<TagPtr const> tags;
  TaskHandle parent{};  ///< a running task that the new one becomes a child of; null: of none
  int priority = 0;
  NumberClaim* number = nullptr;  ///< gets the handle of the task; null: the task has no number
  PlanState* replays = nullptr;   ///< the body is a ReplayBody of this
  int stream = -1;                ///< of `instance`; the engine sets it
};

}  // namespace trellis::Impl

#endif
