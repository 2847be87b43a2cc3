// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_EXCLUSION_HPP
#define TRELLIS_IMPL_EXCLUSION_HPP

#include <Trellis_Area.hpp>
#include <Trellis_SchedulingPolicy.hpp>
#include <Trellis_Tag.hpp>
#include <access/Trellis_AreaIndex.hpp>
#include <exclusion/Trellis_TurnQueue.hpp>
#include <exclusion/Trellis_Turns.hpp>
#include <task/Trellis_FunctionRef.hpp>
#include <trace/Trellis_Recorder.hpp>
#include <kernel/Trellis_Task.hpp>
#include <threads/Trellis_Unlocked.hpp>
#include <task/Trellis_Reserve.hpp>

#include <cstdint>
#include <deque>
#include <list>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

namespace trellis::Impl {

/// Keeps tasks that exclude each other (exclusive accesses to overlapping areas, or a rule about
/// their tags) from running at the same time. Their turns come in the order of the ranks that the
/// scheduling policy gives them, and among equals in the order in which they become ready. Only
/// tasks of one region are compared: parts of two tasks lie within what these declared, and those
/// two exclude each other, and a task holds what it has until all its parts are done.
///
/// INVARIANT. Under the mutex: no two holders conflict, and a task waits only while it conflicts
/// with a holder or is kept back by the waiting task whose turn comes first, the front. The front
/// keeps back whoever conflicts with it and comes later, so that it gets its turn, but not while a
/// holder in its way sleeps (its body, or a part of it, waits for a task, which might be one of
/// those). A task takes
/// all its exclusive areas at once or none, so there is no deadlock among waiters, and of those
/// with the highest rank none starves. What a holder's body wrote is visible to the next one:
/// `release` and `acquire` lock the same mutex.
///
/// INVARIANT (queues). To find out who may run without asking all that wait, each waiter is in the
/// queue of one obstacle: one of its areas that is closed to it, that is, a holder has an
/// overlapping area, or the front has one and keeps others back. What is open to a waiter closes
/// when somebody becomes a holder, or when another task becomes the front; it opens only
///   - when a holder gives up an area: all areas that overlap this one may open;
///   - when a holder in the way of the front falls asleep: all areas that overlap one of the
///   front's may open;
///   - when the front is the front no more, though it still waits (a task whose turn comes before
///   it has arrived), or needs less: all areas that overlap one of those it had may open. It does
///   not open when the front becomes a holder: what it kept back is now in conflict with a holder.
///   So these are the only queues to look at, and in each only those whose turn comes first are
///   asked, until the area is closed to the next one: it is closed to those behind that one as
///   well, because the front is behind nobody. Who is asked and finds another of its areas closed
///   moves to the queue of that one. So what a release costs depends on the task's own areas, those
///   that overlap them, and those who move, but hardly on how many wait (see Turns).
///
/// What a rule or states of the user's say can only be found out for two tasks at a time. The tasks
/// that these can concern are `compared`: with each other, one by one, in addition to their areas.
/// They have a queue in common for those to whom all their areas are open; when one of them gives
/// up something, all who are in it are asked.
class Exclusion {
 public:
  /// `recorder` may be null; else it gets an edge for each pair whose order was chosen here.
  /// `policy`: gives the ranks; null: they are the priorities.
  /// `has_front`: the front keeps others back. In a serial graph it does not: the one thread that
  /// runs tasks could not know that what it waits for is behind a task that it does not wait for.
  Exclusion(std::deque<TagRule> const& rules, Recorder* recorder,
            SchedulingPolicy* policy = nullptr, bool has_front = true)
      : m_rules(rules), m_recorder(recorder), m_policy(policy), m_has_front(has_front) {}

  /// True when the task may run now; else it is returned by a later call. Appends others that may
  /// run now, as they are kept back no more.
  [[nodiscard]] bool acquire(Task& task, Vector<Task*>& others);
  /// `apply` changes the accesses of a task that is ready or runs; appends those that may run now,
  /// perhaps this one. What makes a task exclusive that has not been before is its own from now on:
  /// then it must be running.
  void change(Task& task, FunctionRef<void()> apply, Vector<Task*>& ready);
  /// For the record: what has been between two of these may be gone, so that their order is chosen
  /// here though they are not of one group.
  void forget_groups(std::span<Task* const> tasks);
  /// The body of a task, or of a part of it, waits for another task: appends those that may run
  /// now. False when the task can be in nobody's way, now or after a demotion; else `wake` is to be
  /// called.
  bool sleep(Task& task, Vector<Task*>& ready);
  void wake(Task& task);
  /// A part of the task waits for a task elsewhere: until it is over, the same as if it slept.
  void hinder(Task& task, Vector<Task*>& ready);
  /// The same for a pending task, which has not come here yet; but where it is refined and hindered
  /// others look at what it has.
  void change_pending(Task& task, FunctionRef<void()> apply, Vector<Task*>& ready);
  /// True when the task has its exclusive areas.
  [[nodiscard]] bool holds(Task const& task);
  /// The task is over: appends those that may run now.
  void release(Task& task, Vector<Task*>& ready);

