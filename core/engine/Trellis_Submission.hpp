// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_SUBMISSION_HPP
#define TRELLIS_IMPL_SUBMISSION_HPP

#include <Trellis_Label.hpp>
#include <Trellis_Space.hpp>
#include <access/Trellis_AccessTable.hpp>
#include <task/Trellis_FunctionRef.hpp>
#include <task/Trellis_Task.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace trellis::Impl {

class Engine;
struct PlanState;

/// Where a graph's engine is to be found. Never freed but reused for later graphs, so that a future
/// may ask whether its graph is still there: `generation` counts the graphs that have used it.
///
/// INVARIANT (an engine outlives whoever uses it). A thread that has not the graph itself in hand
/// first adds itself to `users`, then reads `engine`; who closes the graph first sets `engine` to
/// null, then waits until `users` is 0, and then destroys the engine. All four are sequentially
/// consistent: either the user finds null, or the closing thread finds the user. A user that waits
/// for a task does not keep the closing thread for longer than the tasks do, which are complete by
/// then.
struct GraphControl {
  std::atomic<Engine*> engine{nullptr};  ///< null: no graph, or it is closed
  std::atomic<std::uint64_t> generation{0};
  std::atomic<std::uint64_t> users{0};
};

/// Keeps the engine of a graph from being destroyed; null when the graph is gone.
class EnginePin {
 public:
  EnginePin(GraphControl* control, std::uint64_t generation) noexcept : m_control(control) {
    if (control == nullptr) return;
    control->users.fetch_add(1, std::memory_order_seq_cst);
    m_engine = control->engine.load(std::memory_order_seq_cst);
    // A later graph has counted itself before its engine was to be seen.
    if (control->generation.load(std::memory_order_seq_cst) != generation) m_engine = nullptr;
  }
  EnginePin(EnginePin const&) = delete;
  EnginePin& operator=(EnginePin const&) = delete;
  ~EnginePin() {
    if (m_control != nullptr) m_control->users.fetch_sub(1, std::memory_order_release);
  }
  explicit operator bool() const { return m_engine != nullptr; }
  Engine* operator->() const { return m_engine; }

 private:
  GraphControl* m_control;
  Engine* m_engine = nullptr;
};

/// A task of a graph, from outside: a plain value. Valid for ever; once the task is complete it
/// says so.
struct TaskHandle {
  GraphControl* control = nullptr;
  std::uint64_t generation = 0;
  Task* task = nullptr;
  TaskId id = 0;

  [[nodiscard]] bool valid() const { return control != nullptr; }
  /// The engine; null when the graph is gone, and with it every doubt that the task is complete.
  [[nodiscard]] EnginePin pin() const { return {control, generation}; }
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
  TaskHandle
      /// a running task that the new one becomes a part of; null: it belongs to the graph
      parent{};
  int priority = 0;
  bool main_thread = false;
  bool synchronizing = false;
  PlanState* replays = nullptr;  ///< the body is a ReplayBody of this
  int stream = -1;               ///< of `instance`; the engine's
};

}  // namespace trellis::Impl

#endif
