// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Accesses whose number is known at run time, and copies with a policy, on simulated devices.
#include "Devices.hpp"

#include <Simulated/Trellis_SpaceSimulated.hpp>
#include <Trellis.hpp>
#include <Trellis_Resources.hpp>
#include <Trellis_States.hpp>

#include <chrono>
#include <cstddef>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace trellis::Test {
namespace {

using DeviceLine = Kokkos::View<long*, SimulatedSpace>;
using Half = decltype(Kokkos::subview(DeviceLine(), std::pair(0, 2)));

class ListsOnSimulated : public EitherTime {
 protected:
  void SetUp() override {
    Simulated::configure({.virtual_time = is_virtual(), .launch_is_slow = true}, 2);
  }
  void TearDown() override { Simulated::configure({}); }
  static std::vector<DeviceLine> device_lines(std::size_t count) {
    std::vector<DeviceLine> all;
    for (std::size_t k = 0; k < count; ++k) {
      all.emplace_back("line " + std::to_string(k), 4);
      Kokkos::deep_copy(all.back(), static_cast<long>(k));
    }
    return all;
  }
  static long at(DeviceLine const& line, int i) {
    return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), line)(i);
  }
};
INSTANTIATE_TEST_SUITE_P(Time, ListsOnSimulated, testing::Bool(), name_of_time);

TEST_P(ListsOnSimulated, OrderTasksAndReachFunctors) {
  for (std::size_t const count : {3, 8, 30}) {
    TaskGraph graph;
    auto const all = device_lines(count);
    for (DeviceLine const& each : all)
      parallel_for(
          "one", ResourcePolicy(graph, 4, read_write(each), on<Simulated>),
          KOKKOS_LAMBDA(int i) { each(i) += i; });
    DeviceLine const sum("sum", 4);
    parallel_for(
        "sum", ResourcePolicy(graph, 4, read(all), write(sum), on<Simulated>),
        KOKKOS_LAMBDA(int i, read_view_list<DeviceLine> const& them, DeviceLine const& to) {
          for (auto const& each : them) to(i) += each(i);
        });
    parallel_for(
        "halves",
        ResourcePolicy(graph, 2, write(all | std::views::transform([](DeviceLine const& each) {
                                         return Kokkos::subview(each, std::pair(0, 2));
                                       })),
                       on<Simulated>),
        KOKKOS_LAMBDA(int i, view_list<Half> const& them) {
          for (auto const& each : them) each(i) = -1;
        });
    graph.wait();
    long const n = static_cast<long>(count);
    EXPECT_EQ(at(sum, 3), n * (n - 1) / 2 + 3 * n);
    EXPECT_EQ(at(all[2], 1), -1);
    EXPECT_EQ(at(all[2], 2), 4);
  }
}

TEST_P(ListsOnSimulated, LiveInPlans) {
  for (std::size_t const count : {4, 20}) {
    TaskGraph graph;
    DeviceLine const last = device_lines(1)[0];
    Plan plan;
    {
      auto all = device_lines(count);
      all.push_back(last);
      AccessList list;
      list.read_write(all);
      plan = graph.record("plan", [&] {
        parallel_for(
            "shift", ResourcePolicy(graph, 4, read_write(all), on<Simulated>),
            KOKKOS_LAMBDA(int i, view_list<DeviceLine> const& them) {
              for (std::size_t k = 1; k < them.size(); ++k) them[k](i) += them[k - 1](i) + 1;
            });
        parallel_for("list", ResourcePolicy(graph, 1, list, on<Simulated>), KOKKOS_LAMBDA(int){});
      });
      graph.replay(plan, 3);
    }
    graph.wait();
    std::vector<long> expected;
    for (std::size_t k = 0; k < count; ++k) expected.push_back(static_cast<long>(k));
    expected.push_back(0);
    for (int round = 0; round < 3; ++round)
      for (std::size_t k = 1; k < expected.size(); ++k) expected[k] += expected[k - 1] + 1;
    EXPECT_EQ(at(last, 3), expected.back());
    // The references of the lists are the plan's own.
    EXPECT_THROW(graph.replay(plan), Error);
  }
}

/// A plan keeps its lists though a task of the device's graph fails, and lets them go when it ends.
TEST_P(ListsOnSimulated, LiveInPlansThatHaveFailed) {
  for (std::size_t const count : {4, 20})
    for (bool const fails : {true, false}) {
      auto const all = device_lines(count);
      {
        TaskGraph graph;
        Future<long> sum;
        Plan const plan = graph.record("plan", [&] {
          parallel_for("add", ResourcePolicy(graph, 4, read_write(all), on<Simulated>),
                       [fails](int i, view_list<DeviceLine> const& them) {
                         if (fails && i == 2) throw std::runtime_error("no more");
                         for (auto const& each : them) ++each(i);
                       });
          sum = parallel_reduce(
              "sum", ResourcePolicy(graph, 4, read(all), on<Simulated>),
              KOKKOS_LAMBDA(int i, read_view_list<DeviceLine> const& them, long& total) {
                for (auto const& each : them) total += each(i);
              });
        });
        Future<void> const replay = graph.replay(plan, 3);
        long const n = static_cast<long>(count);
        if (fails) {
          EXPECT_THROW(sum.get(), Error);
          EXPECT_THROW(replay.get(), Error);
          EXPECT_THROW(graph.wait(), Error);
        } else {
          EXPECT_EQ(sum.get(), 4 * (n * (n - 1) / 2 + 3 * n));
        }
        for (DeviceLine const& each : all) EXPECT_GE(each.use_count(), 3) << "two functors";
      }
      for (DeviceLine const& each : all) EXPECT_EQ(each.use_count(), 1);
      Simulated::device().reset();
    }
}

