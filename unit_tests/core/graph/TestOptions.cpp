// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Options: from the program, from the environment, by default; and the serial oracle.
#include "BareTask.hpp"
#include "Timing.hpp"

#include <gmock/gmock.h>

#include <Trellis_SchedulingPolicy.hpp>
#include <graph/Trellis_Environment.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;
using testing::HasSubstr;

TEST(Options, DefaultsCanBeUsed) {
  TaskGraph const graph;
  EXPECT_GE(graph.workers(), 1);
  EXPECT_EQ(graph.threads_per_worker(), 1);
  EXPECT_EQ(*graph.options().in_flight,
            std::max<std::size_t>(2048, 128 * static_cast<std::size_t>(graph.workers())));
  EXPECT_EQ(*graph.options().record, false);
  EXPECT_EQ(graph.options().policy->name(), "work_stealing");
}

TEST(Options, AreTakenFromTheEnvironment) {
  Environment const workers("TRELLIS_WORKERS", "3"), threads("TRELLIS_THREADS_PER_WORKER", "2"),
      cap("TRELLIS_IN_FLIGHT", "17"), record("TRELLIS_RECORD", "1"),
      policy("TRELLIS_POLICY", "fifo");
  TaskGraph const graph;
  EXPECT_EQ(graph.workers(), 3);
  EXPECT_EQ(graph.threads_per_worker(), 2);
  EXPECT_EQ(*graph.options().in_flight, 17u);
  EXPECT_NO_THROW((void)graph.dependency_graph());
  EXPECT_EQ(graph.options().policy->name(), "fifo");
}

TEST(Options, OfTheProgramGoBeforeTheEnvironment) {
  Environment const workers("TRELLIS_WORKERS", "3"), threads("TRELLIS_THREADS_PER_WORKER", "2"),
      cap("TRELLIS_IN_FLIGHT", "17"), record("TRELLIS_RECORD", "1"),
      policy("TRELLIS_POLICY", "fifo");
  TaskGraphOptions options;
  options.workers = 1;
  options.threads_per_worker = 1;
  options.in_flight = 5;
  options.record = false;
  options.policy = make_shake_policy(1);
  TaskGraph const graph(options);
  EXPECT_EQ(graph.workers(), 1);
  EXPECT_EQ(graph.threads_per_worker(), 1);
  EXPECT_EQ(*graph.options().in_flight, 5u);
  EXPECT_THROW((void)graph.dependency_graph(), Error);
  EXPECT_EQ(graph.options().policy->name(), "shake");
}

TEST(Options, PoliciesHaveNamesInTheEnvironment) {
  for (auto const& [value, name] : {std::pair{"work_stealing", "work_stealing"},
                                    {"fifo", "fifo"},
                                    {"shake", "shake"},
                                    {"shake:42", "shake"}}) {
    Environment const policy("TRELLIS_POLICY", value);
    EXPECT_EQ(TaskGraph().options().policy->name(), name);
  }
}

TEST(Options, OfTheEnvironmentThatCannotBeUsedAreNamedWithTheirValue) {
  struct Case {
    char const *variable, *value, *expected;
  };
  for (Case const& c : {Case{"TRELLIS_WORKERS", "two", "a whole number"},
                        Case{"TRELLIS_WORKERS", "", "a whole number"},
                        Case{"TRELLIS_WORKERS", "2x", "a whole number"},
                        Case{"TRELLIS_WORKERS", "-1", "a whole number"},
                        Case{"TRELLIS_WORKERS", "99999999999999", "a whole number"},
                        Case{"TRELLIS_THREADS_PER_WORKER", "1.5", "a whole number"},
                        Case{"TRELLIS_IN_FLIGHT", "many", "a whole number"},
                        Case{"TRELLIS_STREAMS", "1e3", "a whole number"},
                        Case{"TRELLIS_RECORD", "maybe", "1, true, on, yes or 0, false, off, no"},
                        Case{"TRELLIS_RECORD", "2", "1, true, on, yes or 0, false, off, no"},
                        Case{"TRELLIS_SERIAL", "7", "1, true, on, yes or 0, false, off, no"},
                        Case{"TRELLIS_SERIAL", "", "1, true, on, yes or 0, false, off, no"},
                        Case{"TRELLIS_SERIAL", "tru", "1, true, on, yes or 0, false, off, no"},
                        Case{"TRELLIS_POLICY", "best", "shake:SEED"},
                        Case{"TRELLIS_POLICY", "shake:x", "shake:SEED"},
                        Case{"TRELLIS_LOG", "1", "stderr, stdout or a file"},
                        Case{"TRELLIS_LOG", "off", "stderr, stdout or a file"}}) {
    Environment const environment(c.variable, c.value);
    Error const error = error_of([] { TaskGraph graph; });
    EXPECT_EQ(error.kind(), Error::Kind::bad_input);
    EXPECT_THAT(error.what(),
                testing::AllOf(HasSubstr(c.variable), HasSubstr('"' + std::string(c.value) + '"'),
                               HasSubstr(c.expected)));
  }
}

