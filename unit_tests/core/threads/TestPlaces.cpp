// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where threads run: TRELLIS_BIND.
#include "BareTask.hpp"
#include "Timing.hpp"

#include <Trellis_Processors.hpp>
#include <threads/Trellis_Places.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#ifdef __linux__
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;
using testing::HasSubstr;

/// The processors that a thread may run on, the calling one if the kernel's number is 0.
std::vector<int> own_processors(int thread = 0) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  EXPECT_EQ(sched_getaffinity(thread, sizeof mask, &mask), 0);
  std::vector<int> processors;
  for (int k = 0; k < CPU_SETSIZE; ++k)
    if (CPU_ISSET(k, &mask)) processors.push_back(k);
  return processors;
}

TaskGraphOptions bound(int workers, std::string const& how) {
  TaskGraphOptions options = with_workers(workers);
  options.bind = how;
  return options;
}

// --- what the process may use --------------------------------------------------------------------

constexpr char const* in_child = "TRELLIS_TEST_IN_CHILD";

/// Run by the next one.
TEST(Processors, TellOfThemselvesInAChild) {
  if (std::getenv(in_child) == nullptr) GTEST_SKIP() << "not a child";
  std::printf("<%d %s %d>", experimental::processors_of_process(),
              experimental::map_of_processors().c_str(), TaskGraph().workers());
}

/// A process like this one that may run on these alone, as a launcher would start it.
std::string told_by_a_child_on(std::vector<int> const& processors) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  pid_t const child = fork();
  if (child == 0) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    for (int const each : processors) CPU_SET(each, &mask);
    if (sched_setaffinity(0, sizeof mask, &mask) != 0) _exit(1);
    dup2(ends[1], STDOUT_FILENO);
    setenv(in_child, "1", 1);
    unsetenv("TRELLIS_WORKERS");
    execl("/proc/self/exe", "test", "--gtest_filter=Processors.TellOfThemselvesInAChild",
          static_cast<char*>(nullptr));
    _exit(1);
  }
  close(ends[1]);
  std::string text;
  char some[256];
  for (ssize_t got = 0; (got = read(ends[0], some, sizeof some)) > 0;)
    text.append(some, static_cast<std::size_t>(got));
  close(ends[0]);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  auto const begin = text.find('<');
  return begin == std::string::npos ? text : text.substr(begin, text.find('>') - begin + 1);
}

TEST(Processors, AreThoseThatALauncherLeaves) {
  std::vector<int> const all = own_processors();
  std::string const everything = experimental::map_of_processors();
  EXPECT_EQ(std::count(everything.begin(), everything.end(), 'x'),
            experimental::processors_of_process());
  for (std::size_t few = 1; few <= std::min<std::size_t>(all.size(), 2); ++few) {
    std::vector<int> const some(all.end() - static_cast<std::ptrdiff_t>(few), all.end());
    std::string expected(everything.size(), '0');
    for (int const each : some) expected[static_cast<std::size_t>(each)] = 'x';
    std::string const count = std::to_string(few);
    EXPECT_EQ(told_by_a_child_on(some), "<" + count + ' ' + expected + ' ' + count + ">");
  }
}

// --- where threads run ---------------------------------------------------------------------------

class Places : public Timed {
 protected:
  void SetUp() override {
    if (!Impl::Places::can_bind()) GTEST_SKIP() << "without hwloc nothing can be bound";
  }

  /// Where so many workers run that all have a task at the same time, while the main thread has
  /// none.
  static std::vector<std::vector<int>> of_workers(TaskGraph& graph, int workers) {
    std::vector<std::vector<int>> found;
    std::mutex mutex;
    Rendezvous all(workers);
    for (int k = 0; k < workers; ++k)
      task(graph, "looks", {}, [&] {
        EXPECT_TRUE(all.meet());
        std::lock_guard const lock(mutex);
        found.push_back(own_processors());
      });
    let_the_workers_finish(graph);
    return found;
  }

  std::vector<int> const m_before = own_processors();
};

