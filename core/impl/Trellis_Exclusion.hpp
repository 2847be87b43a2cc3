// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_EXCLUSION_HPP
#define TRELLIS_IMPL_EXCLUSION_HPP

#include <impl/Trellis_Recorder.hpp>
#include <impl/Trellis_Task.hpp>

#include <mutex>
#include <vector>

namespace trellis::Impl {

/// Keeps exclusive tasks on overlapping areas from running at the same time, in the order in which they
/// become ready.
///
/// INVARIANT. Under the mutex: no two holders conflict, and a task waits only while it conflicts with a
/// holder or is kept back by the task that has waited longest, the front. The front keeps back whoever
/// conflicts with it, so that it gets its turn, but not while a holder in its way sleeps (its body waits for
/// a task, which might be one of those). A task takes all its exclusive areas at once or none, so there is no
/// deadlock among waiters, and the front does not starve. What a holder's body wrote is visible to the next
/// one: `release` and `acquire` lock the same mutex.
class Exclusion {
 public:
  /// True when the task may run now; else it is returned by a later `release`.
  [[nodiscard]] bool acquire(Task& task);
  /// The body of a holder waits for another task: appends to `ready` those that may run now.
  void sleep(Task& task, std::vector<Task*>& ready);
  void wake(Task& task);
  /// True when the task has its exclusive areas.
  [[nodiscard]] bool holds(Task const& task);
  /// The task is over: appends those that may run now. `recorder` may be null; else it gets the edges chosen
  /// here.
  void release(Task& task, std::vector<Task*>& ready, Recorder* recorder);

  /// True when the two have exclusive accesses to areas that overlap.
  [[nodiscard]] static bool conflict(Task const& a, Task const& b);

 private:
  [[nodiscard]] bool may_hold(Task const& task) const;
  [[nodiscard]] bool front_keeps_back(Task const& task) const;
  void grant(std::vector<Task*>& ready);

  std::mutex m_mutex;
  std::vector<Task*> m_holding;
  std::vector<Task*> m_sleeping;  ///< of those
  std::vector<Task*> m_waiting;   ///< longest waiting first
};

}  // namespace trellis::Impl

#endif
