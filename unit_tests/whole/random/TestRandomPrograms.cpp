// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "EngineRun.hpp"
#include "RandomProgram.hpp"
#include "Seeds.hpp"

#include <gtest/gtest.h>

/// Random programs on the engine, without Kokkos: what happens must be what the oracle says.
namespace {

using namespace random_program;

void run_seeds(Ingredients const& ingredients, int share) {
  for (std::uint64_t const seed : seeds(share)) {
    Program const program = make_program(seed, ingredients);
    std::string const problems = run_on_engine(program);
    if (problems.empty()) continue;
    Program const small = shrink(program, std::chrono::seconds(20));
    FAIL() << problems << "\n"
           << to_string(program) << "\nshrunk:\n"
           << to_string(small) << "\n"
           << run_on_engine(small);
  }
}

TEST(RandomPrograms, submitted_by_one_thread_equal_the_oracle) {
  run_seeds({.max_tasks = 150}, 4);
}

TEST(RandomPrograms, under_serial_order_run_in_order_of_submission) {
  run_seeds({.failures = true, .serial = true}, 1);
}

TEST(RandomPrograms, with_nested_submission_equal_the_oracle) {
  run_seeds({.nested = true}, 2);
}

TEST(RandomPrograms, with_nested_submission_under_serial_order_run_in_order_of_submission) {
  run_seeds({.nested = true, .failures = true, .serial = true}, 1);
}

TEST(RandomPrograms, with_waits_in_tasks_end_and_equal_the_oracle) {
  run_seeds({.max_tasks = 60, .nested = true, .waits = true}, 2);
}

TEST(RandomPrograms, with_waits_in_tasks_under_serial_order_end_and_equal_the_oracle) {
  run_seeds({.max_tasks = 60, .nested = true, .waits = true, .serial = true}, 1);
}

TEST(RandomPrograms, with_hopeless_waits_say_so_and_end) {
  run_seeds({.max_tasks = 60, .nested = true, .waits = true, .wild_waits = true}, 2);
}

TEST(RandomPrograms, with_failures_cancel_what_depends_on_them_and_nothing_else) {
  run_seeds({.failures = true}, 3);
}

TEST(RandomPrograms, with_failures_and_nested_tasks_cancel_what_depends_on_them_and_nothing_else) {
  run_seeds({.nested = true, .waits = true, .failures = true}, 2);
}

TEST(RandomPrograms, submitted_by_several_threads_equal_the_oracle_in_order_of_arrival) {
  run_seeds({.max_tasks = 150, .nested = true, .threads = true}, 2);
}

TEST(RandomPrograms,
     submitted_by_several_threads_with_failures_equal_the_oracle_in_order_of_arrival) {
  run_seeds({.nested = true, .waits = true, .failures = true, .threads = true}, 2);
}

TEST(RandomPrograms, submitted_by_several_threads_under_serial_order_equal_the_oracle) {
  run_seeds({.nested = true, .failures = true, .threads = true, .serial = true}, 1);
}

// --- tasks that change while they run ------------------------------------------------------------

TEST(RandomPrograms, with_parts_equal_the_oracle) {
  run_seeds({.children = true}, 2);
}

TEST(RandomPrograms, with_parts_and_waits_end_and_equal_the_oracle) {
  run_seeds({.nested = true, .waits = true, .children = true, .child_waits = true}, 2);
}

TEST(RandomPrograms, with_parts_and_failures_cancel_what_depends_on_them_and_nothing_else) {
  run_seeds(
      {.nested = true, .waits = true, .failures = true, .children = true, .child_waits = true}, 2);
}

TEST(RandomPrograms, with_parts_and_hopeless_waits_say_so_and_end) {
  run_seeds({.max_tasks = 60,
             .nested = true,
             .waits = true,
             .wild_waits = true,
             .children = true,
             .child_waits = true,
             .demotion = true,
             .refine = true},
            2);
}

TEST(RandomPrograms, with_demotion_equal_the_oracle) {
  run_seeds({.demotion = true}, 3);
  EXPECT_GT(happened().early_starts, 0u);
}

TEST(RandomPrograms, with_demotion_and_failures_cancel_what_still_depends_on_them) {
  run_seeds({.failures = true, .demotion = true}, 2);
}

TEST(RandomPrograms, with_demotion_and_parts_and_nested_tasks_equal_the_oracle) {
  run_seeds(
      {.nested = true, .waits = true, .children = true, .child_waits = true, .demotion = true}, 2);
}

TEST(RandomPrograms, with_refined_tasks_equal_the_oracle) {
  run_seeds({.nested = true, .failures = true, .refine = true}, 2);
  EXPECT_GT(happened().refined, 0u);
  EXPECT_GT(happened().not_refined, 0u);
}

TEST(RandomPrograms, with_states_of_their_own_equal_the_oracle) {
  run_seeds({.max_tasks = 150, .failures = true, .states = true}, 2);
}

TEST(RandomPrograms, with_states_and_demotion_and_parts_equal_the_oracle) {
  run_seeds({.children = true, .child_waits = true, .demotion = true, .states = true}, 2);
}

TEST(RandomPrograms, with_rules_equal_the_oracle) {
  run_seeds({.nested = true, .waits = true, .failures = true, .rules = true}, 2);
}

TEST(RandomPrograms, with_tasks_of_several_threads_equal_the_oracle) {
  run_seeds({.max_tasks = 150, .wide = true}, 2);
  run_seeds({.nested = true, .waits = true, .failures = true, .threads = true, .wide = true}, 2);
  run_seeds({.nested = true, .waits = true, .children = true, .child_waits = true, .wide = true},
            2);
  run_seeds({.failures = true, .serial = true, .wide = true}, 1);
}

constexpr Ingredients everything{.nested = true,
                                 .waits = true,
                                 .failures = true,
                                 .children = true,
                                 .child_waits = true,
                                 .demotion = true,
                                 .refine = true,
                                 .states = true,
                                 .rules = true,
                                 .wide = true};

TEST(RandomPrograms, with_everything_equal_the_oracle) {
  run_seeds(everything, 4);
}

TEST(RandomPrograms,
     with_everything_submitted_by_several_threads_equal_the_oracle_in_order_of_arrival) {
  Ingredients ingredients = everything;
  ingredients.threads = true;
  run_seeds(ingredients, 2);
}

TEST(RandomPrograms, with_everything_under_serial_order_equal_the_oracle) {
  Ingredients ingredients = everything;
  ingredients.serial = true;
  run_seeds(ingredients, 1);
}

TEST(RandomPrograms, with_everything_of_several_threads_under_serial_order_equal_the_oracle) {
  Ingredients ingredients = everything;
  ingredients.threads = true;
  ingredients.serial = true;
  run_seeds(ingredients, 2);
}

TEST(RandomPrograms, with_everything_and_hopeless_waits_say_so_and_end) {
  Ingredients ingredients = everything;
  ingredients.wild_waits = true;
  run_seeds(ingredients, 2);
}

}  // namespace
