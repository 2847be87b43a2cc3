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
TEST(FoundPrograms, a_wait_for_a_task_that_later_waits_behind_ones_own_exclusive_area_throws_or_ends) {
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

/// Task 2 sleeps on the main thread and needs a main-thread task that 0 starts to wait for only then.
TEST(FoundPrograms, a_main_thread_task_that_somebody_needs_is_run_on_top_of_a_waiting_one) {
  Program program;
  program.settings = {.workers = 2};
  program.arrays = {4};
  program.tasks = {{.steps = {pause_step, pause_step, pause_step, submit(1), pause_step, wait_for(1)}},
                   {.main_thread = true},
                   {.main_thread = true, .steps = {wait_for(0)}}};
  program.phases = {{{submit(0), submit(2)}}};
  expect_well(program);
}

/// Task 1 has got the area and queues for the main thread, which sleeps in 2; that waits for 3, which needs
/// the area.
TEST(FoundPrograms, a_main_thread_task_that_holds_an_area_somebody_needs_is_run_on_top_of_a_waiting_one) {
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

/// Task 5 holds a0 and sleeps until 3 is over, which comes after 2, which needs a1 alone; 4 needs both and is
/// first in the queue.
TEST(FoundPrograms, a_task_that_queues_behind_a_sleeping_one_does_not_keep_others_from_their_areas) {
  Program program;
  program.settings.workers = 3;
  program.arrays = {4, 4};
  program.tasks = {{.steps = {pause_step, pause_step, pause_step, pause_step, pause_step, pause_step}},
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
    program.tasks.push_back({.accesses = {all_of(t < 99 ? How::read : How::write)}, .throws = t == 0});
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

}  // namespace
