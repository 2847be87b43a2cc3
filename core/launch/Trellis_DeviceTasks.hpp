// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_DEVICETASKS_HPP
#define TRELLIS_IMPL_DEVICETASKS_HPP

#include <device/Trellis_AsyncStreams.hpp>
#include <device/Trellis_LaunchQueue.hpp>
#include <launch/Trellis_Poller.hpp>
#include <task/Trellis_Task.hpp>
#include <threads/Trellis_Workers.hpp>
#include <base/Trellis_Reserve.hpp>

#include <cstdint>
#include <limits>
#include <span>

namespace trellis::Impl {

class Cancellation;
class Destructors;
class Exclusion;
class FailureLog;
class FusionPool;
class Kernel;

/// Moves tasks on devices from ready to launched, and from passed to done.
class DeviceTasks {
 public:
  DeviceTasks(Kernel& kernel, LaunchQueue& offered, Cancellation& cancellation,
              Destructors& destructors, Exclusion& exclusion, FusionPool& fusion);
  DeviceTasks(DeviceTasks const&) = delete;
  DeviceTasks& operator=(DeviceTasks const&) = delete;

  [[nodiscard]] AsyncStreams& streams() { return m_streams; }
  [[nodiscard]] AsyncStreams const& streams() const { return m_streams; }

  /// True if the calling thread may launch this device task. It is launched by the thread that
  /// makes it ready, or by a launching thread (`offer`). A thread does not launch it within the
  /// launch of another task, which has the streams for itself.
  [[nodiscard]] bool launches_here(Task const& task) const {
    return task.goes_to_device() && task.failure == nullptr && !task.marks.main_thread &&
           !m_serial && may_launch_here();
  }
  /// Launches a task, then those that have only waited for its launch, and so on.
  void launch(Task& first, WorkerSlot& slot);

  /// Sorts the device tasks, which have become ready together, into the order of their launch: by
  /// priority, then as the policy ranks them. The other tasks keep their places.
  void order_launches(std::span<Task*> ready) const;

  /// Leaves the launch of a ready task to a thread that has nothing else to do. False if there is
  /// none.
  [[nodiscard]] bool offer(Task& task);
  /// Launches at most `most` of the tasks offered to this thread, which serves the queue.
  void launch_offered(WorkerSlot& slot, int most);
  /// From now on each thread launches the tasks that it makes ready. Returns when all tasks offered
  /// before have been launched.
  void close_offers();

  /// True if this thread may ask. Two threads would disturb each other: the thread that launches
  /// for others also asks.
  [[nodiscard]] bool may_ask() const {
    return !m_offered.any_pending() || !m_offered.has_proxy() || m_offered.is_proxy();
  }

  // For a thread that looks for tasks, see LaunchQueue.
  [[nodiscard]] bool any_offers() const { return m_offered.any(); }
  [[nodiscard]] bool is_proxy() const { return m_offered.is_proxy(); }
  void become_proxy();
  /// At a station, see Features: launches a task that has no failure.
  [[nodiscard]] bool run(Task& task, WorkerSlot& slot, Task*& /*next*/) {
    if (!task.runs_on_device() || task.failure != nullptr) return false;
    launch(task, slot);
    return true;
  }
  /// Requires `is_proxy`. Launches what has been offered.
  void retire_proxy(WorkerSlot& slot);
  /// Requires `is_proxy`. Called before the thread runs user code that is no launch: launches what
  /// has been offered. Returns whether the thread served the queue. (If not, tasks that were
  /// offered before the queue was closed may still be there.)
  [[nodiscard]] bool stop_serving(WorkerSlot& slot);
  [[nodiscard]] LaunchQueue& offered() const { return m_offered; }

  /// A launched task counts in the streams before it stops being pending, so the two are read in
  /// this order.
  [[nodiscard]] bool busy() const { return m_offered.any_pending() || m_streams.busy(); }
  /// True if asking is useful. A device with its own clock advances when the host waits: the
  /// outcome must not depend on how fast a thread submits.
  [[nodiscard]] bool may_go_on(WorkerSlot const& slot) const {
    return !m_streams.has_own_clock() || anyone_waits(slot);
  }
  /// True if a thread waits for a device task, or for another task, to be complete.
  [[nodiscard]] bool anyone_waits(WorkerSlot const& slot) const {
    return slot.wait.is_on || m_workers.anyone_waits();
  }
  /// How often to ask. A waiting thread may wait for a task that is not launched yet.
  [[nodiscard]] Poller::Pace pace(WorkerSlot const& slot) const {
    if (m_offered.any_pending())
      return m_streams.is_awaited() ? Poller::Pace::nobody_waits : Poller::Pace::launches;
    bool const is_awaited = anyone_waits(slot) || m_streams.is_awaited();
    return is_awaited ? Poller::Pace::awaited : Poller::Pace::nobody_waits;
  }
  /// Completes what has passed on the streams; false if nothing has. The streams keep what was
  /// found until its turn comes. So if user code waits meanwhile, another thread completes the
  /// rest. The calling thread is the poller.
  bool complete_passed(WorkerSlot& slot, Poller& poller);

 private:
  /// The rank among launches of one priority.
  [[nodiscard]] std::int64_t rank_of_launch(Task& task) const;
  [[nodiscard]] bool may_launch_here() const;
  void launch_all_offered(WorkerSlot& slot) {
    launch_offered(slot, std::numeric_limits<int>::max());
  }
  void launch_one(Task& task, WorkerSlot& slot, Vector<Task*>& ready);
  void launch_batch(Task& first, WorkerSlot& slot, Vector<Task*>& ready);
  void offload_batch(Task& first, WorkerSlot& slot);
  std::size_t launch_as_one(std::span<Task* const> tasks, DeviceAdapter& device, WorkerSlot& slot,
                            FunctionRef<void(void*)> run, std::size_t const& at,
                            FunctionRef<void(Task&)> launched);
  [[nodiscard]] Vector<Task*> live_members(Task& first, WorkerSlot& slot);
  [[nodiscard]] Vector<void*> note_running(std::span<Task* const> members);
  void note_launch(Task& task, Vector<Task*>& ready);
  void note_failed_launch(Task& task);
  void inherit_on_device(Task& task);
  void complete_one(AsyncStreams::Retired const& passed, WorkerSlot& slot);
  void complete_failed(AsyncStreams::Retired const& failed, WorkerSlot& slot);
  void end(AsyncStreams::Retired const& retired, WorkerSlot& slot, TaskState state);

  Kernel& m_kernel;
  Cancellation& m_cancellation;
  Exclusion& m_exclusion;
  FusionPool& m_fusion;
  FailureLog const& m_failures;
  Destructors& m_destructors;
  Workers& m_workers;
  bool const m_serial;
  LaunchQueue& m_offered;
  AsyncStreams m_streams;
};

}  // namespace trellis::Impl

#endif
