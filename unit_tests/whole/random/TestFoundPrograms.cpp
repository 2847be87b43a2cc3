// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "EngineRun.hpp"
#include "RandomProgram.hpp"

#include <gtest/gtest.h>

/// Small programs, each of which once did not do what the oracle says.
namespace {

using namespace random_program;

Access all_of(How how, int array = 0) {
  return {.array = array, .how = how, .dimensions = {{4, 1}}};
}
Step submit(int task) {
  return {Step::Kind::submit, task};
}
Step wait_for(int task) {
  return {Step::Kind::wait_for, task};
}
Step const pause_step{Step::Kind::pause, -1};

void expect_well(Program program, int times = 20) {
  for (std::size_t t = 0; t < program.tasks.size(); ++t) {
    program.tasks[t].salt = t + 1;
    for (Step const& step : program.tasks[t].steps)
      if (step.kind == Step::Kind::submit)
        program.tasks[static_cast<std::size_t>(step.task)].parent = static_cast<int>(t);
  }
  for (int k = 0; k < times; ++k)
    for (char const* policy : {"work_stealing", "fifo", "shake:1", "serial"}) {
      program.settings.policy = policy;
      ASSERT_EQ(run_on_engine(program), "") << to_string(program);
    }
}

TEST(FoundPrograms, a_task_in_the_place_of_a_finished_one_still_depends_on_it) {
  Program program;
  program.settings = {.workers = 1, .in_flight = 1, .record = true};
  program.arrays = {4};
  program.phases = {{{}}};
  for (int t = 0; t < 200; ++t) {
    program.tasks.push_back({.accesses = {all_of(How::write)}, .throws = t == 0});
    program.phases[0][0].push_back(submit(t));
  }
  expect_well(program, 3);
}

TEST(FoundPrograms, serial_order_holds_for_exclusive_tasks_submitted_inside_a_task) {
  Program program;
  program.arrays = {4};
  program.tasks = {{.steps = {submit(1), submit(2), submit(3)}},
                   {},
                   {.accesses = {all_of(How::exclusive)}, .after = {1}},
                   {.accesses = {all_of(How::exclusive)}}};
  program.phases = {{{submit(0)}}};
  expect_well(program);
}

/// Task 3 holds the area and waits for 2, which comes after 1, which needs the area.
TEST(FoundPrograms, a_wait_for_a_task_behind_ones_own_exclusive_area_throws_or_ends) {
  Program program;
  program.settings.wild = true;
  program.arrays = {4};
  program.tasks = {{.steps = {pause_step, pause_step, pause_step}},
                   {.accesses = {all_of(How::exclusive)}, .after = {0}},
                   {.after = {1}},
                   {.accesses = {all_of(How::exclusive)}, .steps = {wait_for(2)}}};
  program.phases = {{{submit(0), submit(1), submit(2), submit(3)}}};
  expect_well(program);
}

/// The same, but the area is in the way only when another task starts to wait.
TEST(FoundPrograms,
     a_wait_for_a_task_that_later_waits_behind_ones_own_exclusive_area_throws_or_ends) {
  Program program;
  program.settings = {.workers = 3, .wild = true};
  program.arrays = {4};
  program.tasks = {{.steps = {pause_step, pause_step, pause_step, submit(2), wait_for(2)}},
                   {.accesses = {all_of(How::exclusive)}, .steps = {wait_for(0)}},
                   {.accesses = {all_of(How::exclusive)}}};
  program.phases = {{{submit(0), submit(1)}}};
  expect_well(program);
}

/// Task 2 waits for 0; task 3, bound to the main thread, waits for 2 and must not run on top of it.
TEST(FoundPrograms, a_main_thread_task_that_waits_for_another_task_is_not_run_on_top_of_it) {
  Program program;
  program.settings = {.workers = 2};
  program.arrays = {4};
  program.tasks = {{.steps = {pause_step, pause_step, pause_step, pause_step, pause_step}},
                   {.steps = {pause_step}},
                   {.steps = {wait_for(0)}},
                   {.after = {1}, .main_thread = true, .steps = {wait_for(2)}}};
  program.phases = {{{submit(0), submit(1), submit(2), submit(3)}}};
  expect_well(program);
}

/// Task 2 sleeps on the main thread and needs a main-thread task that 0 starts to wait for only
/// then.
TEST(FoundPrograms, a_main_thread_task_that_somebody_needs_is_run_on_top_of_a_waiting_one) {
  Program program;
  program.settings = {.workers = 2};
  program.arrays = {4};
  program.tasks = {
      {.steps = {pause_step, pause_step, pause_step, submit(1), pause_step, wait_for(1)}},
      {.main_thread = true},
      {.main_thread = true, .steps = {wait_for(0)}}};
  program.phases = {{{submit(0), submit(2)}}};
  expect_well(program);
}

/// Task 1 has got the area and queues for the main thread, which sleeps in 2; that waits for 3,
/// which needs the area.
TEST(FoundPrograms,
     a_main_thread_task_that_holds_an_area_somebody_needs_is_run_on_top_of_a_waiting_one) {
  Program program;
  program.settings = {.workers = 4, .policy = "fifo"};
  program.arrays = {4};
  program.tasks = {{.accesses = {all_of(How::exclusive)}, .priority = -2},
                   {.accesses = {all_of(How::exclusive)}, .main_thread = true},
                   {.main_thread = true, .steps = {submit(3), wait_for(3)}},
                   {.accesses = {all_of(How::exclusive)}, .main_thread = true}};
  program.phases = {{{submit(0), submit(1), submit(2), pause_step}}};
  expect_well(program);
}

/// Task 5 holds a0 and sleeps until 3 is over, which comes after 2, which needs a1 alone; 4 needs
/// both and is first in the queue.
TEST(FoundPrograms,
     a_task_that_queues_behind_a_sleeping_one_does_not_keep_others_from_their_areas) {
  Program program;
  program.settings.workers = 3;
  program.arrays = {4, 4};
  program.tasks = {
      {.steps = {pause_step, pause_step, pause_step, pause_step, pause_step, pause_step}},
      {.steps = {pause_step, pause_step}},
      {.accesses = {all_of(How::exclusive, 1)}, .after = {0}},
      {.after = {2}},
      {.accesses = {all_of(How::exclusive, 0), all_of(How::exclusive, 1)}, .after = {1}},
      {.accesses = {all_of(How::exclusive, 0)}, .steps = {wait_for(3)}}};
  program.phases = {{{submit(0), submit(1), submit(2), submit(3), submit(4), submit(5)}}};
  expect_well(program);
}

/// Old readers are dropped while many come, but not one that failed: the writer behind them must be
/// cancelled.
TEST(FoundPrograms, a_failed_reader_among_many_cancels_the_next_writer) {
  Program program;
  program.arrays = {4};
  program.phases = {{{}}};
  for (int t = 0; t < 100; ++t) {
    program.tasks.push_back(
        {.accesses = {all_of(t < 99 ? How::read : How::write)}, .throws = t == 0});
    program.phases[0][0].push_back(submit(t));
    if (t % 10 == 0) program.phases[0][0].push_back(wait_for(t));
  }
  expect_well(program, 3);
}

/// The only thread that runs tasks sleeps in task 0, so another must be started.
TEST(FoundPrograms, a_main_thread_task_that_waits_for_its_child_ends_with_one_worker) {
  Program program;
  program.settings.workers = 1;
  program.arrays = {4};
  program.tasks = {{.main_thread = true, .steps = {submit(1), wait_for(1)}}, {}};
  program.phases = {{{submit(0)}, {}}};
  expect_well(program, 500);
}

// --- tasks that change while they run ------------------------------------------------------------

/// A task submitted after the parent of a failed child is over learns of it another way than one
/// before.
TEST(FoundPrograms, what_comes_after_a_task_that_a_part_made_fail_is_cancelled) {
  Program program;
  program.arrays = {4};
  program.tasks = {{.accesses = {all_of(How::write)}, .steps = {submit(1)}},
                   {.throws = true, .owner = 0},
                   {.accesses = {all_of(How::read)}}};
  program.phases = {{{submit(0), pause_step, pause_step, submit(2)}}};
  expect_well(program);
}

/// Task 0 has the first element exclusively from the start, and the last one from its demotion on.
TEST(FoundPrograms, the_order_behind_an_exclusive_access_that_was_a_write_is_recorded) {
  Program program;
  program.settings.record = true;
  program.arrays = {4};
  Access const first{.how = How::exclusive, .dimensions = {{1, 1}}};
  Access last{.how = How::write, .first = 3, .dimensions = {{1, 1}}};
  Task demotes{.accesses = {first, last}};
  last.how = How::exclusive;
  demotes.steps = {{Step::Kind::demote, -1, {last}}, pause_step};
  program.tasks = {demotes, {.accesses = {last}}, {.accesses = {first}}};
  program.phases = {{{submit(0), submit(1), submit(2)}}};
  expect_well(program);
}

TEST(FoundPrograms, the_order_behind_an_exclusive_access_that_was_released_is_recorded_as_that) {
  Program program;
  program.settings = {.workers = 3, .record = true};
  program.arrays = {4};
  program.tasks = {
      {.accesses = {all_of(How::exclusive)},
       .steps = {{Step::Kind::release, -1, {all_of(How::exclusive)}}, pause_step, pause_step}},
      {.accesses = {all_of(How::exclusive)}}};
  for (Task& task : program.tasks) task.steps_first = false;
  program.tasks[0].says_when_to_compute = true;
  program.phases = {{{submit(0), submit(1)}}};
  expect_well(program);
}

/// Task 1 covers what 0 does, and gives it up: 2 does not wait for 1, but is behind 0.
TEST(FoundPrograms, a_path_leads_past_a_state_that_was_given_up) {
  Program program;
  program.settings.record = true;
  program.arrays = {4};
  program.tasks = {
      {.accesses = {all_of(How::add)}},
      {.accesses = {all_of(How::make)}, .steps = {{Step::Kind::release, -1, {all_of(How::make)}}}},
      {.accesses = {all_of(How::make)}}};
  program.tasks[1].steps_first = false;
  program.phases = {{{submit(0), submit(1), submit(2)}}};
  expect_well(program);
}

/// Task 1 has its exclusive access until its child 2 is over; 3 was submitted before that.
TEST(FoundPrograms, in_serial_order_nobody_comes_between_an_exclusive_task_and_its_children) {
  Program program;
  program.arrays = {4};
  program.tasks = {
      {.steps = {submit(1), submit(3)}},
      {.accesses = {all_of(How::exclusive)}, .steps_first = false, .steps = {submit(2)}},
      {.accesses = {all_of(How::exclusive)}, .owner = 1},
      {.accesses = {all_of(How::exclusive)}}};
  program.tasks[1].says_when_to_compute = true;
  program.phases = {{{submit(0)}}};
  expect_well(program);
}

/// Task 0 waits for what comes after its own end: through 1, whose child 2 comes after 0.
TEST(FoundPrograms, a_wait_that_a_part_makes_hopeless_meanwhile_throws) {
  Program program;
  program.settings = {.workers = 4, .wild = true};
  program.arrays = {4};
  program.tasks = {{.steps = {submit(3), wait_for(3)}},
                   {.accesses = {all_of(How::read)}, .steps = {submit(2)}},
                   {.after = {0}, .owner = 1},
                   {.accesses = {all_of(How::write)}}};
  program.phases = {{{submit(0), submit(1)}}};
  expect_well(program);
}

/// Behind child 1, by way of 2, is task 3, which is not a child of 0: its accesses are none of 1's
/// business, and an edge for them would have no reason.
TEST(FoundPrograms, a_demotion_of_a_child_adds_no_edge_to_a_task_that_is_no_child) {
  Program program;
  program.settings = {.workers = 3, .record = true};
  program.arrays = {4};
  Access const left{.how = How::write, .first = 0, .dimensions = {{2, 1}}};
  Access const right{.how = How::write, .first = 2, .dimensions = {{2, 1}}};
  Step const demote{Step::Kind::demote, -1, {right}};
  program.tasks = {{.accesses = {all_of(How::write)}, .steps = {submit(1), submit(2), submit(3)}},
                   {.accesses = {all_of(How::write)},
                    .steps_first = false,
                    .steps = {pause_step, pause_step, pause_step, demote, pause_step},
                    .owner = 0},
                   {.accesses = {left}, .owner = 0},
                   {.accesses = {all_of(How::write)}, .after = {2}}};
  program.tasks[0].says_when_to_compute = true;
  program.phases = {{{submit(0)}}};
  expect_well(program);
}

/// Task 1 is refined to 2, which cannot start before 0 is over.
TEST(FoundPrograms, a_wait_for_a_part_of_a_pending_task_behind_ones_own_exclusive_area_throws) {
  Program program;
  program.settings = {.workers = 2, .wild = true};
  program.arrays = {4};
  program.tasks = {
      {.accesses = {all_of(How::exclusive)}, .steps = {pause_step, submit(3), submit(1)}},
      {.accesses = {all_of(How::exclusive)}, .after = {3}, .refinement = {2}},
      {.accesses = {all_of(How::exclusive)}, .owner = 1, .parent = 1},
      {.steps = {pause_step, pause_step}}};
  program.tasks[0].steps.push_back({Step::Kind::refine, 1});
  program.tasks[0].steps.push_back(wait_for(2));
  program.phases = {{{submit(0)}}};
  expect_well(program);
}

// --- programs that a mutant of the engine gets wrong ---------------------------------------------

/// Task 2 is behind 1 alone when 0 lets go of 1, but must still wait for 0.
TEST(FoundPrograms, who_is_behind_a_task_that_a_demotion_lets_go_still_waits) {
  Program program;
  program.settings = {.workers = 3, .record = true};
  program.arrays = {4};
  Step const demote{Step::Kind::demote, -1, {all_of(How::read)}};
  program.tasks = {{.accesses = {all_of(How::write)},
                    .steps_first = false,
                    .steps = {pause_step, pause_step, demote, pause_step, pause_step}},
                   {.accesses = {all_of(How::read)}},
                   {.accesses = {all_of(How::write)}}};
  program.phases = {{{submit(0), submit(1), submit(2)}}};
  expect_well(program);
}

/// Task 5 holds a0; 4 needs both and is first in the queue, 2 behind it needs a1 alone. Then 5
/// sleeps until 3 is over, which comes after 2.
TEST(FoundPrograms,
     a_task_that_falls_asleep_lets_those_pass_who_queue_behind_one_that_waits_for_it) {
  Program program;
  program.settings.workers = 4;
  program.arrays = {4, 4};
  program.tasks = {
      {.steps = {pause_step, pause_step, pause_step}},
      {.steps = {pause_step}},
      {.accesses = {all_of(How::exclusive, 1)}, .after = {0}},
      {.after = {2}},
      {.accesses = {all_of(How::exclusive, 0), all_of(How::exclusive, 1)}, .after = {1}},
      {.accesses = {all_of(How::exclusive, 0)},
       .steps = {pause_step, pause_step, pause_step, pause_step, pause_step, pause_step,
                 wait_for(3)}}};
  program.phases = {{{submit(0), submit(1), submit(2), submit(3), submit(4), submit(5)}}};
  expect_well(program);
}

/// Task 0 releases the area that 1 waits for, and then waits for 1.
TEST(FoundPrograms, who_waits_for_an_exclusive_area_gets_it_when_it_is_released) {
  Program program;
  program.settings = {.workers = 2, .record = true};
  program.arrays = {4};
  program.tasks = {{.accesses = {all_of(How::exclusive)},
                    .steps_first = false,
                    .steps = {submit(1),
                              pause_step,
                              {Step::Kind::release, -1, {all_of(How::exclusive)}},
                              wait_for(1)}},
                   {.accesses = {all_of(How::exclusive)}}};
  program.phases = {{{submit(0)}}};
  expect_well(program);
}

/// Task 1 conflicts with 0 only before its demotion, and 2 with both; a rule orders 2 behind 0 as
/// well, which is no dependency.
TEST(FoundPrograms, a_demotion_leaves_a_dependency_on_a_task_that_a_rule_orders_too) {
  auto const interval = [](How how, int first, int count) {
    return Access{.array = 0, .how = how, .first = first, .dimensions = {{count, 1}}};
  };
  Program program;
  program.settings = {.record = true};
  program.arrays = {8};
  program.tokens = {0};
  program.rules = {{}};
  program.rules[0].holds[3][1] = true;
  Step const demote{Step::Kind::demote, -1, {interval(How::add, 5, 1)}};
  program.tasks = {{.accesses = {interval(How::turn, 1, 6), interval(How::look, 3, 5)},
                    .steps = {pause_step, pause_step, demote, pause_step},
                    .tag = 3},
                   {.accesses = {interval(How::look, 3, 2)}},
                   {.accesses = {interval(How::turn, 2, 3)}, .tag = 1}};
  program.phases = {{{submit(0), submit(1), submit(2)}}};
  expect_well(program);
}

}  // namespace
