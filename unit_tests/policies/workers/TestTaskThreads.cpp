// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What functors see of the threads that their tasks ask for.
#include "Ways.hpp"

#include <Trellis_Recorded.hpp>
#include <Trellis_Threads.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#ifdef KOKKOS_ENABLE_OPENMP
#include <omp.h>
#endif

namespace trellis {
namespace {
namespace task_threads {

using namespace Test;
using Numbers = Kokkos::View<long*, Kokkos::HostSpace>;

TaskGraphOptions machine(int workers, int threads_per_worker) {
  TaskGraphOptions options = with_workers(workers);
  options.threads_per_worker = threads_per_worker;
  return options;
}

template <class F>
std::string message_of(F const& f) {
  try {
    f();
  } catch (Error const& error) {
    return error.what();
  }
  return "no error";
}

#ifdef KOKKOS_ENABLE_OPENMP
constexpr bool is_openmp = std::is_same_v<Space, Kokkos::OpenMP>;
/// Of the pool that runs the calling kernel.
int team_size() {
  return is_openmp ? omp_get_num_threads() : 1;
}
#else
constexpr bool is_openmp = false;
int team_size() {
  return 1;
}
#endif

/// The largest number of threads that a kernel may have here, of four.
constexpr int most = is_openmp ? 4 : 1;

SPACE_TEST(TaskThreads, RunItsKernels) {
  for (auto const& [workers, each] : {std::pair(4, 1), std::pair(2, 2), std::pair(1, 4)}) {
    SCOPED_TRACE(std::to_string(workers) + " workers of " + std::to_string(each));
    TaskGraph graph(machine(workers, each));
    for (int n = 1; n <= most; ++n)
      for (int round = 0; round < 3; ++round) {
        Numbers const seen("seen", 64);
        parallel_for(
            "for", ResourcePolicy(graph, Range(0, 64), threads(n), write(seen)),
            KOKKOS_LAMBDA(int i) { seen(i) = team_size(); });
        auto const sum = parallel_reduce(
            "reduce", ResourcePolicy(graph, Range(0, 64), read(seen), threads(n)),
            KOKKOS_LAMBDA(int i, long& all) { all += seen(i) == team_size(); });
        Numbers const scanned("scanned", 64);
        parallel_scan(
            "scan", ResourcePolicy(graph, Range(0, 64), threads(n), read(seen), write(scanned)),
            KOKKOS_LAMBDA(int i, long& before, bool is_final) {
              if (is_final) scanned(i) = before;
              before += seen(i);
            });
        EXPECT_EQ(sum.get(), 64);
        graph.wait();
        EXPECT_THAT(values_of(seen), testing::Each(n));
        for (std::size_t i = 0; i < 64; ++i) ASSERT_EQ(scanned(i), static_cast<long>(i) * n);
      }
  }
}

SPACE_TEST(TaskThreads, AreThoseOfItsInstance) {
  TaskGraph graph(machine(4, 1));
  for (int n = 1; n <= most; ++n) {
    auto const seen =
        space_task("space", ResourcePolicy(graph, on<Space>, threads(n)),
                   [](Space const& instance) { return Impl::concurrency_of(instance); });
    EXPECT_EQ(seen.get(), n);
  }
  auto const without = space_task("space", ResourcePolicy(graph, on<Space>),
                                  [](Space const& here) { return Impl::concurrency_of(here); });
  EXPECT_EQ(without.get(), 1);
}

/// Kokkos' own part of an instance.
SPACE_TEST(TaskThreads, AreOnePoolForEachWorkerAndNumber) {
  std::mutex mutex;
  std::set<std::pair<int, void const*>> pools;
  TaskGraph graph(machine(most == 1 ? 1 : 2, most == 1 ? 1 : 2));
  for (int k = 0; k < 300; ++k)
    space_task("space", ResourcePolicy(graph, on<Space>, threads(1 + k % most)),
               [&](Space const& instance) {
                 std::lock_guard const lock(mutex);
                 pools.emplace(this_worker::index(), instance.impl_internal_space_instance());
               });
  graph.wait();
  for (int k = 0; k < graph.concurrency(); ++k)
    EXPECT_LE(std::count_if(pools.begin(), pools.end(), [k](auto& p) { return p.first == k; }),
              most);
}

SPACE_TEST(TaskThreads, MakeUpTeams) {
  TaskGraph graph(machine(4, 1));
  for (int n = 1; n <= most; ++n)
    // (Kokkos asks the instance that the policy is made with.)
    for (int size = 1; size <= std::min<int>(n, Space().concurrency()); ++size) {
      Numbers const sizes("sizes", 8);
      parallel_for(
          "teams", ResourcePolicy(graph, Teams(8, size), threads(n), write(sizes)),
          KOKKOS_LAMBDA(Member const& team) {
            long sum = 0;
            Kokkos::parallel_reduce(
                Kokkos::TeamThreadRange(team, 100), [](int, long& one) { ++one; }, sum);
            if (team.team_rank() == 0) sizes(team.league_rank()) = team.team_size() + sum;
          });
      graph.wait();
      EXPECT_THAT(values_of(sizes), testing::Each(size + 100));
    }
}

/// Kernels, teams that Kokkos sizes and values for each thread go on after TaskGraph::set_threads.
SPACE_TEST(TaskThreads, AreThoseThatTheGraphIsGivenLater) {
  TaskGraph graph(machine(4, 1));
  PerWorker<long> sums("sums");
  Numbers const seen("seen", 64), teams("teams", 8);
  auto const submit = [&] {
    parallel_for(
        "for", ResourcePolicy(graph, Range(0, 64), write(seen), atomic_add(sums)),
        KOKKOS_LAMBDA(int i) {
          seen(i) = team_size();
          ++sums.local();
        });
    parallel_for(
        "teams", ResourcePolicy(graph, Teams(8, Kokkos::AUTO), write(teams)),
        KOKKOS_LAMBDA(Member const& team) {
          if (team.team_rank() == 0) teams(team.league_rank()) = team.team_size();
        });
  };
  Plan const plan = graph.record("plan", submit);
  long expected = 0;
  for (auto const& [workers, each] : {std::pair(4, 1), {2, 2}, {1, 4}, {1, 1}, {2, 2}}) {
    SCOPED_TRACE(std::to_string(workers) + " workers of " + std::to_string(each));
    int const pool = std::min(each, most);
    graph.set_threads(workers, each);
    submit();
    graph.replay(plan);
    graph.wait();
    EXPECT_THAT(values_of(seen), testing::Each(pool));
    for (long const size : values_of(teams)) EXPECT_LE(size, pool);
    expected += 2 * 64;
    EXPECT_EQ(sums.combine(0L, std::plus<>()), expected);
  }
}

/// Kokkos would end the program.
SPACE_TEST(TaskThreads, AreTooFewForTheTeamsOfAnEarlierPlan) {
  if (most == 1 || Space().concurrency() < 2) return;  // Kokkos refuses such a policy
  TaskGraph graph(machine(1, 2));
  Numbers const sizes("sizes", 8);
  Plan const plan = graph.record("plan", [&] {
    parallel_for(
        "pairs", ResourcePolicy(graph, Teams(8, 2), write(sizes)),
        KOKKOS_LAMBDA(Member const& team) { sizes(team.league_rank()) = team.team_size(); });
  });
  graph.replay(plan);
  graph.wait();
  EXPECT_THAT(values_of(sizes), testing::Each(2));
  graph.set_threads(2, 1);
  graph.replay(plan);
  std::string const text = message_of([&] { graph.wait(); });
  EXPECT_THAT(text, testing::HasSubstr("\"pairs\""));
  EXPECT_THAT(text,
              testing::HasSubstr("teams of 2 threads, but has 1 since TaskGraph::set_threads"));
  graph.set_threads(1, 2);
  graph.replay(plan);
  graph.wait();
}

SPACE_TEST(TaskThreads, AreTooFewForALargerTeam) {
  TaskGraph graph(machine(4, 1));
  if (most == 1) return;  // Kokkos refuses such a policy
  auto const functor = KOKKOS_LAMBDA(Member const&){};
  std::string const text = message_of(
      [&] { parallel_for("teams", ResourcePolicy(graph, Teams(8, 2), threads(1)), functor); });
  EXPECT_THAT(text, testing::HasSubstr("task \"teams\""));
  EXPECT_THAT(text, testing::HasSubstr("teams of 2 threads, but has 1"));
  EXPECT_THAT(
      message_of([&] { parallel_for("teams", ResourcePolicy(graph, Teams(8, 2)), functor); }),
      testing::HasSubstr("say threads(2)"));
}

/// With Kokkos 4's deprecated code `instance.concurrency()` is that of the default instance.
template <class S>
int threads_of(S const& instance) {
  if constexpr (requires { S::concurrency(instance); })
    return S::concurrency(instance);
  else
    return instance.concurrency();
}

/// The same calls are valid for graphs of all sizes, and on each space.
SPACE_TEST(TaskThreads, AreAsManyAsThereAreOfAtMost) {
  for (auto const& [workers, each] : {std::pair(4, 1), {2, 2}, {1, 4}, {1, 1}, {2, 1}}) {
    SCOPED_TRACE(std::to_string(workers) + " workers of " + std::to_string(each));
    TaskGraphOptions options = machine(workers, each);
    options.record = true;
    TaskGraph graph(options);
    for (int const n : {1, 2, 3, 4, 5, 1000}) {
      int const all = std::min(n, workers * each), here = std::min(all, most);
      Numbers const seen("seen", 64);
      parallel_for(
          "for", ResourcePolicy(graph, Range(0, 64), threads(at_most(n)), write(seen)),
          KOKKOS_LAMBDA(int i) { seen(i) = team_size(); });
      auto const of_instance =
          space_task("space", ResourcePolicy(graph, on<Space>, threads(at_most(n))),
                     [](Space const& instance) { return threads_of(instance); });
      auto const on_host = host_task("host", ResourcePolicy(graph, threads(at_most(n))), [] {});
      EXPECT_EQ(of_instance.get(), here);
      graph.wait();
      EXPECT_THAT(values_of(seen), testing::Each(here));
      DependencyGraph const recorded = graph.dependency_graph();
      TaskRecord const& record = recorded.node(on_host.id());
      EXPECT_EQ(record.threads, all);
      EXPECT_EQ(record.workers, (all - 1) / each + 1);
    }
  }
}

SPACE_TEST(TaskThreads, OfAtMostMakeUpTeams) {
  TaskGraph graph(machine(2, 1));
  auto const functor = KOKKOS_LAMBDA(Member const&){};
  int const largest = std::min<int>(most, Space().concurrency());
  if (largest < 2) return;
  parallel_for("teams", ResourcePolicy(graph, Teams(8, 2), threads(at_most(8))), functor);
  graph.wait();
  EXPECT_THAT(message_of([&] {
                parallel_for("teams", ResourcePolicy(graph, Teams(8, 2), threads(at_most(1))),
                             functor);
              }),
              testing::HasSubstr("teams of 2 threads, but has 1"));
}

SPACE_TEST(TaskThreads, OfAtMostAreThoseOfEachReplay) {
  TaskGraph graph(machine(2, 2));
  Numbers const seen("seen", 64);
  Plan const plan = graph.record("plan", [&] {
    parallel_for(
        "for", ResourcePolicy(graph, Range(0, 64), threads(at_most(3)), write(seen)),
        KOKKOS_LAMBDA(int i) { seen(i) = team_size(); });
    host_task("host", ResourcePolicy(graph, threads(at_most(3)), read(seen)), [] {});
  });
  for (auto const& [workers, each] : {std::pair(2, 2), {1, 2}, {1, 1}, {1, 4}, {2, 1}, {2, 2}}) {
    graph.set_threads(workers, each);
    graph.replay(plan, 2);
    graph.wait();
    EXPECT_THAT(values_of(seen), testing::Each(std::min({3, most, workers * each})))
        << workers << " workers of " << each;
  }
}

SPACE_TEST(TaskThreads, AreAtLeastOneOfAtMost) {
  TaskGraph graph(machine(2, 2));
  for (int const n : {-3, 0})
    EXPECT_THAT(
        message_of([&] { host_task("work", ResourcePolicy(graph, threads(at_most(n))), [] {}); }),
        testing::AllOf(testing::HasSubstr("task \"work\" ("),
                       testing::HasSubstr("asks for threads(at_most(" + std::to_string(n) + "))"),
                       testing::HasSubstr("one at least")));
}

SPACE_TEST(TaskThreads, AreRefusedByTheNameOfTheTask) {
  TaskGraph graph(machine(2, 2));
  auto const functor = KOKKOS_LAMBDA(int){};
  for (int const n : {-3, 0, 5}) {
    std::string const asked = "asks for threads(" + std::to_string(n) + ")";
    if (most > 1 || n < 1) {
      EXPECT_THAT(message_of([&] { host_task("work", ResourcePolicy(graph, threads(n)), [] {}); }),
                  testing::AllOf(testing::HasSubstr("task \"work\" ("), testing::HasSubstr(asked),
                                 testing::HasSubstr("2 workers of 2 threads")));
    }
    EXPECT_THAT(message_of([&] {
                  parallel_for("loop", ResourcePolicy(graph, Range(0, 1), threads(n)), functor);
                }),
                testing::AllOf(testing::HasSubstr("task \"loop\" ("), testing::HasSubstr(asked)));
  }
  if (most == 1) {
    EXPECT_THAT(message_of([&] {
                  parallel_for("loop", ResourcePolicy(graph, Range(0, 1), threads(2)), functor);
                }),
                testing::HasSubstr("but Serial has one thread"));
  }
  graph.wait();
  EXPECT_EQ(graph.submitted(), 0U);
}

SPACE_TEST(TaskThreads, StayWithItInChildrenPlansAndSerialGraphs) {
  for_each_way([](Way const& way) {
    int const all = std::min(most, way.workers * way.threads);
    Numbers const seen("seen", 16), after("after", 16);
    run_rounds(
        way, 4,
        [&](auto& target) {
          for (int n = 1; n <= all; ++n) {
            parallel_for(
                "seen", ResourcePolicy(target, Range(0, 16), threads(n), write(seen)),
                KOKKOS_LAMBDA(int i) { seen(i) = team_size(); });
            parallel_for(
                "after",
                ResourcePolicy(target, Range(0, 16), threads(n), read(seen), read_write(after)),
                KOKKOS_LAMBDA(int i) { after(i) += seen(i) == n; });
          }
        },
        seen, after);
    EXPECT_THAT(values_of(after), testing::Each(4 * all));
  });
}

SPACE_TEST(TaskThreads, AreThereAgainWhenABodyRunsAgain) {
  TaskGraphOptions options = machine(3, 1);
  options.record = true;
  TaskGraph graph(options);
  int left = 6;
  host_task("again", ResourcePolicy(graph, threads(3)), [&](TaskScope& self) {
    if (--left > 0) self.respawn();
  });
  graph.wait();
  EXPECT_EQ(left, 0);
  for (TaskRecord const& task : graph.trace().graph.nodes())
    EXPECT_EQ(task.threads, 3) << task.label << ", " << task.pattern;
}

#ifdef KOKKOS_ENABLE_OPENMP
/// What a threaded library does.
SPACE_TEST(TaskThreads, MayBeABodysOwn) {
  TaskGraph graph(machine(4, 1));
  for (int n = 1; n <= 4; ++n)
    for (int k = 0; k < 5; ++k)
      host_task("own", ResourcePolicy(graph, threads(n)), [n] {
        int sum = 0;
#pragma omp parallel num_threads(n) reduction(+ : sum)
        sum += omp_get_num_threads();
        EXPECT_EQ(sum, n * n);
      });
  graph.wait();
}
#endif

SPACE_TEST(TaskThreads, CopyAndFill) {
  TaskGraph graph(machine(4, 1));
  Kokkos::View<double*, Kokkos::HostSpace> const x("x", 1000), y("y", 1000);
  deep_copy("fill", ResourcePolicy(graph, threads(most)), x, 3.0);
  deep_copy("copy", ResourcePolicy(graph, threads(most)), y, x);
  graph.wait();
  EXPECT_THAT(values_of(y), testing::Each(3.0));
}

/// Beside a task that has all places the main thread runs what nobody else may run, and nothing
/// else, however long it finds that.
SPACE_TEST(TaskThreads, AreLeftAloneByAMainThreadThatPolls) {
  for (int round = 0; round < 5; ++round) {
    TaskGraph graph(machine(2, 1));
    Gate begun;
    std::atomic<bool> runs{true};
    std::atomic<int> polls{0}, beside{0};
    host_task("wide", ResourcePolicy(graph, threads(2)), [&] {
      begun.open();
      while (polls < 100) std::this_thread::yield();
      runs = false;
    });
    EXPECT_TRUE(begun.pass());
    host_task("polls", ResourcePolicy(graph, main_thread), [&](TaskScope& self) {
      ++polls;
      if (runs) self.respawn();
    });
    for (int k = 0; k < 50; ++k)
      host_task("narrow", ResourcePolicy(graph), [&] { beside += runs ? 1 : 0; });
    graph.wait();
    EXPECT_EQ(beside, 0);
  }
}

}  // namespace task_threads
}  // namespace
}  // namespace trellis
