// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_DEVICETASKS_HPP
#define TRELLIS_IMPL_DEVICETASKS_HPP

#include <device/Trellis_AsyncStreams.hpp>
#include <device/Trellis_LaunchQueue.hpp>
#include <progress/Trellis_Poller.hpp>
#include <kernel/Trellis_Task.hpp>
#include <threads/Trellis_Workers.hpp>
#include <task/Trellis_Reserve.hpp>

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace trellis::Impl {

class Cancellation;
class Destructors;
class Exclusion;
class FailureLog;
class FusionPool;
class Kernel;

/// Tasks on devices: from ready to launched, and from passed to done.
class DeviceTasks {
 public:
  DeviceTasks(Kernel& kernel, Cancellation& cancellation, Destructors& destructors,
              Exclusion& exclusion, FusionPool& fusion);
  DeviceTasks(DeviceTasks const&) = delete;
  DeviceTasks& operator=(DeviceTasks const&) = delete;

  [[nodiscard]] AsyncStreams& streams() { return m_streams; }
  [[nodiscard]] AsyncStreams const& streams() const { return m_streams; }

  /// What the edge between two tasks waits for.
  [[nodiscard]] static Trigger trigger_between(Task const& before, Task const& after);
  /// A device task is launched by whoever makes it ready, or by a thread that stands by (`offer`).
  /// Not in the launch of another one, which has the streams for itself.
  [[nodiscard]] bool launches_here(Task const& task) const {
    return task.goes_to_device() && may_be_launched(task);
  }
  /// Launches a task, and then those that have only waited for its launch, and so on.
  void launch(Task& first, Seat& seat);

  /// Puts those on devices, which have become ready together, into the order in which they are to
  /// be launched: by priority, then as the policy ranks them. The others stay where they are.
  void order_launches(std::span<Task*> ready) const;

  /// Leaves the launch of a ready task to a thread that has nothing else to do. False: there is
  /// none.
  [[nodiscard]] bool offer(Task& task);
  /// Of the thread that stands by: so many at most of what has been offered to it.
  void launch_offered(Seat& seat, int most);
  /// From now on whoever makes a task ready launches it. Returns when nothing is left of what has
  /// been offered before.
  void close_offers();

  /// Two threads would be in each other's way: while one launches for others it asks as well.
  [[nodiscard]] bool may_ask() const {
    return !m_offered.any_pending() || !m_offered.anyone_stands_by() || m_offered.stands_by();
  }

  // Of a thread that looks for tasks, see LaunchQueue.
  [[nodiscard]] bool any_offers() const { return m_offered.any(); }
  [[nodiscard]] bool stands_by() const { return m_offered.stands_by(); }
  void stand_by();
  /// Requires `stands_by`. Launches what has been offered.
  void stand_down(Seat& seat);
  /// As long as one is there the calling thread does not serve the queue, for it is in code of the
  /// user's that is no launch. No lock is held.
  class NotServing {
   public:
    NotServing(DeviceTasks& devices, Seat& seat) : m_devices(devices) {
      if (devices.stands_by()) [[unlikely]]
        m_serves = devices.stops_serving(seat);
    }
    NotServing(NotServing const&) = delete;
    NotServing& operator=(NotServing const&) = delete;
    ~NotServing() {
      if (m_serves && m_devices.stands_by()) m_devices.m_offered.serve();
    }

   private:
    DeviceTasks& m_devices;
    bool m_serves = false;  ///< when it is back
  };

  /// What is launched counts with the streams before it is not pending any more, so it is looked
  /// for in this order.
  [[nodiscard]] bool busy() const { return m_offered.any_pending() || m_streams.busy(); }
  /// Is it worth to ask? A device with a clock of its own goes on when the host waits: what happens
  /// must not depend on how fast a thread submits.
  [[nodiscard]] bool may_go_on(Seat const& seat) const {
    return !m_streams.has_own_clock() || anyone_waits(seat);
  }
  /// A thread that needs a task of a device to be complete, or another task.
  [[nodiscard]] bool anyone_waits(Seat const& seat) const {
    return seat.waits || m_workers.anyone_waits();
  }
  /// How often to ask. A thread that waits may wait for what is not launched yet.
  [[nodiscard]] Poller::Pace pace(Seat const& seat) const {
    if (m_offered.any_pending())
      return m_streams.is_awaited() ? Poller::Pace::nobody_waits : Poller::Pace::launches;
    bool const is_awaited = anyone_waits(seat) || m_streams.is_awaited();
    return is_awaited ? Poller::Pace::awaited : Poller::Pace::nobody_waits;
  }
  /// Completes what has passed on the streams; false: nothing. What has been found is in the
  /// streams' keeping until its turn comes, so where code of the user's waits meanwhile another
  /// thread completes the rest. The calling thread is the poller.
  bool complete_passed(Seat& seat, Poller& poller);

 private:
  /// Among launches of one priority.
  [[nodiscard]] std::int64_t rank_of_launch(Task& task) const;
  [[nodiscard]] bool may_be_launched(Task const& task) const;
  [[nodiscard]] bool may_launch_here() const;
  void launch_all_offered(Seat& seat) { launch_offered(seat, std::numeric_limits<int>::max()); }
  [[nodiscard]] bool stops_serving(Seat& seat);
  void launch_one(Task& task, Seat& seat, Vector<Task*>& ready);
  void launch_batch(Task& first, Seat& seat, Vector<Task*>& ready);
  void deploy_batch(Task& first, Seat& seat);
  [[nodiscard]] Vector<Task*> live_members(Task& first, Seat& seat);
  [[nodiscard]] Vector<void*> note_running(std::span<Task* const> members);
  void note_launch(Task& task, Vector<Task*>& ready);
  void note_failed_launch(Task& task);
  void inherit_on_device(Task& task);
  void complete_one(AsyncStreams::Retired const& passed, Seat& seat);
  void complete_failed(AsyncStreams::Retired const& failed, Seat& seat);

  Kernel& m_kernel;
  Cancellation& m_cancellation;
  Exclusion& m_exclusion;
  FusionPool& m_fusion;
  FailureLog const& m_failures;
  Destructors& m_destructors;
  Workers& m_workers;
  bool const m_serial;
  AsyncStreams m_streams;
  LaunchQueue m_offered;
};

}  // namespace trellis::Impl

#endif
