// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ranges that are known when a task is launched, and arrays that tasks allocate, on simulated
// devices.
#include "Devices.hpp"

#include <Simulated/Trellis_SpaceSimulated.hpp>
#include <Trellis.hpp>
#include <Trellis_Fusion.hpp>
#include <Trellis_Late.hpp>

#include <string>
#include <utility>
#include <vector>

namespace trellis::Test {
namespace {
namespace device_sizes {

using Line = LateView<long*, SimulatedSpace>;
using HostLine = LateView<long*, Kokkos::HostSpace>;
using Fixed = Kokkos::View<long*, SimulatedSpace>;
using Longs = std::vector<long>;

class SizesOnSimulated : public EitherTime {
 protected:
  void SetUp() override {
    Simulated::configure({.virtual_time = is_virtual(), .launch_is_slow = true}, 2);
  }
  void TearDown() override { Simulated::configure({}); }
  template <class V>
  static Longs contents(V const& view) {
    auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
    return {host.data(), host.data() + host.size()};
  }
};
INSTANTIATE_TEST_SUITE_P(Time, SizesOnSimulated, testing::Bool(), name_of_time);

struct Fill {
  long salt;
  void operator()(int i, Line::view const& to) const { to(i) = salt + i; }
};
struct Sum {
  void operator()(int i, Line::read_view const& from, long& s) const { s += from(i); }
};

TEST_P(SizesOnSimulated, NothingIsLaunchedBeforeItsNumberIsThere) {
  TaskGraph graph;
  Fixed const x("x", 8);
  Gate gate;
  auto const number = host_task("number", ResourcePolicy(graph), [&] {
    EXPECT_TRUE(*graph.options().serial || gate.pass());
    return 5;
  });
  parallel_for("fill", ResourcePolicy(graph, number, write(x), on<Simulated>),
               [](int i, Fixed const& to) { to(i) = i + 1; });
  auto const sum = parallel_reduce("sum", ResourcePolicy(graph, number, read(x), on<Simulated>),
                                   [=](int i, long& s) { s += x(i); });
  auto const scanned = parallel_scan("scan", ResourcePolicy(graph, number, on<Simulated>),
                                     [](int, long& s, bool) { s += 2; });
  gate.open();
  EXPECT_EQ(sum.get(), 15);
  EXPECT_EQ(scanned.get(), 10);
  graph.wait();
  EXPECT_EQ(contents(x), (Longs{1, 2, 3, 4, 5, 0, 0, 0}));
}

TEST_P(SizesOnSimulated, ArraysLiveThere) {
  for (int const device_number : {0, 1}) {
    TaskGraph graph;
    Line const x("x", SimulatedSpace(device_number)), y("y");
    HostLine const back("back"), there("there");
    auto const count = parallel_scan("scan", ResourcePolicy(graph, 9, on<Simulated>),
                                     [](int i, long& s, bool) { s += i % 2; });
    allocate("x", ResourcePolicy(graph), x, count);
    parallel_for("fill", ResourcePolicy(graph, extent(x), write(x), on<Simulated>), Fill{3});
    allocate("y", ResourcePolicy(graph), y, extent(x));
    allocate("back", ResourcePolicy(graph), back, extent(y));
    allocate("there", ResourcePolicy(graph), there, count);
    deep_copy("on the device", graph, y, x);
    deep_copy("back", graph, back, y);
    deep_copy(graph, there, count);
    auto const sum =
        parallel_reduce("sum", ResourcePolicy(graph, extent(y), read(y), on<Simulated>), Sum());
    EXPECT_EQ(sum.get(), 3 + 4 + 5 + 6);
    graph.wait();
    EXPECT_TRUE(Simulated::device(device_number).owns(x.managed().data()));
    EXPECT_EQ(contents(back.managed()), (Longs{3, 4, 5, 6}));
    deep_copy("there", graph, x, there);
    deep_copy(graph, y, 8);
    graph.wait();
    EXPECT_EQ(contents(x.managed()), Longs(4, 4));
    EXPECT_EQ(contents(y.managed()), Longs(4, 8));
  }
}

TEST_P(SizesOnSimulated, MemoryGoesWhenTheDeviceHasDoneWithIt) {
  TaskGraph graph;
  Line const x("x");
  long expected = 0;
  std::vector<Future<long>> sums;
  for (long round = 0; round < 30; ++round) {
    long const n = 1 + (7 * round) % 23;
    auto const number = host_task("number", ResourcePolicy(graph), [n] { return n; });
    allocate("room", ResourcePolicy(graph), x, number);
    parallel_for("fill", ResourcePolicy(graph, extent(x), write(x), on<Simulated>), Fill{round});
    sums.push_back(
        parallel_reduce("sum", ResourcePolicy(graph, number, read(x), on<Simulated>), Sum()));
    expected += n * round + n * (n - 1) / 2;
  }
  for (auto const& sum : sums) expected -= sum.get();
  EXPECT_EQ(expected, 0);
}

TEST_P(SizesOnSimulated, AreThoseOfEachRoundOfAPlan) {
  auto const line_after = [&](int how) {
    TaskGraph graph;
    Fixed const x("x", 32);
    Line const late("late");
    Kokkos::deep_copy(x, 1L);
    auto const step = [&] {
      auto const n = parallel_reduce("count", ResourcePolicy(graph, 32, read(x), on<Simulated>),
                                     [=](int i, long& s) { s += x(i); })
                         .then([](long s) { return s % 31; });
      parallel_for("a", ResourcePolicy(graph, n, read_write(x), on<Simulated>),
                   [](int i, Fixed const& to) { to(i) += i; });
      parallel_for("b", ResourcePolicy(graph, n, read_write(x), on<Simulated>),
                   [](int i, Fixed const& to) { to(i) = to(i) * 3 % 101; });
      parallel_for("c", ResourcePolicy(graph, 32, value(n), read_write(x), on<Simulated>),
                   [](int i, long k, Fixed const& to) { to(i) += k; });
      parallel_for("d", ResourcePolicy(graph, 32, value(n), read_write(x), on<Simulated>),
                   [](int i, long k, Fixed const& to) { to(i) ^= k; });
      allocate("room", ResourcePolicy(graph), late, n);
      parallel_for("fill", ResourcePolicy(graph, extent(late), write(late), on<Simulated>),
                   Fill{2});
      parallel_for("use",
                   ResourcePolicy(graph, extent(late), read(late), read_write(x), on<Simulated>),
                   [](int i, Line::read_view const& from, Fixed const& to) { to(i) += from(i); });
    };
    if (how == 0)
      for (int k = 0; k < 7; ++k) step();
    else if (how == 1)
      graph.replay(graph.record("plan", step), 7);
    else
      graph.iterate("loop", 7, step);
    graph.wait();
    return contents(x);
  };
  auto const expected = line_after(0);
  EXPECT_EQ(line_after(1), expected);
  EXPECT_EQ(line_after(2), expected);
}

/// Two kernels behind each other, which a graph of the device could stand for if they were the same
/// in each round.
TEST_P(SizesOnSimulated, NoGraphOfTheDeviceStandsForThem) {
  TaskGraph graph;
  Fixed const x("x", 32);
  Line const late("late");
  allocate("first", ResourcePolicy(graph), late, 3);  // so that all could be captured
  graph.wait();
  Token const counter("counter");
  int n = 3;
  Plan const plan = graph.record("plan", [&] {
    auto const next =
        host_task("next", ResourcePolicy(graph, read_write(counter)), [&n] { return n += 2; });
    allocate("room", ResourcePolicy(graph), late, next);
    parallel_for("fill", ResourcePolicy(graph, extent(late), write(late), on<Simulated>), Fill{2});
    parallel_for("use",
                 ResourcePolicy(graph, extent(late), read(late), read_write(x), on<Simulated>),
                 [](int i, Line::read_view const& from, Fixed const& to) { to(i) += from(i); });
  });
  graph.replay(plan, 9);
  graph.wait();
  Longs expected(32, 0);
  for (int length = 5; length <= 21; length += 2)
    for (int i = 0; i < length; ++i) expected[static_cast<std::size_t>(i)] += 2 + i;
  EXPECT_EQ(contents(x), expected);
}

TEST_P(SizesOnSimulated, ABatchHasTheRangesOfItsMembers) {
  TaskGraph graph;
  std::vector<Fixed> all;
  std::vector<Future<void>> done;
  for (int k = 0; k < 16; ++k) all.emplace_back("x", 16);
  for (int k = 0; k < 16; ++k) {
    auto const number = host_task("number", ResourcePolicy(graph), [k] { return k == 9 ? -1 : k; });
    done.push_back(
        parallel_for("fill " + std::to_string(k),
                     ResourcePolicy(graph, number, write(all[static_cast<std::size_t>(k)]),
                                    on<Simulated>, fusable),
                     [](int i, Fixed const& to) { to(i) = i + 1; }));
  }
  for (std::size_t k = 0; k < 16; ++k) {
    if (k == 9)
      EXPECT_THAT(message_of([&] { done[k].get(); }),
                  testing::AllOf(testing::HasSubstr("\"fill 9\""),
                                 testing::HasSubstr("has the negative range -1")));
    else
      done[k].get();
  }
  message_of([&] { graph.wait(); });
  for (std::size_t k = 0; k < 16; ++k) {
    Longs expected(16, 0);
    for (std::size_t i = 0; i < k && k != 9; ++i) expected[i] = static_cast<long>(i) + 1;
    EXPECT_EQ(contents(all[k]), expected) << k;
  }
}

TEST_P(SizesOnSimulated, WhatCannotBeLaunchedLeavesTheDeviceWell) {
  TaskGraph graph;
  Line const x("x");
  auto const fill =
      parallel_for("fill", ResourcePolicy(graph, 3, write(x), on<Simulated>), Fill{1});
  EXPECT_THAT(message_of([&] { fill.get(); }),
              testing::AllOf(testing::HasSubstr("task \"fill\""),
                             testing::HasSubstr("the LateView \"x\" has no memory")));
  message_of([&] { graph.wait(); });
  auto const minus = host_task("minus", ResourcePolicy(graph), [] { return -4; });
  auto const negative = parallel_reduce("sum", ResourcePolicy(graph, minus, on<Simulated>),
                                        [](int, long& s) { s += 1; });
  EXPECT_THAT(message_of([&] { negative.get(); }), testing::HasSubstr("has the negative range -4"));
  message_of([&] { graph.wait(); });
  allocate("room", ResourcePolicy(graph), x, 3);
  parallel_for("fill", ResourcePolicy(graph, 3, write(x), on<Simulated>), Fill{1});
  graph.wait();
  EXPECT_EQ(contents(x.managed()), (Longs{1, 2, 3}));
}

}  // namespace device_sizes
}  // namespace
}  // namespace trellis::Test