  /// Forgets what is kept to find the order of tasks to come.
  void clear_record();

  /// True when the two must not run at the same time.
  [[nodiscard]] bool conflict(Task const& a, Task const& b) const;
  /// May a task with these accesses and tags ever be kept from running beside another?
  [[nodiscard]] bool concerns(Task const& task) const;

 private:
  struct Claimant;
  /// An area to which holders or waiters of one region have exclusive access; it is there while
  /// they are. The entry of a task in flight is not forgotten, so it stands for the region and the
  /// area.
  struct Claimed {
    AreaEntry const* entry = nullptr;
    Region const* region = nullptr;  ///< of the tasks; null: the graph's
    Area area;
    std::uint32_t claimants = 0;
    Claimant* holder = nullptr;
    bool may_open = false;         ///< is in m_may_open
    Vector<Claimed*> overlapping;  ///< all others of the region that share a byte with this one
    TurnQueue<Claimant> queue;
  };
  using Claimants = List<Claimant>;
  /// A task that holds or waits.
  struct Claimant {
    Claimants::iterator self;
    Task* task = nullptr;
    Turn turn;
    bool compared = false;
    Claimed* queue = nullptr;  ///< that it waits in
    bool waits = false;
    Vector<Claimed*> areas;  ///< without duplicates
  };
  using Areas = HashMap<AreaEntry const*, Claimed>;

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
    Vector<Claim> claims;  ///< all that it ever had
    Vector<Claim> kept;    ///< what it has after its demotions
    Vector<TagPtr> tags;
  };
  /// Of an order that was chosen between two tasks.
  enum class Chosen {
    not_at_all,
    released,  ///< the earlier one gave up what was in the later one's way, and went on
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
  [[nodiscard]] Claimant* waiter(Task const& task);
  void begin_turn(Claimant& claimant);
  void end_turn(Claimant& claimant, Claimants& to);
  void begin_to_hold(Claimant& claimant);
  void change_waiting(Claimant& waiter, Vector<Task*>& ready);
  [[nodiscard]] Claimed& claimed(AreaEntry const& entry, Region const* region);
  void forget(Claimed& area);
  void claim(Claimant& claimant);
  void disclaim(Claimant& claimant);
  void give_up(Claimant& holder);
  static void hold(Claimant& claimant);
  void admit(Claimant& claimant);
  [[nodiscard]] Claimant const* front_before(Claimant const& other) const;
  [[nodiscard]] bool is_behind_sleeper(Claimant const& waiter) const;
  [[nodiscard]] bool is_closed(Claimed const& area, Claimant const& to) const;
  [[nodiscard]] Claimed* obstacle(Claimant const& to);
  void may_open(Claimed& area);
  void may_open_around(Claimant const& claimant);
  static void enqueue(Claimed& area, Claimant& waiter);
  void grant(Vector<Task*>& ready);

  std::deque<TagRule> const& m_rules;
  Recorder* const m_recorder;
  SchedulingPolicy* const m_policy;  ///< which is called without the mutex
  bool const m_has_front;
  QuietLock<std::mutex> m_mutex;
  std::uint64_t m_arrivals = 0;
  Claimants m_holding;
  Claimants m_arriving;  ///< neither hold nor wait yet
  Turns<Claimant> m_waiting;
  Claimants m_spare;  ///< for reuse, as m_spare_areas
  Areas m_areas;
  Vector<Areas::node_type> m_spare_areas;
  HashMap<Region const*, AreaIndex> m_indices;  ///< of those areas, by region
  Claimed m_compared;  ///< no area, but the queue of those who wait because of a comparison
  /// once for each wait; also those who may yet become holders
  Vector<Task const*> m_sleeping;
  Vector<Task const*> m_hindered;  ///< those of `hinder`; some are not holders yet
  Vector<Past> m_past;             ///< in the order in which they got hold; only with a recorder

  struct MayOpen {
    Turn first;  ///< of its queue
    Claimed* area;
  };
  Vector<MayOpen> m_may_open;  ///< a heap of queues to look at; empty between calls
};

}  // namespace trellis::Impl

#endif
