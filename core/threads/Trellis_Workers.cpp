// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <threads/Trellis_Workers.hpp>

#include <algorithm>

namespace trellis::Impl {

namespace {
// How long a thread looks for work before it sleeps: about as long as putting it to sleep and
// waking it takes.
constexpr int spins_before_yield = 200;
constexpr int spins_before_sleep = 230;
// How long a thread sleeps at most that would rather go on: at first, and when that was in vain.
constexpr std::chrono::microseconds first_nap{100};
constexpr std::chrono::microseconds longest_nap{1000};
}  // namespace

Workers::Workers(TaskSource& source, int permits, int threads_per_worker)
    : m_source(source),
      m_permits(permits),
      m_threads_per_worker(threads_per_worker),
      m_slots(static_cast<std::size_t>(1 + permits + max_blocked + most_guests)),
      m_spare(permits) {
  Slot& main = new_slot("main thread");
  main.is_main = true;
}

Workers::~Workers() {
  stop();
}

void Workers::stop() {
  {
    std::lock_guard const lock(m_mutex);
    m_stopping = true;
    while (!m_sleeping.empty()) wake(*m_sleeping.back());
  }
  for (std::thread& thread : m_threads) thread.join();
  m_threads.clear();
  for (int k = 0; k < slot_count(); ++k) {
    for (auto const& [space, instance] : m_slots[static_cast<std::size_t>(k)]->instances)
      space->destroy_instance(instance);
    m_slots[static_cast<std::size_t>(k)]->instances.clear();
  }
}

std::uint64_t Workers::sum(std::atomic<std::uint64_t> Slot::* count) const {
  std::uint64_t sum = 0;
  int const slots = slot_count();
  for (int k = 0; k < slots; ++k) sum += (slot(k).*count).load(std::memory_order_acquire);
  return sum;
}

void* Workers::instance(Slot& slot, SpaceAdapter& space) {
  for (auto const& [known, instance] : slot.instances)
    if (known == &space) return instance;
  return slot.instances.emplace_back(&space, space.make_instance(m_threads_per_worker)).second;
}

Slot& Workers::new_slot(std::string name) {
  int const number = m_slot_count.load(std::memory_order_relaxed);
  auto slot = std::make_unique<Slot>();
  slot->number = number;
  slot->name = std::move(name);
  m_slots[static_cast<std::size_t>(number)] = std::move(slot);
  m_slot_count.store(number + 1, std::memory_order_release);
  return *m_slots[static_cast<std::size_t>(number)];
}

void Workers::add_permit(int by) {
  m_spare.fetch_add(by, std::memory_order_seq_cst);
}

// The woken thread has its permit and counts as searching from here on, so that nobody wakes a
// second one for the same task before this one is up.
void Workers::wake(Slot& slot) {
  std::erase(m_sleeping, &slot);
  if (slot.waits_for != nullptr) m_asleep_waiting.fetch_sub(1, std::memory_order_seq_cst);
  add_permit(-1);
  m_searching.fetch_add(1, std::memory_order_seq_cst);
  slot.woken = true;
  slot.wakeup.notify_one();
}

void Workers::wake_one() {
  std::lock_guard const lock(m_mutex);
  if (m_spare.load(std::memory_order_relaxed) <= 0 || m_stopping) return;
  if (!m_sleeping.empty()) {
    wake(*m_sleeping.back());
    return;
  }
  if (static_cast<int>(m_threads.size()) == m_permits + max_blocked) return;
  Slot& slot = new_slot("worker " + std::to_string(m_threads.size()));
  add_permit(-1);
  m_searching.fetch_add(1, std::memory_order_seq_cst);
  slot.has_permit = true;
  m_threads.emplace_back([this, &slot] { background(slot); });
}

void Workers::main_ready_added() {
  std::lock_guard const lock(m_mutex);
  Slot& main = *m_slots[0];
  if (std::find(m_sleeping.begin(), m_sleeping.end(), &main) != m_sleeping.end()) wake(main);
  main.wakeup.notify_one();  // it may be blocked inside a task
}

void Workers::wake_waiters() {
  std::lock_guard const lock(m_mutex);
  wake_waiters_locked();
}

void Workers::wake_waiters_locked() {
  for (std::size_t k = m_sleeping.size(); k-- > 0;)
    if (Slot& slot = *m_sleeping[k]; slot.waits_for != nullptr && (*slot.waits_for)()) wake(slot);
  for (Slot* slot : m_blocked)
    if ((*slot->waits_for)()) slot->wakeup.notify_one();
}

void Workers::sleep(Slot& slot, Until const* until) {
  m_searching.fetch_sub(1, std::memory_order_seq_cst);
  std::unique_lock lock(m_mutex);
  add_permit(1);
  bool const waits = until != nullptr;
  if (waits) m_asleep_waiting.fetch_add(1, std::memory_order_seq_cst);
  bool const may_run = waits || m_spare.load(std::memory_order_seq_cst) > 0;
  if (m_stopping || (may_run && m_source.has_ready(slot)) || (waits && until->done())) {
    if (waits) m_asleep_waiting.fetch_sub(1, std::memory_order_seq_cst);
    add_permit(-1);
    m_searching.fetch_add(1, std::memory_order_seq_cst);
    return;
  }
  slot.woken = false;
  slot.waits_for = waits ? &until->done : nullptr;
  m_sleeping.push_back(&slot);
  wake_waiters_locked();
  auto const woken = [&] { return slot.woken; };
  if (!waits || until->rather_than_sleep == nullptr)
    slot.wakeup.wait(lock, woken);
  else
    for (auto nap = first_nap; !slot.wakeup.wait_for(lock, nap, woken);
         nap = std::min(2 * nap, longest_nap))
      if ((*until->rather_than_sleep)()) wake(slot);
  slot.waits_for = nullptr;
}

/// Others run the tasks. `sleeper` has no permit.
void Workers::sleep_until(Until const& until, Slot& sleeper) {
  auto const goes_on = [&] {
    return until.done() || (until.rather_than_sleep != nullptr && (*until.rather_than_sleep)());
  };
  Condition const condition = goes_on;
  std::unique_lock lock(m_mutex);
  sleeper.waits_for = &condition;
  m_asleep_waiting.fetch_add(1, std::memory_order_seq_cst);
  m_blocked.push_back(&sleeper);
  if (until.rather_than_sleep == nullptr)
    sleeper.wakeup.wait(lock, goes_on);
  else
    while (!sleeper.wakeup.wait_for(lock, longest_nap, goes_on)) {
    }
  std::erase(m_blocked, &sleeper);
  m_asleep_waiting.fetch_sub(1, std::memory_order_seq_cst);
  sleeper.waits_for = nullptr;
}

void Workers::sleep_until(Until const& until) {
  Slot here;
  here.number = -1;
  sleep_until(until, here);
}

void Workers::work(Slot& slot, Until const* until) {
  // A worker stops when too many threads work; a thread in wait() has the right of way.
  auto const should_stop = [&] { return until != nullptr ? until->done() : oversubscribed(); };
  slot.searching = true;
  for (int spins = 0;;) {
    if (until != nullptr ? until->done() : m_stopping.load()) break;
    Task* const task = until == nullptr && oversubscribed() ? nullptr : m_source.pop(slot);
    if (task != nullptr) {
      spins = 0;
      if (slot.searching) {
        slot.searching = false;
        // The last one to find something wakes the next one, as long as there is more.
        if (m_searching.fetch_sub(1, std::memory_order_seq_cst) == 1 && m_source.has_ready(slot))
          ready_added();
      } else if (m_spare.load(std::memory_order_seq_cst) > 0 && m_source.has_ready(slot)) {
        // The policy may have moved tasks to where a thread that went to sleep did not see them: a
        // push like any other for the argument above.
        ready_added();
      }
      m_source.run(task, slot, should_stop);
      continue;
    }
    if (!slot.searching) {
      slot.searching = true;
      m_searching.fetch_add(1, std::memory_order_seq_cst);
    }
    if (spins == 0) {
      m_source.idle(slot);
      if (anyone_waits()) wake_waiters();
    }
    ++spins;
    if (spins < spins_before_yield && !oversubscribed()) {
      cpu_relax();
    } else if (spins < spins_before_sleep && !oversubscribed()) {
      std::this_thread::yield();
    } else {
      m_source.leaves(slot);
      if (until != nullptr && until->rather_than_sleep != nullptr && (*until->rather_than_sleep)())
        break;
      sleep(slot, until);
      spins = 0;
    }
  }
  if (slot.searching) m_searching.fetch_sub(1, std::memory_order_seq_cst);
  slot.searching = false;
}

void Workers::background(Slot& slot) {
  work(slot, nullptr);
  m_source.idle(slot);
  m_source.leaves(slot);
  std::lock_guard const lock(m_mutex);
  add_permit(1);
}

/// Null when all guests' slots are taken.
Slot* Workers::enter() {
  std::lock_guard const lock(m_mutex);
  Slot* slot = nullptr;
  if (on_main_thread()) {
    slot = m_slots[0].get();
  } else {
    for (int k = 1; k < slot_count() && slot == nullptr; ++k)
      if (Slot& guest = *m_slots[static_cast<std::size_t>(k)];
          guest.is_guest && !guest.in_use.load(std::memory_order_acquire))
        slot = &guest;
    if (slot == nullptr) {
      if (m_guests == most_guests) return nullptr;
      ++m_guests;
      slot = &new_slot("thread " + std::to_string(slot_count()));
      slot->is_guest = true;
    }
  }
  slot->in_use.store(true, std::memory_order_relaxed);
  add_permit(-1);
  m_searching.fetch_add(1, std::memory_order_seq_cst);
  return slot;
}

void Workers::leave(Slot& slot) {
  m_source.idle(slot);
  m_source.leaves(slot);
  {
    std::lock_guard const lock(m_mutex);
    slot.has_permit = false;
    add_permit(1);
    wake_waiters_locked();
  }
  bool const has_ready = m_source.has_ready(slot);
  slot.in_use.store(false, std::memory_order_release);
  if (has_ready) ready_added();
}

void Workers::work_until(Until const& until) {
  if (until.done()) return;
  Slot* const slot = enter();
  if (slot == nullptr) return sleep_until(until);
  slot->waits = slot->has_permit = true;
  work(*slot, &until);
  slot->waits = false;
  leave(*slot);
}

Workers::Absence::Absence(Workers& workers, Slot& slot) : m_workers(workers), m_slot(slot) {
  {
    std::lock_guard const lock(workers.m_mutex);
    // A destructor may wait that is run by a thread which looks for a task. It does not look now.
    if (slot.searching) workers.m_searching.fetch_sub(1, std::memory_order_seq_cst);
    if (slot.has_permit) workers.add_permit(1);
  }
  if (workers.m_source.has_ready(slot)) workers.ready_added();
}

Workers::Absence::~Absence() {
  std::lock_guard const lock(m_workers.m_mutex);
  if (m_slot.has_permit) m_workers.add_permit(-1);
  if (m_slot.searching) m_workers.m_searching.fetch_add(1, std::memory_order_seq_cst);
}

void Workers::block_until(Condition done, Slot& slot) {
  struct Counted {
    explicit Counted(Workers& in) : workers(in) {
      std::lock_guard const lock(workers.m_mutex);
      if (workers.m_blocked_tasks == max_blocked)
        throw Error(Error::Kind::deadlock, "Trellis: " + std::to_string(max_blocked) +
                                               " tasks of one graph wait inside their bodies; let "
                                               "tasks depend on each other through "
                                               "their accesses or after(...) instead");
      ++workers.m_blocked_tasks;
    }
    Counted(Counted const&) = delete;
    Counted& operator=(Counted const&) = delete;
    ~Counted() {
      std::lock_guard const lock(workers.m_mutex);
      --workers.m_blocked_tasks;
    }
    Workers& workers;
  } const counted(*this);
  Absence const absence(*this, slot);
  sleep_until(Until{done}, slot);
}

}  // namespace trellis::Impl
