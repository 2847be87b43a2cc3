// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_DEFERREDDEVICETASKS_HPP
#define TRELLIS_IMPL_DEFERREDDEVICETASKS_HPP

#include <task/Trellis_Task.hpp>
#include <base/Trellis_Reserve.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace trellis::Impl {

/// Keeps device tasks of a graph that are done, but whose bodies have not been destroyed. Freeing
/// memory may make the host wait for the device, so they are kept until nothing runs there, or
/// until they hold too much.
///
/// INVARIANT. A task that is pushed is done, and belongs to the list. The thread that takes the
/// list takes all of it, and the tasks with it. The mutex orders both.
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
