// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_LAUNCHQUEUE_HPP
#define TRELLIS_IMPL_LAUNCHQUEUE_HPP

#include <base/Trellis_Reserve.hpp>
#include <task/Trellis_Task.hpp>
#include <base/Trellis_SpinLock.hpp>
#include <base/Trellis_ThisThread.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace trellis::Impl {

/// Ready device tasks on their way from the threads that made them ready to a thread that launches
/// them. A launch takes the device's driver several microseconds, ten times as long as the
/// submission of a task. So a submitting thread offers it to a thread that has nothing else to do,
/// and submits on.
///
/// WHICH THREAD LAUNCHES. One thread that has found no task, the proxy, serves the queue: between
/// two looks for tasks, while it asks devices, and while it completes what these have done. It
/// stops serving before it runs a task, sleeps, or runs user code that is no launch (destructors of
/// functors, progress functions). Then it launches everything in the queue. From then on nothing is
/// offered, and each thread launches the tasks that it makes ready. So tasks that become ready by
/// such a launch follow it. (While it runs user code it stays the proxy, and does not serve.)
///
/// INVARIANT (no launch is forgotten). The flag that the queue is served changes under the lock. A
/// task enters under the lock, and only while the flag is set. So the thread that clears it empties
/// the queue at once, whatever it does next, and no other thread ever needs to look into it. (A
/// launch is user code, too. What is offered meanwhile waits for its end. So would a thread that
/// launched it at once, as launches follow each other.)
///
/// `m_pending` counts a task from its entry into the queue until it has been launched, or the
/// policy has it. So a thread that asks whether anything is on its way to a device does not miss
/// it.
class LaunchQueue {
 public:
  /// Called by the thread that makes the task ready. False if the queue is not served.
  [[nodiscard]] bool offer(Task& task, std::int64_t rank) {
    std::lock_guard const lock(m_lock);
    if (!is_served()) return false;
    m_tasks.push_back({task.priority, rank, task.id, &task});
    std::push_heap(m_tasks.begin(), m_tasks.end());
    m_pending.fetch_add(1, std::memory_order_seq_cst);
    m_waiting.store(m_waiting.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return true;
  }
  /// Returns the first task, or null. The caller calls `is_launched` when the task is launched.
  [[nodiscard]] Task* take() {
    if (!any()) return nullptr;
    std::lock_guard const lock(m_lock);
    if (m_tasks.empty()) return nullptr;
    std::pop_heap(m_tasks.begin(), m_tasks.end());
    Task* const task = m_tasks.back().task;
    m_tasks.pop_back();
    m_waiting.store(m_waiting.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    // Another thread has written the next one. Fetching it takes less time than this one's launch.
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

  /// Exact on the launching thread while it does not serve the queue.
  [[nodiscard]] bool any() const { return m_waiting.load(std::memory_order_relaxed) > 0; }
  [[nodiscard]] bool any_pending() const { return m_pending.load(std::memory_order_seq_cst) > 0; }
  [[nodiscard]] bool is_served() const { return m_is_served.load(std::memory_order_relaxed); }

  [[nodiscard]] bool has_proxy() const {
    return m_thread.load(std::memory_order_seq_cst) != nullptr;
  }
  [[nodiscard]] bool is_proxy() const {
    return m_thread.load(std::memory_order_relaxed) == ThisThread::id();
  }
  /// Makes the calling thread the one that serves the queue, unless there is another.
  void become_proxy() {
    if (has_proxy()) return;
    std::lock_guard const lock(m_lock);
    if (has_proxy()) return;
    m_thread.store(ThisThread::id(), std::memory_order_seq_cst);
    m_is_served.store(!m_is_closed, std::memory_order_relaxed);
  }
  // These require `is_proxy`.
  void serve() {
    std::lock_guard const lock(m_lock);
    m_is_served.store(!m_is_closed, std::memory_order_relaxed);
  }
  /// What is in the queue must then be launched.
  void stop_serving() {
    std::lock_guard const lock(m_lock);
    m_is_served.store(false, std::memory_order_relaxed);
  }
  /// Requires that the thread does not serve the queue, and that the queue is empty.
  void retire_proxy() { m_thread.store(nullptr, std::memory_order_seq_cst); }

 private:
  /// The highest priority is launched first, then the highest rank, then the task that was
  /// submitted first. It does not matter which thread made it ready, as if each launch took no
  /// time.
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

  // Read by each thread that looks for tasks, and written seldom if there are no devices.
  alignas(64) std::atomic<void const*> m_thread{nullptr};  ///< the thread that launches
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
