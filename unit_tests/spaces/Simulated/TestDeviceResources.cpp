// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// DualViews and other resources, on simulated devices.
#include "Devices.hpp"

#include <Simulated/Trellis_SpaceSimulated.hpp>
#include <Trellis.hpp>
#include <Trellis_Recorded.hpp>
#include <Trellis_Resources.hpp>

#include <Kokkos_DualView.hpp>
#include <gmock/gmock.h>

#include <cstddef>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace trellis::Test {

struct DeviceField {
  Kokkos::DualView<long*, Simulated> values;
  Kokkos::View<long*, SimulatedSpace> weights;
};

}  // namespace trellis::Test

template <>
struct trellis::ResourceTraits<trellis::Test::DeviceField> {
  static auto accesses(trellis::Test::DeviceField const& field, auto how) {
    return std::tuple(access(field.values, how), read(field.weights));
  }
};

namespace trellis::Test {
namespace {

using Dual = Kokkos::DualView<long*, Simulated>;
static_assert(Impl::has_two_sides<Dual>);

class DualViewsOnSimulated : public EitherTime {
 protected:
  void SetUp() override {
    Simulated::configure({.virtual_time = is_virtual(), .launch_is_slow = true}, 2);
  }
  void TearDown() override { Simulated::configure({}); }
  static TaskGraphOptions recording() {
    TaskGraphOptions options;
    options.workers = 2;
    options.record = true;
    return options;
  }
  static std::vector<std::string> labels(TaskGraph& graph) {
    graph.wait();
    std::vector<std::string> all;
    for (TaskRecord const& each : graph.dependency_graph().nodes()) all.push_back(each.label);
    return all;
  }
  static void add_on_device(TaskGraph& graph, Dual const& x, long what) {
    parallel_for(
        "device",
        ResourcePolicy(graph, static_cast<int>(x.extent(0)), read_write(x), on<Simulated>),
        KOKKOS_LAMBDA(int i, Dual::t_dev const& all) { all(i) += what; });
  }
  static void multiply_on_host(TaskGraph& graph, Dual const& x, long what) {
    host_task("host", ResourcePolicy(graph, read_write(x)), [what](Dual::t_host const& all) {
      for (std::size_t i = 0; i < all.extent(0); ++i) all(i) *= what;
    });
  }
};
INSTANTIATE_TEST_SUITE_P(Time, DualViewsOnSimulated, testing::Bool(), name_of_time);

TEST_P(DualViewsOnSimulated, AreCopiedWhereTheOtherSideIsNewer) {
  TaskGraph graph(recording());
  Dual const x("x", 4);
  add_on_device(graph, x, 3);
  EXPECT_TRUE(x.need_sync_host());
  add_on_device(graph, x, 1);
  multiply_on_host(graph, x, 10);
  EXPECT_TRUE(x.need_sync_device());
  EXPECT_FALSE(x.need_sync_host());
  auto const sum = host_task("read", ResourcePolicy(graph, read(x)),
                             [](auto const& all) { return all(0) + all(3); });
  add_on_device(graph, x, 2);
  auto const on_device = parallel_reduce(
      "sum", ResourcePolicy(graph, 4, read(x), on<Simulated>),
      KOKKOS_LAMBDA(int i, Dual::t_dev::const_type const& all, long& to) { to += all(i); });
  host_task("none", ResourcePolicy(graph, none(x)), [] {});
  EXPECT_EQ(sum.get(), 80);
  EXPECT_EQ(on_device.get(), 168);
  EXPECT_THAT(labels(graph), testing::ElementsAre("device", "device", "sync x", "host", "read",
                                                  "sync x", "device", "sum", "none"));
  // Plain Kokkos code goes on with the flags.
  EXPECT_TRUE(x.need_sync_host());
  Dual mine = x;
  mine.sync_host();
  mine.view_host()(0) = 7;
  mine.modify_host();
  auto const again = parallel_reduce(
      "sum", ResourcePolicy(graph, 4, read(x), on<Simulated>),
      KOKKOS_LAMBDA(int i, Dual::t_dev::const_type const& all, long& to) { to += all(i); });
  EXPECT_EQ(again.get(), 133);
  EXPECT_FALSE(x.need_sync_host() || x.need_sync_device());
}

TEST_P(DualViewsOnSimulated, OverwrittenAsAWholeAreNotCopied) {
  TaskGraph graph(recording());
  Dual x("x", 4);
  add_on_device(graph, x, 3);
  x.clear_sync_state();
  host_task("host", ResourcePolicy(graph, write(x)),
            [](Dual::t_host const& all) { Kokkos::deep_copy(all, 5); });
  add_on_device(graph, x, 1);
  multiply_on_host(graph, x, 1);
  EXPECT_THAT(labels(graph),
              testing::ElementsAre("device", "host", "sync x", "device", "sync x", "host"));
  EXPECT_EQ(x.view_host()(2), 6);
}

TEST_P(DualViewsOnSimulated, OfWhichAPartIsNewerLoseNothing) {
  TaskGraph graph(recording());
  Dual x("x", 8);
  auto const part = [&](int first) { return Kokkos::subview(x, std::pair(first, first + 4)); };
  add_on_device(graph, part(0), 1);
  add_on_device(graph, part(4), 2);
  auto const sum_of = [&](Dual const& which) {
    return host_task("sum", ResourcePolicy(graph, read(which)),
                     [](auto const& all) {
                       long sum = 0;
                       for (std::size_t i = 0; i < all.extent(0); ++i) sum += all(i);
                       return sum;
                     })
        .get();
  };
  EXPECT_EQ(sum_of(part(4)), 8);
  EXPECT_EQ(sum_of(part(0)), 4);
  EXPECT_TRUE(x.need_sync_host());
  try {
    multiply_on_host(graph, part(0), 2);
    ADD_FAILURE();
  } catch (Error const& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("a part of the DualView \"x\""));
  }
  EXPECT_EQ(sum_of(x), 12);
  multiply_on_host(graph, part(0), 2);
  EXPECT_EQ(sum_of(x), 16);
  add_on_device(graph, x, 1);
  EXPECT_EQ(sum_of(x), 24);
}

TEST_P(DualViewsOnSimulated, OfWholeWordsOrNotAreNoParts) {
  TaskGraph graph;
  Kokkos::DualView<float*, Simulated> x("x", 3);
  using Device = decltype(x)::t_dev;
  x.modify_host();
  parallel_for(
      "device", ResourcePolicy(graph, 3, write(x), on<Simulated>),
      KOKKOS_LAMBDA(int i, Device const& all) { all(i) = 0.5f * static_cast<float>(i); });
  auto const value =
      host_task("host", ResourcePolicy(graph, read(x)), [](auto const& all) { return all(2); });
  EXPECT_EQ(value.get(), 1);
  EXPECT_FALSE(x.need_sync_host());
}

TEST_P(DualViewsOnSimulated, KeepTheirFlagsWhenATaskIsRefused) {
  TaskGraph graph;
  Dual const x("x", 4);
  add_on_device(graph, x, 3);
  EXPECT_THROW(host_task("host", ResourcePolicy(graph, write(x), after(Future<void>())), [] {}),
               Error);
  EXPECT_FALSE(x.need_sync_device());
  auto const value =
      host_task("read", ResourcePolicy(graph, read(x)), [](auto const& all) { return all(1); });
  EXPECT_EQ(value.get(), 3);
}

TEST_P(DualViewsOnSimulated, WorkInRangesGroupsAndTypesOfTheUser) {
  TaskGraph graph(recording());
  std::vector<Dual> all;
  for (int k = 0; k < 3; ++k) all.emplace_back("x" + std::to_string(k), 4);
  for (Dual const& each : all) add_on_device(graph, each, 2);
  host_task("host", ResourcePolicy(graph, read_write(all)), [all] {
    for (Dual const& each : all) each.view_host()(0) *= 4;
  });
  for (Dual const& each : all) EXPECT_TRUE(each.need_sync_device());
  DeviceField const field{all[0], Kokkos::View<long*, SimulatedSpace>("weights", 4)};
  parallel_for(
      "field", ResourcePolicy(graph, 4, write(field), on<Simulated>),
      KOKKOS_LAMBDA(int i, Dual::t_dev const& values,
                    Kokkos::View<long const*, SimulatedSpace> const& weights) {
        values(i) += 1 + weights(i);
      });
  host_task("group", ResourcePolicy(graph, read(group(all[0], all[1]))), [] {});
  EXPECT_THAT(labels(graph),
              testing::ElementsAre("device", "device", "device", "sync x0", "sync x1", "sync x2",
                                   "host", "sync x0", "field", "sync x0", "group"));
  EXPECT_EQ(all[0].view_host()(0), 9);
  EXPECT_EQ(all[1].view_host()(0), 8);
}

TEST_P(DualViewsOnSimulated, AreRefusedInARecordingAndWorkInLoops) {
  TaskGraph graph;
  Dual const x("x", 4);
  try {
    (void)graph.record([&] { add_on_device(graph, x, 1); });
    ADD_FAILURE();
  } catch (Error const& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("the DualView \"x\""));
  }
  graph.iterate("loop", 20, [&](std::uint64_t iteration) {
    add_on_device(graph, x, 1);
    if (iteration % 3 == 2) multiply_on_host(graph, x, 2);
  });
  graph.wait();
  long expected = 0;
  for (int iteration = 0; iteration < 20; ++iteration) {
    expected += 1;
    if (iteration % 3 == 2) expected *= 2;
  }
  Dual mine = x;
  mine.sync_host();
  EXPECT_EQ(mine.view_host()(3), expected);
}