TEST_P(ListsOnSimulated, ListsOfAccessesKnowTheirMemory) {
  TaskGraph graph;
  auto const all = device_lines(2);
  Kokkos::View<int*, Kokkos::HostSpace> const here("here", 1);
  AccessList list;
  list.read(all);
  parallel_for("device", ResourcePolicy(graph, 1, list, on<Simulated>), KOKKOS_LAMBDA(int){});
  try {
    host_task("host", ResourcePolicy(graph, list), [] {});
    ADD_FAILURE() << "nothing was thrown";
  } catch (Error const& error) {
    EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr("\"line 0\""),
                                             testing::HasSubstr("whose memory, Simulated")));
  }
  list.clear();
  list.read(here).access(all[0], Mode::none);
  host_task("host", ResourcePolicy(graph, list), [] {});
  EXPECT_THROW(
      parallel_for("device", ResourcePolicy(graph, 1, list, on<Simulated>), KOKKOS_LAMBDA(int){}),
      Error);
}

TEST_P(ListsOnSimulated, CopiesTakeTheValueOfADevicesFuture) {
  TaskGraph graph;
  auto const all = device_lines(3);
  for (int round = 0; round < 3; ++round) {
    auto const sum = parallel_reduce(
        "sum", ResourcePolicy(graph, 4, read(all[1]), on<Simulated>),
        KOKKOS_LAMBDA(int i, long& s) { s += all[1](i); });
    trellis::deep_copy("fill", ResourcePolicy(graph, priority(1)), all[1], sum);
  }
  graph.wait();
  EXPECT_EQ(at(all[1], 0), 64);
  auto const broken = host_task("broken", ResourcePolicy(graph),
                                []() -> long { throw std::runtime_error("broken"); });
  EXPECT_THROW(trellis::deep_copy(graph, all[2], broken).get(), Error);
  EXPECT_THROW(graph.wait(), Error);
  EXPECT_EQ(at(all[2], 0), 2);
}

TEST_P(ListsOnSimulated, CopiesTakeTheNewestValueInEachRoundOfAPlan) {
  TaskGraph graph;
  auto const all = device_lines(3);
  Plan const plan = graph.record("plan", [&] {
    auto const sum = parallel_reduce(
        "sum", ResourcePolicy(graph, 4, read(all[1]), on<Simulated>),
        KOKKOS_LAMBDA(int i, long& s) { s += all[1](i); });
    trellis::deep_copy("fill", graph, all[2], sum);
    trellis::deep_copy("back", graph, all[1], all[2]);
  });
  for (int k = 0; k < 4; ++k) graph.replay(plan, 2);
  graph.wait();
  EXPECT_EQ(at(all[1], 2), 1L << 16);
}

/// The task that a copy takes its value from touches nothing that the copy does.
TEST_P(ListsOnSimulated, CopiesTakeTheValueOfTheirOwnRound) {
  TaskGraph graph;
  Kokkos::View<long, SimulatedSpace> const x("x"), y("y");
  Plan const plan = graph.record("plan", [&] {
    auto const count =
        host_task("count", ResourcePolicy(graph), [n = 0L]() mutable { return ++n; });
    parallel_for(
        "slow", ResourcePolicy(graph, 1, read(x), on<Simulated>),
        KOKKOS_LAMBDA(int) { std::this_thread::sleep_for(std::chrono::milliseconds(2)); });
    trellis::deep_copy(graph, x, count);
    parallel_for(
        "sum", ResourcePolicy(graph, 1, read(x), read_write(y), on<Simulated>),
        KOKKOS_LAMBDA(int) { y() += x(); });
  });
  graph.replay(plan, 10);
  graph.wait();
  EXPECT_EQ(Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), y)(), 55);
}

/// Nothing fails on the device, which works on.
TEST_P(ListsOnSimulated, CopiesOfAValueThatIsMissingFailOnTheHost) {
  TaskGraph graph;
  auto const all = device_lines(2);
  auto const broken = host_task("broken", ResourcePolicy(graph),
                                []() -> long { throw std::runtime_error("broken"); });
  EXPECT_THROW(graph.wait(), Error);
  EXPECT_THROW(trellis::deep_copy(graph, all[1], broken).get(), Error);
  EXPECT_THROW(graph.wait(), Error);
  trellis::deep_copy(graph, all[1], 7).get();
  EXPECT_EQ(at(all[1], 0), 7);
}

TEST_P(ListsOnSimulated, CopiesRunOnTheDeviceThatIsAskedFor) {
  TaskGraph graph;
  auto const all = device_lines(2);
  long result = 0;
  Kokkos::View<long, SimulatedSpace> const one("one");
  auto const count_of = [](int number) { return Simulated::device(number).log().size(); };
  auto const before = count_of(1);
  trellis::deep_copy("there", ResourcePolicy(graph, device(1)), all[0], all[1]).get();
  EXPECT_GT(count_of(1), before);
  trellis::deep_copy(graph, one, 8);
  trellis::deep_copy(graph, result, one).get();
  EXPECT_EQ(result, 8);
  EXPECT_THROW(trellis::deep_copy(ResourcePolicy(graph, device(7)), all[0], 1), Error);
}

}  // namespace
}  // namespace trellis::Test
