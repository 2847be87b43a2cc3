// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_WORKERS_HPP
#define TRELLIS_IMPL_WORKERS_HPP

#include <Trellis_Graph.hpp>
#include <Trellis_Space.hpp>
#include <base/Trellis_FunctionRef.hpp>
#include <base/Trellis_Reserve.hpp>
#include <task/Trellis_Task.hpp>
#include <threads/Trellis_Gathering.hpp>
#include <threads/Trellis_Places.hpp>
#include <threads/Trellis_WorkerSlot.hpp>

#include <algorithm>
#include <chrono>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

/// THE THREADS OF A GRAPH: how they take tasks, search, sleep and are woken. This page has the
/// whole protocol of workers, sleep and places. `Workers` below is the class.
///
/// PERMITS. At most `permits` threads run tasks or search for some, each with a permit. `m_spare`
/// counts the permits that no thread has. It is negative while too many threads work. A thread in
/// `wait()` takes a permit at once. So a worker goes to sleep after its current task, and until
/// then one more task runs than there are workers.
///
/// A THREAD TAKES a task between two tasks (`pop_for`), unless it has to stop. A worker stops when
/// `m_spare` is negative. A thread in `wait()` goes first, but not before a wide task, see below.
/// The thread runs the task, and then what the policy keeps on its slot.
///
/// A THREAD SEARCHES when it finds no task (`search`). It counts in `m_searching`, and looks again
/// for some microseconds, which is about as long as it takes to sleep and to be woken. The threads
/// that search look together as often as one would (`relax`). A thread that finds a task ends its
/// search (`stop_searching`). If it was the last one that searched, and there are more tasks, it
/// wakes the next thread.
///
/// A THREAD SLEEPS when it has searched in vain (`sleep`). It gives its permit back, asks
/// `has_ready` once more, and waits on its condition variable. If something has to be polled, one
/// thread naps instead of sleeping (`TaskSource::nap`).
///
/// A THREAD IS WOKEN for a task when no thread searches and a permit is spare (`ready_added`). The
/// waker hands it the permit and counts it as searching, so that no second one is woken for the
/// same task. A worker is started if none sleeps. A thread that has been woken, and has found a
/// task, wakes two more as long as there are tasks for them (`wake_two`). A thread that waits for a
/// condition is woken when the condition is true (`wake_waiters`).
///
/// A THREAD GIVES ITS PERMIT AWAY while it waits inside a task (`Absence`). Another thread is woken
/// or started in its place.
///
/// A THREAD GATHERS PERMITS for a wide task, which has the threads of several workers, see
/// Gathering.
///
/// A THREAD THAT SUBMITS outside of all tasks counts as a worker meanwhile, where there are two or
/// more. It is lent a permit (`lend`), so that no more threads run than were asked for. When it
/// waits it has that permit already. It does not tell when it stops submitting; it may compute,
/// sleep, or be gone. So other threads check whether it still submits. Each worker does so now and
/// then between two tasks (`look_after_submitter`). One idle worker, the watch, naps and does so as
/// long as the permit is lent (`doze`). When there are no more submissions the permit is taken
/// back, and a ready task finds a worker. So when the submitter sleeps while all others are in long
/// tasks, a core may be idle for up to four milliseconds. If several threads submit at a time, one
/// is lent a permit, and the submissions of all count.
///
/// A THREAD BACKS OFF when it has caught up with a thread that submits short tasks, see
/// Trellis_BackOff.cpp.
///
/// INVARIANT (no lost wake-up). A thread that makes a task ready first pushes it, then reads
/// `m_searching` and `m_spare`. A thread that goes to sleep first takes itself off `m_searching`,
/// then adds its permit to `m_spare`, then asks `has_ready` once more. All six are sequentially
/// consistent. So in their single order either the first thread sees the permit, and wakes a
/// thread, or the second one sees the task, and stays awake. A thread that saw another one
/// searching may rely on that one to ask once more.
///
/// Every thread that goes to sleep or leaves evaluates the `waits_for` conditions under the mutex,
/// after its own completions. So the last one to finish finds the threads that wait for that. A
/// thread may make a condition true in another way (it destroyed a body, or polled a device). It
/// does so sequentially consistently and then reads `m_asleep_waiting`. A waiting thread adds
/// itself to that count before it asks its condition for the last time.
///
/// INVARIANT (lent). `m_lent` changes under the mutex. While it is set, one permit is neither in
/// `m_spare` nor with a thread that runs tasks. The thread that takes it back does as a thread that
/// goes to sleep: it adds the permit to `m_spare`, then asks `has_ready`. (A submitter that still
/// sees `m_lent` then has been late with its submission; its next one sees that it is not set.)
/// While it is set a worker is or will be the watch. It is the watch already, or sleeps and has
/// been asked to be it, or has no permit, and so goes to sleep soon. The thread that lends asks for
/// a watch. So does each worker that leaves its sleep, as it may be the one that was asked, and
/// each thread that becomes absent. All this happens under the mutex, see `post_watch`.
///
/// OTHER NUMBERS OF THREADS. The main thread calls `set_threads`, in no task, when no task is in
/// flight and no other thread uses the graph. The call ends all workers, so the numbers change
/// while there is no thread that reads them. A worker that is started later happens after the
/// change by the start of its thread. A thread that enters `wait()` happens after it by the mutex.
/// For a thread that submits, the program must order the change before, as it does when the graph
/// has been made. The slots and their counts stay, as other threads read them at any time. A new
/// worker gets the slot of the one with its number, whose last user has been joined.
namespace trellis::Impl {

/// The condition under which a thread in `work_until` goes on.
struct Until {
  Condition done;  ///< asked after each task, and while it sleeps
  /// If not null: a thread that finds no task also goes on when this is true, after a short sleep
  /// at most.
  Condition const* rather_than_sleep = nullptr;
  bool then_submits = false;  ///< it is about to submit a task
  /// If not null: of the ready tasks it takes only these, where the policy finds one, and those
  /// that no other thread may run.
  FunctionRef<bool(Task const&)> const* wants = nullptr;
};

inline constexpr auto is_always = [] { return true; };
inline constexpr Condition always = is_always;  ///< of a thread that would rather not sleep

/// The source of the workers' tasks: the engine.
class TaskSource {
 public:
  virtual Task* pop(WorkerSlot& slot) = 0;
  /// Takes a task that no other thread may run, or returns null.
  virtual Task* pop_own(WorkerSlot& slot) = 0;
  /// Runs the task and whatever the policy keeps on this slot after it, until `stop` says so.
  virtual void run(Task* task, WorkerSlot& slot, Condition stop) = 0;
  /// True if a task is ready. It is sequentially consistent: it sees every push that was over when
  /// the call began.
  [[nodiscard]] virtual bool has_ready(WorkerSlot const& slot) const = 0;
  /// Returns about how many tasks are ready.
  [[nodiscard]] virtual std::size_t backlog() const = 0;
  /// True if there is a device, or a function, to be polled.
  [[nodiscard]] virtual bool polls() const = 0;
  /// Called when `has_ready`. Returns the time for which the thread may sleep first, as nothing is
  /// ready and polling has been in vain for long. 0: it may not sleep.
  [[nodiscard]] virtual std::chrono::nanoseconds nap(WorkerSlot const& slot) const = 0;
  /// Does the same as `has_ready` for the tasks that no other thread may run.
  [[nodiscard]] virtual bool has_own(WorkerSlot const& slot) const = 0;
  /// Notes that the thread has found nothing and goes on looking. It may wait a little first.
  virtual void found_nothing(WorkerSlot& slot) = 0;
  /// Notes that the thread may stop looking for tasks.
  virtual void leaves(WorkerSlot& slot) = 0;