/// What is wrong is told before the log begins a file.
TEST(Options, ThatCannotBeUsedLeaveNoLogBehind) {
  std::string const path = testing::TempDir() + "trellis_no_log.txt";
  std::filesystem::remove(path);
  for (auto const& [variable, value] : {std::pair{"TRELLIS_BIND", "nowhere"},
                                        {"TRELLIS_BIND", "99999"},
                                        {"TRELLIS_WATCHDOG", "-1"},
                                        {"TRELLIS_WORKERS", "0"},
                                        {"TRELLIS_HELP", "maybe"}}) {
    Environment const log("TRELLIS_LOG", path.c_str());
    Environment const wrong(variable, value);
    EXPECT_THAT(error_of([] { TaskGraph graph; }).what(), HasSubstr(value)) << variable;
    EXPECT_FALSE(std::filesystem::exists(path)) << variable;
    std::filesystem::remove(path);
  }
}

/// When the graph is made, and not when it ends.
TEST(Options, AnAnalysisThatCannotBeWrittenIsRefused) {
  std::string const path = testing::TempDir() + "no_such_folder/analysis.txt";
  {
    Environment const analysis("TRELLIS_ANALYSIS", path.c_str());
    Error const error = error_of([] { TaskGraph graph; });
    EXPECT_EQ(error.kind(), Error::Kind::bad_input);
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("TRELLIS_ANALYSIS"), HasSubstr(path)));
    TaskGraphOptions options;
    options.record = false;  // there is nothing to write
    TaskGraph const graph(options);
  }
  std::string const known = testing::TempDir() + "trellis_analysis_known.txt";
  std::ofstream(known) << "what was there\n";
  {
    Environment const analysis("TRELLIS_ANALYSIS", known.c_str());
    TaskGraph const graph;  // without tasks
  }
  std::ifstream file(known);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "what was there\n");
  std::filesystem::remove(known);
}

TEST(Options, FlagsAreSaidInSeveralWords) {
  for (char const* yes : {"1", "true", "on", "yes", "True", "ON"}) {
    Environment const serial("TRELLIS_SERIAL", yes), record("TRELLIS_RECORD", yes);
    TaskGraph const graph;
    EXPECT_TRUE(*graph.options().serial) << yes;
    EXPECT_TRUE(*graph.options().record) << yes;
  }
  for (char const* no : {"0", "false", "off", "no", "False", "NO"}) {
    Environment const serial("TRELLIS_SERIAL", no), record("TRELLIS_RECORD", no);
    TaskGraph const graph;
    EXPECT_FALSE(*graph.options().serial) << no;
    EXPECT_FALSE(*graph.options().record) << no;
  }
}

TEST(Options, VariablesThatNothingReadsAreToldWithTheNearestName) {
  struct Case {
    char const *name, *nearest;
  };
  for (Case const& c :
       {Case{"TRELLIS_WORKER", "TRELLIS_WORKERS"}, Case{"TRELLIS_NUM_WORKERS", "TRELLIS_WORKERS"},
        Case{"TRELLIS_THREADS", "TRELLIS_THREADS_PER_WORKER"},
        Case{"TRELLIS_SEREAL", "TRELLIS_SERIAL"}, Case{"TRELLIS_INFLIGHT", "TRELLIS_IN_FLIGHT"},
        Case{"TRELLIS_LOGS", "TRELLIS_LOG"}, Case{"TRELLIS_POLCIY", "TRELLIS_POLICY"}}) {
    std::string const entry = std::string(c.name) + "=3";
    char const* const environment[] = {"PATH=/bin", entry.c_str()};
    EXPECT_EQ(Impl::unknown_variables(environment),
              std::string("Trellis: nothing reads the environment variable ") + c.name +
                  "; do you mean " + c.nearest + "? TRELLIS_HELP=1 lists all.\n");
  }
  char const* const far[] = {"TRELLIS_GARDEN=roses", "TRELLIS_=x"};
  EXPECT_EQ(
      Impl::unknown_variables(far),
      "Trellis: nothing reads the environment variable TRELLIS_GARDEN. TRELLIS_HELP=1 lists "
      "all.\n"
      "Trellis: nothing reads the environment variable TRELLIS_. TRELLIS_HELP=1 lists all.\n");
}

