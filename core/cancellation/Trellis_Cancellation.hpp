// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_CANCELLATION_HPP
#define TRELLIS_IMPL_CANCELLATION_HPP

#include <Trellis_TaskId.hpp>
#include <impl/Trellis_FailurePtr.hpp>
#include <impl/Trellis_TaskHandle.hpp>
#include <task/Trellis_Task.hpp>
#include <locks/Trellis_Unlocked.hpp>
#include <base/Trellis_Reserve.hpp>

#include <atomic>
#include <cstddef>
#include <mutex>
#include <unordered_map>

namespace trellis::Impl {

class Kernel;
struct Task;

/// The tasks that the program has asked to cancel.
///
/// Such a task gets a failure, like one that depends on a failed task, and from there on it is
/// treated as failed. Its body does not run, successors are cancelled, and futures and the log know
/// of it. The failure cannot be given to it at once, as only the thread that has taken a ready task
/// may look at it. So the request is kept here, and `reach` gives it to the task when it is about
/// to run, or to be launched, and when its body has returned. Children, and runs of a recorded
/// task, get the request of the task that they belong to, so children that have not started never
/// do.
///
/// INVARIANT (a request is for a live task). A request is added under the task's lock while
/// `live_id` is the task's. The thread that completes the task erases it after it has changed
/// `live_id` under that lock. So none is left over, and the map has one entry for each task in
/// flight that has been asked. That thread sees the count, as a request is added and counted under
/// the lock that it has just held.
///
/// Memory order: `any` is relaxed. If a request happens before the task starts, coherence alone
/// makes it visible. If it comes while the task runs, it makes no difference when it is seen. The
/// mutex guards the request itself.
class Cancellation {
 public:
  explicit Cancellation(Kernel& kernel) : m_kernel(kernel) {}
  Cancellation(Cancellation const&) = delete;
  Cancellation& operator=(Cancellation const&) = delete;

  void ask(TaskHandle const& task);
  /// True if the task, or one that it is a child or a run of, has been asked to stop. It is ready
  /// or runs, or has open children.
  [[nodiscard]] bool is_asked(Task const& task) const {
    return any() && request_for(task) != nullptr;
  }
  /// Gives a task that has been asked to stop the failure. Returns whether it has been asked.
  bool reach(Task& task) { return any() && reach_asked(task); }
  /// Called when the task is complete.
  void completed(Task const& task) {
    if (any()) forget_asked(task.id);
  }

 private:
  [[nodiscard]] bool any() const { return m_count.load(std::memory_order_relaxed) != 0; }
  [[nodiscard]] FailurePtr request_for(Task const& task) const;
  bool reach_asked(Task& task);
  void forget_asked(TaskId task);

  Kernel& m_kernel;
  mutable DeferringLock<std::mutex> m_mutex;
  HashMap<TaskId, FailurePtr> m_requests;           ///< guarded by m_mutex
  alignas(64) std::atomic<std::size_t> m_count{0};  ///< number of requests; each task reads it
};

}  // namespace trellis::Impl

#endif
