// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// number(k) and after(k) on every pattern.
#include <Trellis.hpp>
#include <Trellis_Numbers.hpp>
#include <patterns/Trellis_Sort.hpp>

#include "Timing.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <list>
#include <ranges>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace trellis {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using Doubles = Kokkos::View<double*, Kokkos::HostSpace>;
using Test::compute_for;
using Test::error_of;
using Host = Kokkos::DefaultHostExecutionSpace;

class NumberTasks : public Test::Timed {
 protected:
  TaskGraph m_graph;
  TaskNumbers m_numbers{m_graph};
};

TEST_F(NumberTasks, OfEveryPatternHaveThem) {
  Doubles x("x", 8);
  Doubles y("y", 8);
  TaskNumber const k = m_numbers.reserve(10);
  TaskNumber next = k;
  // Nothing but the numbers orders what is unmanaged and told of as nothing.
  double* const data = x.data();
  host_task("host_task", ResourcePolicy(m_graph, number(next++)), [=] {
    compute_for(std::chrono::microseconds(200));
    data[0] = 1;
  });
  parallel_for("for", ResourcePolicy(m_graph, 8, number(next++), after(k)), [=](int i) {
    if (i > 0) data[i] = data[0];
  });
  Future<double> const sum =
      parallel_reduce("reduce",
                      ResourcePolicy(m_graph, Kokkos::RangePolicy<Host>(0, 8), number(next++),
                                     after(k + 1), priority(1)),
                      [=](int i, double& all) { all += data[i]; });
  parallel_scan(
      "scan",
      ResourcePolicy(m_graph, Kokkos::RangePolicy<Host>(0, 8), number(next++), after(k + 2, sum)),
      [=](int i, double& all, bool is_last) {
        all += 1;
        if (is_last) data[i] = all;
      });
  deep_copy("copy", ResourcePolicy(m_graph, number(next++), after(k + 3)), y, x);
  deep_copy("fill", ResourcePolicy(m_graph, number(next++), after(k + 4)), x, 9.0);
  deep_copy("value", ResourcePolicy(m_graph, number(next++), after(std::vector{k + 5})), x, sum);
  sort("sort", ResourcePolicy(m_graph, number(next++), after(std::set{k + 6})), y);
  space_task("space_task", ResourcePolicy(m_graph, on<Host>, number(next++), after(k + 7)),
             [=](Host const&) { data[1] += 1; });
  double seen = 0;
  host_task("last", ResourcePolicy(m_graph, after(std::views::iota(k, k + 9))),
            [&] { seen = data[1]; });
  m_graph.wait({k + 8, k + 4}, Awaited::unfused);
  m_graph.wait();
  EXPECT_EQ(sum.get(), 8);
  EXPECT_EQ(y(7), 8);
  EXPECT_EQ(seen, 9);
}

TEST_F(NumberTasks, StandBesideFuturesInOneAnnotation) {
  TaskNumber const k = m_numbers.reserve(4);
  std::atomic<int> done{0};
  auto const slow = [&] {
    compute_for(std::chrono::microseconds(100));
    ++done;
  };
  std::list<TaskNumber> listed;
  for (unsigned n = 0; n < 3; ++n) {
    host_task("numbered", ResourcePolicy(m_graph, number(k + n)), slow);
    listed.push_back(k + n);
  }
  Future<void> const one = host_task("one", ResourcePolicy(m_graph), slow);
  std::vector<Future<void>> more{host_task("two", ResourcePolicy(m_graph), slow),
                                 host_task("three", ResourcePolicy(m_graph), slow)};
  Future<int> const value_of =
      host_task("value", ResourcePolicy(m_graph), [&] { return slow(), 7; });
  TaskNumber const none;
  Future<int> const last = host_task(
      "last",
      ResourcePolicy(m_graph, after(listed, one, more, none), value(value_of), number(k + 3)),
      [&](int seven) { return seven * 10 + done; });
  EXPECT_EQ(last.get(), 77);
  EXPECT_TRUE(m_graph.is_done(std::span<TaskNumber const>(std::vector{k, k + 3})));
}

