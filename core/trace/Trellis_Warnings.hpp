// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_WARNINGS_HPP
#define TRELLIS_IMPL_WARNINGS_HPP

#include <memory>
#include <source_location>

namespace trellis::Impl {

struct PlanState;
struct TaskSpec;

/// Finds what looks wrong in the program, for a graph that is asked to warn; other graphs have
/// none. It sees each task before it is submitted, recorded or collected, and each wait.
///
/// It keeps Views, see `AnnotationWarnings`, which is in Trellis::tools.
class Warnings {
 public:
  Warnings() = default;
  Warnings(Warnings const&) = delete;
  Warnings& operator=(Warnings const&) = delete;
  virtual ~Warnings() = default;

  /// The submission of a task: from before it until it has its place.
  class Call {
   public:
    Call() = default;
    Call(Call const&) = delete;
    Call& operator=(Call const&) = delete;
    virtual ~Call() = default;
  };
  /// `recording`: null, or the plan that the task is recorded in. `in_body`: the calling thread
  /// runs a task. The call uses `spec`, which outlives it.
  [[nodiscard]] virtual std::unique_ptr<Call> begin_call(TaskSpec& spec, PlanState const* recording,
                                                         bool in_body) = 0;
  /// Notes that the host knows that some task is complete. It may read what that has left, and
  /// write.
  virtual void host_looks() = 0;
  /// Does the same for all tasks: `graph.wait()` has returned.
  virtual void waited(std::source_location const& site) = 0;
  /// Releases all Views, and forgets what it knows of them, before references are counted.
  virtual void drop_views() = 0;
  /// Called when the recording of this plan begins, or is over.
  virtual void forget(PlanState const& recording) = 0;
  /// Called when the graph ends; all its tasks are complete.
  virtual void end() = 0;
};

}  // namespace trellis::Impl

#endif