TEST_P(DualViewsOnSimulated, StopWhatDependsOnAFailureOnTheOtherSide) {
  TaskGraph graph;
  Dual const x("x", 4);
  host_task("throws", ResourcePolicy(graph, write(x)), [] { throw std::runtime_error("no"); });
  add_on_device(graph, x, 1);
  bool ran = false;
  host_task("host", ResourcePolicy(graph, read(x)), [&] { ran = true; });
  EXPECT_THROW(graph.wait(), Error);
  EXPECT_FALSE(ran);
}

/// The same tasks on plain arrays, one after the other.
TEST_P(DualViewsOnSimulated, GiveWhatASerialProgramGives) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    std::mt19937 random(seed);
    TaskGraphOptions options;
    options.workers = 3;
    options.serial = seed % 5 == 0;
    TaskGraph graph(options);
    std::vector<Dual> duals;
    std::vector<long> oracle(4, 0);
    for (int k = 0; k < 4; ++k) duals.emplace_back("x" + std::to_string(k), 8);
    for (int task = 0; task < 60; ++task) {
      std::size_t const a = random() % 4;
      std::size_t const b = (a + 1 + random() % 3) % 4;
      switch (random() % 4) {
        case 0:
          add_on_device(graph, duals[a], task);
          oracle[a] += task;
          break;
        case 1:
          multiply_on_host(graph, duals[a], 3);
          oracle[a] *= 3;
          oracle[a] %= 1000;
          host_task("cut", ResourcePolicy(graph, write(duals[a])), [](Dual::t_host const& all) {
            for (int i = 0; i < 8; ++i) all(i) %= 1000;
          });
          break;
        case 2:
          parallel_for(
              "both", ResourcePolicy(graph, 8, read(duals[a]), write(duals[b]), on<Simulated>),
              KOKKOS_LAMBDA(int i, Dual::t_dev::const_type const& from, Dual::t_dev const& to) {
                to(i) += from(i);
              });
          oracle[b] += oracle[a];
          break;
        default:
          host_task("both", ResourcePolicy(graph, read(duals[a]), write(duals[b])),
                    [](auto const& from, Dual::t_host const& to) {
                      for (int i = 0; i < 8; ++i) to(i) -= from(i);
                    });
          oracle[b] -= oracle[a];
      }
    }
    graph.wait();
    for (int k = 0; k < 4; ++k) {
      duals[k].sync_host();
      for (int i = 0; i < 8; ++i) ASSERT_EQ(duals[k].view_host()(i), oracle[k]) << seed;
    }
  }
}

