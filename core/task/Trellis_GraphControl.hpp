// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_GRAPHCONTROL_HPP
#define TRELLIS_IMPL_GRAPHCONTROL_HPP

#include <impl/Trellis_TaskHandle.hpp>

#include <atomic>
#include <cstdint>

namespace trellis::Impl {

class Engine;
class Kernel;

/// Where a graph's engine is found. It is never freed but reused for later graphs, so that a future
/// may ask whether its graph still exists: `generation` counts the graphs that have used it.
///
/// INVARIANT (an engine outlives its users). A thread that does not hold the graph itself first
/// adds itself to `users`, then reads `engine`. The thread that closes the graph first sets
/// `engine` to null, then waits until `users` is 0, and then destroys the engine. All four are
/// sequentially consistent: either the user finds null, or the closing thread finds the user. A
/// user that waits for a task does not delay the closing thread longer than the tasks do, which are
/// complete by then. A thread that runs a task of the graph need not count itself: the closing
/// thread waits for that task.
struct GraphControl {
  std::atomic<Engine*> engine{nullptr};  ///< null: no graph, or it is closed
  std::atomic<std::uint64_t> generation{0};
  std::atomic<std::uint64_t> users{0};
};

/// Keeps the engine of a graph from being destroyed; null when the graph is gone.
class EnginePin {
 public:
  explicit EnginePin(TaskHandle const& task) noexcept : m_engine(running_here(task)) {
    if (!task.valid() || m_engine != nullptr) return;
    m_control = task.control;
    m_control->users.fetch_add(1, std::memory_order_seq_cst);
    m_engine = m_control->engine.load(std::memory_order_seq_cst);
    // A later graph has raised the generation before its engine was visible.
    if (m_control->generation.load(std::memory_order_seq_cst) != task.generation)
      m_engine = nullptr;
  }
  EnginePin(EnginePin const&) = delete;
  EnginePin& operator=(EnginePin const&) = delete;
  ~EnginePin() {
    if (m_control != nullptr) m_control->users.fetch_sub(1, std::memory_order_release);
  }
  explicit operator bool() const { return m_engine != nullptr; }
  Engine* operator->() const { return m_engine; }
  /// The engine, as its features see it.
  [[nodiscard]] Kernel& kernel() const;

 private:
  /// The engine of the task's graph, if the calling thread runs one of its tasks.
  [[nodiscard]] static Engine* running_here(TaskHandle const& task) noexcept;

  GraphControl* m_control = nullptr;  ///< where this is counted
  Engine* m_engine;
};

inline EnginePin TaskHandle::pin() const {
  return EnginePin(*this);
}

}  // namespace trellis::Impl

#endif
