// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_EXCLUSION_HPP
#define TRELLIS_IMPL_EXCLUSION_HPP

#include <Trellis_Area.hpp>
#include <Trellis_Tag.hpp>
#include <impl/Trellis_FunctionRef.hpp>
#include <impl/Trellis_Recorder.hpp>
#include <impl/Trellis_Task.hpp>

#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <vector>

namespace trellis::Impl {

/// Keeps tasks that exclude each other (exclusive accesses to overlapping areas, or a rule about their tags)
/// from running at the same time; the order is that in which they become ready. Only tasks of one scope are
/// compared: parts of two tasks lie within what these declared, and those two exclude each other, and a task
/// holds what it has until all its parts are done.
///
/// INVARIANT. Under the mutex: no two holders conflict, and a task waits only while it conflicts with a
/// holder or is kept back by the task that has waited longest, the front. The front keeps back whoever
/// conflicts with it, so that it gets its turn, but not while a holder in its way sleeps (its body waits for
/// a task, which might be one of those). A task takes all its exclusive areas at once or none, so there is no
/// deadlock among waiters, and the front does not starve. What a holder's body wrote is visible to the next
/// one: `release` and `acquire` lock the same mutex.
class Exclusion {
 public:
  /// `recorder` may be null; else it gets an edge for each pair whose order was chosen here.
  Exclusion(std::deque<TagRule> const& rules, Recorder* recorder) : m_rules(rules), m_recorder(recorder) {}

  /// True when the task may run now; else it is returned by a later `release`.
  [[nodiscard]] bool acquire(Task& task);
  /// `apply` changes the accesses of a running task; appends those that may run now.
  void change(Task& task, FunctionRef<void()> apply, std::vector<Task*>& ready);
  /// The body of a task, or of a part of it, waits for another task: appends those that may run now. False
  /// when the task is no holder; else `wake` is to be called.
  bool sleep(Task& task, std::vector<Task*>& ready);
  void wake(Task& task);
  /// True when the task has its exclusive areas.
  [[nodiscard]] bool holds(Task const& task);
  /// The task is over: appends those that may run now.
  void release(Task& task, std::vector<Task*>& ready);

  /// True when the two must not run at the same time.
  [[nodiscard]] bool conflict(Task const& a, Task const& b) const;
  /// May a task with these accesses and tags ever be kept from running beside another?
  [[nodiscard]] bool concerns(Task const& task) const;

 private:
  /// What is kept of a task that has held, to know the order later.
  struct Past {
    struct Claim {
      Area area;
      Mode mode;
      StatePtr state;
      std::uint32_t generation;
    };
    TaskId id;
    TaskId parent;
    std::vector<Claim> claims;  ///< all that it ever had
    std::vector<Claim> kept;    ///< what it has after its demotions
    std::vector<TagPtr> tags;
  };
  /// Of an order that was chosen between two tasks.
  enum class Chosen {
    not_at_all,
    released,  ///< the earlier one gave up what was in the later one's way, and went on
    complete,  ///< the later one waited for the end of the earlier one
  };
  [[nodiscard]] static Past past_of(Task const& task);
  [[nodiscard]] bool rules_exclude(TaskId a, std::span<TagPtr const> tags_a, TaskId b,
                                   std::span<TagPtr const> tags_b) const;
  [[nodiscard]] Chosen chosen_between(Past const& earlier, Past const& later) const;
  void record_order(Task const& task);
  void record_change(Task const& task);
  void hold(Task& task);
  [[nodiscard]] bool may_hold(Task const& task) const;
  [[nodiscard]] bool front_keeps_back(Task const& task) const;
  [[nodiscard]] bool claims_no_less(Task const& more, Task const& less) const;
  void grant(std::vector<Task*>& ready, Task const* gone);

  std::deque<TagRule> const& m_rules;
  Recorder* const m_recorder;
  std::mutex m_mutex;
  std::vector<Task*> m_holding;
  std::vector<Task*> m_sleeping;  ///< of those; once for each wait
  std::deque<Task*> m_waiting;    ///< longest waiting first
  std::vector<Past> m_past;       ///< in the order in which they got hold; only with a recorder
};

}  // namespace trellis::Impl

#endif
