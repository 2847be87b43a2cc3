// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sleep and wake-up of workers. The code is all of Workers, with the queue of the scheduling policy
// fifo, and real threads, mutexes and condition variables. A thread that finds no task sleeps at
// once (TRELLIS_IMPL_MODEL); nothing wakes by itself.
//
// - Each task runs once: no thread sleeps for ever beside a task that is ready.
// - A thread that waits for a condition is woken when it has come true.
// - A thread that has waited happens after what it has waited for.
// - A worker slot belongs to one thread at a time.
#include "Prove.hpp"
#include "Tasks.hpp"

#include <threads/Trellis_Places.hpp>
#include <policy/Trellis_TaskDeque.hpp>
#include <threads/Trellis_TaskQueue.hpp>
#include <threads/Trellis_Workers.hpp>

#include <array>
#include <atomic>
#include <mutex>
#include <thread>

namespace trellis::Impl {
/// How often a thread looks for a task before it sleeps.
extern int looks_of_model;
}  // namespace trellis::Impl

namespace trellis::model {
namespace {

using Impl::Condition;
using Impl::Places;
using Impl::Task;
using Impl::TaskDeque;
using Impl::TaskQueue;
using Impl::TaskSource;
using Impl::Until;
using Impl::Workers;
using Impl::WorkerSlot;

/// What the engine is to its workers, with bodies that are known here.
class Source final : public TaskSource {
 public:
  /// `keeps`: tasks are in a queue of the engine's, and else in one of the policy's.
  explicit Source(int permits, bool keeps = false, int looks = 1)
      : m_places("none", 1, "model"), m_keeps(keeps), workers(*this, permits, 1, 2, m_places) {
    Impl::looks_of_model = looks;  // there are no other threads yet
  }

  /// As Engine::push.
  void submit(int number) {
    m_submitted.fetch_add(1, std::memory_order_release);
    auto* const task = reinterpret_cast<Task*>(std::uintptr_t{64} * static_cast<unsigned>(number));
    if (m_keeps)
      m_kept.push(*task);
    else
      m_queue.push_back(ReadyTask(task));
    workers.ready_added();
  }
  /// As Engine::in_flight.
  [[nodiscard]] bool all_done() const {
    std::uint64_t const done = workers.completed();
    return m_submitted.load(std::memory_order_acquire) == done;
  }
  [[nodiscard]] int runs(int number) const { return m_runs[static_cast<std::size_t>(number)]; }
  /// What a body does, if there is something.
  void (*body)(Source& source, WorkerSlot& slot, int number) = nullptr;

  Task* pop(WorkerSlot&) override { return m_keeps ? m_kept.pop() : m_queue.pop_front().impl(); }
  Task* pop_own(WorkerSlot&) override { return nullptr; }
  /// As Engine::TaskEnds.
  void run(Task* task, WorkerSlot& slot, Condition) override {
    auto const number = static_cast<int>(reinterpret_cast<std::uintptr_t>(task) / 64);
    if (body != nullptr) body(*this, slot, number);
    ++m_runs[static_cast<std::size_t>(number)];
    bool const is_awaited = number == 1 && task_of_one.end_life([] {});
    slot.counts.completed.store(slot.counts.completed.load(std::memory_order_relaxed) + 1,
                                std::memory_order_release);
    if (is_awaited) workers.wake_waiters();
  }
  [[nodiscard]] bool has_ready(WorkerSlot const&) const override {
    return m_keeps ? !m_kept.empty() : !m_queue.empty();
  }
  [[nodiscard]] std::size_t backlog() const override { return m_queue.size() + m_kept.size(); }
  [[nodiscard]] bool polls() const override { return false; }
  [[nodiscard]] std::chrono::nanoseconds nap(WorkerSlot const&) const override { return {}; }
  [[nodiscard]] bool has_own(WorkerSlot const&) const override { return false; }
  void found_nothing(WorkerSlot&) override {}
  void leaves(WorkerSlot&) override {}

 private:
  Places m_places;
  bool const m_keeps;
  TaskDeque m_queue;
  TaskQueue m_kept;
  std::array<int, 4> m_runs{};
  std::atomic<std::uint64_t> m_submitted{0};