TEST_F(Places, NothingIsBoundUnlessThatIsAskedFor) {
  TaskGraph graph(with_workers(2));
  EXPECT_EQ(graph.options().bind, "none");
  EXPECT_THAT(of_workers(graph, 2), testing::Each(m_before));
  EXPECT_EQ(own_processors(), m_before);
}

TEST_F(Places, OfCoresAreTheMainThreadsAndTheWorkers) {
  {
    TaskGraph graph(bound(1, "core"));
    std::vector<int> const main = own_processors();
    std::vector<std::vector<int>> const workers = of_workers(graph, 1);
    ASSERT_EQ(workers.size(), 1U);
    EXPECT_FALSE(workers[0].empty());
    EXPECT_THAT(m_before, testing::IsSupersetOf(main));
    EXPECT_THAT(m_before, testing::IsSupersetOf(workers[0]));
    std::vector<int> shared;  // by the two, which have a core each if there are two
    std::ranges::set_intersection(main, workers[0], std::back_inserter(shared));
    EXPECT_TRUE(main == m_before || shared.empty());
  }
  EXPECT_EQ(own_processors(), m_before);  // it runs where it ran before
}

TEST_F(Places, OfAListAreTakenInTurn) {
  int const first = m_before.front(), last = m_before.back();
  std::string list = std::to_string(first);
  std::vector<int> both{first};
  if (last != first) {
    list += ',' + std::to_string(last);
    both.push_back(last);
  }
  {
    TaskGraph graph(bound(2, list));
    EXPECT_THAT(own_processors(), testing::ElementsAre(first));
    EXPECT_THAT(of_workers(graph, 2), testing::UnorderedElementsAre(std::vector<int>{last}, both));
  }
  EXPECT_EQ(own_processors(), m_before);
}

TEST_F(Places, OfGraphsThatEndInAnyOrderAreGivenBackByTheLast) {
  auto first = std::make_unique<TaskGraph>(bound(1, "core"));
  auto second = std::make_unique<TaskGraph>(bound(1, "core"));
  std::vector<int> const main = own_processors();
  first.reset();
  EXPECT_EQ(own_processors(), main);
  second.reset();
  EXPECT_EQ(own_processors(), m_before);
}

TEST_F(Places, OfAGraphThatBindsNothingAreAll) {
  TaskGraph const binds(bound(1, std::to_string(m_before.front())));
  TaskGraph graph(bound(2, "none"));
  EXPECT_THAT(of_workers(graph, 2), testing::Each(m_before));
}

TEST_F(Places, AreTakenFromTheEnvironment) {
  Environment const bind("TRELLIS_BIND", std::to_string(m_before.back()).c_str());
  TaskGraph const graph;
  EXPECT_THAT(own_processors(), testing::ElementsAre(m_before.back()));
}

TEST_F(Places, OfManyWorkersBeginAgainAtTheFirst) {
  TaskGraph graph(bound(5, "core"));
  EXPECT_EQ(of_workers(graph, 5).size(), 5U);
}

TEST_F(Places, ThatCannotBeHadAreRefused) {
  auto const text_of = [](std::string const& how) {
    Error const error = error_of([&] {
      TaskGraphOptions options = bound(2, how);
      options.name = "pump";
      TaskGraph graph(options);
    });
    EXPECT_EQ(error.kind(), Error::Kind::bad_input);
    return std::string(error.what());
  };
  for (char const* wrong :
       {"", "auto", "cores", "1-", "x,2", "0:1", "0,,1", "0,", "3-1", "99999999999"})
    EXPECT_THAT(text_of(wrong),
                testing::AllOf(HasSubstr("pump"), HasSubstr("TRELLIS_BIND"),
                               HasSubstr('"' + std::string(wrong) + '"'), HasSubstr("0,2-5")));
  EXPECT_THAT(text_of("0-8000"), HasSubstr("may only use the processors"));
  EXPECT_EQ(own_processors(), m_before);
}

