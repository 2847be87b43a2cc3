// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_CANCELLATION_HPP
#define TRELLIS_IMPL_CANCELLATION_HPP

#include <Trellis_TaskId.hpp>
#include <task/Trellis_FailurePtr.hpp>
#include <kernel/Trellis_TaskHandle.hpp>
#include <threads/Trellis_Unlocked.hpp>
#include <task/Trellis_Reserve.hpp>

#include <atomic>
#include <cstddef>
#include <mutex>
#include <unordered_map>

namespace trellis::Impl {

class Kernel;
struct Task;

/// Tasks that the program has asked to stop.
///
/// Such a task gets a failure, like one that depends on a failed task, and from there on everything
/// is as with failures: its body does not run, successors are cancelled, futures and the log know
/// of it. The failure cannot be given to it at once, as only the thread that has a ready task in
/// hand may look at it. So the wish is kept here, and `reach` gives it to the task: when it is
/// about to run, or to be launched, and when its body has returned. Parts, and runs of a recorded
/// task, get what the task has that they belong to, so what has not started of it never does.
///
/// INVARIANT (a wish is for a live task). It is added under the task's lock while `live_id` is the
/// task's, and forgotten by the thread that completes the task after it has changed `live_id` under
/// that lock. So none stays behind, and the map has an entry for each task in flight that has been
/// asked. That thread sees the count: a wish is added and counted under the lock that it has just
/// had.
///
/// Memory order: `any` is relaxed. Who asks before a task starts, in whatever order that is known,
/// is seen by coherence alone; for who asks while it runs it makes no difference when that is seen.
/// What is read of the wish itself is guarded by the mutex.
class Cancellation {
 public:
  explicit Cancellation(Kernel& kernel) : m_kernel(kernel) {}
  Cancellation(Cancellation const&) = delete;
  Cancellation& operator=(Cancellation const&) = delete;

  void ask(TaskHandle const& task);
  /// Has it, or one that it is a part or a run of, been asked to stop? The task is ready or runs,
  /// or has open parts.
  [[nodiscard]] bool is_asked(Task const& task) const { return any() && wish_for(task) != nullptr; }
  /// The same, and it gets the failure then.
  bool reach(Task& task) { return any() && reach_asked(task); }
  /// The task is complete.
  void forget(TaskId task) {
    if (any()) forget_asked(task);
  }

 private:
  [[nodiscard]] bool any() const { return m_count.load(std::memory_order_relaxed) != 0; }
  [[nodiscard]] FailurePtr wish_for(Task const& task) const;
  bool reach_asked(Task& task);
  void forget_asked(TaskId task);

  Kernel& m_kernel;
  mutable QuietLock<std::mutex> m_mutex;
  HashMap<TaskId, FailurePtr> m_wishes;             ///< guarded by m_mutex
  alignas(64) std::atomic<std::size_t> m_count{0};  ///< of these; each task looks at it
};

}  // namespace trellis::Impl

#endif
