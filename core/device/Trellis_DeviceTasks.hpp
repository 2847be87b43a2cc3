// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_DEVICETASKS_HPP
#define TRELLIS_IMPL_DEVICETASKS_HPP

#include <device/Trellis_AsyncStreams.hpp>
#include <task/Trellis_Task.hpp>
#include <threads/Trellis_Workers.hpp>

#include <vector>

namespace trellis {
struct TaskGraphOptions;
}

namespace trellis::Impl {

class Destructors;
class Engine;
class Exclusion;
class FailureLog;
class Poller;

/// Tasks on devices: from ready to launched, and from passed to done.
class DeviceTasks {
 public:
  DeviceTasks(Engine& engine, TaskGraphOptions const& options, Exclusion& exclusion,
              FailureLog const& failures, Destructors& destructors, Workers& workers);
  DeviceTasks(DeviceTasks const&) = delete;
  DeviceTasks& operator=(DeviceTasks const&) = delete;

  [[nodiscard]] AsyncStreams& streams() { return m_streams; }
  [[nodiscard]] AsyncStreams const& streams() const { return m_streams; }

  /// What the edge between two tasks waits for.
  [[nodiscard]] static Trigger trigger_between(Task const& before, Task const& after);
  /// A device task is launched by whoever makes it ready. Not in the launch of another one, which
  /// has the streams for itself.
  [[nodiscard]] bool launches_here(Task const& task) const {
    return task.goes_to_device() && may_be_launched(task);
  }
  /// Launches a task, and then those that have only waited for its launch, and so on.
  void launch(Task& first, Seat& seat);

  [[nodiscard]] bool busy() const { return m_streams.busy(); }
  /// Is it worth to ask? A device with a clock of its own goes on when the host waits: what happens
  /// must not depend on how fast a thread submits.
  [[nodiscard]] bool may_go_on(Seat const& seat) const {
    return !m_streams.has_own_clock() || anyone_waits(seat);
  }
  /// A thread that needs a task of a device to be complete, or another task.
  [[nodiscard]] bool anyone_waits(Seat const& seat) const {
    return seat.waits || m_workers.anyone_waits();
  }
  [[nodiscard]] bool is_awaited(Seat const& seat) const {
    return anyone_waits(seat) || m_streams.is_awaited();
  }
  /// Completes what has passed on the streams; false: nothing. What has been found is in the
  /// streams' keeping until its turn comes, so where code of the user's waits meanwhile another
  /// thread completes the rest. The calling thread is the poller.
  bool complete_passed(Seat& seat, Poller& poller);

 private:
  [[nodiscard]] bool may_be_launched(Task const& task) const;
  void launch_one(Task& task, Seat& seat, std::vector<Task*>& ready);
  void launch_batch(Task& first, Seat& seat, std::vector<Task*>& ready);
  void deploy_batch(Task& first, Seat& seat);
  [[nodiscard]] std::vector<Task*> live_members(Task& first, Seat& seat);
  [[nodiscard]] std::vector<void*> note_running(std::span<Task* const> members);
  void note_launch(Task& task, std::vector<Task*>& ready);
  void note_failed_launch(Task& task);
  void inherit_on_device(Task& task);
  void complete_one(AsyncStreams::Retired const& passed, Seat& seat);
  void complete_failed(AsyncStreams::Retired const& failed, Seat& seat);

  Engine& m_engine;
  Exclusion& m_exclusion;
  FailureLog const& m_failures;
  Destructors& m_destructors;
  Workers& m_workers;
  bool const m_serial;
  AsyncStreams m_streams;
};

}  // namespace trellis::Impl

#endif
