// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_WORKERS_HPP
#define TRELLIS_IMPL_WORKERS_HPP

#include <Trellis_Space.hpp>
#include <task/Trellis_FunctionRef.hpp>
#include <task/Trellis_KeptBodies.hpp>
#include <kernel/Trellis_Region.hpp>
#include <kernel/Trellis_Task.hpp>
#include <kernel/Trellis_TaskIds.hpp>
#include <kernel/Trellis_TaskSlab.hpp>
#include <threads/Trellis_Gathering.hpp>
#include <threads/Trellis_Places.hpp>
#include <task/Trellis_Reserve.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace trellis::Impl {

using Condition = FunctionRef<bool()>;

/// What belongs to one thread while it runs tasks: a worker, or a thread in `wait()`.
struct alignas(128) Seat : NewFromReserve {
  // First line: what other threads look at after each task of theirs, and what seldom changes.
  int number = 0;   ///< negative: of a thread that runs no tasks
  int permits = 0;  ///< that its thread has while it runs tasks, see Workers; for it alone
  bool is_main = false;
  bool is_guest = false;   ///< for threads of the user's, one at a time
  bool searching = false;  ///< its thread is counted among those that look for a task; for it alone
  bool has_launched = false;  ///< tasks for others since it last looked for one
  bool has_slept = false;     ///< since it last found a task; for its thread alone
  bool waits = false;         ///< its thread is in wait(); for this thread alone
  FunctionRef<bool(Task const&)> const* wants = nullptr;  ///< see Until; for this thread alone
  // Numbers of tasks and edges. They are written by this seat's thread alone, the submitted ones
  // before the task can start, so that who counts the completed ones first misses no task.
  std::atomic<std::uint64_t> completed{0};
  std::atomic<std::uint64_t> submitted{0};  ///< as parts of tasks
  std::atomic<std::uint64_t> edges{0};      ///< to these

  // The lines that follow have what this thread changes with each task.
  alignas(64) std::string name;
  KeptTasks kept;
  // Scratch of a completion.
  Vector<Task*> ready;
  Vector<TaskId> spared;  ///< successors that a failure does not reach
  /// Ready tasks that this thread has in hand while it runs destructors of the user's, see Holding.
  Vector<Task**> holding;
  std::vector<std::pair<SpaceAdapter*, void*>> instances;
  // See Engine::stay_behind.
  int until_pause = 0;  ///< tasks
  std::chrono::steady_clock::time_point paused_at{};
  std::uint64_t seen_submitted = 0;
  // See Engine::pop.
  int since_rest = 0;      ///< tasks
  int awaited_in_row = 0;  ///< tasks
  int of_main_in_row = 0;  ///< tasks
  bool own_rest_next = false;
  // See Workers::look_after_submitter.
  std::uint64_t seen_news = 0;
  std::chrono::steady_clock::time_point news_at{};
  // See Workers::step_aside.
  std::atomic<int> processor{-1};  ///< that its thread was on when it woke; -1: it sleeps
  int on_one_in_row = 0;           ///< times that this was the one of who woke it
  std::chrono::steady_clock::time_point moved_at{};
  int waker_on = -1;        ///< the processor of who woke it for a task last
  int sleeps_kept_off = 0;  ///< so often from now on it sleeps with a mask without that one
  // For the parts that this thread submits: what it has freed comes first.
  TaskSlab::Chain cells;
  TaskIds::Block ids;
  Vector<RegionPtr> regions;  ///< of tasks that are over

  // Guarded by the mutex of Workers.
  std::condition_variable wakeup;
  bool woken = false;
  int woken_on = -1;                     ///< the processor of who woke it for a task
  bool has_napped = false;               ///< it woke by itself, to poll
  Condition const* waits_for = nullptr;  ///< of a thread in wait()
  bool is_worker = false;

  /// A guest has it, or the main thread. It is given back with release order when nothing of it is
  /// read or written any more, and taken with acquire order.
  std::atomic<bool> in_use{false};
};

