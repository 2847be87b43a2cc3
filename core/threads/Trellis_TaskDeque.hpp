// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_TASKDEQUE_HPP
#define TRELLIS_IMPL_TASKDEQUE_HPP

#include <Trellis_SchedulingPolicy.hpp>
#include <threads/Trellis_SpinLock.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <span>
#include <vector>

namespace trellis::Impl {

/// A growing ring of tasks under a spin lock. The owner works at the back, thieves take from the
/// front.
///
/// INVARIANT (`empty` misses no push, see Workers). Locking is sequentially consistent, and so is
/// what Workers reads after a push and writes before it asks `empty`. So either that reading sees
/// that somebody is going to sleep; or the lock was taken for the push before `empty` takes it, and
/// `empty` waits for the end of the push.
class alignas(128) TaskDeque {
 public:
  /// The last of `tasks` comes out first at the back.
  void push_back(std::span<ReadyTask const> tasks) {
    std::lock_guard const lock(m_lock);
    while (m_count + tasks.size() > m_ring.size()) grow();
    for (ReadyTask const task : tasks) m_ring[(m_first + m_count++) & (m_ring.size() - 1)] = task;
    m_size.store(m_count, std::memory_order_relaxed);
  }
  void push_back(ReadyTask task) {
    std::lock_guard const lock(m_lock);
    if (m_count == m_ring.size()) grow();
    m_ring[(m_first + m_count++) & (m_ring.size() - 1)] = task;
    m_size.store(m_count, std::memory_order_relaxed);
  }
  ReadyTask pop_back() {
    if (m_size.load(std::memory_order_relaxed) == 0) return {};
    std::lock_guard const lock(m_lock);
    if (m_count == 0) return {};
    m_size.store(--m_count, std::memory_order_relaxed);
    return m_ring[(m_first + m_count) & (m_ring.size() - 1)];
  }
  ReadyTask pop_front() {
    if (m_size.load(std::memory_order_relaxed) == 0) return {};
    std::lock_guard const lock(m_lock);
    return m_count == 0 ? ReadyTask{} : take_front();
  }
  /// Moves up to `limit` tasks from the front, but at most `1/share` of all (and at least one), to
  /// `out`.
  std::size_t pop_front(ReadyTask* out, std::size_t limit, std::size_t share) {
    if (m_size.load(std::memory_order_relaxed) == 0) return 0;
    std::lock_guard const lock(m_lock);
    std::size_t const count = std::min({limit, m_count, m_count / share + 1});
    for (std::size_t k = 0; k < count; ++k) out[k] = take_front();
    return count;
  }
  /// The first that `wanted` says yes to among the `most` tasks at the back, or at the front.
  ReadyTask pop_wanted(FunctionRef<bool(ReadyTask)> wanted, bool from_back, std::size_t most) {
    if (m_size.load(std::memory_order_relaxed) == 0) return {};
    std::lock_guard const lock(m_lock);
    std::size_t first = 0;
    if (from_back && m_count > 0) {  // what is wanted is mostly what was pushed last
      ReadyTask const last = at(m_count - 1);
      if (wanted(last)) {
        m_size.store(--m_count, std::memory_order_relaxed);
        return last;
      }
      first = 1;
    }
    for (std::size_t k = first; k < std::min(most, m_count); ++k) {
      std::size_t const place = from_back ? m_count - 1 - k : k;
      ReadyTask const task = at(place);
      if (!wanted(task)) continue;
      if (from_back) {
        for (std::size_t to = place; to + 1 < m_count; ++to) at(to) = at(to + 1);
        m_size.store(--m_count, std::memory_order_relaxed);
      } else {
        for (std::size_t to = place; to > 0; --to) at(to) = at(to - 1);
        take_front();
      }
      return task;
    }
    return {};
  }
  [[nodiscard]] bool empty() const {
    if (m_size.load(std::memory_order_relaxed) != 0) return false;
    std::lock_guard const lock(m_lock);
    return m_count == 0;
  }

 private:
  ReadyTask& at(std::size_t place) { return m_ring[(m_first + place) & (m_ring.size() - 1)]; }
  ReadyTask take_front() {
    ReadyTask const task = m_ring[m_first];
    m_first = (m_first + 1) & (m_ring.size() - 1);
    m_size.store(--m_count, std::memory_order_relaxed);
    return task;
  }
  void grow() {
    std::vector<ReadyTask> larger(std::max<std::size_t>(64, 2 * m_ring.size()));
    for (std::size_t k = 0; k < m_count; ++k)
      larger[k] = m_ring[(m_first + k) & (m_ring.size() - 1)];
    m_ring.swap(larger);
    m_first = 0;
  }

  mutable Impl::SpinLock m_lock;
  std::atomic<std::size_t> m_size{0};
  std::size_t m_first = 0;
  std::size_t m_count = 0;
  std::vector<ReadyTask> m_ring;
};

}  // namespace trellis::Impl

#endif
