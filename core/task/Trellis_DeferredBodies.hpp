// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_DEFERREDBODIES_HPP
#define TRELLIS_IMPL_DEFERREDBODIES_HPP

#include <task/Trellis_Task.hpp>
#include <base/Trellis_Reserve.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace trellis::Impl {

/// Tasks that are done, but whose bodies have not been destroyed. This is deferred destruction:
/// short host tasks are kept per thread that ran them, and the submitting thread destroys them. Its
/// core has just counted references to the same Views. On the worker's core that takes longer than
/// a short task.
///
/// INVARIANT. A task that is pushed is done and belongs to the list. The thread that takes the list
/// (the owner, or any other one) takes all of it, and the tasks with it. `push` publishes with
/// release order what `take` acquires: the body's effects come before its end, and the cell's next
/// use comes after that.
class DeferredTasks {
 public:
  static constexpr int most = 32;

  /// Called by the owner. False: there are so many that the owner should destroy them itself, as
  /// soon as its stack has no waiting task.
  [[nodiscard]] bool push(Task& task) {
    Task* head = m_head.load(std::memory_order_relaxed);
    do {
      if (head == nullptr) m_count = 0;
      task.next = head;
    } while (!m_head.compare_exchange_weak(head, &task, std::memory_order_release,
                                           std::memory_order_relaxed));
    return ++m_count < most;
  }
  [[nodiscard]] bool empty() const { return m_head.load(std::memory_order_acquire) == nullptr; }
  [[nodiscard]] Task* take() { return m_head.exchange(nullptr, std::memory_order_acq_rel); }

 private:
  std::atomic<Task*> m_head{nullptr};
  int m_count = 0;  ///< since the list was last found empty; used only by the owner
};

/// Keeps device tasks in the same way, for a whole graph. Freeing memory may make the host wait for
/// the device, so they are kept until nothing runs there, or until they hold too much.
class DeferredDeviceTasks {
 public:
  static constexpr std::size_t most_tasks = 1024;
  static constexpr std::uint64_t most_bytes = std::uint64_t{1} << 28;

  /// `bytes`: of the areas that the task accesses. False: take the list now.
  [[nodiscard]] bool push(Task& task, std::uint64_t bytes) {
    std::lock_guard const lock(m_mutex);
    m_tasks.push_back(&task);
    m_bytes += bytes;
    m_any.store(true, std::memory_order_release);
    return m_tasks.size() < most_tasks && m_bytes < most_bytes;
  }
  [[nodiscard]] bool empty() const { return !m_any.load(std::memory_order_acquire); }
  [[nodiscard]] bool is_full() {
    std::lock_guard const lock(m_mutex);
    return m_tasks.size() >= most_tasks || m_bytes >= most_bytes;
  }
  [[nodiscard]] Vector<Task*> take() {
    std::lock_guard const lock(m_mutex);
    m_bytes = 0;
    m_any.store(false, std::memory_order_release);  // a thread that sees it sees the taker counted
    return std::exchange(m_tasks, {});
  }

 private:
  std::mutex m_mutex;
  Vector<Task*> m_tasks;
  std::uint64_t m_bytes = 0;
  std::atomic<bool> m_any{false};
};

}  // namespace trellis::Impl

#endif