/// When a thread in `work_until` goes on.
struct Until {
  Condition done;  ///< asked after each task, and while it sleeps
  /// Null, or: when it finds no task, and this is true, it goes on as well, after a short sleep at
  /// most.
  Condition const* rather_than_sleep = nullptr;
  bool then_submits = false;  ///< it is about to submit a task
  /// Null, or: of ready tasks it takes these, where the policy finds one, and no others but those
  /// that no other thread may run.
  FunctionRef<bool(Task const&)> const* wants = nullptr;
};

/// Where workers get their tasks from: the engine.
class TaskSource {
 public:
  virtual Task* pop(Seat& seat) = 0;
  /// One that no other thread may run, or null.
  virtual Task* pop_own(Seat& seat) = 0;
  /// Runs the task and whatever the policy keeps on this seat after it, until `stop` says so.
  virtual void run(Task* task, Seat& seat, Condition stop) = 0;
  /// Sequentially consistent: sees every push that was over when the call began.
  [[nodiscard]] virtual bool has_ready(Seat const& seat) const = 0;
  /// About how many tasks are ready.
  [[nodiscard]] virtual std::size_t backlog() const = 0;
  /// Is there a device, or a function, to be asked?
  [[nodiscard]] virtual bool polls() const = 0;
  /// When `has_ready`: nothing is ready, and what could be asked has been asked in vain for so long
  /// that the thread may sleep for this time first. 0: it may not.
  [[nodiscard]] virtual std::chrono::nanoseconds nap(Seat const& seat) const = 0;
  /// The same of those tasks that no other thread may run.
  [[nodiscard]] virtual bool has_own(Seat const& seat) const = 0;
  /// The seat has nothing to do, for now.
  virtual void idle(Seat& seat) = 0;
  /// The same; its thread goes on looking, and may wait a little first.
  virtual void found_nothing(Seat& seat) = 0;
  /// The seat's thread may stop looking for tasks.
  virtual void leaves(Seat& seat) = 0;

 protected:
  ~TaskSource() = default;
};

/// The threads of one graph, and who of them sleeps.
///
/// A seat belongs to the main thread, a worker, or a guest: another thread of the user's while it
/// waits. There are enough seats for all workers, those that replace blocked ones included; guests
/// that find none do not run tasks but sleep until what they wait for has come.
///
/// At most `permits` threads run tasks or look for some; a thread in `wait()` is one of them, and
/// takes the place of a worker, which goes to sleep after its current task. A thread that waits
/// inside a task gives its permit to another, which is started if need be. Workers are started when
/// there is work for them. A task with the threads of several workers takes as many permits while
/// its body runs, see Gathering.
///
/// A THREAD THAT SUBMITS, outside of all tasks, counts as a worker meanwhile, where there are two
/// or more: it is lent a permit, so that no more threads run than were asked for. When it waits it
/// has that permit already. It does not tell when it stops submitting; it may compute, sleep, or be
/// gone. So others look whether there is news of it: each worker now and then between two tasks,
/// and one that has nothing to do (the watch), which naps as long as the permit is lent. When there
/// is none the permit is taken back, and a ready task finds a worker. Of several threads that
/// submit at a time one is lent a permit, and the news is that of all of them.
///
/// INVARIANT (lent). `m_lent` changes under the mutex; while it is set one permit is neither in
/// `m_spare` nor with a thread that runs tasks. Who takes it back does as a thread that goes to
/// sleep, see below: adds it to `m_spare`, then asks `has_ready`. (A submitter that still sees
/// `m_lent` then has been late with its news; its next submission sees that it is not.) While it is
/// set there is a watch, or a worker that has been asked to be it, or one that has been woken and
/// has not left its sleep yet (`m_waking`), or one that runs without a permit and so goes to sleep
/// soon: each worker that leaves its sleep, and each thread that becomes absent, asks for another
/// one. (To wake a thread takes ten microseconds and more of who does it. So a thread that submits
/// and has woken a worker leaves it to that one to wake the watch. As long as that worker gets no
/// core nobody looks after the permit, just as nobody looks for a task but that worker.)
///
/// INVARIANT (no lost wake-up). A thread that makes a task ready first pushes it, then reads
/// `m_searching` and `m_spare`; a thread that goes to sleep first takes itself off `m_searching`,
/// then adds its permit to `m_spare`, then asks `has_ready` once more. All six are sequentially
/// consistent, so in their single order either the first one sees the permit, and wakes, or the
/// second one sees the task, and stays awake. Whoever saw another thread searching may rely on that
/// thread to ask once more. `waits_for` conditions are evaluated under the mutex by every thread
/// that goes to sleep or leaves, after its own completions, so the last one to finish finds who
/// waits for that. Whoever makes a condition true in another way (destroyed a body, asked a device)
/// does so sequentially consistently and then reads `m_asleep_waiting`, which a thread adds itself
/// to before it asks its condition for the last time.
///
/// OTHER NUMBERS OF THREADS. `set_threads` is called by the main thread, in no task, when no task is
/// in flight, and no other thread uses the graph. It ends all workers, so the numbers change while
/// no thread is there that reads them: a worker that is started later happens after the change by
/// the start of its thread; whoever enters `wait()` happens after it by the mutex; a thread that
/// submits is told by the program, as when the graph has been made. What other threads look at
/// without being told, the seats and what they have counted, stays: a new worker gets the seat of
/// the one with its number, whose last user has been joined.
class Workers {
 public:
  static constexpr int most_permits = 4096;
  static constexpr int most_guests = 128;  ///< that run tasks at the same time
  static constexpr int max_blocked = 128;  ///< tasks that wait inside their bodies
  /// `most_workers`: that `set_threads` may ask for; `permits` is not more. 0 permits: serial.
  Workers(TaskSource& source, int permits, int threads_per_worker, int most_workers,
          Places& places);
  Workers(Workers const&) = delete;
  Workers& operator=(Workers const&) = delete;
  ~Workers();

