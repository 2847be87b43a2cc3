// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_FORKJOINGATE_HPP
#define TRELLIS_IMPL_FORKJOINGATE_HPP

#include <kernel/Trellis_Kernel.hpp>

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
  void open(WorkerSlot& slot);
  /// Opens the gate if no other edge is left. True: the calling thread has the task, which is
  /// ready. False: nothing has changed.
  [[nodiscard]] bool open_if_last();
  [[nodiscard]] bool is_closed() const { return m_is_closed; }

 private:
  Kernel& m_kernel;
  TaskHandle const& m_fork_join;
  bool m_is_closed;
};

}  // namespace trellis::Impl

#endif
