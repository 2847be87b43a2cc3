// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <threads/Trellis_Places.hpp>
#include <threads/Trellis_Workers.hpp>
#include <base/Trellis_AtEnd.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace trellis::Impl {

#if defined(TRELLIS_IMPL_MODEL)
int looks_of_model = 1;
#endif

namespace {
// How long a thread looks for work before it sleeps: about as long as it takes to put it to sleep
// and to wake it. At the end it yields its core where threads share cores; elsewhere that is the
// worst that it could do. Another thread that happens to be on this core, of whatever program, goes
// on for its whole slice of some milliseconds. Meanwhile this thread counts as searching, so no
// other one is woken, though another core may be idle. (On two cores, beside six programs that
// compute, Cap.ALongTaskDoesNotHoldUpASubmitterThatHasRoom takes 27 ms. It takes 20 s if threads
// yield.)
//
// A thread that polls does not sleep for long, and so it does yield: what it polls for, such as
// another rank, may need this core.
#if defined(TRELLIS_IMPL_MODEL)  // the model checker explores each interleaving
constexpr int spins_before_yield = 1;
int const& spins_before_sleep = looks_of_model;
#else
constexpr int spins_before_yield = 200;
constexpr int spins_before_sleep = 230;
#endif
constexpr int pauses_of_a_yield = 8;  // about
// The most pauses in a row, however many threads look for a task: about a microsecond.
constexpr int most_pauses = 32;
// How long a thread that would rather go on sleeps at most: at first, and after naps in vain.
constexpr std::chrono::microseconds first_nap{100};
constexpr std::chrono::microseconds longest_nap{1000};
constexpr std::chrono::microseconds longest_between_looks{128'000};  ///< for a task that waits
// A thread counts as submitting when two submissions are no further apart than `apart`. It counts
// no more when there is none for `quiet`.
constexpr std::chrono::microseconds apart{20};
constexpr std::chrono::microseconds quiet{50};
// How long the watch naps at most, as each nap takes some microseconds from another thread. The
// watch also naps so many times before it sleeps when nothing is lent: while time steps of a few
// milliseconds follow each other, no thread needs to wake it. (With a single nap, bursts of 2 us
// tasks a millisecond apart keep two workers at work for 0.83 of the time and not 0.87.)
constexpr std::chrono::microseconds longest_nap_of_watch{2000};
constexpr int naps_in_vain = 3;
}  // namespace

WorkerSlot& Workers::no_slot() {
  thread_local WorkerSlot slot;
  slot.number = -1;
  return slot;
}

Workers::Workers(TaskSource& source, int permits, int threads_per_worker, int most_workers,
                 Places& places)
    : m_source(source),
      m_permits(permits),
      m_threads_per_worker(threads_per_worker),
      m_most_workers(most_workers),
      m_places(places),
      m_has_cores(permits * threads_per_worker <= cores_of_process()),
      m_slots(static_cast<std::size_t>(1 + most_workers + max_blocked + most_guests)),
      m_spare(permits) {
  new_slot("main thread").is_main = true;
  m_gatherers.reserve(m_slots.size());  // so that to gather takes no memory
  if (m_permits > 0) m_places.bind_main();
}

Workers::~Workers() {
  stop();
}

void Workers::end_threads() {
  {
    std::lock_guard const lock(m_mutex);
    m_stopping = true;
    while (!m_sleeping.empty()) wake(*m_sleeping.back());
  }
  for (std::thread& thread : m_threads) thread.join();
  m_threads.clear();
}

void Workers::destroy_instances() {
  for (int k = 0; k < slot_count(); ++k) {
    for (auto const& [space, instance] : slot(k).instances) space->destroy_instance(instance);
    slot(k).instances.clear();
  }
}

void Workers::stop() {
  end_threads();
  if (m_permits > 0) m_places.release_main();
  destroy_instances();
}

void Workers::set_threads(int permits, int threads_per_worker) {
  // Nothing is in flight, so any thread that waits here is about to leave.
  for (int k = 0; k < slot_count(); ++k)
    while (slot(k).in_use.load(std::memory_order_acquire)) std::this_thread::yield();
  end_threads();
  destroy_instances();
  std::lock_guard const lock(m_mutex);
  m_stopping = false;
  m_watch = nullptr;
  m_lent.store(false, std::memory_order_relaxed);
  m_spare.store(m_permits, std::memory_order_seq_cst);
  m_places.set_threads_per_worker(threads_per_worker);  // may throw
  if (m_permits > 0) {
    m_permits = permits;
    m_spare.store(permits, std::memory_order_seq_cst);
  }
  m_threads_per_worker = threads_per_worker;
  m_has_cores = m_permits * threads_per_worker <= cores_of_process();
}

std::uint64_t Workers::sum(std::atomic<std::uint64_t> TaskCounts::* count) const {
  std::uint64_t sum = 0;
  int const slots = slot_count();
  for (int k = 0; k < slots; ++k) sum += (slot(k).counts.*count).load(std::memory_order_acquire);
  return sum;
}

void* Workers::instance(WorkerSlot& slot, SpaceAdapter& space) {
  for (auto const& [known, instance] : slot.instances)
    if (known == &space) return instance;
  slot.instances.reserve(slot.instances.size() + 1);  // so an instance that was made is not lost
  return slot.instances.emplace_back(&space, space.make_instance(m_threads_per_worker)).second;
}

WorkerSlot& Workers::new_slot(std::string name) {
  int const number = m_slot_count.load(std::memory_order_relaxed);
  auto slot = std::make_unique<WorkerSlot>();
  slot->number = number;
  slot->name = std::move(name);
  m_slots[static_cast<std::size_t>(number)] = std::move(slot);
  m_slot_count.store(number + 1, std::memory_order_release);
  return *m_slots[static_cast<std::size_t>(number)];
}

void Workers::add_permit(int by) {
  m_spare.fetch_add(by, std::memory_order_seq_cst);
  if (by > 0 && m_wide.load(std::memory_order_relaxed) != 0) serve_gatherers();
}

// The woken thread has its permit and counts as searching from here on, so that no second one is
// woken for the same task before this one is up.
void Workers::wake(WorkerSlot& slot) {
  std::erase(m_sleeping, &slot);
  if (slot.sleep.waits_for != nullptr) m_asleep_waiting.fetch_sub(1, std::memory_order_seq_cst);
  add_permit(-1);
  m_searching.fetch_add(1, std::memory_order_seq_cst);
  slot.sleep.is_over = true;
  slot.sleep.wakeup.notify_one();
}

void Workers::wake_one() {
  std::lock_guard const lock(m_mutex);
  if (m_spare.load(std::memory_order_relaxed) <= 0 || m_stopping) return;
  if (m_sleeping.empty()) {
    start_thread(true);
    return;  // if none can be started, another thread runs the task, at the latest one in wait()
  }
  bool const is_watch = m_sleeping.back() == m_watch && m_sleeping.size() > 1;
  wake(is_watch ? **(m_sleeping.end() - 2) : *m_sleeping.back());
}

/// Starts a worker, which without a permit sleeps at first. False: none can be started.
bool Workers::start_thread(bool with_permit) {
  if (static_cast<int>(m_threads.size()) == m_permits + max_blocked) return false;
  std::size_t const before = m_threads.size();
  try {
    std::thread& thread = m_threads.emplace_back();
    if (before == m_worker_slots.size()) {
      m_worker_slots.reserve(before + 1);
      m_worker_slots.push_back(&new_slot("worker " + std::to_string(before)));
    }
    WorkerSlot& slot = *m_worker_slots[before];
    slot.is_worker = true;
    slot.sleep.is_over = false;
    thread = std::thread([this, &slot, number = static_cast<int>(before), with_permit] {
      background(slot, number, with_permit);
    });
  } catch (std::exception const&) {  // no more threads, or no memory
    m_threads.resize(before);
    return false;
  }
  if (!with_permit) return true;
  add_permit(-1);
  m_searching.fetch_add(1, std::memory_order_seq_cst);
  return true;
}

void Workers::main_ready_added() {
  std::lock_guard const lock(m_mutex);
  wake_main();
  m_slots[0]->sleep.wakeup.notify_one();  // it may be blocked inside a task
}

void Workers::wake_main() {
  WorkerSlot& main = *m_slots[0];
  if (std::find(m_sleeping.begin(), m_sleeping.end(), &main) != m_sleeping.end()) wake(main);
}

void Workers::wake_waiters() {
  std::lock_guard const lock(m_mutex);
  wake_waiters_locked();
}

void Workers::wake_waiters_locked() {
  for (std::size_t k = m_sleeping.size(); k-- > 0;)
    if (WorkerSlot& slot = *m_sleeping[k];
        slot.sleep.waits_for != nullptr && (*slot.sleep.waits_for)())
      wake(slot);
  for (WorkerSlot* slot : m_blocked)
    if ((*slot->sleep.waits_for)()) slot->sleep.wakeup.notify_one();
}

void Workers::sleep(WorkerSlot& slot, Until const* until) {
  m_searching.fetch_sub(1, std::memory_order_seq_cst);
  std::unique_lock lock(m_mutex);
  add_permit(1);
  bool const waits = until != nullptr;
  if (waits) m_asleep_waiting.fetch_add(1, std::memory_order_seq_cst);
  bool const goes_first = waits && (m_wide.load(std::memory_order_relaxed) == 0 ||
                                    (m_gatherers.empty() && m_source.has_own(slot)));
  bool const may_run = goes_first || m_spare.load(std::memory_order_seq_cst) > 0;
  // When polling has been in vain for long, one thread naps between two looks; the others sleep on.
  bool const is_ready = may_run && m_source.has_ready(slot);
  Nap nap = is_ready ? m_source.nap(slot) : Nap(0);
  if (m_stopping || (is_ready && nap == Nap(0)) || (waits && until->done())) {
    if (waits) m_asleep_waiting.fetch_sub(1, std::memory_order_seq_cst);
    add_permit(-1);
    m_searching.fetch_add(1, std::memory_order_seq_cst);
    return;
  }
  slot.sleep.is_over = false;
  slot.sleep.waits_for = waits ? &until->done : nullptr;
  m_sleeping.push_back(&slot);
  wake_waiters_locked();
  // No other thread polls what only the main thread may poll.
  bool const has_own = nap > Nap(0) && m_source.has_own(slot);
  bool const stands_in = nap > Nap(0) && !has_own && !std::exchange(m_somebody_naps, true);
  Nap const before_poll = has_own || stands_in ? nap : Nap(0);
  std::size_t const noted = note_sleep(slot);
  auto const woken = [&] { return slot.sleep.is_over; };
  if (before_poll > Nap(0)) {
    slot.search.has_napped = !slot.sleep.wakeup.wait_for(lock, before_poll, woken);
    if (slot.search.has_napped) wake(slot);
  } else if (!waits) {
    doze(lock, slot);
  } else if (until->rather_than_sleep == nullptr) {
    slot.sleep.wakeup.wait(lock, woken);
  } else {
    for (nap = first_nap; !slot.sleep.wakeup.wait_for(lock, nap, woken);
         nap = std::min<Nap>(2 * nap, longest_nap))
      if ((*until->rather_than_sleep)()) wake(slot);
  }
  note_end_of_sleep(noted);
  if (stands_in) m_somebody_naps = false;
  slot.sleep.waits_for = nullptr;
  if (!waits) hand_watch_on(slot);
}

std::uint64_t Workers::since_start() const {
  std::chrono::nanoseconds const time = std::chrono::steady_clock::now() - m_sleeps_from;
  return static_cast<std::uint64_t>(time.count());
}

/// Returns the place of the sleep that begins now, counted from 1. 0: it is not noted.
std::size_t Workers::note_sleep(WorkerSlot const& slot) noexcept try {
  if (!m_notes_sleeps || slot.number < 0) return 0;
  m_sleeps.push_back({static_cast<std::size_t>(slot.number), since_start(), 0});
  return m_sleeps.size();
} catch (std::bad_alloc const&) {
  return 0;
}

void Workers::note_end_of_sleep(std::size_t noted) {
  if (noted != 0) m_sleeps[noted - 1].end_ns = since_start();
}

/// A thread that still sleeps has slept until now.
std::vector<ThreadSleep> Workers::sleeps() {
  std::lock_guard const lock(m_mutex);
  std::vector<ThreadSleep> all = m_sleeps;
  for (ThreadSleep& sleep : all)
    if (sleep.end_ns == 0) sleep.end_ns = since_start();
  return all;
}

/// Sleeps, in a worker, until woken. One of the workers that sleep is the watch.
void Workers::doze(std::unique_lock<std::mutex>& lock, WorkerSlot& slot) {
  Nap nap = first_nap;
  int in_vain = 0;
  while (!slot.sleep.is_over) {
    if (m_watch == nullptr && m_lent.load(std::memory_order_relaxed)) {
      m_watch = &slot;
      nap = first_nap;
      in_vain = 0;
    }
    if (m_watch != &slot) {
      slot.sleep.wakeup.wait(lock);
      continue;
    }
    bool const is_over = slot.sleep.wakeup.wait_for(lock, nap) == std::cv_status::timeout;
    if (slot.sleep.is_over || !is_over) continue;
    nap = std::min<Nap>(2 * nap, longest_nap_of_watch);
    std::uint64_t const news = m_news.load(std::memory_order_relaxed);
    if (std::exchange(m_seen_news, news) != news) {
      in_vain = 0;
    } else if (m_lent.load(std::memory_order_relaxed)) {
      take_back();
      nap = first_nap;
      if (m_spare.load(std::memory_order_seq_cst) > 0 && m_source.has_ready(slot)) wake(slot);
    } else if (++in_vain >= naps_in_vain) {
      m_watch = nullptr;
    }
  }
}

/// Called by a worker that leaves its sleep. It was the watch, or may have been asked to be it.
void Workers::hand_watch_on(WorkerSlot const& slot) {
  if (m_watch == &slot) m_watch = nullptr;
  if (m_lent.load(std::memory_order_relaxed)) post_watch();
}

// --- a thread that submits -----------------------------------------------------------------------

void Workers::consider_lending() {
  auto const now = std::chrono::steady_clock::now();
  auto const last = m_last_submission.exchange(now, std::memory_order_relaxed);
  if (now - last > apart) return;
  {
    std::lock_guard const lock(m_mutex);
    if (!m_lent.load(std::memory_order_relaxed)) lend();
    if (m_lent.load(std::memory_order_relaxed)) return;
  }
  if (m_source.has_ready(no_slot())) ready_added();
}

/// MEASURED (medians of 31 rounds in turn, `./run perf micro --benchmark_filter=bursts`). One burst
/// of 400 tasks follows the other at once. With tasks of 2 and 5 us, two workers are at work for
/// 0.91 and 0.95 of the time. If nothing is lent, that is 0.54 and 0.60.
void Workers::lend() {
  if (all_are_gathered()) return;
  m_news.store(m_news.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  m_lent.store(true, std::memory_order_relaxed);
  m_lent_to = std::this_thread::get_id();
  add_permit(-1);
  post_watch();
}

/// Takes back what is lent, if `may` still says so under the mutex.
template <class F>
void Workers::take_back_if(F const& may, WorkerSlot const& slot) {
  {
    std::lock_guard const lock(m_mutex);
    if (!m_lent.load(std::memory_order_relaxed) || !may()) return;
    take_back();
  }
  if (m_source.has_ready(slot)) ready_added();
}

void Workers::take_back() {
  m_lent.store(false, std::memory_order_relaxed);
  add_permit(1);
}

/// Ensures that some worker will see when there are no more submissions. If none can, the permit is
/// taken back.
void Workers::post_watch() {
  if (m_watch != nullptr || m_stopping) return;
  for (WorkerSlot* const slot : m_sleeping)
    if (slot->is_worker) return slot->sleep.wakeup.notify_one();
  // No worker sleeps. If there are as many threads as permits, not counting the absent ones and
  // those that gather, one of them has no permit, or will have none, and is going to sleep.
  int const elsewhere = m_absent + m_gathering.load(std::memory_order_relaxed);
  if (static_cast<int>(m_threads.size()) < m_permits + elsewhere && !start_thread(false))
    take_back();
}

void Workers::look_after_submitter(WorkerSlot& slot, std::chrono::steady_clock::time_point now) {
  if (!m_lent.load(std::memory_order_relaxed)) return;
  std::uint64_t const news = m_news.load(std::memory_order_relaxed);
  if (std::exchange(slot.submitter.news, news) != news) {
    slot.submitter.at = now;
    return;
  }
  if (now - slot.submitter.at < quiet) return;
  take_back_if([&] { return m_news.load(std::memory_order_relaxed) == news; }, slot);
}

// --- a thread that waits without a permit --------------------------------------------------------

/// Sleeps until `done`. With naps it also asks that after each nap. A thread in a task takes longer
/// and longer naps.
void Workers::sleep_blocked(Condition done, WorkerSlot& slot, Nap nap, bool in_task) {
  // From here on a thread waits. A device may be polled only because of that, so it is like a push:
  // a thread that has looked before, and gone to sleep, is woken.
  m_asleep_waiting.fetch_add(1, std::memory_order_seq_cst);
  if (m_source.has_ready(slot)) ready_added();
  std::unique_lock lock(m_mutex);
  slot.sleep.waits_for = &done;
  m_blocked.push_back(&slot);
  std::size_t const noted = in_task ? 0 : note_sleep(slot);
  if (nap == Nap(0))
    slot.sleep.wakeup.wait(lock, done);
  else
    while (!slot.sleep.wakeup.wait_for(lock, nap, done))
      if (in_task) nap = std::min<Nap>(2 * nap, longest_between_looks);
  note_end_of_sleep(noted);
  std::erase(m_blocked, &slot);
  m_asleep_waiting.fetch_sub(1, std::memory_order_seq_cst);
  slot.sleep.waits_for = nullptr;
}

void Workers::sleep_until(Until const& until) {
  WorkerSlot& slot = on_main_thread() ? *m_slots[0] : no_slot();
  if (m_lent.load(std::memory_order_relaxed))
    take_back_if([&] { return m_lent_to == std::this_thread::get_id(); }, slot);
  auto const continues = [&] {
    return until.done() || (until.rather_than_sleep != nullptr && (*until.rather_than_sleep)());
  };
  Nap const nap = until.rather_than_sleep != nullptr ? Nap(longest_nap) : Nap(0);
  sleep_blocked(continues, slot, nap, false);
}

void Workers::block_until(Condition done, WorkerSlot& slot) {
  {
    std::lock_guard const lock(m_mutex);
    if (m_blocked_tasks == max_blocked)
      throw Error(
          Error::Kind::deadlock,
          "Trellis: " + std::to_string(max_blocked) +
              " tasks of one graph wait inside their bodies; let tasks depend on each other "
              "through their accesses or after(...) instead");
    ++m_blocked_tasks;
  }
  AtEnd const at_end([&] {
    std::lock_guard const lock(m_mutex);
    --m_blocked_tasks;
  });
  Absence const absence(*this, slot);
  sleep_blocked(done, slot, longest_nap, true);
}

// --- a thread that runs tasks --------------------------------------------------------------------

/// Takes a task for the thread. While a wide task runs or gathers in a crowded graph, that is only
/// one that no other thread may run. Null if the thread has to stop.
inline Task* Workers::pop_for(WorkerSlot& slot, bool waits, bool has_turn) {
  if (has_to_stop(slot, waits, has_turn)) return nullptr;
  bool const is_crowded = waits && any_wide() && oversubscribed();
  return is_crowded ? m_source.pop_own(slot) : m_source.pop(slot);
}

/// True if the thread has to stop between two tasks. A worker stops when too many threads work. A
/// thread in wait() has the right of way, but not before a wide task: then it runs only tasks that
/// are bound to it, and while threads gather only one, if it `has_turn`.
inline bool Workers::has_to_stop(WorkerSlot const& slot, bool waits, bool has_turn) const {
  if (!waits) return oversubscribed();
  if (!any_wide() || !oversubscribed()) return false;
  bool const own_first = has_turn || m_gathering.load(std::memory_order_relaxed) == 0;
  return !own_first || !m_source.has_own(slot);
}

inline void Workers::search(WorkerSlot& slot) {
  if (slot.search.is_on) return;
  slot.search.is_on = true;
  m_searching.fetch_add(1, std::memory_order_seq_cst);
}

/// Ends the search of a thread that has found a task. The last one that searched wakes the next
/// one, as long as there are more tasks.
void Workers::stop_searching(WorkerSlot& slot) {
  slot.search.is_on = false;
  bool const is_last = m_searching.fetch_sub(1, std::memory_order_seq_cst) == 1;
  if (std::exchange(slot.search.has_slept, false) && m_has_cores) wake_two();
  if (is_last && m_source.has_ready(slot)) ready_added();
}

/// A thread that has been woken, and has found a task, wakes two more if there are more tasks than
/// the searching threads find. To wake a thread takes long, on an idle core longer than many a
/// task. So 64 threads are awake after six times as long as one, and not after 63 times. With
/// 100 us added to each wake-up, 16 workers were awake after 0.37 ms and not 1.6, and 64 after
/// 0.8 ms and not 5 (`./run perf micro --benchmark_filter=wake_all`). Where threads share cores,
/// each is woken when the one before it has got a core. (With two at a time, eight workers on two
/// cores lost 4 % in the rows `bursts`.)
void Workers::wake_two() {
  for (int k = 0; k < 2 && m_spare.load(std::memory_order_relaxed) > 0; ++k) {
    auto const searching =
        static_cast<std::size_t>(std::max(m_searching.load(std::memory_order_relaxed), 0));
    if (m_source.backlog() <= searching) return;
    wake_one();
  }
}

/// Pauses between two looks for a task. All searching threads together look about as often as a
/// single one would. For each look may take the cache lines of queues away from the threads that
/// use them, and the first thread to come finds a task as soon. Returns the number of pauses.
inline int Workers::relax() const {
  int const pauses = std::clamp(m_searching.load(std::memory_order_relaxed), 1, most_pauses);
  for (int k = 0; k < pauses; ++k) cpu_relax();
  return pauses;
}

void Workers::work(WorkerSlot& slot, Until const* until) {
  bool has_turn = true;  // so when it begins, and when it has been woken
  bool const waits = until != nullptr;
  auto const should_stop = [&] {
    return (waits && until->done()) || has_to_stop(slot, waits, has_turn);
  };
  slot.search.is_on = true;
  for (int spins = 0;;) {
    if (until != nullptr ? until->done() : m_stopping.load()) break;
    Task* const task = pop_for(slot, waits, has_turn);
    if (task != nullptr) {
      spins = 0;
      has_turn = false;
      if (slot.search.is_on) {
        stop_searching(slot);
      } else if (somebody_should_wake() && m_source.has_ready(slot)) {
        // The policy may have moved tasks to where a thread that went to sleep did not see them.
        // For the argument in Workers.hpp that is a push like any other.
        ready_added();
      }
      m_source.run(task, slot, should_stop);
      continue;
    }
    search(slot);
    if (std::exchange(slot.search.has_launched, false)) spins = 0;
    if (spins == 0) {
      if (anyone_waits()) wake_waiters();
      m_source.found_nothing(slot);
    }
    ++spins;
    if (spins < spins_before_yield && !oversubscribed()) {
      spins = std::min(spins + relax() - 1, spins_before_yield - 1);
    } else if (spins < spins_before_sleep && !oversubscribed()) {
      if (m_has_cores && !m_source.polls()) {
        for (int k = 1; k < pauses_of_a_yield; ++k) cpu_relax();
      } else {
        std::this_thread::yield();
      }
      spins += relax() / pauses_of_a_yield;
    } else {
      m_source.leaves(slot);
      if (until != nullptr && until->rather_than_sleep != nullptr && (*until->rather_than_sleep)())
        break;
      search(slot);  // `leaves` may have launched something, and ended the search
      sleep(slot, until);
      slot.search.has_slept = true;
      // Between two naps one look is enough: spinning would cost more of the core than the naps
      // save.
      spins = std::exchange(slot.search.has_napped, false) ? spins_before_sleep : 0;
      has_turn = true;
    }
  }
  if (slot.search.is_on) m_searching.fetch_sub(1, std::memory_order_seq_cst);
  slot.search.is_on = false;
}

void Workers::background(WorkerSlot& slot, int number, bool with_permit) {
  m_places.bind_worker(number);  // before it makes its instances, whose threads inherit the mask
  {
    std::unique_lock lock(m_mutex);  // the maker of the thread wrote the slot under it
    if (!with_permit) {
      if (m_stopping) return;
      m_sleeping.push_back(&slot);
      doze(lock, slot);
      hand_watch_on(slot);
    }
  }
  slot.permits = 1;
  slot.search.has_slept = true;
  work(slot, nullptr);
  m_source.leaves(slot);
  std::lock_guard const lock(m_mutex);
  add_permit(1);
}

/// Gives the calling thread a slot. Null when all guests' slots are taken.
WorkerSlot* Workers::enter() {
  std::lock_guard const lock(m_mutex);
  WorkerSlot* slot = nullptr;
  if (on_main_thread()) {
    slot = m_slots[0].get();
  } else {
    for (int k = 1; k < slot_count() && slot == nullptr; ++k)
      if (WorkerSlot& guest = *m_slots[static_cast<std::size_t>(k)];
          guest.is_guest && !guest.in_use.load(std::memory_order_acquire))
        slot = &guest;
    if (slot == nullptr) {
      if (m_guests == most_guests) return nullptr;
      slot = &new_slot("thread " + std::to_string(slot_count()));
      ++m_guests;
      slot->is_guest = true;
    }
  }
  slot->in_use.store(true, std::memory_order_relaxed);
  if (m_lent.load(std::memory_order_relaxed) && m_lent_to == std::this_thread::get_id())
    m_lent.store(false, std::memory_order_relaxed);  // the lent permit is this slot's from here on
  else
    add_permit(-1);
  m_searching.fetch_add(1, std::memory_order_seq_cst);
  return slot;
}

void Workers::work_until(Until const& until) {
  if (until.done()) return;
  WorkerSlot* const entered = enter();
  if (entered == nullptr) return sleep_until(until);
  WorkerSlot& slot = *entered;
  slot.wait = {true, until.wants};
  slot.permits = 1;
  work(slot, &until);
  slot.wait = {};
  m_source.leaves(slot);
  {
    std::lock_guard const lock(m_mutex);
    slot.permits = 0;
    add_permit(1);
    if (until.then_submits && m_permits > 1 && !m_lent.load(std::memory_order_relaxed)) lend();
    wake_waiters_locked();
  }
  bool const has_ready = m_source.has_ready(slot);
  slot.in_use.store(false, std::memory_order_release);
  if (has_ready) ready_added();
}

Workers::Absence::Absence(Workers& workers, WorkerSlot& slot)
    : m_narrowed(workers, slot), m_workers(workers), m_slot(slot) {
  {
    std::lock_guard const lock(workers.m_mutex);
    // A thread that looks for a task may run a destructor that waits. It does not look then.
    m_searching = std::exchange(slot.search.is_on, false);
    if (m_searching) workers.m_searching.fetch_sub(1, std::memory_order_seq_cst);
    m_permits = std::exchange(slot.permits, 0);
    workers.add_permit(m_permits);
    ++workers.m_absent;
    if (workers.m_lent.load(std::memory_order_relaxed)) workers.post_watch();
  }
  if (workers.m_source.has_ready(slot)) workers.ready_added();
}

Workers::Absence::~Absence() {
  std::lock_guard const lock(m_workers.m_mutex);
  --m_workers.m_absent;
  m_workers.add_permit(-m_permits);
  m_slot.permits = m_permits;
  m_slot.search.is_on = m_searching;
  if (m_searching) m_workers.m_searching.fetch_add(1, std::memory_order_seq_cst);
}

}  // namespace trellis::Impl
