// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_MAINQUEUE_HPP
#define TRELLIS_IMPL_MAINQUEUE_HPP

#include <task/Trellis_Task.hpp>
#include <threads/Trellis_TaskQueue.hpp>

#include <atomic>
#include <cstdint>

namespace trellis::Impl {

/// The ready tasks that are bound to the main thread, with those that run again in a queue of their
/// own, see Engine::pop. Any thread adds tasks; only the main thread takes them out.
///
/// INVARIANT (no lost wake-up). A thread that has added a task, or changed what a waiting task
/// needs, moves `epoch`, sequentially consistently, and then wakes the main thread. A main thread
/// that is about to sleep reads `epoch` before it looks at the tasks. Once it counts as asleep it
/// checks again whether `epoch` has moved.
class MainQueue {
 public:
  void push(Task& task) {
    (task.marks.is_resumed ? m_continuations : m_first).push(task);
    move_epoch();
  }
  /// Takes the oldest task, or returns null.
  [[nodiscard]] Task* pop() { return m_first.pop(); }
  [[nodiscard]] Task* pop_continuation() { return m_continuations.pop(); }
  /// Takes the oldest task that `wanted` accepts, or returns null. Calls `wanted` without a lock.
  template <class F>
  [[nodiscard]] Task* pop_wanted(F const& wanted) {
    for (TaskQueue* const queue : {&m_first, &m_continuations})
      for (Task* const task : queue->tasks())
        if (wanted(*task) && queue->erase(*task)) return task;
    return nullptr;
  }
  [[nodiscard]] bool empty() const { return m_first.empty() && m_continuations.empty(); }
  [[nodiscard]] bool has_first() const { return !m_first.empty(std::memory_order_relaxed); }
  [[nodiscard]] bool has_continuations() const {
    return !m_continuations.empty(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t epoch() const { return m_epoch.load(std::memory_order_seq_cst); }
  void move_epoch() { m_epoch.fetch_add(1, std::memory_order_seq_cst); }

 private:
  TaskQueue m_first;
  TaskQueue m_continuations;
  std::atomic<std::uint64_t> m_epoch{0};
};

}  // namespace trellis::Impl

#endif
