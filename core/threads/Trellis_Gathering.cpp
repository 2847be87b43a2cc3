// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <threads/Trellis_Gathering.hpp>
#include <threads/Trellis_Workers.hpp>

#include <algorithm>

/// Threads that have the permits of several workers.
namespace trellis::Impl {

/// Of a thread that has no permit. Returns when it has so many.
void Workers::gather(std::unique_lock<std::mutex>& lock, int permits) {
  Gathering::Gatherer here(permits);
  m_wide.fetch_add(1, std::memory_order_relaxed);
  m_gathering.fetch_add(1, std::memory_order_relaxed);
  m_gatherers.push(here);
  serve_gatherers();
  here.wakeup.wait(lock, [&] { return here.is_served; });
}

/// `m_spare` may be 0 or more.
void Workers::serve_gatherers() {
  while (Gathering::Gatherer* const first = m_gatherers.first()) {
    if (!first->has_taken) {
      first->has_taken = true;
      m_spare.fetch_sub(first->permits, std::memory_order_seq_cst);
      if (all_are_gathered() && m_lent.load(std::memory_order_relaxed)) {
        m_lent.store(false, std::memory_order_relaxed);
        m_spare.fetch_add(1, std::memory_order_seq_cst);
      }
    }
    if (oversubscribed()) return;
    m_gatherers.pop();
    m_gathering.fetch_sub(1, std::memory_order_relaxed);
    first->is_served = true;
    first->wakeup.notify_one();  // under the mutex: it is gone when its thread has seen that
  }
  main_looks();
}

/// Then a thread that submits cannot be counted as well.
bool Workers::all_are_gathered() const {
  Gathering::Gatherer const* const first = m_gatherers.first();
  return first != nullptr && first->permits == m_permits;
}

/// Of a thread in wait(), between two tasks, when too many threads work. `has_turn`: it may run
/// one that is bound to it, whoever gathers.
bool Workers::gives_way(Seat const& seat, bool has_turn) const {
  if (m_wide.load(std::memory_order_relaxed) == 0) return false;
  bool const own_first = has_turn || m_gathering.load(std::memory_order_relaxed) == 0;
  return !own_first || !m_source.has_own(seat);
}

/// The main thread may sleep though there is a task that is bound to it.
void Workers::main_looks() {
  Seat& main = *m_seats[0];
  if (std::find(m_sleeping.begin(), m_sleeping.end(), &main) != m_sleeping.end() &&
      m_source.has_own(main))
    wake(main);
}

Workers::Gathered::Gathered(Workers& workers, Seat& seat, int permits)
    : m_workers(workers),
      m_seat(seat),
      m_before(seat.permits),
      m_spread(workers.m_places, permits > seat.permits) {
  if (permits <= seat.permits || workers.m_permits == 0) return;
  std::unique_lock lock(workers.m_mutex);
  if (seat.searching) workers.m_searching.fetch_sub(1, std::memory_order_seq_cst);
  if (m_before > 1) workers.m_wide.fetch_sub(1, std::memory_order_relaxed);
  workers.add_permit(m_before);
  workers.gather(lock, permits);
  seat.permits = permits;
  if (seat.searching) workers.m_searching.fetch_add(1, std::memory_order_seq_cst);
}

Workers::Gathered::~Gathered() {
  if (m_seat.permits == m_before) return;
  {
    std::lock_guard const lock(m_workers.m_mutex);
    int const taken = std::exchange(m_seat.permits, m_before);
    if (m_before <= 1) m_workers.m_wide.fetch_sub(1, std::memory_order_relaxed);
    m_workers.add_permit(taken - m_before);
    m_workers.main_looks();
  }
  if (m_workers.m_source.has_ready(m_seat)) m_workers.ready_added();
}

}  // namespace trellis::Impl
