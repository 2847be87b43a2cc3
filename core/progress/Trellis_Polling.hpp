// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_POLLING_HPP
#define TRELLIS_IMPL_POLLING_HPP

#include <launch/Trellis_DeviceTasks.hpp>
#include <kernel/Trellis_Kernel.hpp>
#include <launch/Trellis_Poller.hpp>
#include <base/Trellis_ProgressSource.hpp>
#include <base/Trellis_Relaxed.hpp>
#include <base/Trellis_SpinLock.hpp>
#include <threads/Trellis_Workers.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace trellis::Impl {

class Completions;
class MainQueue;

/// Asks devices and the program's progress functions how far they are. A thread that finds no ready
/// task does so. For functions, a thread between two tasks also does so now and then.
///
/// INVARIANT (a thread polls). While streams are busy, or functions are asked for, one of these
/// holds: a thread polls; an awake thread will poll; or all permits are used for tasks. A thread
/// that launches, asks for a function, or stops polling calls `ready_added` of the workers
/// afterwards, or polls itself soon, as the thread that launches for others does (see LaunchQueue).
/// A thread that goes to sleep first stops polling. If it has a permit, it then asks once more
/// whether there is something to poll and no thread polls (`may_be_polled`). If it has none, the
/// threads that have permits have not asked yet, as they do so under the mutex of Workers when they
/// give them back. For the order of these operations see Workers.
///
/// The main thread calls the functions that only it may call, whichever thread polls, when it runs
/// tasks or waits. A thread that asks for such a function wakes it.
class Polling {
 public:
  Polling(Kernel& kernel, DeviceTasks& devices, Completions& completions, MainQueue& main)
      : m_kernel(kernel),
        m_devices(devices),
        m_completions(completions),
        m_main(main),
        m_workers(kernel.workers()) {}
  Polling(Polling const&) = delete;
  Polling& operator=(Polling const&) = delete;

  void add(std::shared_ptr<ProgressSource> source);
  void remove(std::shared_ptr<ProgressSource> const& source);
  void ask(ProgressSource& source);

  [[nodiscard]] bool busy() const { return m_devices.busy() || any_function(); }
  [[nodiscard]] bool any_function() const { return asked() > 0; }
  [[nodiscard]] int asked() const {
    return m_asked.load(std::memory_order_relaxed) +
           m_asked_of_main.load(std::memory_order_relaxed);
  }
  /// The reports of the functions asked for.
  [[nodiscard]] std::string report();
  [[nodiscard]] bool any_of_main() const {
    return m_asked_of_main.load(std::memory_order_seq_cst) > 0;
  }
  /// True if the slot's thread might find something by polling.
  [[nodiscard]] bool may_be_polled(WorkerSlot const& slot) const {
    if (slot.is_main && any_of_main()) return true;
    bool const devices = m_devices.busy() && m_devices.may_ask() && m_devices.may_go_on(slot);
    bool const any = devices || m_asked.load(std::memory_order_seq_cst) > 0;
    return any && m_poller.may_be_here();
  }
  /// Between two tasks: true if it is time to ask functions that this thread may ask.
  [[nodiscard]] bool is_due(WorkerSlot const& slot) const {
    if (!any_function()) return false;
    bool const mine = slot.is_main && m_asked_of_main.load(std::memory_order_relaxed) > 0;
    bool const any = m_asked.load(std::memory_order_relaxed) > 0 && m_poller.may_be_here();
    return (mine || any) && m_poller.is_due();
  }
  /// Functions that have been asked in vain for long are asked less often, so that a long wait uses
  /// no core. The delay is at most a twentieth of that time, or half a millisecond. Devices are
  /// asked all the time.
  [[nodiscard]] std::chrono::nanoseconds nap() const {
    // (The clock is not read for each message.)
    if (m_has_news.load(std::memory_order_relaxed)) {
      m_has_news.store(false, std::memory_order_relaxed);
      m_vain_since = Poller::Clock::now();
    }
    return nap(m_vain_since);
  }
  [[nodiscard]] std::chrono::nanoseconds nap(Poller::Clock::time_point since) const {
    constexpr std::chrono::nanoseconds shortest{20'000}, longest{500'000};
    if (m_devices.busy()) return {};
    auto const part = (Poller::Clock::now() - since) / 20;
    return part < shortest ? std::chrono::nanoseconds(0) : std::min(part, longest);
  }
  /// True when something has happened: tasks may be ready, or `Completions` has some to complete.
  /// `is_idle`: the thread has found no task.
  bool poll(WorkerSlot& slot, bool is_idle);
  /// Does the same only for functions of the main thread, which calls this.
  void poll_of_main(WorkerSlot& slot) { call_functions(slot, true); }
  /// Launches some of what has been offered to the polling thread, see LaunchQueue.
  void launch_offered(WorkerSlot& slot) {
    constexpr int most = 16;  // between two looks at other tasks
    if (!m_devices.any_offers()) [[likely]]
      return;
    if (m_devices.is_proxy()) m_devices.launch_offered(slot, most);
  }
  /// Called by a thread that has found nothing to do.
  void become_proxy() { m_devices.become_proxy(); }
  /// For a serial graph: called by the thread whose turn it is.
  void call_all(WorkerSlot& slot, bool on_main_thread);
  /// The thread does something else, or goes to sleep: it neither polls nor serves the launch
  /// queue.
  void stop(WorkerSlot& slot) {
    if (m_devices.is_proxy()) [[unlikely]]
      stop_being_proxy(slot);
    if (m_poller.is_here()) polls_no_more();
  }

 private:
  void polls_no_more();
  void stop_being_proxy(WorkerSlot& slot);
  void has_news() {
    if (!m_has_news.load(std::memory_order_relaxed))
      m_has_news.store(true, std::memory_order_relaxed);
  }
  void call_functions(WorkerSlot& slot, bool of_main);

  Kernel& m_kernel;
  DeviceTasks& m_devices;
  Completions& m_completions;
  MainQueue& m_main;
  Workers& m_workers;
  Poller m_poller;
  // Read between two tasks, while the poller is written often.
  alignas(64) std::atomic<int> m_asked{0};  ///< functions not idle, except those of the main thread
  std::atomic<int> m_asked_of_main{0};
  /// Something has been asked for, or has happened, since `m_vain_since`.
  alignas(64) mutable std::atomic<bool> m_has_news{false};
  mutable Relaxed<Poller::Clock::time_point> m_vain_since{};
  SpinLock m_lock;
  std::vector<std::shared_ptr<ProgressSource>> m_sources;  ///< guarded by m_lock
};

}  // namespace trellis::Impl

#endif