 protected:
  ~TaskSource() = default;
};

/// The threads of one graph, and which of them sleep. The top of this file has the protocol.
///
/// A worker slot belongs to the main thread, a worker, or a guest: another thread of the user's
/// while it waits. There are enough slots for all workers, including those that replace blocked
/// ones. A guest that finds no slot runs no tasks, and sleeps until what it waits for has come.
/// Workers are started when there is work for them.
class Workers {
 public:
  static constexpr int most_permits = 4096;
  static constexpr int most_guests = 128;  ///< that run tasks at the same time
  static constexpr int max_blocked = 128;  ///< tasks that wait inside their bodies
  /// `most_workers`: the limit for `set_threads` and for `permits`. 0 permits: serial.
  Workers(TaskSource& source, int permits, int threads_per_worker, int most_workers,
          Places& places);
  Workers(Workers const&) = delete;
  Workers& operator=(Workers const&) = delete;
  ~Workers();

  /// Stops and joins all threads and destroys the instances. Requires that no task is in flight.
  void stop();
  /// Changes the numbers of threads, see above. Instances are destroyed, and made again when they
  /// are asked for. A serial graph remains serial. When it throws the numbers are as before.
  void set_threads(int permits, int threads_per_worker);

  /// Returns a slot for a thread that runs no tasks of the graph, but launches one.
  [[nodiscard]] static WorkerSlot& no_slot();
  /// Called when a task has been pushed. Wakes or starts a worker when that helps.
  void ready_added() {
    if (somebody_should_wake()) wake_one();
  }
  /// Called when a thread that may be looking for a task does something else first, as if it had
  /// found one.
  void looks_no_more(WorkerSlot& slot) {
    if (slot.search.is_on) [[unlikely]]
      stop_searching(slot);
  }
  /// Called when a thread outside of all tasks of this graph submits one.
  void submits() {
    if (m_permits < 2) return;
    m_news.store(m_news.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (!m_lent.load(std::memory_order_relaxed)) consider_lending();
  }
  /// Called by a worker between two tasks, which has just read the clock.
  void look_after_submitter(WorkerSlot& slot, std::chrono::steady_clock::time_point now);
  void main_ready_added();
  /// Called when something happened that a thread asleep in `wait()` may wait for.
  void wake_waiters();
  /// True if a thread sleeps in `wait()`, or at the cap.
  [[nodiscard]] bool anyone_waits() const {
    return m_asleep_waiting.load(std::memory_order_seq_cst) > 0;
  }
  /// True if no thread is within a task, except those that wait there, and none submits. The answer
  /// may be outdated; but when it is true for good, the last thread that goes to sleep sees it.
  [[nodiscard]] bool nobody_runs() const {
    return m_spare.load(std::memory_order_seq_cst) + m_searching.load(std::memory_order_seq_cst) >=
           m_permits;
  }
  /// True if a thread outside of all tasks submits, and is lent a permit, see above.
  [[nodiscard]] bool somebody_submits() const { return m_lent.load(std::memory_order_relaxed); }
  /// True if an idle thread may keep its core while another thread submits. Then the submitter has
  /// a permit of its own, or, beside a single worker, a core.
  [[nodiscard]] bool submitter_has_core() const {
    return m_permits > 1 ? m_has_cores && somebody_submits()
                         : m_threads_per_worker < cores_of_process();
  }
  /// True if a thread should stop running tasks so that another may run them.
  [[nodiscard]] bool oversubscribed() const { return m_spare.load(std::memory_order_relaxed) < 0; }

  /// Runs tasks on the calling thread, which is in no task of this graph, until `done`.
  void work_until(Until const& until);
  /// Waits like `work_until`, but runs no tasks. The main thread also checks its condition when a
  /// task for it comes.
  void sleep_until(Until const& until);
  /// While this object exists the thread of a slot, which runs a task, has so many permits. The
  /// constructor waits for them, and the destructor for those that it had before.
  class Permits {
   public:
    Permits(Workers& workers, WorkerSlot& slot, int permits)
        : m_workers(workers), m_slot(slot), m_before(slot.permits) {
      if (permits != m_before) workers.change_permits(slot, permits);
    }
    Permits(Permits const&) = delete;
    Permits& operator=(Permits const&) = delete;
    ~Permits() {
      if (m_slot.permits != m_before) m_workers.change_permits(m_slot, m_before);
    }

   private:
    Workers& m_workers;
    WorkerSlot& m_slot;
    int const m_before;
  };
  /// Gives a wide task its permits.
  class Gathered : Permits {
   public:
    Gathered(Workers& workers, WorkerSlot& slot, int permits)
        : Permits(workers, slot,
                  workers.m_permits != 0 && permits > 1 ? std::max(permits, slot.permits)
                                                        : slot.permits),
          m_spread(workers.m_places, permits > 1) {}

   private:
    Places::Spread const m_spread;
  };
  /// Leaves a task that waits one permit, if it has some.
  struct Narrowed : Permits {
    Narrowed(Workers& workers, WorkerSlot& slot)
        : Permits(workers, slot, std::min(slot.permits, 1)) {}
  };
  /// While this object exists the thread of a slot does not work, and another one may run tasks in
  /// its place. The slot has no permit then, so an Absence within another gives none back.
  class Absence {
   public:
    Absence(Workers& workers, WorkerSlot& slot);
    Absence(Absence const&) = delete;
    Absence& operator=(Absence const&) = delete;
    ~Absence();

   private:
    Narrowed const m_narrowed;
    Workers& m_workers;
    WorkerSlot& m_slot;
    int m_permits = 0;
    bool m_searching = false;
  };
  /// Sleeps inside a task until `done`; another thread may run tasks meanwhile.
  void block_until(Condition done, WorkerSlot& slot);
  /// Returns this slot's instance of a space. The first call makes it.
  [[nodiscard]] void* instance(WorkerSlot& slot, SpaceAdapter& space);

  /// From now on it is noted when threads sleep because there is no task for them. Times count from
  /// `start`. Called before there are tasks.
  void note_sleeps(std::chrono::steady_clock::time_point start) {
    m_notes_sleeps = true;
    m_sleeps_from = start;
  }
  [[nodiscard]] std::vector<ThreadSleep> sleeps();

  /// The numbers of slots are below this.
  [[nodiscard]] int max_slots() const { return static_cast<int>(m_slots.size()); }
  [[nodiscard]] int slot_count() const { return m_slot_count.load(std::memory_order_acquire); }
  [[nodiscard]] WorkerSlot& slot(int k) const { return *m_slots[static_cast<std::size_t>(k)]; }
  [[nodiscard]] int permits() const { return m_permits; }
  [[nodiscard]] int most_workers() const { return m_most_workers; }
  [[nodiscard]] std::uint64_t completed() const { return sum(&TaskCounts::completed); }
  [[nodiscard]] std::uint64_t submitted() const { return sum(&TaskCounts::submitted); }
  [[nodiscard]] std::uint64_t edges() const { return sum(&TaskCounts::edges); }
  [[nodiscard]] bool on_main_thread() const { return std::this_thread::get_id() == m_main_thread; }

 private:
  [[nodiscard]] std::uint64_t sum(std::atomic<std::uint64_t> TaskCounts::* count) const;
  void end_threads();
  void destroy_instances();
  /// True if no thread looks for a task, and a permit is free for one that could.
  [[nodiscard]] bool somebody_should_wake() const {
    return m_searching.load(std::memory_order_seq_cst) == 0 &&
           m_spare.load(std::memory_order_seq_cst) > 0;
  }
  [[nodiscard]] int relax() const;
  void wake_one();
  void background(WorkerSlot& slot, int number, bool with_permit);
  void work(WorkerSlot& slot, Until const* until);
  void search(WorkerSlot& slot);
  void stop_searching(WorkerSlot& slot);
  void wake_two();
  void sleep(WorkerSlot& slot, Until const* until);
  using Nap = std::chrono::nanoseconds;
  void sleep_blocked(Condition done, WorkerSlot& slot, Nap nap, bool in_task);
  WorkerSlot* enter();
  void consider_lending();
  template <class F>
  void take_back_if(F const& may, WorkerSlot const& slot);
  void change_permits(WorkerSlot& slot, int permits);
  [[nodiscard]] bool any_wide() const { return m_wide.load(std::memory_order_relaxed) != 0; }
  [[nodiscard]] bool has_to_stop(WorkerSlot const& slot, bool waits, bool has_turn) const;
  [[nodiscard]] Task* pop_for(WorkerSlot& slot, bool waits, bool has_turn);

  // The caller of each of these functions holds the mutex.
  WorkerSlot& new_slot(std::string name);
  bool start_thread(bool with_permit);
  void doze(std::unique_lock<std::mutex>& lock, WorkerSlot& slot);
  void hand_watch_on(WorkerSlot const& slot);
  void lend();
  void take_back();
  void post_watch();
  void add_permit(int by);
  void gather(std::unique_lock<std::mutex>& lock, WorkerSlot const& slot, int permits);
  void serve_gatherers();
  [[nodiscard]] bool all_are_gathered() const;
  void main_looks();
  void wake_main();
  void wake(WorkerSlot& slot);
  void wake_waiters_locked();
  [[nodiscard]] std::size_t note_sleep(WorkerSlot const& slot) noexcept;
  void note_end_of_sleep(std::size_t noted);
  [[nodiscard]] std::uint64_t since_start() const;

  TaskSource& m_source;
  int m_permits;
  int m_threads_per_worker;
  int const m_most_workers;
  Places& m_places;
  bool m_has_cores;  ///< there is a core for each thread that runs tasks
  std::thread::id const m_main_thread = std::this_thread::get_id();

  std::vector<std::unique_ptr<WorkerSlot>> m_slots;  ///< its size does not change
  std::atomic<int> m_slot_count{0};
  // These are not in the lines that follow, as a thread in wait() reads `m_wide` between two tasks.
  std::atomic<int> m_wide{0};       ///< threads in `m_gatherers`, and those with several permits
  std::atomic<int> m_gathering{0};  ///< threads in `m_gatherers`

  alignas(64) std::atomic<int> m_searching{0};  ///< threads that look for a task
  std::atomic<int> m_spare{0};  ///< permits that no thread has; negative: too many threads work
  std::atomic<int> m_asleep_waiting{0};  ///< sleeping threads with a condition
  // A thread that submits writes this with each task; others seldom read it.
  alignas(64) std::atomic<std::uint64_t> m_news{0};  ///< approximate number of submissions
  // Many threads read these, which are seldom written.
  alignas(64) std::atomic<bool> m_lent{false};
  std::atomic<std::chrono::steady_clock::time_point>
      m_last_submission{};  ///< while nothing is lent
  alignas(64) std::mutex m_mutex;
  std::thread::id m_lent_to{};
  std::uint64_t m_seen_news = 0;            ///< m_news as the watch has seen it
  WorkerSlot* m_watch = nullptr;            ///< the worker that naps, or null
  bool m_somebody_naps = false;             ///< a thread naps before it polls again
  std::vector<WorkerSlot*> m_worker_slots;  ///< by number of the worker; as many as there ever were
  Vector<WorkerSlot*> m_sleeping;           ///< those that may be woken for a task
  /// Threads that wait only for their condition: inside a task, or without a slot.
  Vector<WorkerSlot*> m_blocked;
  int m_blocked_tasks = 0;
  int m_absent = 0;  ///< number of threads, see Absence
  int m_guests = 0;
  Vector<Gatherer*> m_gatherers;  ///< the oldest first
  std::vector<std::thread> m_threads;
  std::atomic<bool> m_stopping{false};
  std::vector<ThreadSleep> m_sleeps;  ///< in the order of their begins; 0: the sleep has not ended
  bool m_notes_sleeps = false;
  std::chrono::steady_clock::time_point m_sleeps_from{};  ///< their times count from here
};

}  // namespace trellis::Impl

#endif
