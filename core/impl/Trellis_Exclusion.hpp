// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_EXCLUSION_HPP
#define TRELLIS_IMPL_EXCLUSION_HPP

#include <impl/Trellis_Recorder.hpp>
#include <impl/Trellis_Task.hpp>

#include <mutex>
#include <vector>

namespace trellis::Impl {

/// Keeps exclusive tasks on overlapping areas from running at the same time, in the order in which they become ready.
///
/// INVARIANT. Under the mutex: no two holders conflict, and a task waits only while it conflicts with a holder or with
/// the task that has waited longest. A task takes all its exclusive areas at once or none, and holders never wait for
/// a waiter, so there is no deadlock; the longest waiting task waits for holders only, so none starves.
/// What a holder's body wrote is visible to the next one: `release` and `acquire` lock the same mutex.
class Exclusion {
 public:
  /// True when the task may run now; else it is returned by a later `release`.
  [[nodiscard]] bool acquire(Task& task);
  /// The task is over: appends those that may run now. `recorder` may be null; else it gets the edges chosen here.
  void release(Task& task, std::vector<Task*>& ready, Recorder* recorder);

  /// True when the two have exclusive accesses to areas that overlap.
  [[nodiscard]] static bool conflict(Task const& a, Task const& b);

 private:
  [[nodiscard]] bool may_hold(Task const& task) const;

  std::mutex m_mutex;
  std::vector<Task*> m_holding;
  std::vector<Task*> m_waiting;  ///< longest waiting first
};

}  // namespace trellis::Impl

#endif
