// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A value for each thread: tasks update theirs at the same time, and who reads all of them comes
// after. Nothing here is atomic, so the thread sanitizer would see two threads with one value.
#include "Ways.hpp"

#include <Trellis_Recorded.hpp>
#include <Trellis_Threads.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace trellis {
namespace {

using namespace Test;

struct Increment {
  PerWorker<long> counts;
  KOKKOS_FUNCTION void operator()(int) const { ++counts.local(); }
};

SPACE_TEST(PerWorker, CountsWhatAllTasksDo) {
  for_each_way([](Way const& way) {
    constexpr int tasks = 24, indices = 50, rounds = 4;
    PerWorker<long> const counts("counts");
    std::vector<long> totals;
    run_rounds(
        way, rounds,
        [&](auto& target) {
          for (int k = 0; k < tasks; ++k) {
            parallel_for("kernel",
                         ResourcePolicy(target, Range(0, indices), atomic_add(counts.token())),
                         Increment{counts});
            host_task("host", ResourcePolicy(target, atomic_add(counts.token())),
                      [counts] { ++counts.local(); });
          }
          host_task("total", ResourcePolicy(target, read(counts.token())),
                    [&, counts] { totals.push_back(counts.combine(0L, std::plus<>())); });
        },
        counts.token());
    EXPECT_THAT(totals, testing::ElementsAre(1224, 2448, 3672, 4896));
  });
}

SPACE_TEST(PerWorker, IsUpdatedAtTheSameTimeAndReadAfterwards) {
  TaskGraphOptions options = with_workers(3);
  options.record = true;
  TaskGraph graph(options);
  PerWorker<int> const values("values");
  Rendezvous all(2);
  std::vector<int*> addresses(2);
  for (std::size_t k = 0; k < 2; ++k)
    host_task("update", ResourcePolicy(graph, atomic_add(values)), [&, values, k] {
      values.local() = 1;
      EXPECT_TRUE(all.meet());
      addresses[k] = &values.local();
    });
  auto const sum = host_task("read", ResourcePolicy(graph, read(values)),
                             [values] { return values.combine(0, std::plus<>()); });
  host_task("update", ResourcePolicy(graph, atomic_add(values.token())),
            [values] { values.local() = 9; });
  EXPECT_EQ(sum.get(), 2);
  graph.wait();
  EXPECT_NE(addresses[0], addresses[1]);
  std::vector<std::string> edges;
  for (EdgeRecord const& edge : graph.dependency_graph().edges())
    edges.push_back(std::to_string(edge.from) + ">" + std::to_string(edge.to));
  EXPECT_THAT(edges, testing::UnorderedElementsAre("1>3", "2>3", "3>4"));
}

SPACE_TEST(PerWorker, IsTheSameForWhatAWaitingBodyRunsOnItsStack) {
  TaskGraph graph(with_workers(1));
  PerWorker<int> const values("values");
  bool is_same = false;
  auto const whole =
      host_task("whole", ResourcePolicy(graph, atomic_add(values.token())), [&](TaskScope& self) {
        int& mine = values.local();
        mine = 5;
        host_task("child", ResourcePolicy(self, atomic_add(values.token())),
                  [&] { is_same = &values.local() == &mine && mine++ == 5; });
        self.wait();
        EXPECT_EQ(values.local(), is_same ? 6 : 5);
        EXPECT_EQ(&values.local(), &mine);
      });
  whole.get();
  EXPECT_TRUE(is_same);
}

SPACE_TEST(PerWorker, ServesSeveralGraphsAtTheSameTime) {
  PerWorker<long> const counts("counts");
  std::vector<std::thread> threads;
  for (int k = 0; k < 3; ++k)
    threads.emplace_back([&] {
      TaskGraph graph(with_workers(2));
      for (int time = 0; time < 100; ++time)
        host_task("count", ResourcePolicy(graph, atomic_add(counts.token())),
                  [counts] { ++counts.local(); });
    });
  for (std::thread& thread : threads) thread.join();
  ++counts.local();  // by a thread that runs no tasks
  EXPECT_EQ(counts.combine(0L, std::plus<>()), 301);
  // Threads come and go, and their values are there for the next ones.
  std::size_t const before = counts.size();
  for (int k = 0; k < 50; ++k) std::thread([&] { ++counts.local(); }).join();
  EXPECT_LE(counts.size(), before + 1);
  EXPECT_EQ(counts.combine(0L, std::plus<>()), 351);
}

SPACE_TEST(PerWorker, MakesItsValuesAsItIsTold) {
  PerWorker<int> const zero;
  EXPECT_EQ(zero.token().label(), "PerWorker");
  EXPECT_EQ(zero.local(), 0);
  PerWorker<double> const same("same", 1.5);
  EXPECT_EQ(same.token().label(), "same");
  EXPECT_EQ(same.local(), 1.5);
  std::atomic<int> made{0};
  PerWorker<std::vector<int>> const each("each", [&] { return std::vector<int>(3, ++made); });
  each.local()[0] = 7;
  EXPECT_THAT(each.local(), testing::ElementsAre(7, 1, 1));
  std::thread([&] { EXPECT_THAT(each.local(), testing::ElementsAre(2, 2, 2)); }).join();
  EXPECT_EQ(each.size(), 2U);
  EXPECT_EQ(
      each.combine(std::size_t{0},
                   [](std::size_t sum, std::vector<int> const& one) { return sum + one.size(); }),
      6U);
  each.clear();
  EXPECT_EQ(each.size(), 0U);
  EXPECT_THAT(each.local(), testing::ElementsAre(3, 3, 3));
  // What cannot be copied or moved, as well.
  PerWorker<std::unique_ptr<int>> const pointers("pointers");
  EXPECT_EQ(pointers.local(), nullptr);
  PerWorker<std::atomic<int>> const atomics("atomics");
  EXPECT_EQ(atomics.local().load(), 0);
}

SPACE_TEST(PerWorker, GivesEachValueLinesOfItsOwn) {
  PerWorker<char> const values("values");
  auto const here = reinterpret_cast<std::uintptr_t>(&values.local());
  std::thread([&] {
    auto const there = reinterpret_cast<std::uintptr_t>(&values.local());
    EXPECT_GE(std::max(here, there) - std::min(here, there), 128U);
  }).join();
  EXPECT_EQ(here % 128, 0U);
}

SPACE_TEST(PerWorker, FailsAsWhatMakesItsValues) {
  TaskGraph graph(with_workers(2));
  bool fails = true;
  PerWorker<int> const values("values", [&]() -> int {
    if (fails) throw std::runtime_error("no memory");
    return 4;
  });
  host_task("update", ResourcePolicy(graph, atomic_add(values)), [values] { ++values.local(); });
  auto const sum = host_task("sum", ResourcePolicy(graph, read(values.token())),
                             [values] { return values.combine(0, std::plus<>()); });
  EXPECT_THAT(error_of([&] { sum.get(); }).what(), testing::HasSubstr("no memory"));
  EXPECT_THAT(error_of([&] { graph.wait(); }).what(), testing::HasSubstr("update"));
  EXPECT_EQ(values.size(), 0U);
  fails = false;
  host_task("update", ResourcePolicy(graph, atomic_add(values.token())),
            [values] { ++values.local(); });
  graph.wait();
  EXPECT_EQ(values.combine(0, std::plus<>()), 5);
}

struct Counted {
  static inline std::atomic<int> alive{0};
  Counted() { ++alive; }
  Counted(Counted const&) = delete;
  Counted& operator=(Counted const&) = delete;
  ~Counted() { --alive; }
  int value = 0;
};
struct Touch {
  PerWorker<Counted> values;
  KOKKOS_FUNCTION void operator()(int) const { ++values.local().value; }
};

SPACE_TEST(PerWorker, LivesAsLongAsATaskThatHasIt) {
  for (bool const with_plan : {false, true}) {
    Gate gate;
    {
      std::optional<TaskGraph> graph(std::in_place, with_workers(2));
      std::optional<Plan> plan;
      {
        PerWorker<Counted> const values("values");
        PerWorker<Counted> other = values;
        other = values;
        PerWorker<Counted> const last("last");
        other = last;
        other = other;
        other.local().value = 1;
        EXPECT_EQ(last.local().value, 1);
        host_task("gate", ResourcePolicy(*graph, atomic_add(values.token())),
                  [&, values] { EXPECT_TRUE(gate.pass()); });
        auto const submit = [&] {
          parallel_for("touch", ResourcePolicy(*graph, Range(0, 10), write(values.token())),
                       Touch{values});
        };
        if (with_plan) {
          plan.emplace(graph->record("plan", submit));
          graph->replay(*plan, 3);
        } else {
          submit();
        }
      }
      EXPECT_EQ(Counted::alive, 0);  // the last task has not begun
      gate.open();
      graph->wait();
      EXPECT_EQ(Counted::alive > 0, with_plan);
      if (with_plan) {
        graph->replay(*plan);
        graph->wait();
        plan.reset();
        EXPECT_EQ(Counted::alive, 0);
      }
      graph.reset();
    }
    EXPECT_EQ(Counted::alive, 0);
  }
}

}  // namespace
}  // namespace trellis
