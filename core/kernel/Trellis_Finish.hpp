// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_FINISH_HPP
#define TRELLIS_IMPL_FINISH_HPP

#include <kernel/Trellis_Kernel.hpp>

#include <cstddef>
#include <utility>

namespace trellis::Impl {

/// Completes a task, or a run of a recorded one, in this order. The two differ in the `Life`: a
/// task ends and gives back its cell, a recorded one is set up for its next run.
///
/// - The failure is noted before the task can be found complete, so that a thread that has waited
///   for it finds the failure.
/// - The body is destroyed before the successors may run, as they may wait for what it holds.
/// - `end_life` is the end for other threads, see the invariants of Task and PlanState. Exclusive
///   areas are given up with it, which makes tasks ready that have waited for these. They are the
///   first ones in `slot.completion.ready`.
/// - `release` takes the task's edges off the counts of its successors. From there on a recorded
///   task may be in its next run, or the replay may be over.
/// - `hand_over` gives the tasks that are ready now to the policy. Work after that delays no other
///   task.
///
/// Returns the task to run next, if the policy keeps one here.
template <class Life>
[[gnu::always_inline]] inline Task* finish(Kernel& kernel, Task& task, WorkerSlot& slot,
                                           TaskState state, int row, Life life) {
  FailurePtr const failure = std::move(task.failure);
  if (failure != nullptr) [[unlikely]]
    life.tell(state, failure);
  life.end_body(failure);
  kernel.run_over(task, slot, state, row);
  life.end_life(failure);
  Vector<Task*>& ready = slot.completion.ready;
  std::size_t const granted = ready.size();
  life.release(failure, ready);
  Task* next = ready.empty() ? nullptr : kernel.hand_over(ready, granted, slot);
  life.leave(next);
  return next;
}

}  // namespace trellis::Impl

#endif
