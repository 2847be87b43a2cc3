// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_SUBMISSION_HPP
#define TRELLIS_IMPL_SUBMISSION_HPP

#include <Trellis_Label.hpp>
#include <Trellis_Space.hpp>
#include <impl/Trellis_AccessTable.hpp>
#include <impl/Trellis_FunctionRef.hpp>
#include <impl/Trellis_Task.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace trellis::Impl {

class Engine;
struct PlanState;

/// Where a graph's engine is to be found. Never freed but reused for later graphs, so that a future may ask
/// whether its graph is still there: `generation` counts the graphs that have used it.
struct GraphControl {
  std::atomic<Engine*> engine{nullptr};  ///< null: no graph, or it is closed
  std::atomic<std::uint64_t> generation{0};
};

/// A task of a graph, from outside: a plain value. Valid for ever; once the task is complete it says so.
struct TaskHandle {
  GraphControl* control = nullptr;
  std::uint64_t generation = 0;
  Task* task = nullptr;
  TaskId id = 0;

  [[nodiscard]] bool valid() const { return control != nullptr; }
  /// The engine, or null when the graph is gone, and with it every doubt that the task is complete.
  [[nodiscard]] Engine* engine() const {
    if (control == nullptr || control->generation.load(std::memory_order_acquire) != generation)
      return nullptr;
    return control->engine.load(std::memory_order_acquire);
  }
  [[nodiscard]] bool is_done() const;
  void wait() const;  ///< returns when complete, also when failed
  void wait_and_rethrow() const;
};

/// What the typed fronts hand to the engine.
struct TaskSpec {
  /// `construct(storage)` moves the body in.
  TaskSpec(Label&& name, TaskOps const& operations, std::size_t size, std::size_t alignment,
           FunctionRef<void(void* storage)> construct_body)
      : label(std::move(name)),
        ops(&operations),
        body_size(size),
        body_alignment(alignment),
        construct(construct_body) {}

  Label label;
  TaskOps const* ops;
  std::size_t body_size;
  std::size_t body_alignment;
  FunctionRef<void(void* storage)> construct;
  SpaceAdapter* space = nullptr;   ///< null: host task
  void const* instance = nullptr;  ///< of an asynchronous space, given by the user; null: any
  std::span<AccessRequest const> accesses;
  std::span<TaskHandle const> after;
  std::span<TagPtr const> tags;
  TaskHandle parent{};  ///< a running task that the new one becomes a part of; null: it belongs to the graph
  int priority = 0;
  bool main_thread = false;
  bool synchronizing = false;
  PlanState* replays = nullptr;  ///< the body is a ReplayBody of this
  int stream = -1;               ///< of `instance`; the engine's
};

}  // namespace trellis::Impl

#endif
