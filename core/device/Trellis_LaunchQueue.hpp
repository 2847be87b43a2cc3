// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_LAUNCHQUEUE_HPP
#define TRELLIS_IMPL_LAUNCHQUEUE_HPP

#include <task/Trellis_Reserve.hpp>
#include <kernel/Trellis_Task.hpp>
#include <threads/Trellis_SpinLock.hpp>
#include <threads/Trellis_ThisThread.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace trellis::Impl {

/// Ready tasks of devices, from the threads that made them ready to a thread that launches them. A
/// launch takes the device's driver several microseconds, ten times as long as the submission of a
/// task. So who submits offers it to a thread that has nothing else to do, and submits on.
///
/// WHO LAUNCHES. One thread that has found no task stands by: it serves the queue between two looks
/// for tasks, while it asks devices, and while it completes what these have done. Before it goes to
/// a task, to sleep, or to code of the user's that is no launch (functors end, functions are asked)
/// it stops to serve the queue, and launches all that is in it. From then on nothing is offered,
/// and whoever makes a task ready launches it: so what one of these launches makes ready follows
/// it.
///
/// INVARIANT (no launch is forgotten). Whether the queue is served changes under the lock, and a
/// task enters under the lock, and only while it is. So when the queue is not served the thread
/// that has stopped to serve it empties it there and then, whatever it does next, and nobody else
/// ever need look into it. (A launch is code of the user's, too. What is offered meanwhile waits
/// for its end; so would a thread that launched it at once, for launches follow each other.)
///
/// `m_pending` counts from when a task is in the queue until it has been launched, or is in the
/// policy's hands: who asks whether anything is on its way to a device does not miss it.
class LaunchQueue {
 public:
  /// Of a thread that makes the task ready. False: the queue is not served.
  [[nodiscard]] bool offer(Task& task, std::int64_t rank) {
    std::lock_guard const lock(m_lock);
    if (!is_served()) return false;
    m_tasks.push_back({task.priority, rank, task.id, &task});
    std::push_heap(m_tasks.begin(), m_tasks.end());
    m_pending.fetch_add(1, std::memory_order_seq_cst);
    m_waiting.store(m_waiting.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return true;
  }
  /// The first one, or null. The caller calls `is_launched` when the task is.
  [[nodiscard]] Task* take() {
    if (!any()) return nullptr;
    std::lock_guard const lock(m_lock);
    if (m_tasks.empty()) return nullptr;
    std::pop_heap(m_tasks.begin(), m_tasks.end());
    Task* const task = m_tasks.back().task;
    m_tasks.pop_back();
    m_waiting.store(m_waiting.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    // Another thread has written the next one. To fetch it takes less time than this one's launch.
    if (!m_tasks.empty()) m_tasks.front().task->prefetch_to_launch();
    return task;
  }
  void is_launched() { m_pending.fetch_sub(1, std::memory_order_seq_cst); }
  /// From now on nothing is offered.
  void close() {
    std::lock_guard const lock(m_lock);
    m_is_closed = true;
    m_is_served.store(false, std::memory_order_relaxed);
  }

  /// Exact on the thread that stands by, when it does not serve the queue.
  [[nodiscard]] bool any() const { return m_waiting.load(std::memory_order_relaxed) > 0; }
  [[nodiscard]] bool any_pending() const { return m_pending.load(std::memory_order_seq_cst) > 0; }
  [[nodiscard]] bool is_served() const { return m_is_served.load(std::memory_order_relaxed); }

  [[nodiscard]] bool anyone_stands_by() const {
    return m_thread.load(std::memory_order_seq_cst) != nullptr;
  }
  /// Does the calling thread?
  [[nodiscard]] bool stands_by() const {
    return m_thread.load(std::memory_order_relaxed) == ThisThread::id();
  }
  /// Unless another one does.
  void stand_by() {
    if (anyone_stands_by()) return;
    std::lock_guard const lock(m_lock);
    if (anyone_stands_by()) return;
    m_thread.store(ThisThread::id(), std::memory_order_seq_cst);
    m_is_served.store(!m_is_closed, std::memory_order_relaxed);
  }
  // These require `stands_by`.
  void serve() {
    std::lock_guard const lock(m_lock);
    m_is_served.store(!m_is_closed, std::memory_order_relaxed);
  }
  /// What is in the queue is then to be launched.
  void stop_serving() {
    std::lock_guard const lock(m_lock);
    m_is_served.store(false, std::memory_order_relaxed);
  }
  /// Requires that it does not serve the queue, and that this is empty.
  void stand_down() { m_thread.store(nullptr, std::memory_order_seq_cst); }

 private:
  /// Launched first is what has the highest priority, then the highest rank; and else what has been
  /// submitted first, whoever made it ready, as if each launch took no time.
  struct Offer {
    int priority;
    std::int64_t rank;
    TaskId id;
    Task* task;
    bool operator<(Offer const& other) const {
      if (priority != other.priority) return priority < other.priority;
      return rank != other.rank ? rank < other.rank : id > other.id;
    }
  };

  // Looked at by each thread that looks for tasks, and written seldom where there are no devices.
  alignas(64) std::atomic<void const*> m_thread{nullptr};  ///< that stands by
  // Written under the lock.
  std::atomic<bool> m_is_served{false};
  std::atomic<std::size_t> m_waiting{0};  ///< in the queue
  alignas(64) SpinLock m_lock;
  bool m_is_closed = false;
  Vector<Offer> m_tasks;  ///< a heap
  std::atomic<int> m_pending{0};
};

}  // namespace trellis::Impl

#endif
