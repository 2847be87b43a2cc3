// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Links between tasks: the list of successors against completion, and the counts. The code is that
// of Task (`is_live`, `end_life`, `count_down`, `publish_new`, `hold_back`, `trigger`) and of
// `link`.
//
// - A task runs once: no successor is lost, and none is released twice.
// - A body happens after the bodies of all tasks before it, and after its submission.
// - A task that finds another one complete happens after that one's body, with or without its lock.
// - A pointer to a cell that has been given to another task adds no edge there.
// - A thread that waits for a task is told when the task is complete.
#include "Prove.hpp"
#include "Tasks.hpp"

#include <kernel/Trellis_Link.hpp>
#include <task/Trellis_TaskSlab.hpp>
#include <base/Trellis_SpinLock.hpp>
#include <policy/Trellis_TaskDeque.hpp>

#include <mutex>
#include <thread>

namespace trellis::model {
namespace {

using Impl::SpinLock;
using Impl::Task;
using Impl::TaskDeque;
using Impl::TaskSlab;
using Impl::Vector;

/// A body that reads what the bodies before it have written.
struct Body {
  int* reads[2] = {nullptr, nullptr};
  int writes = 0;
  int runs = 0;
  void run() {
    for (int const* read : reads)
      if (read != nullptr) require(*read == 1, "a body comes after those that it depends on");
    writes = 1;
    ++runs;
  }
};

/// As Engine::TaskEnds. Returns the tasks that are ready.
Vector<Task*> complete(Task& task) {
  Vector<Task*> ready;
  (void)task.end_life([] {});
  task.for_each_successor([&](Task* successor) { trigger(*successor, nullptr, ready); });
  return ready;
}

/// As `make_wait` in Trellis_Connect.cpp.
void put_behind(Task& first, TaskId id, Task& second, std::int32_t& edges) {
  if (!first.is_live(id)) return;
  std::lock_guard const lock(first.lock);
  if (!first.is_live_locked(id)) return;
  if (first.last_successor() == &second) return;
  first.add_successor(&second);
  ++edges;
}

/// As Submission::publish. True: the task is ready.
[[nodiscard]] bool publish(Task& task, std::int32_t edges) {
  return task.count_down(Task::being_submitted - edges);
}
/// As Submission::publish_new, of a task that no other thread can hold back.
[[nodiscard]] bool publish_new(Task& task, std::int32_t edges) {
  return task.publish_new(Task::being_submitted - edges);
}

void link_one() {
  Tasks tasks(2);
  Body bodies[2];
  bodies[1].reads[0] = &bodies[0].writes;
  Tasks::admit(tasks[0], 1);
  (void)publish(tasks[0], 0);
  std::thread worker([&] {
    bodies[0].run();
    for (Task* const task : complete(tasks[0])) {
      require(task == &tasks[1], "what is ready is the successor");
      bodies[1].run();
    }
  });
  Tasks::admit(tasks[1], 2);
  std::int32_t edges = 0;
  put_behind(tasks[0], 1, tasks[1], edges);
  put_behind(tasks[0], 1, tasks[1], edges);  // for another access
  if (publish(tasks[1], edges)) bodies[1].run();
  worker.join();
  require(bodies[1].runs == 1, "the second task runs once");
}

void link_two() {
  Tasks tasks(3);
  Body bodies[3];
  bodies[2].reads[0] = &bodies[0].writes;
  bodies[2].reads[1] = &bodies[1].writes;
  for (TaskId k : {0U, 1U}) {
    Tasks::admit(tasks[k], k + 1);
    (void)publish(tasks[k], 0);
  }
  auto const work = [&](std::size_t k) {
    bodies[k].run();
    for (Task* const task : complete(tasks[k]))
      if (task == &tasks[2]) bodies[2].run();
  };
  std::thread first(work, 0);
  std::thread second(work, 1);
  Tasks::admit(tasks[2], 3);
  std::int32_t edges = 0;
  put_behind(tasks[0], 1, tasks[2], edges);
  put_behind(tasks[1], 2, tasks[2], edges);
  if (publish(tasks[2], edges)) bodies[2].run();
  first.join();
  second.join();
  require(bodies[2].runs == 1, "the last task runs once");
}

/// Two threads submit, into two scopes.
void link_behind_one() {
  Tasks tasks(3);
  Body bodies[3];
  bodies[1].reads[0] = bodies[2].reads[0] = &bodies[0].writes;
  Tasks::admit(tasks[0], 1);
  (void)publish(tasks[0], 0);
  auto const submit = [&](std::size_t k) {
    Tasks::admit(tasks[k], k + 1);
    std::int32_t edges = 0;
    put_behind(tasks[0], 1, tasks[k], edges);
    if (publish(tasks[k], edges)) bodies[k].run();
  };
  std::thread worker([&] {
    bodies[0].run();
    for (Task* const task : complete(tasks[0])) bodies[task == &tasks[1] ? 1 : 2].run();
  });
  std::thread other([&] { submit(2); });
  submit(1);
  worker.join();
  other.join();
  require(bodies[1].runs == 1 && bodies[2].runs == 1, "each successor runs once");
}

/// The cell of a task that is complete is given to another one, while a thread still refers to the
/// first.
void reuse_cell() {
  TaskSlab slab;
  Tasks tasks(1);
  Body bodies[3];
  bodies[2].reads[0] = &bodies[0].writes;
  Task& cell = slab.acquire();
  Tasks::admit(cell, 1);
  (void)publish(cell, 0);
  std::thread worker([&] {
    bodies[0].run();
    for (Task* const task : complete(cell))
      if (task == &tasks[0]) bodies[2].run();
    slab.recycle_chain(&cell, &cell);
  });
  std::thread submitter([&] {
    Tasks::admit(tasks[0], 3);
    std::int32_t edges = 0;
    put_behind(cell, 1, tasks[0], edges);
    if (publish(tasks[0], edges)) bodies[2].run();
  });
  // The slab has others; the cell comes back when they have been used up.
  Impl::TaskSlab::Chain const back = slab.acquire_chain();
  if (back.first == &cell) {
    Tasks::admit(cell, 2);
    if (publish(cell, 0)) bodies[1].run();
    require(complete(cell).empty(), "an edge has been added to another task");
  }
  worker.join();
  submitter.join();
  require(bodies[2].runs == 1, "the task that has been put behind the first one runs once");
}

/// A pending task is held back while its body is changed, as for a refinement.
void hold_back() {
  Tasks tasks(2);
  Body bodies[2];
  bodies[1].reads[0] = &bodies[0].writes;
  Tasks::admit(tasks[0], 1);
  (void)publish(tasks[0], 0);
  Tasks::admit(tasks[1], 2);
  std::int32_t edges = 0;
  put_behind(tasks[0], 1, tasks[1], edges);
  (void)publish(tasks[1], edges);
  std::thread worker([&] {
    bodies[0].run();
    for (Task* const task : complete(tasks[0])) {
      (void)task;
      bodies[1].run();
      (void)complete(tasks[1]);
    }
  });
  bool is_held = false;
  {
    std::lock_guard const lock(tasks[1].lock);
    is_held = tasks[1].is_live_locked(2) && tasks[1].hold_back() != 0;
  }
  if (is_held) {
    require(bodies[1].runs == 0, "a task that is held back has not run");
    bodies[1].writes = 7;
    if (tasks[1].count_down()) bodies[1].run();
  }
  worker.join();
  require(bodies[1].runs == 1, "a task that is held back runs once");
}

/// An edge between two tasks that are there already, as a policy adds.
void add_edge() {
  Tasks tasks(2);
  Body bodies[2];
  Tasks::admit(tasks[0], 1);
  (void)publish(tasks[0], 0);
  Tasks::admit(tasks[1], 2);
  std::thread worker([&] {
    bodies[0].run();
    for (Task* const task : complete(tasks[0]))
      if (task == &tasks[1]) bodies[1].run();
  });
  // It has not been published, and so is held back.
  bool const is_behind = Impl::link(tasks[0], 1, tasks[1], [](bool) {});
  bodies[1].reads[0] = &bodies[0].writes;
  if (publish(tasks[1], 0)) bodies[1].run();
  worker.join();
  require(bodies[1].runs == 1, "the second task runs once");
  outcome(is_behind ? 1 : 0);
}

/// As Engine::is_done, without a lock.
void look_at_live_id() {
  Tasks tasks(1);
  Body body;
  Tasks::admit(tasks[0], 1);
  (void)publish(tasks[0], 0);
  std::thread worker([&] {
    body.run();
    (void)complete(tasks[0]);
  });
  bool const is_live = tasks[0].is_live(1);
  if (!is_live)
    require(body.writes == 1, "a thread that finds a task complete happens after its body");
  worker.join();
}

/// Two threads submit to a scope, a third one takes what is ready from a queue.
void submit_to_scope() {
  Tasks tasks(2);
  Body bodies[2];
  TaskDeque ready;
  SpinLock scope;
  Task* newest = nullptr;
  auto const run = [&](Task* task) {
    if (task == nullptr) return;
    bodies[task == &tasks[0] ? 0 : 1].run();
    for (Task* const successor : complete(*task)) ready.push_back(ReadyTask(successor));
  };
  auto const submit = [&](std::size_t k) {
    std::int32_t edges = 0;
    {
      std::lock_guard const lock(scope);
      Tasks::admit(tasks[k], k + 1);
      if (newest != nullptr) {
        put_behind(*newest, newest->id, tasks[k], edges);
        bodies[k].reads[0] = &bodies[1 - k].writes;
      }
      newest = &tasks[k];
    }
    if (publish_new(tasks[k], edges)) ready.push_back(ReadyTask(&tasks[k]));
  };
  std::thread other([&] { submit(1); });
  std::thread worker([&] { run(ready.pop_front().impl()); });
  submit(0);
  other.join();
  worker.join();
  while (ReadyTask const task = ready.pop_back()) run(task.impl());
  require(bodies[0].runs == 1 && bodies[1].runs == 1, "each task runs once");
}

/// A thread that gets the handle of a task without edges cannot hold it back.
void hold_new_back() {
  Tasks tasks(1);
  Body body;
  TaskDeque ready;
  std::atomic<Task*> handle{nullptr};
  std::thread worker([&] {
    if (ready.pop_front()) {
      body.run();
      (void)complete(tasks[0]);
    }
  });
  std::thread other([&] {
    Task* const task = handle.load(std::memory_order_acquire);
    if (task == nullptr) return;
    std::lock_guard const lock(task->lock);
    require(!task->is_live_locked(1) || task->hold_back() == 0,
            "a task that is ready is not held back");
  });
  Tasks::admit(tasks[0], 1);
  if (publish_new(tasks[0], 0)) ready.push_back(ReadyTask(&tasks[0]));
  handle.store(&tasks[0], std::memory_order_release);
  worker.join();
  other.join();
  if (ready.pop_back()) body.run();
  require(body.runs == 1, "the task runs once");
}

}  // namespace

Model const one_before_one{"one task before another", &link_one};
Model const two_before_one{"two tasks before another", &link_two};
Model const two_behind_one{"two tasks behind another", &link_behind_one};
Model const published_to_scope{"two threads submit", &submit_to_scope};
Model const published_is_ready{"a new task is ready", &hold_new_back};
Model const stale_pointer{"a cell is used again", &reuse_cell};
Model const held_back{"a pending task is held back", &hold_back};
Model const added_edge{"an edge is added", &add_edge};
Model const read_without_lock{"a look without a lock", &look_at_live_id};

TEST(LinkModel, NoSuccessorIsLostOrReleasedTwice) {
  prove(one_before_one);
  prove(two_before_one);
  prove(two_behind_one);
}

TEST(LinkModel, ANewTaskIsPublishedOnce) {
  prove(published_to_scope);
  prove(published_is_ready);
}

TEST(LinkModel, AStalePointerAddsNoEdge) {
  prove(stale_pointer);
}

TEST(LinkModel, APendingTaskIsHeldBackOrReady) {
  prove(held_back);
}

TEST(LinkModel, AnEdgeIsAddedOrTheFirstTaskIsComplete) {
  prove(added_edge);
  EXPECT_EQ(explore(added_edge.program).outcomes, (std::set<std::uint64_t>{0, 1}));
}

TEST(LinkModel, AThreadThatFindsATaskCompleteHappensAfterItsBody) {
  prove(read_without_lock);
}

}  // namespace trellis::model
