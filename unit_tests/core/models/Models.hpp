// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_MODELS_HPP
#define TRELLIS_TEST_MODELS_HPP

#include "ModelChecker.hpp"

#include <string_view>
#include <vector>

/// The programs of a few threads that use the library's own code. Each of them is in a source file
/// by its topic, below the sentences that it proves.
namespace trellis::model {

struct Model {
  std::string_view name;
  void (*program)();
  Bounds bounds{};
};

// TestLocks.cpp
extern Model const two_threads_lock_twice;
extern Model const three_threads_lock;
extern Model const one_thread_tries;
// TestQueues.cpp
extern Model const thief_and_owner;
extern Model const two_thieves;
extern Model const deque_seen_or_sleeper_seen;
extern Model const queue_seen_or_sleeper_seen;
extern Model const main_queue_is_seen;
extern Model const policy_seen_or_sleeper_seen;
extern Model const first_task_of_a_slot_is_seen;
extern Model const urgent_seen_or_sleeper_seen;
extern Model const priority_seen_or_sleeper_seen;
// TestLinks.cpp
extern Model const one_before_one;
extern Model const two_before_one;
extern Model const two_behind_one;
extern Model const published_to_scope;
extern Model const published_is_ready;
extern Model const stale_pointer;
extern Model const held_back;
extern Model const added_edge;
extern Model const read_without_lock;
// TestCounts.cpp
extern Model const body_and_two_children;
extern Model const children_of_children;
extern Model const child_on_thread_of_body;
extern Model const body_waits_for_child;
extern Model const continuation_waits_for_child;
extern Model const scopes_of_scopes;
// TestRecorded.cpp
extern Model const replay_ends;
extern Model const plan_follows_plan;
extern Model const plan_follows_plan_crosswise;
extern Model const older_plan_follows_plan;
extern Model const task_follows_plan;
// TestCells.cpp
extern Model const cells_come_back;
extern Model const chains_of_cells;
extern Model const last_cell;
extern Model const engine_outlives_users;
// TestWakeUps.cpp
extern Model const one_worker_one_task;
extern Model const worker_looks_twice;
extern Model const worker_looks_often;
extern Model const one_worker_two_tasks;
extern Model const one_worker_two_kept_tasks;
extern Model const worker_starts_another;
extern Model const two_workers_two_tasks;
extern Model const waiting_thread_runs_tasks;
extern Model const task_leaves_its_place;
extern Model const true_for_sleeper;
extern Model const true_for_worker;
extern Model const true_for_body;
extern Model const two_workers_are_needed;
extern Model const thread_leaves;
extern Model const body_begins_to_wait;
extern Model const two_guests_follow_each_other;
extern Model const waiter_is_told;

}  // namespace trellis::model

#endif
