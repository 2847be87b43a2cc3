// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_LAUNCHQUEUE_HPP
#define TRELLIS_IMPL_LAUNCHQUEUE_HPP

#include <task/Trellis_Task.hpp>
#include <threads/Trellis_SpinLock.hpp>
#include <threads/Trellis_ThisThread.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace trellis::Impl {

/// Ready tasks of devices, from the threads that made them ready to a thread that launches them. A
/// launch takes the device's driver several microseconds, ten times as long as the submission of a
/// task. So who submits offers it to a thread that has nothing else to do, and submits on.
///
/// WHO TAKES. One thread stands by, between two looks for tasks, while it asks devices, and, for a
/// short time, while it completes what these have done: that may run code of the user's (functors
/// end). Only then tasks are offered. Before it runs a task, or waits, it stands down. What is left
/// then, or when the thread is away for long, any thread takes that looks for tasks, and whoever
/// submits next.
///
/// INVARIANT (no launch is forgotten). `m_thread` and the queue change under the lock, so a task
/// enters the queue only while somebody stands by. Whoever stands down looks for tasks again soon,
/// or else calls `ready_added` of the workers; and who goes to sleep first stands down, and then
/// asks whether any are left. So what is in the queue is like what is in the policy, pushed by the
/// one that has stood down (see Workers). Nobody is told when a thread is away for long: as long as
/// anything is pending, one of the threads that go to sleep naps instead, and looks again.
///
/// `m_pending` counts from when a task is in the queue until it has been launched, or is in the
/// policy's hands: who asks whether anything is on its way to a device does not miss it.
class LaunchQueue {
 public:
  /// Of a thread that makes the task ready. False: nobody stands by.
  [[nodiscard]] bool offer(Task& task, std::int64_t rank) {
    std::lock_guard const lock(m_lock);
    if (!anyone_stands_by() || m_is_closed || is_away_for_long()) return false;
    m_tasks.push_back({task.priority, rank, task.id, &task});
    std::push_heap(m_tasks.begin(), m_tasks.end());
    m_pending.fetch_add(1, std::memory_order_seq_cst);
    m_waiting.store(m_waiting.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
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
  }

  [[nodiscard]] bool any(std::memory_order order = std::memory_order_relaxed) const {
    return m_waiting.load(order) > 0;
  }
  [[nodiscard]] bool any_pending() const { return m_pending.load(std::memory_order_seq_cst) > 0; }
  /// Are there tasks, and nobody to take them?
  [[nodiscard]] bool any_left() const {
    return any(std::memory_order_seq_cst) && (!anyone_stands_by() || is_away_for_long());
  }

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
    if (!anyone_stands_by()) m_thread.store(ThisThread::id(), std::memory_order_seq_cst);
  }
  // Requires `stands_by`.
  void stand_down() {
    std::lock_guard const lock(m_lock);
    m_away_since.store(Clock::time_point(), std::memory_order_relaxed);
    m_thread.store(nullptr, std::memory_order_seq_cst);
  }
  void goes_away() { m_away_since.store(Clock::now(), std::memory_order_relaxed); }
  void is_back() { m_away_since.store(Clock::time_point(), std::memory_order_relaxed); }

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] bool is_away_for_long() const {
    constexpr std::chrono::microseconds long_time{100};
    Clock::time_point const since = m_away_since.load(std::memory_order_relaxed);
    return since != Clock::time_point() && Clock::now() - since > long_time;
  }
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
  std::atomic<Clock::time_point> m_away_since{};           ///< epoch: it is here
  std::atomic<std::size_t> m_waiting{0};                   ///< in the queue; written under the lock
  alignas(64) SpinLock m_lock;
  bool m_is_closed = false;
  std::vector<Offer> m_tasks;  ///< a heap
  std::atomic<int> m_pending{0};
};

}  // namespace trellis::Impl

#endif
