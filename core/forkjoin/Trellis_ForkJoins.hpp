// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_FORKJOINS_HPP
#define TRELLIS_IMPL_FORKJOINS_HPP

#include <base/Trellis_FunctionRef.hpp>
#include <impl/Trellis_TaskHandle.hpp>

#include <memory>

namespace trellis::Impl {

class Cancellation;
struct Frame;
class FusionPool;
class Kernel;
class Children;

/// Runs fork-joins: tasks whose bodies fork children and join them, as the graph's advice decides.
///
/// A fork-join is a task like any other that is split. While its body submits children, they are
/// held: each has one extra edge, like the children of a refined pending task. When the body
/// returns, or waits for its children, a phase is over. Then the advice decides how to run the held
/// children, and the extra edge is taken off them, from all at once or from one after the other.
///
/// INVARIANT (no child stays held). Only the body's thread submits children. It also ends each
/// phase: by `self.wait()`, before any other wait, and at the end, also when the body throws. A
/// held child is pending, so its cell is not reused before. (The thread that has added the extra
/// edge takes it off; the decrement orders it as every other one does, see Task.)
///
/// WHICH THREADS RUN THE CHILDREN. The thread that runs the body waits as a task does: it runs only
/// children of its own fork-join, see Waiting::run_needed. When none is left for it, it gives its
/// place to another thread, which runs whatever the fork-join waits for. A thread outside of tasks
/// that has called `fork_join` does the same, see Waiting::wait_for_fork_join. If the fork-join can
/// start at once, this thread also runs the body.
///
/// WHEN IT MAY BEGIN. The body refers to data of its caller. So it must not begin if the caller may
/// not wait for it, an error that `fork_join` throws. Therefore a fork-join starts with one extra
/// edge, its gate. The caller takes it off when nothing can keep it from waiting; see ForkJoinGate.
///
/// Children that run one after the other on this thread hold each other up without an edge. So
/// before the thread waits, or starts a child that it cannot run itself, it starts all that are
/// left.
class ForkJoins {
 public:
  ForkJoins(Kernel& kernel, Cancellation& cancellation, FusionPool& fusion, Children& children);
  ForkJoins(ForkJoins const&) = delete;
  ForkJoins& operator=(ForkJoins const&) = delete;

  struct Open;
  struct Collect {
    void operator()(Open* fork_join) const;
  };
  /// Returns in how many fork-joins the calling thread is, by the tasks whose bodies it runs.
  [[nodiscard]] static int depth_here();
  /// Called by the body of the fork-join's task `self`. The body belongs to `running`: that task,
  /// or what is left of it.
  void run(TaskHandle const& self, TaskHandle const& running, int depth, FunctionRef<void()> body);
  /// True if the calling thread is in the body of a fork-join.
  [[nodiscard]] static bool any_here() { return t_innermost != nullptr; }
  /// Exists while the body of a fork-join waits. Meanwhile children that it has submitted are not
  /// held. (The search for circles of waits assumes that the body holds up held children.)
  using HeldStarted = std::unique_ptr<Open, Collect>;
  /// Called when the body of this frame waits. Null: it is not the body of a fork-join.
  [[nodiscard]] HeldStarted end_phase(Frame& frame);
  /// Waits for the fork-join in the thread that has called `fork_join`. Throws what the future
  /// would throw.
  void join(TaskHandle const& fork_join);

  /// Called when the thread is going to sleep, or to wait for what is no child of its fork-join.
  /// The fork-joins that it runs child after child go on without it.
  static void start_rests();

 private:
  static constinit inline thread_local Open* t_innermost = nullptr;

  Kernel& m_kernel;
  Cancellation& m_cancellation;
  FusionPool& m_fusion;
  Children& m_children;
};

}  // namespace trellis::Impl

#endif
