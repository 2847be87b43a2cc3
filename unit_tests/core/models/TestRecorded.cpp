// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Is a recorded task done? The code is that of `Kernel::is_done`, and of Task where a plan begins,
// counts its replays, and ends.
//
// - A thread that finds the task done happens after the body of its last run.
// - A thread that has found it done does not find it pending again, unless it is replayed.
// - This is so while the plan is dropped, and its cells are given to another plan or another task.
#include "Prove.hpp"
#include "Tasks.hpp"

#include <kernel/Trellis_Kernel.hpp>
#include <task/Trellis_TaskSlab.hpp>
#include <task/Trellis_PlanNode.hpp>

#include <thread>

namespace trellis::model {
namespace {

using Impl::Kernel;
using Impl::PlanNode;
using Impl::Task;
using Impl::TaskHandle;
using Impl::TaskSlab;

constexpr TaskId first_id = PlanNode::recorded + 1;

/// A plan with one task, a replay of which is pending.
struct Plan {
  Task* parent;
  Task* task;
  /// As Plans::new_plan and Plans::make_recorded. The cells are the plan's.
  void record(TaskId id) const {
    parent->begin_plan();
    parent->count_replays(1);
    task->begin_recorded(id, parent);
  }
  [[nodiscard]] TaskHandle handle(TaskId id) const { return {nullptr, 0, task, id}; }
  /// As Plans::dismantle.
  void drop(TaskSlab& slab) const {
    task->end_recorded();
    task->next = parent;
    slab.recycle_chain(task, parent);
  }
};

/// Another thread looks, twice.
void look(Plan const& plan, int const& written) {
  bool const is_done = Kernel::is_done(plan.handle(first_id));
  if (is_done) require(written == 1, "a task that is done has run");
  bool const is_done_later = Kernel::is_done(plan.handle(first_id));
  require(!is_done || is_done_later, "a task that is done remains so");
  outcome((is_done ? 1U : 0U) + (is_done_later ? 1U : 0U));
}

/// A replay ends.
void end_replay() {
  TaskSlab slab(true);  // tasks of plans have extras
  Plan const plan{&slab.acquire(), &slab.acquire()};
  int written = 0;
  plan.record(first_id);
  std::thread worker([&] {
    written = 1;
    plan.parent->count_replays(-1);
  });
  look(plan, written);
  worker.join();
}

/// And then the plan is dropped, and another thread gets its cells.
template <class Use>
void drop_plan(Use const& use) {
  TaskSlab slab(true);  // tasks of plans have extras
  Plan const plan{&slab.acquire(), &slab.acquire()};
  int written = 0;
  plan.record(first_id);
  std::thread worker([&] {
    written = 1;
    plan.parent->count_replays(-1);
    plan.drop(slab);
  });
  std::thread other([&] {
    TaskSlab::Chain const cells = slab.acquire_chain();
    if (cells.first == plan.task) use(*plan.parent, *plan.task);
  });
  look(plan, written);
  worker.join();
  other.join();
}

/// Another plan gets them, a replay of which is pending or not.
void give_to_plan() {
  drop_plan([](Task& parent, Task& task) { Plan{&parent, &task}.record(first_id + 1); });
}
void give_to_plan_crosswise() {
  drop_plan([](Task& parent, Task& task) {
    Plan const next{&task, &parent};
    next.record(first_id + 1);
    next.parent->count_replays(-1);
    next.task->set_edges(0);  // of its next run
  });
}
/// A plan gets the cell of the task that has been there before.
void give_to_older_plan() {
  Tasks parents(1);
  parents[0].begin_plan();
  drop_plan([&](Task&, Task& task) { task.begin_recorded(first_id + 1, &parents[0]); });
}
/// A task that no plan has.
void give_to_task() {
  drop_plan([](Task& parent, Task&) {
    Tasks::admit(parent, 1);
    (void)parent.publish_new(Task::being_submitted);
  });
}

}  // namespace

Model const replay_ends{"a replay ends", &end_replay};
Model const plan_follows_plan{"a plan gets the cells of another one", &give_to_plan};
Model const plan_follows_plan_crosswise{"the same, crosswise", &give_to_plan_crosswise};
Model const older_plan_follows_plan{"an older plan gets the cell", &give_to_older_plan};
Model const task_follows_plan{"a task gets the cell of a plan", &give_to_task};

TEST(RecordedModel, AThreadThatFindsATaskDoneHappensAfterItsBody) {
  prove(replay_ends);
  EXPECT_EQ(explore(replay_ends.program).outcomes, (std::set<std::uint64_t>{0, 1, 2}));
}

TEST(RecordedModel, SoItIsWhenThePlanIsDropped) {
  prove(plan_follows_plan);
  prove(plan_follows_plan_crosswise);
  prove(older_plan_follows_plan);
  prove(task_follows_plan);
}

}  // namespace trellis::model
