// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random programs in which the features meet. See Program.hpp for what they are, Oracle.cpp for
// what they must do.
#include "../random/Seeds.hpp"
#include "World.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <mutex>
#include <sstream>
#include <string>

namespace products {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t programs = 1000;
constexpr std::chrono::seconds patience(120);
#else
constexpr std::uint64_t programs = 10000;
constexpr std::chrono::seconds patience(30);
#endif

/// How long nothing may happen. TRELLIS_TEST_PATIENCE, for who looks at a hang with a debugger.
std::chrono::seconds patience_here() {
  char const* const seconds = std::getenv("TRELLIS_TEST_PATIENCE");
  return seconds != nullptr ? std::chrono::seconds(std::atoi(seconds)) : patience;
}

/// Runs programs one after the other under one watchdog.
class Runner {
 public:
  /// What was wrong, and the program.
  std::string run(Program const& program) {
    World world(program, &m_watchdog);
    set(&program, &world);
    std::string const problems = world.run();
    set(nullptr, nullptr);
    m_uncertain += world.uncertain() ? 1 : 0;
    return problems.empty() ? problems : problems + to_string(program);
  }
  [[nodiscard]] int uncertain() const { return m_uncertain; }

 private:
  void set(Program const* program, World* world) {
    std::lock_guard const lock(m_mutex);
    m_program = program;
    m_world = world;
  }
  std::string describe() {
    std::lock_guard const lock(m_mutex);
    if (m_world == nullptr) return "between two programs";
    return to_string(*m_program) + m_world->unfinished();
  }

  std::mutex m_mutex;
  Program const* m_program = nullptr;
  World* m_world = nullptr;
  int m_uncertain = 0;
  trellis::Test::Watchdog m_watchdog{patience_here(), [this] { return describe(); }};
};

TEST(Products, RandomProgramsDoWhatTheirTasksDoOneByOne) {
  Runner runner;
  auto const begin = std::chrono::steady_clock::now();
  std::uint64_t count = 0, failures = 0;
  for (std::uint64_t const seed : random_program::seeds(1, programs)) {
    ++count;
    std::string const problems = runner.run(make_program(seed));
    if (problems.empty()) continue;
    ADD_FAILURE() << problems;
    if (++failures == 5) break;
  }
  std::chrono::duration<double> const time = std::chrono::steady_clock::now() - begin;
  std::cout << count << " programs in " << time.count() << " s, "
            << static_cast<double>(count) / time.count() << " in a second; " << failures
            << " failures; " << runner.uncertain() << " that could be compared in part only"
            << std::endl;
  EXPECT_LT(runner.uncertain(), static_cast<int>(count / 10 + 10));
}

/// Small programs that once found something. What a seed gives changes with the generator.
char const* const found[] = {
    // A recorded task waits for one that excludes others. (It was told that it waits for ever where
    // a task of its plan excluded that one.)
    R"(program seed=77981
graph workers=5 cap=4 policy=shake:77981 streams=3 rules
task 0 g0 d a7+1 priority=1
task 1 g0 h slow
task 2 g0 h x1+2 r10+1 after=0 slow
task 3 g0 h r3+2 a7+1 do=w2
task 4 g0 d u11+1 r3+3 do=d
task 5 g0 h r11+1 r10+1 u4+2 do=d do=p6
task 6 g0 h r11+1 r10+1
task 7 g0 d u3+2 u11+1 priority=1 sync slow
task 8 g0 d
task 9 g0 u a7+1
plan 0 g0 t3 t4 t5 t7
phase
thread t0 t1 t2 R0 r0*9 z71 t8 t9
thread q9 g7 z55
thread q9 z2 q5 z79 w5 w0
)"};

TEST(Products, FoundProgramsDoWhatTheyMust) {
  Runner runner;
  for (int time = 0; time < 20; ++time) {
    for (char const* const text : found) ASSERT_EQ(runner.run(parse(text)), "");
    for (std::uint64_t const seed : {77981}) ASSERT_EQ(runner.run(make_program(seed)), "");
  }
}

/// The text in the file TRELLIS_TEST_PROGRAM, TRELLIS_TEST_SEEDS times: to shrink a program by
/// hand.
TEST(Products, TheProgramInAFileDoesWhatItMust) {
  char const* const file = std::getenv("TRELLIS_TEST_PROGRAM");
  if (file == nullptr) GTEST_SKIP() << "TRELLIS_TEST_PROGRAM names no file";
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  Program const program = parse(text.str());
  Runner runner;
  for ([[maybe_unused]] std::uint64_t const time : random_program::seeds(1, 1000)) {
    std::string const problems = runner.run(program);
    ASSERT_EQ(problems, "");
  }
}

/// The program of the seed TRELLIS_TEST_PRINT.
TEST(Products, TheProgramOfASeedIsPrinted) {
  char const* const seed = std::getenv("TRELLIS_TEST_PRINT");
  if (seed == nullptr) GTEST_SKIP() << "TRELLIS_TEST_PRINT gives no seed";
  std::cout << to_string(make_program(std::strtoull(seed, nullptr, 10))) << "end of program"
            << std::endl;
}

TEST(Products, TheTextOfAProgramIsThatProgram) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    std::string const text = to_string(make_program(seed));
    ASSERT_EQ(to_string(parse(text)), text);
  }
}

}  // namespace
}  // namespace products
