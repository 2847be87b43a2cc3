// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_FORKJOINGATE_HPP
#define TRELLIS_IMPL_FORKJOINGATE_HPP

#include <kernel/Trellis_Kernel.hpp>

#include <atomic>
#include <cstdint>
#include <utility>

namespace trellis::Impl {

/// An edge of a fork-join that its caller takes off. Until then the task is pending, so its cell is
/// not reused, and no thread runs its body. What the caller has done before, such as a request to
/// cancel the fork-join, happens before the body by the decrement, as with any edge.
///
/// A fork-join of a serial graph has no gate, as its caller has the turn, or is in no task of that
/// graph and may wait. A fork-join that an iteration has collected has none either.
class ForkJoinGate {
 public:
  ForkJoinGate(Kernel& kernel, TaskHandle const& fork_join, bool is_closed)
      : m_kernel(kernel), m_fork_join(fork_join), m_is_closed(is_closed) {}
  ForkJoinGate(ForkJoinGate const&) = delete;
  ForkJoinGate& operator=(ForkJoinGate const&) = delete;
  /// Lets other threads run the fork-join when its predecessors are done.
  void open(WorkerSlot& slot) {
    if (std::exchange(m_is_closed, false) && m_fork_join.task->count_down())
      m_kernel.make_ready(*m_fork_join.task, &slot);
  }
  /// Opens the gate if no other edge is left. True: the calling thread has the task, which is
  /// ready. False: nothing has changed.
  ///
  /// Memory order: it acquires, as the last decrement of any count does; see Task.
  [[nodiscard]] bool open_if_last() {
    std::int32_t last = 1;
    bool const opens =
        m_is_closed && m_fork_join.task->unfinished.compare_exchange_strong(
                           last, 0, std::memory_order_acq_rel, std::memory_order_relaxed);
    if (opens) m_is_closed = false;
    return opens;
  }
  [[nodiscard]] bool is_closed() const { return m_is_closed; }

 private:
  Kernel& m_kernel;
  TaskHandle const& m_fork_join;
  bool m_is_closed;
};

}  // namespace trellis::Impl

#endif
