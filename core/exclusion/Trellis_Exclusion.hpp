// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_EXCLUSION_HPP
#define TRELLIS_IMPL_EXCLUSION_HPP

#include <Trellis_Area.hpp>
#include <Trellis_SchedulingPolicy.hpp>
#include <Trellis_Tag.hpp>
#include <access/Trellis_AreaIndex.hpp>
#include <exclusion/Trellis_TurnQueue.hpp>
#include <exclusion/Trellis_Turns.hpp>
#include <base/Trellis_FunctionRef.hpp>
#include <trace/Trellis_Recorder.hpp>
#include <task/Trellis_Task.hpp>
#include <locks/Trellis_Unlocked.hpp>
#include <base/Trellis_Reserve.hpp>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <type_traits>

namespace trellis::Impl {

template <class T>
[[nodiscard]] bool is_in(Vector<T> const& values, std::type_identity_t<T> const& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

/// Returns the tag that a rule looks at.
[[nodiscard]] AnyTag const& tag_of(std::span<TagPtr const> tags, TagRule const& rule);

/// Keeps tasks that exclude each other (exclusive accesses to overlapping areas, or a rule about
/// their tags) from running at the same time. Their turns come in the order of the ranks that the
/// scheduling policy gives them, and among equals in the order in which they become ready. Only
/// tasks of one scope are compared. The accesses of children lie within those of their tasks. Tasks
/// that exclude each other do so for their children, as a task holds its areas until all its
/// children are done.
///
/// INVARIANT. Under the mutex: no two holders conflict. A task waits only while it conflicts with a
/// holder, or is kept back by the front, the waiting task whose turn comes first. The front keeps
/// back later tasks that conflict with it, so that it gets its turn. It does not do so while a
/// holder in its way sleeps: the body of that holder, or of a child of it, waits for a task, which
/// might be one of those. A task takes all its exclusive areas at once or none, so there is no
/// deadlock among waiters, and no task with the highest rank starves. What a holder's body wrote is
/// visible to the next one, as `release` and `acquire` lock the same mutex.
///
/// INVARIANT (queues). To find the tasks that may run without asking all waiters, each waiter is in
/// the queue of one obstacle. That is one of its areas that is closed to it: a holder has an
/// overlapping area, or the front has one and keeps others back. An area closes to a waiter when a
/// task becomes a holder, or the front. It opens only in these cases:
/// - A holder gives up an area: all areas that overlap this one may open.
/// - A holder in the way of the front falls asleep: all areas that overlap one of the front's may
///   open.
/// - The front needs less, or is the front no more though it still waits, as a task with an earlier
///   turn has arrived. All areas that overlap one of those it had may open. They do not open when
///   the front becomes a holder, as what it kept back now conflicts with a holder.
///
/// So only these queues are checked, and in each of them tasks are asked by turn until the area is
/// closed to the next one. It is then closed to those behind that one as well, because the front is
/// behind no task. A task that is asked and finds another of its areas closed moves to that queue.
/// So the cost of a release depends on the task's own areas, those that overlap them, and the tasks
/// that move. It hardly depends on how many tasks wait (see Turns).
///
/// Rules and user-defined states can only be evaluated for two tasks at a time. The tasks that
/// these can concern are `compared` with each other, one by one, in addition to their areas. Tasks
/// of this kind that find all their areas open wait in a common queue. When one of them gives up
/// something, all tasks in it are asked.
class Exclusion {
 public:
  /// `recorder` may be null; else it gets an edge for each pair whose order was chosen here.
  /// `policy` gives the ranks; if it is null, they are the priorities. `has_front`: the front keeps
  /// others back. In a serial graph it does not. The one thread that runs tasks could not know that
  /// a task it waits for is behind a task that it does not wait for.
  Exclusion(std::deque<TagRule> const& rules, Recorder* recorder,
            SchedulingPolicy* policy = nullptr, bool has_front = true)
      : m_rules(rules), m_recorder(recorder), m_policy(policy), m_has_front(has_front) {}

  /// True when the task may run now; else a later call returns it. Appends other tasks that may run
  /// now, as they are no longer kept back.
  [[nodiscard]] bool acquire(Task& task, Vector<Task*>& others);
  /// `apply` changes the accesses of a task that is ready or runs. Appends the tasks that may run
  /// now, perhaps this one. A task that only now becomes exclusive must be running; its exclusive
  /// areas are its own from then on.
  void change(Task& task, FunctionRef<void()> apply, Vector<Task*>& ready);
  /// For the record: accesses between this task and others may be gone. So their order is chosen
  /// here, though they are not of one group.
  void forget_groups(Task& task);
  /// The body of a task, or of a child of it, waits for another task: appends the tasks that may
  /// run now. False when the task can be in no task's way, now or after a demotion; else call
  /// `wake` later.
  bool sleep(Task& task, Vector<Task*>& ready);
  void wake(Task& task);
  /// A child of the task waits for a task elsewhere. Until the task is over, it counts as asleep.
  void let_others_pass(Task& task, Vector<Task*>& ready);
  /// Works as `change` for a pending task, which has not come here yet. But if it is refined and
  /// hindered, other tasks read what it has.
  void change_pending(Task& task, FunctionRef<void()> apply, Vector<Task*>& ready);
  [[nodiscard]] bool holds(Task const& task);
  /// The task is over: appends tasks that may run now.
  void release(Task& task, Vector<Task*>& ready);

  /// Forgets what is kept to find the order of later tasks.
  void clear_record();

  [[nodiscard]] bool conflict(Task const& a, Task const& b) const;
  /// True if a task with these accesses and tags may ever be kept from running beside another.
  [[nodiscard]] bool concerns(Task const& task) const;

 private:
  struct Claimant;
  /// An area to which holders or waiters of one scope have exclusive access; it exists as long as
  /// they do. The entry of a task in flight is not forgotten, so it identifies the scope and the
  /// area.
  struct Claimed {
    AreaEntry const* entry = nullptr;
    Scope const* scope = nullptr;  ///< of the tasks; null: the graph's
    Area area;
    std::uint32_t claimants = 0;
    Claimant* holder = nullptr;
    bool may_open = false;         ///< is in m_may_open
    Vector<Claimed*> overlapping;  ///< all others of the scope that share a byte with this one
    TurnQueue<Claimant> queue;
    Turn turn;  ///< of the front of the queue, when it got into m_may_open
  };
  using Claimants = List<Claimant>;
  /// A task that holds or waits.
  struct Claimant {
    Claimants::iterator self;
    Task* task = nullptr;
    Turn turn;
    bool compared = false;
    Claimed* queue = nullptr;  ///< the queue that it waits in; null: it does not wait
    Vector<Claimed*> areas;    ///< without duplicates
  };
  using Areas = HashMap<AreaEntry const*, Claimed>;

  /// What is kept of a task that has held, to find the order later.
  struct Past {
    struct Claim {
      Area area;
      Mode mode;
      StatePtr state;
      std::uint32_t generation;
    };
    TaskId id;
    TaskId parent;
    Vector<Claim> claims;  ///< all that it ever had
    Vector<Claim> kept;    ///< what it has after its demotions
    Vector<TagPtr> tags;
    void forget_groups();
  };
  /// How the order of two tasks was chosen.
  enum class Chosen {
    not_at_all,
    released,  ///< the earlier one gave up what was in the later one's way, and continued
    complete,  ///< the later one waited for the end of the earlier one
  };
  [[nodiscard]] static Past past_of(Task const& task);
  [[nodiscard]] bool ruled() const;
  [[nodiscard]] bool rules_exclude(TaskId a, std::span<TagPtr const> tags_a, TaskId b,
                                   std::span<TagPtr const> tags_b) const;
  [[nodiscard]] Chosen chosen_between(Past const& earlier, Past const& later) const;
  void record_order(Task const& task);
  void record_change(Task const& task);

  Claimant& arrive(Task& task, std::int64_t rank);
  void leave(Claimant& holder);
  [[nodiscard]] Claimant* holder(Task const& task);
  void wait_in(Claimed& area, Claimant& claimant);
  void end_turn(Claimant& claimant, Claimants& to);
  void begin_to_hold(Claimant& claimant);
  void change_waiting(Claimant& waiter, Vector<Task*>& ready);
  [[nodiscard]] Claimed& claimed(AreaEntry const& entry, Scope const* scope);
  void forget(Claimed& area);
  void claim(Claimant& claimant);
  void disclaim(Claimant& claimant);
  void give_up(Claimant& holder);
  static void hold(Claimant& claimant);
  [[nodiscard]] bool admit(Claimant& claimant);
  [[nodiscard]] Claimant const* front_before(Claimant const& other) const;
  [[nodiscard]] bool is_behind_sleeper(Claimant const& waiter) const;
  [[nodiscard]] bool is_closed(Claimed& area, Claimant const& to) const;
  [[nodiscard]] Claimed* obstacle(Claimant const& to);
  void may_open(Claimed& area);
  void may_open_around(Claimant const& claimant);
  void grant(Vector<Task*>& ready);

  std::deque<TagRule> const& m_rules;
  Recorder* const m_recorder;
  SchedulingPolicy* const m_policy;  ///< called without the mutex
  bool const m_has_front;
  DeferringLock<std::mutex> m_mutex;
  std::uint64_t m_arrivals = 0;
  Claimants m_holding;
  Claimants m_arriving;  ///< neither hold nor wait yet
  Turns<Claimant> m_waiting;
  Claimants m_spare;  ///< for reuse, like m_spare_areas
  Areas m_areas;
  Vector<Areas::node_type> m_spare_areas;
  HashMap<Scope const*, AreaIndex> m_indices;  ///< of those areas, by scope
  Claimed m_compared;  ///< no area; its queue holds the tasks that wait because of a comparison
  /// once for each wait; includes tasks that may yet become holders
  Vector<Task const*> m_sleeping;
  Vector<Task const*> m_let_others_pass;  ///< tasks of `let_others_pass`; some are not holders yet
  Vector<Past> m_past;                    ///< in the order of holding; only with a recorder
  TurnQueue<Claimed> m_may_open;          ///< queues to look at; empty between calls
};

}  // namespace trellis::Impl

#endif