 public:
  std::atomic<bool> flag{false};
  Task task_of_one;  ///< of task 1, for threads that wait for it
  Workers workers;
};

/// The main thread submits, and then sleeps until all is done, so workers run the tasks.
void submit(int permits, int tasks, bool keeps = false, int looks = 1) {
  Source source(permits, keeps, looks);
  for (int k = 1; k <= tasks; ++k) source.submit(k);
  auto const done = [&] { return source.all_done(); };
  source.workers.sleep_until(Until{done});
  for (int k = 1; k <= tasks; ++k) require(source.runs(k) == 1, "each task runs once");
  source.workers.stop();
}

void submit_one() {
  submit(1, 1);
}
void look_twice() {
  submit(1, 1, false, 2);
}
void look_often() {
  submit(1, 1, false, 8);
}
void submit_two() {
  submit(1, 2);
}
void submit_two_kept() {
  submit(1, 2, true);
}
void submit_two_to_two() {
  submit(2, 2);
}

/// The main thread runs tasks while it waits, beside a worker.
void work_while_waiting() {
  Source source(1);
  source.submit(1);
  auto const done = [&] { return source.all_done(); };
  source.workers.work_until(Until{done});
  require(source.runs(1) == 1, "each task runs once");
  source.workers.stop();
}

/// As Waiting::tell_when_done.
void wait_for_task() {
  Source source(1);
  Task& task = source.task_of_one;
  Tasks::admit(task, 1);
  source.submit(1);
  bool is_over = true;
  {
    std::lock_guard const lock(task.lock);
    if (task.live_id.load(std::memory_order_acquire) == 1) {
      task.has_waiter = true;
      is_over = false;
    }
  }
  auto const done = [&] { return task.live_id.load(std::memory_order_acquire) != 1; };
  if (!is_over) source.workers.sleep_until(Until{done});
  require(source.runs(1) == 1, "a thread that has waited for a task happens after its body");
  source.workers.stop();
}

/// A body submits a task and waits for it, so another worker has to take its place.
void wait_inside() {
  Source source(1);
  source.body = [](Source& in, WorkerSlot& slot, int number) {
    if (number != 2) return;
    Tasks::admit(in.task_of_one, 1);
    in.submit(1);
    {
      std::lock_guard const lock(in.task_of_one.lock);
      in.task_of_one.has_waiter = true;
    }
    auto const done = [&] { return in.task_of_one.live_id.load(std::memory_order_acquire) != 1; };
    in.workers.block_until(done, slot);
    require(in.runs(1) == 1, "a body goes on after what it has waited for");
  };
  source.submit(2);
  auto const done = [&] { return source.all_done(); };
  source.workers.sleep_until(Until{done});
  require(source.runs(2) == 1, "each task runs once");
  source.workers.stop();
}

/// A body submits a task, for which its worker starts another one, while the main thread asks what
/// all have done.
void start_from_worker() {
  Source source(2);
  source.body = [](Source& in, WorkerSlot&, int number) {
    if (number == 2) in.submit(3);
  };
  source.submit(2);
  auto const done = [&] { return source.all_done(); };
  if (!done()) source.workers.sleep_until(Until{done});
  require(source.runs(2) == 1 && source.runs(3) == 1,
          "a thread that sees that all is done sees what was done");
  source.workers.stop();
}

/// What a thread waits for comes true on a thread that runs no tasks, as when a device is asked.
template <class Wait>
void come_true(Wait const& wait) {
  Source source(1);
  std::atomic<bool> is_true{false};
  std::thread other([&] {
    is_true.store(true, std::memory_order_seq_cst);
    if (source.workers.anyone_waits()) source.workers.wake_waiters();
  });
  auto const done = [&] { return is_true.load(std::memory_order_seq_cst); };
  wait(source.workers, Until{done});
  other.join();
  source.workers.stop();
}

void come_true_for_sleeper() {
  come_true([](Workers& workers, Until const& until) { workers.sleep_until(until); });
}
void come_true_for_worker() {
  come_true([](Workers& workers, Until const& until) { workers.work_until(until); });
}

/// The same for a body that waits.
void come_true_for_body() {
  Source source(1);
  source.body = [](Source& in, WorkerSlot& slot, int) {
    auto const done = [&] { return in.flag.load(std::memory_order_seq_cst); };
    in.workers.block_until(done, slot);
  };
  source.submit(2);
  source.flag.store(true, std::memory_order_seq_cst);
  if (source.workers.anyone_waits()) source.workers.wake_waiters();
  auto const done = [&] { return source.all_done(); };
  source.workers.sleep_until(Until{done});
  source.workers.stop();
}

/// The first body waits for what the second one does, and the engine does not know that.
void need_two_workers() {
  Source source(2, true);
  source.body = [](Source& in, WorkerSlot&, int number) {
    if (number == 2) in.flag.store(true, std::memory_order_release);
    while (number == 3 && !in.flag.load(std::memory_order_acquire)) std::this_thread::yield();
  };
  source.submit(3);
  source.submit(2);
  auto const done = [&] { return source.all_done(); };
  source.workers.sleep_until(Until{done});
  source.workers.stop();
}

/// A thread that has worked goes away while another one submits.
void leave_and_submit() {
  Source source(1, true);
  std::thread guest([&] {
    int looks = 0;
    auto const done = [&] { return ++looks > 1; };
    source.workers.work_until(Until{done});
  });
  source.submit(3);
  auto const done = [&] { return source.all_done(); };
  source.workers.sleep_until(Until{done});
  guest.join();
  source.workers.stop();
}

/// A body begins to wait while the program submits what it waits for.
void wait_and_submit() {
  Source source(1, true);
  Tasks::admit(source.task_of_one, 1);
  source.task_of_one.has_waiter = true;
  source.body = [](Source& in, WorkerSlot& slot, int number) {
    if (number != 2) return;
    auto const done = [&] { return in.task_of_one.live_id.load(std::memory_order_acquire) != 1; };
    in.workers.block_until(done, slot);
  };
  source.submit(2);
  source.submit(1);
  auto const done = [&] { return source.all_done(); };
  source.workers.sleep_until(Until{done});
  source.workers.stop();
}

/// Two threads of the program's wait, one after the other or at a time.
void wait_as_guests() {
  Source source(1);
  auto const wait = [&] {
    int looks = 0;
    auto const done = [&] { return ++looks > 1; };
    source.workers.work_until(Until{done});
  };
  std::thread first(wait);
  std::thread second(wait);
  first.join();
  second.join();
  source.workers.stop();
}

constexpr Bounds preemptions(int most) {
  return {.preemptions = most};
}

}  // namespace

Model const one_worker_one_task{"one worker, one task", &submit_one};
Model const worker_looks_twice{"a worker looks twice", &look_twice};
Model const worker_looks_often{"a worker looks often", &look_often};
Model const one_worker_two_tasks{"one worker, two tasks", &submit_two};
Model const one_worker_two_kept_tasks{"one worker, two tasks of the engine's", &submit_two_kept};
Model const worker_starts_another{"a worker starts another one", &start_from_worker,
                                  preemptions(2)};
Model const two_workers_two_tasks{"two workers, two tasks", &submit_two_to_two, preemptions(1)};
Model const waiting_thread_runs_tasks{"a thread that waits runs tasks", &work_while_waiting};
Model const waiter_is_told{"a thread waits for a task", &wait_for_task};
Model const task_leaves_its_place{"a body waits", &wait_inside, preemptions(3)};
Model const true_for_sleeper{"a condition comes true for a sleeper", &come_true_for_sleeper};
Model const true_for_worker{"a condition comes true for a thread that works",
                            &come_true_for_worker};
Model const true_for_body{"a condition comes true for a body", &come_true_for_body, preemptions(4)};
Model const two_workers_are_needed{"two workers are needed", &need_two_workers, preemptions(2)};
Model const thread_leaves{"a thread leaves", &leave_and_submit, preemptions(4)};
Model const body_begins_to_wait{"a body begins to wait", &wait_and_submit, preemptions(3)};
Model const two_guests_follow_each_other{"two guests", &wait_as_guests};

TEST(WakeUpModel, NoThreadSleepsBesideATask) {
  prove(one_worker_one_task);
  prove(worker_looks_twice);
  prove(worker_looks_often);
  prove(one_worker_two_tasks);
  prove(one_worker_two_kept_tasks);
  prove(worker_starts_another);
  prove(two_workers_are_needed);
  prove(thread_leaves);
  prove(body_begins_to_wait);
  prove(two_workers_two_tasks);
}

TEST(WakeUpModel, AThreadThatWaitsIsWoken) {
  prove(waiting_thread_runs_tasks);
  prove(waiter_is_told);
  prove(task_leaves_its_place);
  prove(true_for_sleeper);
  prove(true_for_worker);
  prove(true_for_body);
}

TEST(WakeUpModel, AWorkerSlotBelongsToOneThreadAtATime) {
  prove(two_guests_follow_each_other);
}

}  // namespace trellis::model
