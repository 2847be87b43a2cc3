// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_MAINQUEUE_HPP
#define TRELLIS_IMPL_MAINQUEUE_HPP

#include <kernel/Trellis_Task.hpp>
#include <threads/Trellis_TaskQueue.hpp>

#include <atomic>
#include <cstdint>

namespace trellis::Impl {

/// Ready tasks that are bound to the main thread, and those of them that run again, see Engine::pop.
/// Any thread adds some; only the main thread takes them out.
///
/// INVARIANT (nobody sleeps beside a task). `epoch` moves, sequentially consistent, after a task
/// has been added, or after something has changed what a waiting task needs; then the main thread
/// is woken. One that is about to sleep has read `epoch` before it looked at the tasks, and asks
/// again whether it has moved when it counts as asleep.
class MainQueue {
 public:
  void push(Task& task) {
    (task.marks.goes_on ? m_rests : m_first).push(task);
    move_epoch();
  }
  /// The oldest, or null.
  [[nodiscard]] Task* pop() { return m_first.pop(); }
  [[nodiscard]] Task* pop_rest() { return m_rests.pop(); }
  /// The oldest that `wanted` says yes to, or null. It is asked without a lock.
  template <class F>
  [[nodiscard]] Task* pop_wanted(F const& wanted) {
    for (TaskQueue* const queue : {&m_first, &m_rests})
      for (Task* const task : queue->tasks())
        if (wanted(*task) && queue->erase(*task)) return task;
    return nullptr;
  }
  [[nodiscard]] bool empty() const { return m_first.empty() && m_rests.empty(); }
  [[nodiscard]] bool has_first() const { return !m_first.empty(std::memory_order_relaxed); }
  [[nodiscard]] bool has_rests() const { return !m_rests.empty(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t epoch() const { return m_epoch.load(std::memory_order_seq_cst); }
  void move_epoch() { m_epoch.fetch_add(1, std::memory_order_seq_cst); }

 private:
  TaskQueue m_first;
  TaskQueue m_rests;
  std::atomic<std::uint64_t> m_epoch{0};
};

}  // namespace trellis::Impl

#endif
