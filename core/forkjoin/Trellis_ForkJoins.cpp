// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cancellation/Trellis_Cancellation.hpp>
#include <children/Trellis_Children.hpp>
#include <forkjoin/Trellis_ForkJoins.hpp>
#include <kernel/Trellis_ForkJoinGate.hpp>
#include <fusion/Trellis_FusionPool.hpp>
#include <kernel/Trellis_Frame.hpp>
#include <locks/Trellis_PlanRecording.hpp>
#include <recorded/Trellis_PlanState.hpp>
#include <base/Trellis_Reserve.hpp>

#include <exception>
#include <memory>

/// Runs fork-joins, from the beginning of their bodies to the end of their children.
namespace trellis::Impl {

ForkJoins::ForkJoins(Kernel& kernel, Cancellation& cancellation, FusionPool& fusion,
                     Children& children)
    : m_kernel(kernel), m_cancellation(cancellation), m_fusion(fusion), m_children(children) {}

/// A fork-join whose body is under way on this thread. It tells the advice of the beginning, and on
/// every exit of the end. Tasks that are held back for it are released then.
struct ForkJoins::Open {
  Open(ForkJoins& of, TaskHandle const& its_task, int its_depth) noexcept
      : fork_joins(of), self(its_task), depth(its_depth) {
    advice->fork_join_starts(depth);
    fork_joins.m_fusion.fork_join_starts();
    kernel.events().statistics().fork_join(1);
  }
  Open(Open const&) = delete;
  Open& operator=(Open const&) = delete;
  ~Open() {
    std::size_t const may_stay =
        policy == ForkJoinPolicy::parallel ? advice->hold_back(TaskKind()) : FuseInstruction::never;
    advice->fork_join_ends(depth);
    kernel.events().statistics().fork_join(-1);
    fork_joins.m_fusion.fork_join_over(may_stay, frame.slot);
    t_innermost = outer;
  }
  /// Returns the fork-join of this frame, if it collects children; else null.
  static Open* of(Frame const& frame) {
    Open* const top = t_innermost;
    return top != nullptr && &top->frame == &frame && top->collects ? top : nullptr;
  }

  void collect() {
    fork_joins.m_children.hold_children(self);
    collects = true;
  }
  void end_phase();
  void start_rest();

  ForkJoins& fork_joins;
  Kernel& kernel = fork_joins.m_kernel;
  TaskHandle const& self;
  int const depth;
  Frame& frame = *Frame::of(kernel);
  std::shared_ptr<Orchestration> const advice = fork_joins.m_fusion.advice();
  Open* const outer = std::exchange(t_innermost, this);
  bool collects = false;
  ForkJoinPolicy policy = ForkJoinPolicy::parallel;  ///< that of the last phase
  Vector<LiveAccess> children{};                     ///< of that phase, in their order
  std::size_t next = 0;                              ///< those before it have been started

 private:
  void ask() noexcept;
  void run_serially();
};

void ForkJoins::Collect::operator()(Open* fork_join) const {
  fork_join->collect();
}

/// Asks the advice, without any lock, and starts the held children, or runs them here.
void ForkJoins::Open::end_phase() {
  collects = false;
  children = fork_joins.m_children.take_held(*self.task);
  next = 0;
  if (children.empty()) return;
  kernel.events().statistics().fork_join(0);
  ask();
  if (policy == ForkJoinPolicy::serial && !kernel.is_serial()) run_serially();
  start_rest();
}

/// Asks how the children run. They may share a kind.
void ForkJoins::Open::ask() noexcept {
  TaskKind kind = FusionPool::kind_of(*children.front().task);
  for (LiveAccess const child : children)
    if (FusionPool::kind_of(*child.task) != kind || !kind) kind = {};
  policy = advice->fork_join(depth, children.size(), kind);
}

/// Runs the children here, one after the other, up to one that cannot run here and now. Those
/// behind it might be what it waits for. They are also started when a child that runs here waits,
/// see `start_rests`.
void ForkJoins::Open::run_serially() {
  WorkerSlot& slot = frame.slot;
  Workers::Narrowed const narrowed(kernel.workers(), slot);
  while (next < children.size()) {
    Task& task = *children[next++].task;
    if (!task.count_down()) return;
    bool const here = slot.number >= 0 && !task.exclusive && !task.runs_on_device() &&
                      (!task.marks.main_thread || slot.is_main) &&
                      (task.space == nullptr || task.space->is_plain());
    if (!here) return kernel.make_ready(task, &slot);
    task.state.store(TaskState::ready, std::memory_order_relaxed);
    kernel.events().changed(task, TaskState::ready);
    if (Task* const released = kernel.run_deferring(task, slot)) kernel.push(*released, &slot);
  }
}

void ForkJoins::Open::start_rest() {
  while (next < children.size()) {
    Task& child = *children[next++].task;
    if (child.count_down()) kernel.make_ready(child, &frame.slot);
  }
}

/// Looks at frames of all graphs, as a fork-join may wait for one of another graph.
int ForkJoins::depth_here() {
  for (Frame const* frame = Frame::top; frame != nullptr; frame = frame->outer) {
    if (frame->what == Frame::What::destroys) continue;  // its task may be over
    for (Task const* task = &frame->task; task != nullptr; task = enclosing(*task))
      if (task->ops->fork_join_depth != nullptr) return task->ops->fork_join_depth(task->body) + 1;
  }
  return 0;
}

void ForkJoins::run(TaskHandle const& self, TaskHandle const& running, int depth,
                    FunctionRef<void()> body) {
  Open fork_join(*this, self, depth);
  fork_join.collect();
  std::exception_ptr thrown;
  try {
    body();
  } catch (...) {
    thrown = std::current_exception();
  }
  fork_join.end_phase();
  try {
    m_kernel.wait_for_started_children(self, running, &fork_join.frame);
  } catch (ChildFailed const&) {
    // The child has left its failure; the body's own failure comes first.
    if (thrown == nullptr) throw;
  }
  if (thrown != nullptr) std::rethrow_exception(thrown);
}

ForkJoins::HeldStarted ForkJoins::end_phase(Frame& frame) {
  Open* const fork_join = Open::of(frame);
  if (fork_join != nullptr) fork_join->end_phase();
  return HeldStarted(fork_join);
}

/// Starts the children that are left in all fork-joins that this thread is in, of any graph: what
/// waits here may wait for any of them.
void ForkJoins::start_rests() {
  for (Open* each = t_innermost; each != nullptr; each = each->outer) each->start_rest();
}

void ForkJoins::join(TaskHandle const& fork_join) {
  PlanRecording const* const recording = PlanRecording::of(m_kernel);
  if (recording != nullptr && recording->iteration == nullptr)
    return;  // it runs when it is replayed
  ForkJoinGate gate(m_kernel, fork_join,
                    !m_kernel.is_serial() && fork_join.id < TaskHandle::end_of_submitted);
  try {
    m_kernel.wait_for_fork_join(fork_join, gate);
  } catch (...) {
    // The fork-join cannot be waited for, and has not begun. It must not run later, when the data
    // that its body refers to may be gone.
    m_cancellation.ask(fork_join);
    gate.open(m_kernel.own_slot());
    throw;
  }
  m_kernel.rethrow(fork_join);
}

}  // namespace trellis::Impl
