// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_TASKQUEUE_HPP
#define TRELLIS_IMPL_TASKQUEUE_HPP

#include <threads/Trellis_SpinLock.hpp>

#include <atomic>
#include <deque>
#include <mutex>
#include <vector>

namespace trellis::Impl {

struct Task;

/// Ready tasks that the engine keeps from the policy: first in, first out.
///
/// INVARIANT (no lost wake-up, see Workers). The size changes sequentially consistently. Who adds a
/// task asks afterwards whether somebody has to be woken.
class TaskQueue {
 public:
  void push(Task& task) {
    std::lock_guard const lock(m_lock);
    m_tasks.push_back(&task);
    m_size.fetch_add(1, std::memory_order_seq_cst);
  }
  /// The oldest, or null.
  [[nodiscard]] Task* pop() { return empty(std::memory_order_relaxed) ? nullptr : pop_some(); }
  /// A copy; they may be gone.
  [[nodiscard]] std::vector<Task*> tasks() const {
    std::lock_guard const lock(m_lock);
    return {m_tasks.begin(), m_tasks.end()};
  }
  [[nodiscard]] bool erase(Task& task) {
    std::lock_guard const lock(m_lock);
    if (std::erase(m_tasks, &task) == 0) return false;
    m_size.fetch_sub(1, std::memory_order_seq_cst);
    return true;
  }
  [[nodiscard]] bool empty(std::memory_order order = std::memory_order_seq_cst) const {
    return m_size.load(order) == 0;
  }

 private:
  [[gnu::noinline]] Task* pop_some() {
    std::lock_guard const lock(m_lock);
    if (m_tasks.empty()) return nullptr;
    Task* const task = m_tasks.front();
    m_tasks.pop_front();
    m_size.fetch_sub(1, std::memory_order_seq_cst);
    return task;
  }

  mutable SpinLock m_lock;
  std::deque<Task*> m_tasks;
  std::atomic<int> m_size{0};
};

}  // namespace trellis::Impl

#endif
