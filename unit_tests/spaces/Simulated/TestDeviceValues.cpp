// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Values of futures as arguments of kernels, and cancellation, on simulated devices.
#include "Devices.hpp"

#include <Simulated/Trellis_SpaceSimulated.hpp>
#include <Trellis.hpp>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace trellis::Test {
namespace {

using ValueLine = Kokkos::View<long*, SimulatedSpace>;

class ValuesOnSimulated : public EitherTime {
 protected:
  void SetUp() override {
    Simulated::configure({.virtual_time = is_virtual(), .launch_is_slow = true}, 2);
  }
  void TearDown() override { Simulated::configure({}); }
  static long at(ValueLine const& line, int i) {
    return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), line)(i);
  }
};
INSTANTIATE_TEST_SUITE_P(Time, ValuesOnSimulated, testing::Bool(), name_of_time);

TEST_P(ValuesOnSimulated, ReachKernelsThatAreNotLaunchedBefore) {
  TaskGraph graph;
  ValueLine const x("x", 4);
  std::atomic<bool> goes{false};
  auto const number = host_task("number", ResourcePolicy(graph), [&] {
    while (!goes) std::this_thread::yield();
    return 5L;
  });
  parallel_for(
      "fill", ResourcePolicy(graph, 4, value(number), write(x), on<Simulated>),
      KOKKOS_LAMBDA(int i, long n, ValueLine const& to) { to(i) = n * i; });
  goes = true;
  auto const sum = parallel_reduce(
      "sum", ResourcePolicy(graph, 4, read(x), on<Simulated>),
      KOKKOS_LAMBDA(int i, long& s) { s += x(i); });
  parallel_for(
      "add", ResourcePolicy(graph, 4, read_write(x), value(sum), value(number), on<Simulated>),
      KOKKOS_LAMBDA(int i, ValueLine const& to, long s, long n) { to(i) += s + n; });
  graph.wait();
  EXPECT_EQ(sum.get(), 30);
  EXPECT_EQ(at(x, 3), 15 + 30 + 5);
}

/// Somebody asks the device how far it is, though a body that runs again keeps the only worker
/// busy.
TEST_P(ValuesOnSimulated, PollsDoNotKeepDevicesWaiting) {
  for (int const workers : {1, 2}) {
    TaskGraphOptions options;
    options.workers = workers;
    TaskGraph graph(options);
    ValueLine const x("x", 4);
    std::atomic<bool> happened{false};
    auto const poll = host_task("poll", ResourcePolicy(graph), [&](TaskScope& self) {
      if (!happened) self.respawn();
    });
    auto const fill = parallel_for(
        "fill", ResourcePolicy(graph, 4, write(x), on<Simulated>),
        KOKKOS_LAMBDA(int i, ValueLine const& to) { to(i) = i; });
    host_task("event", ResourcePolicy(graph, after(fill)), [&] { happened = true; });
    poll.get();
    graph.wait();
  }
}

TEST_P(ValuesOnSimulated, AreThoseOfEachRoundOfAPlan) {
  auto const line_after = [&](bool planned) {
    TaskGraph graph;
    ValueLine const x("x", 4);
    Kokkos::deep_copy(x, 1L);
    auto const step = [&] {
      auto const sum = parallel_reduce(
          "sum", ResourcePolicy(graph, 4, read(x), on<Simulated>),
          KOKKOS_LAMBDA(int i, long& s) { s += x(i); });
      auto const half = sum.then([](long s) { return s / 2; });
      parallel_for(
          "add", ResourcePolicy(graph, 4, value(half), read_write(x), on<Simulated>),
          KOKKOS_LAMBDA(int i, long s, ValueLine const& to) { to(i) += s + i; });
    };
    if (planned)
      graph.replay(graph.record("plan", step), 6);
    else
      for (int k = 0; k < 6; ++k) step();
    graph.wait();
    return std::vector<long>{at(x, 0), at(x, 3)};
  };
  EXPECT_EQ(line_after(true), line_after(false));
}

TEST_P(ValuesOnSimulated, WithoutItsValueAKernelIsCancelledAndTheDeviceIsWell) {
  TaskGraph graph;
  ValueLine const x("x", 4);
  auto const bad =
      host_task("bad", ResourcePolicy(graph), []() -> long { throw std::runtime_error("boom"); });
  auto const submit = [&] {
    return parallel_for(
        "fill", ResourcePolicy(graph, 4, value(bad), write(x), on<Simulated>),
        KOKKOS_LAMBDA(int i, long n, ValueLine const& to) { to(i) = n + 1; });
  };
  for (int k = 0; k < 2; ++k) {  // the second time the failure has been reported
    auto const future = submit();
    try {
      future.get();
      ADD_FAILURE();
    } catch (Error const& error) {
      EXPECT_EQ(error.kind(), Error::Kind::cancelled);
      EXPECT_THAT(error.what(), testing::HasSubstr("boom"));
    }
    EXPECT_THROW(graph.wait(), Error);
  }
  parallel_for(
      "well", ResourcePolicy(graph, 4, write(x), on<Simulated>),
      KOKKOS_LAMBDA(int i) { x(i) = i; });
  graph.wait();
  EXPECT_EQ(at(x, 3), 3);
}

TEST_P(ValuesOnSimulated, APendingKernelThatIsCancelledIsNotLaunched) {
  TaskGraph graph;
  ValueLine const x("x", 4), y("y", 4);
  std::atomic<bool> goes{false};
  auto const gate = host_task("gate", ResourcePolicy(graph), [&] {
    while (!goes) std::this_thread::yield();
  });
  auto const first = parallel_for(
      "first", ResourcePolicy(graph, 4, write(x), after(gate), on<Simulated>),
      KOKKOS_LAMBDA(int i) { x(i) = 1; });
  auto const second = parallel_for(
      "second", ResourcePolicy(graph, 4, read_write(x), on<Simulated>),
      KOKKOS_LAMBDA(int i) { x(i) += 1; });
  auto const other = parallel_for(
      "other", ResourcePolicy(graph, 4, write(y), after(gate), on<Simulated>),
      KOKKOS_LAMBDA(int i) { y(i) = 1; });
  graph.cancel(first);
  goes = true;
  for (Future<void> const& each : {first, second}) try {
      each.get();
      ADD_FAILURE();
    } catch (Error const& error) {
      EXPECT_EQ(error.kind(), Error::Kind::cancelled) << error.what();
    }
  other.get();
  graph.wait();
  EXPECT_EQ(at(x, 0), 0);
  EXPECT_EQ(at(y, 0), 1);
}

}  // namespace
}  // namespace trellis::Test