TEST(Options, VariablesThatSomethingReadsAreNotTold) {
  std::vector<std::string> entries{"TRELLIS_TEST_SEEDS=1", "TRELLIS_RUN_TIMES=1",
                                   "TRELLIS_COMMIT=abc",   "TRELLIS_ROOT=/opt/trellis",
                                   "MY_TRELLIS_WORKER=1",  "trellis=1"};
  for (Impl::VariableRow const& row : Impl::all_variables())
    entries.push_back(std::string(row.name) + "=1");
  std::vector<char const*> environment;
  for (std::string const& entry : entries) environment.push_back(entry.c_str());
  EXPECT_EQ(Impl::unknown_variables(environment), "");
}

TEST(Options, HelpHasEachVariableWithItsValueAndWhereItComesFrom) {
  Environment const workers("TRELLIS_WORKERS", "3"), cap("TRELLIS_IN_FLIGHT", "17"),
      serial("TRELLIS_SERIAL", "no");
  TaskGraphOptions asked;
  asked.name = "pump";
  asked.workers = 2;
  asked.serial = true;
  TaskGraph const graph(asked);
  std::string const help = Impl::environment_help(asked, graph.options());
  EXPECT_THAT(help, HasSubstr("\"pump\""));
  for (char const* line :
       {"TRELLIS_WORKERS = 2 (set by the program)\n",
        "TRELLIS_THREADS_PER_WORKER = 1 (by default)\n",
        "TRELLIS_IN_FLIGHT = 17 (from the environment)\n", "TRELLIS_LOG = nowhere (by default)\n",
        "TRELLIS_SERIAL = 0 (from the environment)\n",
        "TRELLIS_POLICY = work_stealing (by default)\n"})
    EXPECT_THAT(help, HasSubstr(line));
  for (Impl::VariableRow const& row : Impl::all_variables()) {
    EXPECT_THAT(help, HasSubstr("  " + std::string(row.name) + " = "));
    EXPECT_THAT(help, HasSubstr(std::string(row.meaning) + "; must be " + std::string(row.values)));
  }
}

/// In a process of its own, which has made no graph before.
TEST(OptionsDeathTest, TheFirstGraphTellsOnceWhatIsUnknownAndHelps) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  auto const times = [](std::string const& text, std::string const& what) {
    int count = 0;
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++count;
    return count;
  };
  auto const tells_once = [&](std::string const& text) {
    return times(text, "TRELLIS_WORKER;") == 1 &&
           times(text, "do you mean TRELLIS_WORKERS?") == 1 &&
           times(text, "TRELLIS_STREAMS = ") == 1 && times(text, "(\"first\")") == 1;
  };
  auto const two_graphs = [] {
    clearenv();
    Environment const unknown("TRELLIS_WORKER", "3"), help("TRELLIS_HELP", "yes");
    for (char const* name : {"first", "second"}) {
      TaskGraphOptions options;
      options.name = name;
      TaskGraph const graph(options);
    }
    std::_Exit(0);
  };
  EXPECT_EXIT(two_graphs(), testing::ExitedWithCode(0), testing::Truly(tells_once));
  auto const nothing_to_tell = [] {
    clearenv();
    {
      TaskGraph const graph;
    }
    std::cerr << "nothing more" << std::endl;
    std::_Exit(0);
  };
  EXPECT_EXIT(nothing_to_tell(), testing::ExitedWithCode(0), "^nothing more\n$");
}

TEST(Options, TheTableOfVariablesIsComplete) {
  std::ifstream page(TRELLIS_TEST_ENVIRONMENT);
  std::string const text{std::istreambuf_iterator<char>(page), {}};
  ASSERT_FALSE(text.empty());
  for (Impl::VariableRow const& row : Impl::all_variables())
    EXPECT_THAT(text, HasSubstr("\n| `" + std::string(row.name) + "` | "));
}

TEST(Options, WithoutWorkersThreadsOrTasksInFlightAreRefused) {
  auto const text_with = [](auto member, auto value) {
    return std::string(error_of([&] {
                         TaskGraphOptions options;
                         options.name = "pump";
                         options.*member = value;
                         TaskGraph graph(options);
                       }).what());
  };
  EXPECT_THAT(text_with(&TaskGraphOptions::workers, 0), HasSubstr("pump cannot have 0 workers"));
  EXPECT_THAT(text_with(&TaskGraphOptions::workers, -3), HasSubstr("pump cannot have -3 workers"));
  EXPECT_THAT(text_with(&TaskGraphOptions::workers, 5000),
              HasSubstr("pump cannot have more than 4096 workers"));
  EXPECT_THAT(text_with(&TaskGraphOptions::threads_per_worker, 0),
              HasSubstr("0 threads per worker"));
  EXPECT_THAT(text_with(&TaskGraphOptions::in_flight, 0), HasSubstr("0 tasks in flight"));
}

