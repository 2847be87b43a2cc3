// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random programs in which the features meet. See Program.hpp for what they are, Oracle.cpp for
// what they must do.
#include "Seeds.hpp"
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
)",
    // A functor that is destroyed later waits for the task on whose stack its thread runs a child.
    R"(program seed=157015 keeps_plans
graph workers=3 cap=64 policy=work_stealing streams=3
task 0 g0 h a1+2 u11+1 slow functor=-d do=d
task 1 g0 k w10+2 r2+3 after=0 slow result=-- state=ds awaited=0 do=p2 do=p3 do=P
task 2 g0 h slow functor=d-
task 3 g0 h r2+2 functor=dd
task 4 g0 k a2+1 a6+1 r3+2 slow functor=-s do=p5 do=p6 do=p7
task 5 g0 h a2+1 a6+1 r3+2 functor=-s
task 6 g0 h a2+1 r3+1
task 7 g0 h r3+2 functor=-d
task 8 g0 h w3+3 slow state=d- awaited=4 do=s9 do=s10
task 9 g0 h priority=-1 result=-- state=-s
task 10 g0 h u10+2 functor=-d state=d- do=d do=p11 do=p12 do=p13 do=P
task 11 g0 h slow functor=dd
task 12 g0 k w10+1 slow
task 13 g0 k
task 14 g0 k u11+1 a4+1 after=0 functor=-s result=-w awaited=0
task 15 g0 h r4+1 u0+2 a7+1 priority=1 awaited=1 do=d do=p16 do=p17 do=P
task 16 g0 h r4+1 a7+1
task 17 g0 h r0+2 functor=dd
task 18 g0 h functor=dd awaited=4
task 19 g0 k r1+1 functor=-s tag=2 oftag=-- do=d do=p20 do=p21
task 20 g0 h functor=d-
task 21 g0 h functor=-s
task 22 g0 h a4+2 awaited=15 do=d do=p23
task 23 g0 h slow
task 24 g0 k w10+1 a6+1 r2+1 functor=ds awaited=22
task 25 g0 h a7+1 x1+1 a6+1 slow functor=d- result=-- state=-d do=d
task 26 g0 h r10+2 r2+3 after=14 slow functor=d- state=d- awaited=15 do=p27
task 27 g0 h r10+1
task 28 g0 h a7+1 w2+2 priority=-2 slow tag=1 oftag=-- do=d
task 29 g0 k r4+1 result=-- awaited=19 do=p30 do=p31 do=p32 do=P
task 30 g0 h r4+1 slow
task 31 g0 k functor=dd
task 32 g0 h r4+1 functor=d-
task 33 g0 k u11+1 slow functor=-w state=ds awaited=29
task 34 g0 h w10+2 slow functor=-d awaited=25 do=d
task 35 g0 h u0+3 a7+1 priority=-1 result=-q awaited=34 do=q18 do=p36 do=p37 do=P
task 36 g0 k
task 37 g0 h u0+2 functor=-s
task 38 g0 k state=d- do=d
task 39 g0 h u3+1 state=dd
task 40 g0 k priority=1 result=-- do=d do=p41 do=P
task 41 g0 h
task 42 g0 k slow state=d- awaited=39
task 43 g0 k a6+1 slow awaited=38 do=q38 do=p44 do=P
task 44 g0 h a6+1
task 45 g0 h u13+1 priority=-2 functor=-w awaited=38 do=y do=d
task 46 g0 k w1+3 functor=-s state=ds awaited=40
task 47 g0 h w13+1 w1+3 after=39 do=d do=p48 do=p49 do=p50 do=P
task 48 g0 h u13+1 u1+2
task 49 g0 h
task 50 g0 k r13+1 u1+2
task 51 g0 h r2+2 functor=dq awaited=47
task 52 g0 h a7+1
task 53 g0 h a7+1 u1+3 w12+1 functor=d- state=d-
task 54 g0 h a7+1 after=52 slow functor=-d result=-- tag=2 oftag=-- do=p55 do=P
task 55 g0 h a7+1 functor=dd
task 56 g0 h state=-s do=p57 do=P
task 57 g0 h functor=d-
task 58 g0 h a5+1 result=-- awaited=56 do=s59 do=y do=d
task 59 g0 h w3+1 w1+1 state=-d awaited=56
task 60 g0 h w2+2 slow result=-- do=p61
task 61 g0 k r2+2
task 62 g0 h u15+1 functor=-q result=-d state=-d awaited=60 do=p63 do=p64 do=p65 do=P
task 63 g0 h u15+1 functor=d-
task 64 g0 h
task 65 g0 h w15+1 functor=d-
task 66 g0 h state=dd awaited=58 do=s67 do=p68 do=p69 do=P
task 67 g0 h w14+2 result=--
task 68 g0 h slow functor=d-
task 69 g0 h
task 70 g0 k u14+1 a6+1 w3+3 state=-s awaited=58
task 71 g0 h a6+1 u15+1 slow functor=-s do=s72 do=s73
task 72 g0 k r3+1 functor=d- result=-- state=ds awaited=56 do=q62
task 73 g0 h u15+1 u3+3 w1+1 awaited=66
task 74 g0 h a6+1 slow awaited=62
task 75 g0 h a2+2 a6+1 after=62 priority=1 awaited=66 do=s76 do=s79 do=p80
task 76 g0 k a6+1 w14+1 awaited=74 do=d do=p77 do=p78
task 77 g0 h u14+1
task 78 g0 h functor=dd
task 79 g0 k slow functor=-d awaited=70
task 80 g0 k a2+2 a6+1
task 81 g0 k a5+1 a7+1 after=58 state=d- awaited=75 do=d do=p82 do=p83 do=p84
task 82 g0 h a5+1 a7+1
task 83 g0 k a5+1 a7+1
task 84 g0 h functor=dd
task 85 g0 k u14+1 functor=ds state=-d do=s86 do=p90 do=p91
task 86 g0 h state=d- awaited=71 do=p87 do=p88 do=p89 do=P
task 87 g0 h
task 88 g0 h
task 89 g0 h slow functor=-d
task 90 g0 h u14+1 slow
task 91 g0 k u14+1 slow
phase
thread t0 t1 q1 q0 t4 w0 t8 t14 t15 t18 t19 w14 t22 t24 t25 z11 t26 t28 t29 t33 w28 q0 q8)"
    R"( g8 t34 t35
thread z11 t38 t39 t40 g39 t42 w39 g40 t43 t45 q38 w39 z13 g42 q40 t46 t47 f47 t51 q51)"
    R"( g43 t52 g51 q43 t53 t54
thread z95 z71 z25 z89 t56 q56 t58 t60 g60 t62 t66 t70 z34 w70 w56 t71 z26 q66 t74 q58)"
    R"( w60 q70 q71 t75 t81 t85
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
