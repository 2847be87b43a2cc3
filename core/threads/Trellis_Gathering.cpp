// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <threads/Trellis_Gathering.hpp>
#include <threads/Trellis_Workers.hpp>

/// Lets threads have the permits of several workers.
namespace trellis::Impl {

void Workers::change_permits(WorkerSlot& slot, int permits) {
  int const before = slot.permits;
  {
    std::unique_lock lock(m_mutex);
    m_wide.fetch_add((permits > 1 ? 1 : 0) - (before > 1 ? 1 : 0), std::memory_order_relaxed);
    if (permits > before) {
      gather(lock, slot, permits);
    } else {
      add_permit(before - permits);
      main_looks();
    }
    slot.permits = permits;
  }
  if (permits < before && m_source.has_ready(slot)) ready_added();
}

/// Trades the permits that the thread has for `permits`, and returns when it has them.
void Workers::gather(std::unique_lock<std::mutex>& lock, WorkerSlot const& slot, int permits) {
  // This is done as in Absence.
  if (slot.search.is_on) m_searching.fetch_sub(1, std::memory_order_seq_cst);
  add_permit(slot.permits);
  Gatherer here{permits};
  m_gathering.fetch_add(1, std::memory_order_relaxed);
  m_gatherers.push_back(&here);
  serve_gatherers();
  here.wakeup.wait(lock, [&] { return here.is_served; });
  if (slot.search.is_on) m_searching.fetch_add(1, std::memory_order_seq_cst);
}

/// Called when `m_spare` may have become 0 or more.
void Workers::serve_gatherers() {
  while (!m_gatherers.empty()) {
    Gatherer* const first = m_gatherers.front();
    if (!first->has_taken) {
      first->has_taken = true;
      m_spare.fetch_sub(first->permits, std::memory_order_seq_cst);
      if (all_are_gathered() && m_lent.load(std::memory_order_relaxed)) {
        m_lent.store(false, std::memory_order_relaxed);
        m_spare.fetch_add(1, std::memory_order_seq_cst);
      }
    }
    if (oversubscribed()) return;
    m_gatherers.erase(m_gatherers.begin());
    m_gathering.fetch_sub(1, std::memory_order_relaxed);
    first->is_served = true;
    first->wakeup.notify_one();  // under the mutex: once its thread sees the flag, `first` is gone
  }
  main_looks();
}

/// True if the first in the queue needs all permits. Then none is left to lend to a thread that
/// submits.
bool Workers::all_are_gathered() const {
  return !m_gatherers.empty() && m_gatherers.front()->permits == m_permits;
}

/// Wakes the main thread if it sleeps although a task that is bound to it is ready.
void Workers::main_looks() {
  if (m_source.has_own(*m_slots[0])) wake_main();
}

}  // namespace trellis::Impl