  /// Stops and joins all threads and destroys the instances. Requires that no task is in flight.
  void stop();
  /// See above. Instances are destroyed, and made again when they are asked for. A serial graph
  /// stays one. When it throws the numbers are as before.
  void set_threads(int permits, int threads_per_worker);

  /// Of a thread that runs no tasks of the graph, but launches one.
  [[nodiscard]] static Seat& no_seat();
  /// A task has been pushed: wakes or starts a worker when that helps.
  void ready_added() {
    if (somebody_should_wake()) wake_one();
  }
  /// The thread of a seat, which may look for a task, does something else first, as if it had found
  /// one.
  void looks_no_more(Seat& seat) {
    if (seat.searching) [[unlikely]]
      stop_searching(seat);
  }
  /// A task is to be completed, of a graph that may be serial: there nobody but threads in wait()
  /// could do that.
  void wake_to_complete() {
    if (m_permits == 0) return wake_all_waiters();
    ready_added();
  }
  /// A thread outside of all tasks of this graph submits one.
  void submits() {
    if (m_permits < 2) return;
    m_news.store(m_news.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (!m_lent.load(std::memory_order_relaxed)) consider_lending();
  }
  /// By a worker between two tasks, which has just read the clock.
  void look_after_submitter(Seat& seat, std::chrono::steady_clock::time_point now);
  /// A task for the main thread has been pushed.
  void main_ready_added();
  /// Something happened that a sleeping thread in `wait()` may be waiting for.
  void wake_waiters();
  /// True when a thread in `wait()`, or at the cap, sleeps.
  [[nodiscard]] bool anyone_waits() const {
    return m_asleep_waiting.load(std::memory_order_seq_cst) > 0;
  }
  /// No thread is within a task, but for those that wait there, and none submits. It may have been
  /// so a moment ago; but when it is so for good the last thread that goes to sleep sees it.
  [[nodiscard]] bool nobody_runs() const {
    return m_spare.load(std::memory_order_seq_cst) + m_searching.load(std::memory_order_seq_cst) >=
           m_permits;
  }
  /// A thread outside of all tasks submits, and is lent a permit, see above.
  [[nodiscard]] bool somebody_submits() const { return m_lent.load(std::memory_order_relaxed); }
  /// As many as threads that run tasks, or more.
  [[nodiscard]] bool has_cores() const { return m_has_cores; }
  /// May a thread with nothing to do keep its core while somebody submits? Then that one has a
  /// permit of its own, or else, beside a single worker, a core.
  [[nodiscard]] bool submitter_has_core() const {
    return m_permits > 1 ? m_has_cores && somebody_submits()
                         : Places::has_core_for_each(m_threads_per_worker + 1);
  }
  /// True when a thread should stop running tasks for another to run them.
  [[nodiscard]] bool oversubscribed() const { return m_spare.load(std::memory_order_relaxed) < 0; }

  /// Runs tasks on the calling thread, which is in no task of this graph, until `done`.
  void work_until(Condition done) { work_until(Until{done}); }
  void work_until(Until const& until);
  /// The same without running tasks.
  void sleep_until(Until const& until);
  /// The same by the main thread, which also looks at its condition when a task for it comes.
  void sleep_on_main_until(Condition done);
  /// As long as one is there the thread of a seat, which runs a task, has so many permits. The
  /// constructor waits for them, and the destructor for those that it had before.
  class Permits {
   public:
    Permits(Workers& workers, Seat& seat, int permits)
        : m_workers(workers), m_seat(seat), m_before(seat.permits) {
      if (permits != m_before) workers.change_permits(seat, permits);
    }
    Permits(Permits const&) = delete;
    Permits& operator=(Permits const&) = delete;
    ~Permits() {
      if (m_seat.permits != m_before) m_workers.change_permits(m_seat, m_before);
    }

   private:
    Workers& m_workers;
    Seat& m_seat;
    int const m_before;
  };
  /// For a wide task.
  class Gathered {
   public:
    Gathered(Workers& workers, Seat& seat, int permits)
        : m_permits(workers, seat,
                    workers.m_permits != 0 && permits > 1 ? std::max(permits, seat.permits)
                                                          : seat.permits),
          m_spread(workers.m_places, permits > 1) {}

   private:
    Permits const m_permits;
    Places::Spread const m_spread;
  };
  /// For a task that waits: one permit, if it has some.
  class Narrowed {
   public:
    Narrowed(Workers& workers, Seat& seat) : m_permits(workers, seat, std::min(seat.permits, 1)) {}

   private:
    Permits const m_permits;
  };
  /// As long as one is there the thread of a seat does not work, and another one may run tasks in
  /// its place. The seat has no permit then, so one within another gives none.
  class Absence {
   public:
    Absence(Workers& workers, Seat& seat);
    Absence(Absence const&) = delete;
    Absence& operator=(Absence const&) = delete;
    ~Absence();

   private:
    Narrowed const m_narrowed;
    Workers& m_workers;
    Seat& m_seat;
    int m_permits = 0;
    bool m_searching = false;
  };
  /// Sleeps inside a task until `done`; another thread may run tasks meanwhile.
  void block_until(Condition done, Seat& seat);
  /// This seat's instance of a space; made at the first call.
  [[nodiscard]] void* instance(Seat& seat, SpaceAdapter& space);

  /// Numbers of seats are below this.
  [[nodiscard]] int max_seats() const { return static_cast<int>(m_seats.size()); }
  [[nodiscard]] int seat_count() const { return m_seat_count.load(std::memory_order_acquire); }
  [[nodiscard]] Seat const& seat(int k) const { return *m_seats[static_cast<std::size_t>(k)]; }
  [[nodiscard]] Seat& seat(int k) { return *m_seats[static_cast<std::size_t>(k)]; }
  [[nodiscard]] int permits() const { return m_permits; }
  [[nodiscard]] int most_workers() const { return m_most_workers; }
  [[nodiscard]] std::uint64_t completed() const { return sum(&Seat::completed); }
  [[nodiscard]] std::uint64_t submitted() const { return sum(&Seat::submitted); }
  [[nodiscard]] std::uint64_t edges() const { return sum(&Seat::edges); }
  [[nodiscard]] bool on_main_thread() const { return std::this_thread::get_id() == m_main_thread; }

 private:
  /// A thread that submits counts among the workers, but for a single one, beside which it runs.
  [[nodiscard]] int threads_at_once() const { return m_permits == 1 ? 2 : m_permits; }
  [[nodiscard]] std::uint64_t sum(std::atomic<std::uint64_t> Seat::* count) const;
  void end_threads();
  void destroy_instances();
  /// Nobody looks for a task, and somebody may.
  [[nodiscard]] bool somebody_should_wake() const {
    return m_searching.load(std::memory_order_seq_cst) == 0 &&
           m_spare.load(std::memory_order_seq_cst) > 0;
  }
  [[nodiscard]] int relax() const;
  void wake_one();
  void wake_all_waiters();
  void step_aside(Seat& seat, int woken_on);
  void background(Seat& seat, int number, bool with_permit);
  void work(Seat& seat, Until const* until);
  void search(Seat& seat);
  void stop_searching(Seat& seat);
  void wake_two();
  void sleep(Seat& seat, Until const* until);
  void sleep_until(Until const& until, Seat& sleeper);
  Seat* enter();
  void leave(Seat& seat, Until const& until);
  void consider_lending();
  void submits_no_more(Seat const& seat);
  void change_permits(Seat& seat, int permits);
  [[nodiscard]] bool gives_way(Seat const& seat, bool has_turn) const;
  [[nodiscard]] bool any_wide() const { return m_wide.load(std::memory_order_relaxed) != 0; }
  [[nodiscard]] bool has_to_stop(Seat const& seat, bool waits, bool has_turn) const;
  [[nodiscard]] Task* pop_for(Seat& seat, bool waits, bool has_turn);

  // The mutex is held in all of these.
  Seat& new_seat(std::string name);
  bool start_thread(bool with_permit);
  using Nap = std::chrono::nanoseconds;
  void doze(std::unique_lock<std::mutex>& lock, Seat& seat, Nap before_poll = Nap(0));
  void has_left_sleep(Seat const& seat);
  void doze_until(std::unique_lock<std::mutex>& lock, Seat& seat, Until const& until,
                  Nap before_poll);
  void lend();
  void take_back();
  void post_watch();
  void add_permit(int by);
  void gather(std::unique_lock<std::mutex>& lock, Seat const& seat, int permits);
  void serve_gatherers();
  [[nodiscard]] bool all_are_gathered() const;
  void main_looks();
  void wake(Seat& seat, int on = -1);
  void wake_waiters_locked();

  TaskSource& m_source;
  int m_permits;
  int m_threads_per_worker;
  int const m_most_workers;
  Places& m_places;
  bool m_steps_aside;
  bool m_has_cores;  ///< as many as threads that run tasks
  std::thread::id const m_main_thread = std::this_thread::get_id();

  std::vector<std::unique_ptr<Seat>> m_seats;  ///< its size does not change
  std::atomic<int> m_seat_count{0};
  // Not in the lines that follow: a thread in wait() looks at it between two tasks.
  std::atomic<int> m_wide{0};       ///< threads in `m_gatherers`, and those with several permits
  std::atomic<int> m_gathering{0};  ///< threads in `m_gatherers`

  alignas(64) std::atomic<int> m_searching{0};  ///< threads that look for a task
  std::atomic<int> m_spare{0};  ///< permits that no thread has; negative: too many threads work
  std::atomic<int> m_asleep_waiting{0};  ///< sleeping threads with a condition
  // Written by a thread that submits with each task, and seldom looked at by others.
  alignas(64) std::atomic<std::uint64_t> m_news{0};  ///< submissions, about
  // Looked at by many, and written seldom.
  alignas(64) std::atomic<bool> m_lent{false};
  std::atomic<std::chrono::steady_clock::time_point>
      m_last_submission{};  ///< while nothing is lent
  alignas(64) std::mutex m_mutex;
  std::thread::id m_lent_to{};
  std::uint64_t m_seen_news = 0;      ///< by the watch
  Seat* m_watch = nullptr;            ///< the worker that naps, or null
  bool m_somebody_naps = false;       ///< before it polls again
  std::vector<Seat*> m_worker_seats;  ///< by number of the worker; as many as there ever were
  Vector<Seat*> m_sleeping;           ///< may be woken for a task
  int m_waking = 0;                   ///< workers that have been woken and are still in `doze`
  /// wait only for their condition: inside a task, or without a seat
  Vector<Seat*> m_blocked;
  int m_blocked_tasks = 0;
  int m_absent = 0;  ///< threads, see Absence
  int m_guests = 0;
  Gathering m_gatherers;
  std::vector<std::thread> m_threads;
  std::atomic<bool> m_stopping{false};
};

}  // namespace trellis::Impl

#endif