TEST_F(Places, AreNoneInASerialGraph) {
  TaskGraphOptions options = bound(2, "core");
  options.serial = true;
  TaskGraph graph(options);
  EXPECT_EQ(own_processors(), m_before);
}

// --- masks that the program sets -----------------------------------------------------------------

/// The calling thread may run on these alone.
void run_on(std::vector<int> const& processors) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (int const each : processors) CPU_SET(each, &mask);
  EXPECT_EQ(sched_setaffinity(0, sizeof mask, &mask), 0);
}

class Masks : public Timed {
 protected:
  void SetUp() override {
    if (m_all.size() < 2) GTEST_SKIP() << "there is one processor";
  }
  void TearDown() override { run_on(m_all); }

  std::vector<int> const m_all = own_processors();
};

TEST_F(Masks, AMaskThatATaskGivesItsWorkerStays) {
  TaskGraph graph(with_workers(2));
  std::vector<int> const one{m_all.front()};
  for (int k = 0; k < 5; ++k) {
    task(graph, "gives", {}, [&] { run_on(one); });
    let_the_workers_finish(graph);
    std::this_thread::sleep_for(2ms);
    std::vector<int> seen;
    task(graph, "looks", {}, [&] { seen = own_processors(); });
    let_the_workers_finish(graph);
    EXPECT_THAT(seen, testing::AnyOf(one, m_all));  // of the worker that has it, or the other one
  }
}

/// It may run there alone when it is woken twice, and anywhere when it goes to sleep again.
TEST_F(Masks, AWorkerThatIsWokenOnOneProcessorKeepsItsMask) {
  TaskGraph graph(with_workers(1));
  task(graph, "starts", {}, [] {});  // a worker's thread has the mask of who makes it
  let_the_workers_finish(graph);
  int const crowded = m_all.front();
  int thread = 0;
  std::vector<int> awake, asleep;
  auto const wake_it = [&](std::vector<int> const& then_on) {
    std::atomic<bool> is_over{false};
    task(graph, "looks", {}, [&] {
      thread = static_cast<int>(syscall(SYS_gettid));
      awake = own_processors();
      run_on(then_on);
      is_over = true;
    });
    while (!is_over) std::this_thread::yield();
    std::this_thread::sleep_for(5ms);  // it sleeps now, unless the machine is busy
  };
  run_on({crowded});
  for (int attempt = 0; attempt < 5; ++attempt) {
    wake_it({crowded});
    wake_it({crowded});
    wake_it(m_all);
    asleep = own_processors(thread);
    EXPECT_EQ(asleep, m_all);
  }
  wake_it(m_all);
  EXPECT_EQ(awake, m_all);
  run_on(m_all);
}

/// While somebody submits, a worker that wakes has the watch started.
TEST_F(Masks, AThreadThatAWorkerStartsMayRunEverywhere) {
  for (int attempt = 0; attempt < 10; ++attempt) {  // who starts it differs
    TaskGraph graph(with_workers(2));
    task(graph, "starts", {}, [] {});
    let_the_workers_finish(graph);
    int const crowded = m_all.front();
    run_on({crowded});
    for (int wakes = 0; wakes < 4; ++wakes) {  // one at a time, so no second worker is needed
      task(graph, "moves", {}, [&] { run_on(wakes < 3 ? std::vector{crowded} : m_all); });
      let_the_workers_finish(graph);
      std::this_thread::sleep_for(5ms);
    }
    std::vector<std::vector<int>> found;
    std::mutex mutex;
    Rendezvous both(2);
    for (int k = 0; k < 2; ++k)
      task(graph, "looks", {}, [&] {
        EXPECT_TRUE(both.meet());
        std::lock_guard const lock(mutex);
        found.push_back(own_processors());
      });
    let_the_workers_finish(graph);
    run_on(m_all);
    // That of this thread, if it was the one that started it; not that of a worker that sleeps.
    EXPECT_THAT(found, testing::Each(testing::AnyOf(m_all, std::vector{crowded})));
  }
}

}  // namespace
}  // namespace trellis

#endif