/// Device memory that comes to the address of other memory, in which a task was cancelled. Nothing
/// tells the two apart, so the program waits for that.
TEST(AllocationsOnSimulated, FailuresThatAreKnownEndWithThem) {
  Simulated::configure({}, 1);
  {
    TaskGraphOptions options;
    options.workers = 2;
    TaskGraph graph(options);
    auto const let_all_end = [&] {
      while (graph.in_flight() != 0) std::this_thread::yield();
    };
    std::vector<Future<void>> fresh_ones;
    for (int k = 0; k != 20; ++k) {
      {
        Kokkos::View<long*, SimulatedSpace> const old("v", 100);
        Token const gate("gate");
        std::atomic<bool> is_open{false};
        host_task("gate", ResourcePolicy(graph, write(gate)), [&] {
          while (!is_open) std::this_thread::yield();
        });
        auto const cancelled = parallel_for(
            "cancelled", ResourcePolicy(graph, 100, read(gate), write(old), on<Simulated>),
            [](int i, auto const& v) { v(i) = i; });
        graph.cancel(cancelled);
        is_open = true;
        let_all_end();
        EXPECT_THROW(cancelled.get(), Error);
      }
      Kokkos::View<long*, SimulatedSpace> const fresh("v", 100);
      fresh_ones.push_back(
          parallel_for("works", ResourcePolicy(graph, 100, read_write(fresh), on<Simulated>),
                       [](int i, auto const& v) { v(i) = i; }));
      let_all_end();
    }
    for (auto& each : fresh_ones) EXPECT_NO_THROW(each.get());
    graph.wait();
  }
  Simulated::configure({});
}

}  // namespace
}  // namespace trellis::Test
