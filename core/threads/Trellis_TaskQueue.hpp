// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_TASKQUEUE_HPP
#define TRELLIS_IMPL_TASKQUEUE_HPP

#include <base/Trellis_SpinLock.hpp>
#include <base/Trellis_Reserve.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <vector>

namespace trellis::Impl {

struct Task;

/// The turns that a thread gives to the queues of the engine, see `Engine::pop`.
struct QueueTurns {
  int since_continuation = 0;  ///< tasks
  int awaited_in_row = 0;      ///< tasks
  int of_main_in_row = 0;      ///< tasks
  bool own_continuation_next = false;
};

/// The ready tasks that the engine keeps from the policy: first in, first out. Once the queue is
/// large enough it allocates nothing, as plans require. (A std::deque allocates for every 64 tasks
/// that go through it.)
///
/// INVARIANT (no lost wake-up, see Workers). The size changes sequentially consistently. A thread
/// that adds a task asks afterwards whether another one has to be woken.
class TaskQueue {
 public:
  void push(Task& task) {
    std::lock_guard const lock(m_lock);
    // A move is amortized: at least as many tasks have been taken as are moved.
    if (m_tasks.size() == m_tasks.capacity() && m_first > m_tasks.size() / 2) forget_taken();
    m_tasks.push_back(&task);
    m_size.fetch_add(1, std::memory_order_seq_cst);
  }
  /// Takes the oldest task, or returns null.
  [[nodiscard]] Task* pop() { return empty(std::memory_order_relaxed) ? nullptr : pop_some(); }
  /// Takes the oldest task that `wanted` accepts, or returns null. Calls `wanted` under the lock.
  template <class F>
  [[nodiscard]] Task* pop_wanted(F const& wanted) {
    if (empty(std::memory_order_relaxed)) return nullptr;
    std::lock_guard const lock(m_lock);
    auto const found =
        std::find_if(first(), m_tasks.cend(), [&](Task* each) { return wanted(*each); });
    if (found == m_tasks.cend()) return nullptr;
    Task* const task = *found;
    m_tasks.erase(found);
    if (m_first == m_tasks.size()) forget_taken();
    m_size.fetch_sub(1, std::memory_order_seq_cst);
    return task;
  }
  /// Returns a copy; some of the tasks may have been taken since.
  [[nodiscard]] Vector<Task*> tasks() const {
    std::lock_guard const lock(m_lock);
    return {first(), m_tasks.end()};
  }
  [[nodiscard]] bool erase(Task const& task) {
    return pop_wanted([&](Task const& each) { return &each == &task; }) != nullptr;
  }
  [[nodiscard]] bool empty(std::memory_order order = std::memory_order_seq_cst) const {
    return m_size.load(order) == 0;
  }
  /// Returns the size, which may be outdated.
  [[nodiscard]] std::size_t size() const {
    return static_cast<std::size_t>(m_size.load(std::memory_order_relaxed));
  }

 private:
  [[gnu::noinline]] Task* pop_some() {
    std::lock_guard const lock(m_lock);
    if (m_first == m_tasks.size()) return nullptr;
    Task* const task = m_tasks[m_first++];
    if (m_first == m_tasks.size()) forget_taken();
    m_size.fetch_sub(1, std::memory_order_seq_cst);
    return task;
  }
  void forget_taken() {
    m_tasks.erase(m_tasks.cbegin(), first());
    m_first = 0;
  }
  [[nodiscard]] Vector<Task*>::const_iterator first() const {
    return m_tasks.begin() + static_cast<std::ptrdiff_t>(m_first);
  }

  mutable SpinLock m_lock;
  Vector<Task*> m_tasks;
  std::size_t m_first = 0;  ///< those before it have been taken
  std::atomic<int> m_size{0};
};

}  // namespace trellis::Impl

#endif
