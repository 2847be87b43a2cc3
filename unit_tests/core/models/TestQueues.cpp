// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The queues of ready tasks, each with the code of the library: TaskDeque, TaskQueue, MainQueue,
// and the policies WorkStealing and Priority.
//
// - Each task that is pushed is popped once, by its owner or by a thief.
// - A thread that pops a task happens after the thread that has pushed it.
// - A thread pushes a task and then asks whether another one is going to sleep; that one says so
//   and then asks whether there is a task. One of the two finds the other.
#include "Prove.hpp"
#include "Tasks.hpp"

#include <Trellis_PriorityPolicy.hpp>
#include <Trellis_SchedulingPolicy.hpp>
#include <threads/Trellis_MainQueue.hpp>
#include <policy/Trellis_TaskDeque.hpp>
#include <threads/Trellis_TaskQueue.hpp>

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <thread>

namespace trellis::model {
namespace {

using Impl::MainQueue;
using Impl::Task;
using Impl::TaskDeque;
using Impl::TaskQueue;

/// Tasks that are in no graph, with something that their bodies would read.
struct Ready {
  std::array<int, 4> written{};
  std::array<int, 4> taken{};
  ReadyTask make(int number) {
    written[static_cast<std::size_t>(number)] = number;
    return ReadyTask(reinterpret_cast<Task*>(std::uintptr_t{64} * static_cast<unsigned>(number)));
  }
  void take(ReadyTask task) {
    if (!task) return;
    auto const number = reinterpret_cast<std::uintptr_t>(task.impl()) / 64;
    require(written[number] == static_cast<int>(number), "a thread that pops a task sees its body");
    ++taken[number];
  }
  void expect(int count) const {
    for (int k = 1; k <= count; ++k)
      require(taken[static_cast<std::size_t>(k)] == 1, "each task is taken once");
  }
};

void steal_one() {
  Ready ready;
  TaskDeque deque;
  std::thread thief([&] { ready.take(deque.pop_front()); });
  deque.push_back(ready.make(1));
  deque.push_back(ready.make(2));
  ready.take(deque.pop_back());
  thief.join();
  while (ReadyTask const task = deque.pop_back()) ready.take(task);
  ready.expect(2);
}

void steal_two() {
  Ready ready;
  TaskDeque deque;
  std::thread first([&] { ready.take(deque.pop_front()); });
  std::thread second([&] {
    ReadyTask batch[2];
    std::size_t const count = deque.pop_front(batch, 2, 1);
    for (std::size_t k = 0; k < count; ++k) ready.take(batch[k]);
  });
  ReadyTask const both[] = {ready.make(1), ready.make(2)};
  deque.push_back_reversed(both);
  first.join();
  second.join();
  while (ReadyTask const task = deque.pop_back()) ready.take(task);
  ready.expect(2);
}

/// One thread pushes and then looks for sleepers, another one says that it sleeps and then looks
/// for tasks.
template <class Push, class Empty>
void push_or_sleep(Push const& push, Empty const& empty) {
  std::atomic<int> sleepers{0};
  bool sleeps = false;
  std::thread sleeper([&] {
    sleepers.fetch_add(1, std::memory_order_seq_cst);
    sleeps = empty();
  });
  push();
  bool const wakes = sleepers.load(std::memory_order_seq_cst) > 0;
  sleeper.join();
  require(wakes || !sleeps, "a thread sleeps beside a task, and is not woken");
}

void push_to_deque() {
  Ready ready;
  TaskDeque deque;
  push_or_sleep([&] { deque.push_back(ready.make(1)); }, [&] { return deque.empty(); });
}

void push_to_queue() {
  Tasks tasks(1);
  TaskQueue queue;
  push_or_sleep([&] { queue.push(tasks[0]); }, [&] { return queue.empty(); });
}

/// The main thread reads the epoch, looks at the tasks, says that it sleeps, and reads it again.
void push_to_main() {
  Tasks tasks(1);
  MainQueue queue;
  std::uint64_t const seen = queue.epoch();
  bool const found = !queue.empty();
  push_or_sleep([&] { queue.push(tasks[0]); }, [&] { return !found && queue.epoch() == seen; });
}

void push_to_policy(std::shared_ptr<SchedulingPolicy> const& policy, int slot, int priority) {
  Tasks tasks(1);
  tasks[0].priority = priority;
  policy->start(2);
  push_or_sleep([&] { policy->push(ReadyTask(&tasks[0]), slot); }, [&] { return policy->empty(); });
  require(policy->pop(1).impl() == &tasks[0], "a task that has been pushed is there");
}

void push_to_shared() {
  push_to_policy(make_work_stealing_policy(), -1, 0);
}
void push_to_slot() {
  push_to_policy(make_work_stealing_policy(), 0, 0);
}
void push_urgent() {
  push_to_policy(make_work_stealing_policy(), 0, 1);
}
void push_to_priority() {
  push_to_policy(experimental::make_priority_policy(), 0, 0);
}

}  // namespace

Model const thief_and_owner{"a thief and an owner", &steal_one};
Model const two_thieves{"two thieves and a batch", &steal_two};
Model const deque_seen_or_sleeper_seen{"a deque", &push_to_deque};
Model const queue_seen_or_sleeper_seen{"a queue", &push_to_queue};
Model const main_queue_is_seen{"the queue of the main thread", &push_to_main};
Model const policy_seen_or_sleeper_seen{"work stealing, the shared queue", &push_to_shared};
Model const first_task_of_a_slot_is_seen{"work stealing, the queue of a slot", &push_to_slot};
Model const urgent_seen_or_sleeper_seen{"work stealing, an urgent task", &push_urgent};
Model const priority_seen_or_sleeper_seen{"priorities", &push_to_priority};

TEST(DequeModel, EachTaskIsTakenOnceByAThreadThatSeesItsBody) {
  prove(thief_and_owner);
  prove(two_thieves);
}

TEST(DequeModel, APushSeesTheSleeperOrIsSeen) {
  prove(deque_seen_or_sleeper_seen);
}

TEST(TaskQueueModel, APushSeesTheSleeperOrIsSeen) {
  prove(queue_seen_or_sleeper_seen);
  prove(main_queue_is_seen);
}

TEST(PolicyModel, APushSeesTheSleeperOrIsSeen) {
  prove(policy_seen_or_sleeper_seen);
  prove(first_task_of_a_slot_is_seen);
  prove(urgent_seen_or_sleeper_seen);
  prove(priority_seen_or_sleeper_seen);
}

}  // namespace trellis::model
