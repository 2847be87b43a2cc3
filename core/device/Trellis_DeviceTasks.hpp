// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_DEVICETASKS_HPP
#define TRELLIS_IMPL_DEVICETASKS_HPP

#include <device/Trellis_AsyncStreams.hpp>
#include <device/Trellis_Poller.hpp>
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
class Recorder;

/// Tasks on devices: from ready to launched, and from passed to done.
///
/// INVARIANT (somebody polls). While streams are busy a thread polls, or one is awake that will, or
/// all permits are used for tasks. Whoever launches, or stops polling, calls `ready_added` of the
/// workers afterwards. Who goes to sleep first stops polling, and then, if it has a permit, asks
/// once more whether streams are busy and nobody polls (`may_be_polled`); if it has none, those
/// that have them have not asked yet, as they do so under the mutex of Workers when they give them
/// back. For the order of these see Workers.
class DeviceTasks {
 public:
  DeviceTasks(Engine& engine, TaskGraphOptions const& options, Exclusion& exclusion,
              FailureLog const& failures, Recorder* recorder, Destructors& destructors,
              Workers& workers);
  DeviceTasks(DeviceTasks const&) = delete;
  DeviceTasks& operator=(DeviceTasks const&) = delete;

  [[nodiscard]] AsyncStreams& streams() { return m_streams; }
  [[nodiscard]] AsyncStreams const& streams() const { return m_streams; }

  /// What the edge between two tasks waits for.
  [[nodiscard]] static Trigger trigger_between(Task const& before, Task const& after);
  /// A device task is launched by whoever makes it ready. Not in the launch of another one, which
  /// has the streams for itself.
  [[nodiscard]] bool launches_here(Task const& task) const {
    return task.runs_on_device() && may_be_launched(task);
  }
  /// Launches a task, and then those that have only waited for its launch, and so on.
  void launch(Task& first, Seat& seat);

  [[nodiscard]] bool busy() const { return m_streams.busy(); }
  /// Could the seat's thread find something by polling?
  [[nodiscard]] bool may_be_polled(Seat const& seat) const {
    if (!m_streams.busy()) return false;
    if (!seat.waits && m_streams.has_own_clock() && !m_workers.anyone_waits()) return false;
    return m_poller.may_be_here();
  }
  /// Completes what has passed on the streams; false: nothing. What has been found is in the
  /// streams' keeping until its turn comes, so where code of the user's waits meanwhile another
  /// thread completes the rest.
  bool poll(Seat& seat);
  void stop_polling() {
    if (m_poller.is_here()) polls_no_more();
  }

 private:
  [[nodiscard]] bool may_be_launched(Task const& task) const;
  void polls_no_more();
  void launch_one(Task& task, Seat& seat, std::vector<Task*>& ready);
  void inherit_on_device(Task& task);
  void complete_passed(AsyncStreams::Retired const& passed, Seat& seat);
  void complete_failed(AsyncStreams::Retired const& failed, Seat& seat);

  Engine& m_engine;
  Exclusion& m_exclusion;
  FailureLog const& m_failures;
  Recorder* const m_recorder;  ///< null: does not record
  Destructors& m_destructors;
  Workers& m_workers;
  bool const m_serial;
  int const m_threads_per_worker;
  AsyncStreams m_streams;
  Poller m_poller;
};

}  // namespace trellis::Impl

#endif
