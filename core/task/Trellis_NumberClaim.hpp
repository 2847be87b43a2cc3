// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_NUMBERCLAIM_HPP
#define TRELLIS_IMPL_NUMBERCLAIM_HPP

#include <Trellis_Label.hpp>
#include <Trellis_TaskNumber.hpp>
#include <impl/Trellis_TaskHandle.hpp>

#include <atomic>

namespace trellis::Impl {

/// A number for the task that the calling thread submits. While the claim exists no other task gets
/// the number. If it ends without a task, the number is as it was.
///
/// INVARIANT. The engine calls `bound` before the task can start. The table refers to the claim as
/// long as it exists, so from then on every thread that asks finds the task. That includes the
/// task's own body, and the tasks that it releases, while the call that submits it has not
/// returned.
///
/// Memory order: `m_id` is stored last, with release order, and read with acquire order by threads
/// that hold the lock of the table. The claim takes this lock before it ends.
class NumberClaim {
 public:
  /// `graph` is the graph that the task goes to. Throws `Error` when the task cannot have the
  /// number. A number that stands for no task needs no claim.
  NumberClaim(TaskNumber const& number, TaskHandle const& graph, Label const& task);
  NumberClaim(NumberClaim const&) = delete;
  NumberClaim& operator=(NumberClaim const&) = delete;
  ~NumberClaim();

  void bound(TaskHandle const& to) noexcept {
    m_task = to.task;
    m_id.store(to.id, std::memory_order_release);
  }

 private:
  friend class NumberTable;
  TaskNumber const m_number;
  Task* m_task = nullptr;
  std::atomic<TaskId> m_id{0};  ///< 0: not bound
};

}  // namespace trellis::Impl

#endif