TEST(Options, ZeroWorkersOfTheEnvironmentAreRefused) {
  Environment const environment("TRELLIS_WORKERS", "0");
  EXPECT_THAT(error_of([] { TaskGraph graph; }).what(), HasSubstr("0 workers"));
}

TEST(Options, TheLargestNumberOfWorkersRuns) {
  TaskGraph graph(with_workers(4096));
  std::atomic<int> ran{0};
  for (int k = 0; k < 500; ++k) task(graph, "task", {}, [&] { ++ran; });
  graph.wait();
  EXPECT_EQ(ran, 500);
}

TEST(Options, MoreWorkersThanAnyNodeHasRunAtTheSameTime) {
  int const workers = sanitized ? 80 : 300;
  TaskGraph graph(with_workers(workers));
  Rendezvous all(workers);
  for (int k = 0; k < workers; ++k) task(graph, "together", {}, [&] { EXPECT_TRUE(all.meet()); });
  graph.wait();
}

class Serial : public Timed {
  Environment m_serial{"TRELLIS_SERIAL", "1"};
};

TEST_F(Serial, RunsEachTaskInTheCallThatSubmitsIt) {
  TaskGraph graph(with_workers(4));
  auto const here = std::this_thread::get_id();
  std::vector<int> order;
  for (int k = 0; k < 20; ++k) {
    auto const future =
        task(graph, "task", {},
             [&order, k, here] {
               EXPECT_EQ(std::this_thread::get_id(), here);
               order.push_back(k);
             },
             {.priority = k, .main_thread = k % 3 == 0, .synchronizing = k % 5 == 0});
    EXPECT_TRUE(future.is_done());
    EXPECT_EQ(order.size(), static_cast<std::size_t>(k + 1));
  }
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_F(Serial, GoesBeforeThePolicyOfTheProgram) {
  TaskGraphOptions options = with_workers(2);
  options.policy = make_shake_policy(3);
  TaskGraph graph(options);
  bool ran = false;
  task(graph, "task", {}, [&] { ran = true; });
  EXPECT_TRUE(ran);
}

TEST(Options, TheProgramMayAskForSerialOrder) {
  for (char const* environment : {"", "0"}) {
    std::optional<Environment> variable;
    if (*environment != 0) variable.emplace("TRELLIS_SERIAL", environment);
    TaskGraphOptions options = with_workers(2);
    options.serial = true;
    TaskGraph graph(options);
    bool const is_serial = *environment == 0;
    EXPECT_EQ(*graph.options().serial, is_serial);
    std::thread::id ran_on;
    task(graph, "task", {}, [&] { ran_on = std::this_thread::get_id(); }).wait();
    if (is_serial) {
      EXPECT_EQ(ran_on, std::this_thread::get_id());
    }
  }
}

TEST_F(Serial, ZeroIsOff) {
  Environment const off("TRELLIS_SERIAL", "0");
  TaskGraph graph(with_workers(1));
  auto const here = std::this_thread::get_id();
  EXPECT_NE(task(graph, "task", {}, [] { return std::this_thread::get_id(); }, {}).get(),
            std::thread::id());
  Gate ran;
  task(graph, "task", {}, [&] {
    EXPECT_NE(std::this_thread::get_id(), here);
    ran.open();
  });
  EXPECT_TRUE(ran.pass());
}

TEST_F(Serial, RunsTasksSubmittedInsideATaskBehindItInOrder) {
  TaskGraph graph;
  std::string order;
  task(graph, "parent", {}, [&] {
    order += '(';
    for (char const name : {'a', 'b', 'c'})
      task(graph, "child", {}, [&order, name] { order += name; });
    order += ')';
  });
  EXPECT_EQ(order, "()abc");
}

TEST_F(Serial, SeveralThreadsTakeTurns) {
  TaskGraph graph;
  Occupancy occupancy;
  std::vector<std::thread> threads;
  long sum = 0;  // not atomic: one at a time
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (int k = 0; k < 100; ++k)
        task(graph, "task", {}, [&] {
          Occupancy::Stay const stay(occupancy);
          ++sum;
        });
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, 300);
  EXPECT_EQ(occupancy.most(), 1);
}

TEST_F(Serial, RecordsTheSameDependencies) {
  auto const edges = [] {
    TaskGraph graph(recorded(2));
    Block x("x"), y("y");
    task(graph, "a", {writes(x)}, [] {});
    task(graph, "b", {reads(x), writes(y)}, [] {});
    task(graph, "c", {reads(x)}, [] {});
    task(graph, "d", {updates(x), reads(y)}, [] {});
    graph.wait();
    return graph.dependency_graph().edges();
  };
  auto const serial = edges();
  Environment const off("TRELLIS_SERIAL", "0");
  EXPECT_EQ(serial, edges());
  EXPECT_EQ(serial.size(), 4u);
}

}  // namespace
}  // namespace trellis
