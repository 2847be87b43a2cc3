// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// When the functors of kernels are destroyed, and with them their Views.
#include <Trellis.hpp>

#include "SpaceTest.hpp"
#include "Timing.hpp"

#include <Kokkos_Core.hpp>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

namespace trellis {
namespace {

using namespace Test;
using Ints = View<int*>;

struct Grow {
  Ints x;
  KOKKOS_FUNCTION void operator()(int i) const { x(i) += 1; }
};
void grow(TaskGraph& graph, Ints const& x) {
  parallel_for("grow",
               ResourcePolicy(graph, Range(0, static_cast<int>(x.extent(0))), read_write(x)),
               Grow{x});
}

SPACE_TEST(EndsOfFunctors, AreGoneWhenWaitReturns) {
  TaskGraph graph(with_workers(2));
  std::vector<Ints> lines;
  for (int k = 0; k != 20; ++k) lines.emplace_back("x", 4);
  for (int repetition = 0; repetition != 50; ++repetition) {
    for (int k = 0; k != 100; ++k) grow(graph, lines[static_cast<std::size_t>(k) % lines.size()]);
    graph.wait();
    for (Ints const& x : lines) ASSERT_EQ(x.use_count(), 1);
  }
}

SPACE_TEST(EndsOfFunctors, AreGoneWhenSeveralThreadsSubmitAndWait) {
  TaskGraph graph(with_workers(2));
  auto const use = [&] {
    Ints const x("x", 4);
    for (int repetition = 0; repetition != 20; ++repetition) {
      for (int k = 0; k != 50; ++k) grow(graph, x);
      graph.wait();
      ASSERT_EQ(x.use_count(), 1);
    }
  };
  std::thread other(use);
  use();
  other.join();
}

SPACE_TEST(EndsOfFunctors, AreGoneWhileALongTaskRuns) {
  constexpr int count = 500;
  TaskGraph graph(with_workers(2));
  Gate gate;
  host_task("long", ResourcePolicy(graph), [&] { gate.pass(); });
  std::vector<Ints> lines;
  std::vector<Future<void>> done;
  for (int k = 0; k != count; ++k) {
    lines.emplace_back("x", 4);
    done.push_back(parallel_for(
        "short", ResourcePolicy(graph, Range(0, 4), read_write(lines.back())), Grow{lines.back()}));
  }
  for (Future<void> const& each : done) each.wait();
  auto const held = [&] {
    return std::count_if(lines.begin(), lines.end(),
                         [](Ints const& x) { return x.use_count() > 1; });
  };
  EXPECT_EQ(held(), 0) << "of " << count;
  gate.open();
  graph.wait();
}

SPACE_TEST(EndsOfFunctors, AreGoneWhenASuccessorRuns) {
  TaskGraph graph(with_workers(1));
  for (int extent : {4, 1 << 16}) {
    Ints const x("x", static_cast<std::size_t>(extent));
    for (int k = 0; k != 20; ++k) {
      grow(graph, x);
      EXPECT_EQ(
          host_task("count", ResourcePolicy(graph, read(x)), [&x] { return x.use_count(); }).get(),
          1);
    }
  }
}

SPACE_TEST(EndsOfFunctors, OfFunctorsOnTheHeapAreFreed) {
  struct Large {
    Ints x;
    char ballast[2000];
    KOKKOS_FUNCTION void operator()(int i) const { x(i) += ballast[i]; }
  };
  TaskGraph graph(with_workers(2));
  Ints const x("x", 4);
  for (int k = 0; k != 200; ++k)
    parallel_for("large", ResourcePolicy(graph, Range(0, 4), read_write(x)),
                 Large{x, {1, 1, 1, 1}});
  graph.wait();
  EXPECT_EQ(x.use_count(), 1);
  EXPECT_EQ(x(3), 200);
}

SPACE_TEST(EndsOfFunctors, DoNotHideThatAPlansViewWasReallocated) {
  TaskGraph graph(with_workers(2));
  Ints x("x", 4);
  Plan const plan = graph.record([&] { grow(graph, x); });
  for (int k = 0; k != 10; ++k) grow(graph, x);
  graph.wait();
  x = Ints("another", 4);
  EXPECT_THROW(graph.replay(plan), Error);
}

}  // namespace
}  // namespace trellis
