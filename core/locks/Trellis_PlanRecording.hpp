// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_PLANRECORDING_HPP
#define TRELLIS_IMPL_PLANRECORDING_HPP

#include <base/Trellis_OneForAll.hpp>

#include <memory>
#include <utility>

namespace trellis::Impl {

class Kernel;
class Iteration;
class IterationMemory;
struct PlanState;

/// Exists while the tasks that a thread submits to a graph are recorded, or collected by an
/// iteration of `iterate`.
struct PlanRecording {
  explicit PlanRecording(Kernel& in_kernel, Iteration* of_iteration = nullptr,
                         IterationMemory* of_loop = nullptr);
  PlanRecording(PlanRecording const&) = delete;
  PlanRecording& operator=(PlanRecording const&) = delete;
  ~PlanRecording();

  /// Returns the innermost recording of this graph on the calling thread, or null.
  [[nodiscard]] static PlanRecording* of(Kernel const& kernel) {
    return top == nullptr ? nullptr : find(kernel);
  }

  Kernel& kernel;
  Iteration* const iteration;     ///< or null
  IterationMemory* const memory;  ///< of the iteration
  std::shared_ptr<PlanState> plan;
  PlanRecording* const outer;  ///< of another graph, on the same thread
  /// The innermost recording on this thread, or null.
  TRELLIS_IMPL_ONE_FOR_ALL static constinit inline thread_local PlanRecording* top = nullptr;

 private:
  [[nodiscard]] static PlanRecording* find(Kernel const& kernel);
};

/// While this object exists, the tasks that the calling thread submits do not belong to what it
/// records.
class NotRecording {
 public:
  NotRecording() : m_recording(std::exchange(PlanRecording::top, nullptr)) {}
  NotRecording(NotRecording const&) = delete;
  NotRecording& operator=(NotRecording const&) = delete;
  ~NotRecording() { PlanRecording::top = m_recording; }

 private:
  PlanRecording* const m_recording;
};

}  // namespace trellis::Impl

#endif
