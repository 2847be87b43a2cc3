// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_MAINQUEUE_HPP
#define TRELLIS_IMPL_MAINQUEUE_HPP

#include <threads/Trellis_SpinLock.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

namespace trellis::Impl {

struct Task;

/// Ready tasks that are bound to the main thread. Any thread adds some; only the main thread takes
/// them out.
///
/// INVARIANT (nobody sleeps beside a task). `epoch` moves, sequentially consistent, after a task
/// has been added, or after something has changed what a waiting task needs; then the main thread
/// is woken. One that is about to sleep has read `epoch` before it looked at the tasks, and asks
/// again whether it has moved when it counts as asleep.
class MainQueue {
 public:
  void push(Task& task) {
    std::lock_guard const lock(m_lock);
    m_tasks.push_back(&task);
    m_size.fetch_add(1, std::memory_order_seq_cst);
    m_epoch.fetch_add(1, std::memory_order_seq_cst);
  }
  /// The oldest, or null.
  [[nodiscard]] Task* pop() {
    std::lock_guard const lock(m_lock);
    if (m_tasks.empty()) return nullptr;
    Task* const task = m_tasks.front();
    m_tasks.pop_front();
    m_size.fetch_sub(1, std::memory_order_seq_cst);
    return task;
  }
  /// The oldest that `wanted` says yes to, or null. It is asked without the lock.
  template <class F>
  [[nodiscard]] Task* pop_wanted(F&& wanted) {
    std::vector<Task*> tasks;
    {
      std::lock_guard const lock(m_lock);
      tasks.assign(m_tasks.begin(), m_tasks.end());
    }
    for (Task* task : tasks)
      if (wanted(*task)) {
        std::lock_guard const lock(m_lock);
        std::erase(m_tasks, task);
        m_size.fetch_sub(1, std::memory_order_seq_cst);
        return task;
      }
    return nullptr;
  }
  [[nodiscard]] bool empty(std::memory_order order = std::memory_order_seq_cst) const {
    return m_size.load(order) == 0;
  }
  [[nodiscard]] std::uint64_t epoch() const { return m_epoch.load(std::memory_order_seq_cst); }
  void move_epoch() { m_epoch.fetch_add(1, std::memory_order_seq_cst); }

 private:
  SpinLock m_lock;
  std::deque<Task*> m_tasks;
  std::atomic<int> m_size{0};
  std::atomic<std::uint64_t> m_epoch{0};
};

}  // namespace trellis::Impl

#endif
