// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_TASKDEQUE_HPP
#define TRELLIS_IMPL_TASKDEQUE_HPP

#include <Trellis_SchedulingPolicy.hpp>
#include <base/Trellis_SpinLock.hpp>
#include <base/Trellis_Reserve.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <span>
#include <thread>
#include <utility>

namespace trellis::Impl {

/// A growing ring of tasks under a spin lock. The owner works at the back, thieves take from the
/// front.
///
/// INVARIANT (`empty` misses no push, see Workers). Locking is sequentially consistent, and so is
/// what Workers reads after a push and writes before it asks `empty`. So either the reader sees
/// that a thread is going to sleep, or the push has taken the lock before `empty` takes it. In the
/// second case `empty` waits for the end of the push.
class alignas(128) TaskDeque {
 public:
  /// Pushes tasks so that the first of them comes out first at the back.
  void push_back_reversed(std::span<ReadyTask const> tasks) {
    std::lock_guard const lock(m_lock);
    while (m_count + tasks.size() > m_room) grow();
    for (std::size_t k = tasks.size(); k-- > 0;) at(m_first + m_count++) = tasks[k];
    m_size.store(m_count, std::memory_order_relaxed);
  }
  [[gnu::always_inline]] void push_back(ReadyTask task) {
    std::lock_guard const lock(m_lock);
    if (m_count == m_room) grow();
    at(m_first + m_count++) = task;
    m_size.store(m_count, std::memory_order_relaxed);
  }
  ReadyTask pop_back() {
    if (m_size.load(std::memory_order_relaxed) == 0) return {};
    std::lock_guard const lock(m_lock);
    if (m_count == 0) return {};
    m_size.store(--m_count, std::memory_order_relaxed);
    return at(m_first + m_count);
  }
  ReadyTask pop_front() {
    if (!lock_while_any()) return {};
    std::lock_guard const lock(m_lock, std::adopt_lock);
    return m_count == 0 ? ReadyTask{} : take_front();
  }
  /// Moves up to `limit` tasks from the front, but at most `1/share` of all (and at least one), to
  /// `out`.
  std::size_t pop_front(ReadyTask* out, std::size_t limit, std::size_t share) {
    if (!lock_while_any()) return 0;
    std::lock_guard const lock(m_lock, std::adopt_lock);
    std::size_t const count = std::min({limit, m_count, m_count / share + 1});
    for (std::size_t k = 0; k < count; ++k) out[k] = take_front();
    return count;
  }
  /// Takes the task at the front if `f` accepts it, and puts `task` at the back in exchange.
  template <class F>
  ReadyTask exchange_front_if(F&& f, ReadyTask task) {
    if (looks_empty()) return {};
    std::lock_guard const lock(m_lock);
    if (m_count == 0 || !f(at(m_first))) return {};
    ReadyTask const front = at(m_first++);
    at(m_first + m_count - 1) = task;
    return front;
  }
  /// Takes the task at the front if `f` accepts it, unless another thread holds the lock.
  template <class F>
  ReadyTask try_pop_front_if(F&& f) {
    if (looks_empty() || !m_lock.try_lock()) return {};
    std::lock_guard const lock(m_lock, std::adopt_lock);
    return m_count == 0 || !f(at(m_first)) ? ReadyTask{} : take_front();
  }
  /// Takes the task nearest to the back that `wanted` accepts, among the `most` last ones.
  ReadyTask pop_wanted_back(FunctionRef<bool(ReadyTask)> wanted, std::size_t most) {
    if (m_size.load(std::memory_order_relaxed) == 0) return {};
    std::lock_guard const lock(m_lock);
    if (m_count == 0) return {};
    ReadyTask const newest = at(m_first + m_count - 1);  // in a recursion nearly always this
    if (!wanted(newest)) [[unlikely]]
      return take_wanted_back(wanted, std::min(most, m_count));
    m_size.store(--m_count, std::memory_order_relaxed);
    return newest;
  }
  /// Takes the task nearest to the front that `wanted` accepts, among the `most` first ones.
  ReadyTask pop_wanted_front(FunctionRef<bool(ReadyTask)> wanted, std::size_t most) {
    if (m_size.load(std::memory_order_relaxed) == 0) return {};
    std::lock_guard const lock(m_lock);
    std::size_t const end = m_first + std::min(most, m_count);
    for (std::size_t place = m_first; place != end; ++place) {
      ReadyTask const task = at(place);
      if (!wanted(task)) continue;
      for (; place != m_first; --place) at(place) = at(place - 1);
      take_front();
      return task;
    }
    return {};
  }
  /// Reads the size without the lock, so it may be outdated.
  [[nodiscard]] std::size_t size() const { return m_size.load(std::memory_order_relaxed); }
  [[nodiscard]] bool looks_empty() const { return size() == 0; }
  [[nodiscard]] bool empty() const {
    if (!looks_empty()) return false;
    std::lock_guard const lock(m_lock);
    return m_count == 0;
  }

 private:
  /// Takes the lock for a thief, and returns false once the queue is empty. Many may come at once
  /// for one task; those that see that it is gone do not touch the lock.
  [[nodiscard]] bool lock_while_any() {
    for (int spins = 0; !looks_empty(); ++spins) {
      if (m_lock.try_lock()) return true;
      if (spins < 64)
        cpu_relax();
      else
        std::this_thread::yield();
    }
    return false;
  }
  ReadyTask& at(std::size_t place) { return m_ring[place & (m_room - 1)]; }
  ReadyTask take_front() {
    ReadyTask const task = at(m_first++);
    m_size.store(--m_count, std::memory_order_relaxed);
    return task;
  }
  /// Searches the last `count` tasks, of which the newest is not wanted. The caller holds the lock.
  [[gnu::noinline]] ReadyTask take_wanted_back(FunctionRef<bool(ReadyTask)> wanted,
                                               std::size_t count) {
    std::size_t const newest = m_first + m_count - 1;
    std::size_t const last = m_first + m_count - count;
    for (std::size_t place = newest; place > last;) {
      ReadyTask const task = at(--place);
      if (!wanted(task)) continue;
      for (; place != newest; ++place) at(place) = at(place + 1);
      m_size.store(--m_count, std::memory_order_relaxed);
      return task;
    }
    return {};
  }
  [[gnu::noinline]] void grow() {
    std::size_t const room = std::max<std::size_t>(64, 2 * m_room);
    Vector<ReadyTask> larger(room);
    for (std::size_t k = 0; k < m_count; ++k) larger[k] = at(m_first + k);
    m_ring = std::move(larger);
    m_room = room;
    m_first = 0;
  }

  mutable Impl::SpinLock m_lock;
  std::atomic<std::size_t> m_size{0};
  std::size_t m_first = 0;  ///< only grows; its place in the ring is the remainder modulo `m_room`
  std::size_t m_count = 0;
  std::size_t m_room = 0;  ///< a power of two, or 0
  Vector<ReadyTask> m_ring;
};

}  // namespace trellis::Impl

#endif
