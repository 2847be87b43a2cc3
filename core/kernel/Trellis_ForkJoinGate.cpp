// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kernel/Trellis_ForkJoinGate.hpp>

namespace trellis::Impl {

void ForkJoinGate::open(WorkerSlot& slot) {
  if (!std::exchange(m_is_closed, false)) return;
  Vector<Task*> ready;
  trigger(*m_fork_join.task, nullptr, ready);
  if (!ready.empty()) m_kernel.make_ready(*ready.front(), &slot);
}

/// Memory order: it acquires, as the last decrement of any count does; see Task.
bool ForkJoinGate::open_if_last() {
  std::int32_t expected = 1;
  if (!m_is_closed || !m_fork_join.task->unfinished.compare_exchange_strong(
                          expected, 0, std::memory_order_acq_rel, std::memory_order_relaxed))
    return false;
  m_is_closed = false;
  return true;
}

}  // namespace trellis::Impl