TEST_F(NumberTasks, ThatAreWrongNameTheTaskAndItsPlace) {
  TaskNumber const k = m_numbers.reserve();
  std::string const text =
      error_of([&] { host_task("consumer", ResourcePolicy(m_graph, after(k)), [] {}); }).what();
  EXPECT_THAT(text, AllOf(HasSubstr("task \"consumer\""), HasSubstr("TestNumberTasks.cpp:"),
                          HasSubstr("the number 1,"), HasSubstr("no task has been spawned")));
  EXPECT_THAT(error_of([&] { m_graph.wait(k); }).what(), HasSubstr("TestNumberTasks.cpp:"));
}

TEST_F(NumberTasks, AreChildrenThatRunAgain) {
  TaskNumber const k = m_numbers.reserve(8);
  int runs = 0;
  std::atomic<int> ran{0};
  host_task("again", ResourcePolicy(m_graph, number(k)), [&](TaskScope& self) {
    EXPECT_EQ(ran, 2 * runs);
    if (runs == 3) return;
    TaskNumber const n = k + 1 + 2 * static_cast<unsigned>(runs++);
    host_task("child", ResourcePolicy(self, number(n)), [&] { ++ran; });
    host_task("outside", ResourcePolicy(m_graph, number(n + 1), after(n)), [&] { ++ran; });
    self.respawn(after(n + 1));
    EXPECT_THROW(self.respawn(after(k + 7)), Error);
  });
  m_graph.wait(k);
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(ran, 6);
}

TEST_F(NumberTasks, AreInPlansAndLoops) {
  Doubles x("x", 1);
  TaskNumber const k = m_numbers.reserve(100);
  Plan const plan = m_graph.record("plan", [&] {
    parallel_for("a", ResourcePolicy(m_graph, 1, write(x), number(k)), [=](int i) { x(i) += 1; });
    parallel_for("b", ResourcePolicy(m_graph, 1, number(k + 1), after(k)),
                 [=](int i) { x(i) *= 2; });
  });
  EXPECT_EQ(plan.edges(), 1u);
  m_graph.replay(plan, 2);
  m_graph.wait(k + 1);
  EXPECT_EQ(x(0), 6);
  m_graph.iterate("loop", 10, [&](std::uint64_t iteration) {
    parallel_for("c", ResourcePolicy(m_graph, 1, read_write(x), number(k + 2 + iteration)),
                 [=](int i) { x(i) += 1; });
  });
  m_graph.wait(k + 11);
  EXPECT_EQ(x(0), 16);
}

/// As Peano writes it: whoever waits names what it needs, and no future is kept.
TEST_F(NumberTasks, AreWhatSpawnTaskAndWaitForTasksAre) {
  constexpr std::size_t cells = 20;
  std::vector<TaskNumber> enclave(cells);  // of the newest task of each cell
  std::vector<double> volumes(cells, 1);
  for (int sweep = 0; sweep < 5; ++sweep)
    for (std::size_t c = 0; c < cells; ++c) {
      std::set<TaskNumber> neighbours{enclave[c]};
      if (c > 0) neighbours.insert(enclave[c - 1]);
      if (c + 1 < cells) neighbours.insert(enclave[c + 1]);  // which has read this cell
      TaskNumber const own = m_numbers.reserve();
      host_task("enclave", ResourcePolicy(m_graph, number(own), after(neighbours)),
                [&, c] { volumes[c] += c > 0 ? volumes[c - 1] : 0; });
      enclave[c] = own;
    }
  m_graph.wait(enclave);
  std::vector<double> expected(cells, 1);
  // (Within a sweep each cell comes after its left neighbour.)
  for (int sweep = 0; sweep < 5; ++sweep)
    for (std::size_t c = 1; c < cells; ++c) expected[c] += expected[c - 1];
  EXPECT_EQ(volumes, expected);
}

}  // namespace
}  // namespace trellis
