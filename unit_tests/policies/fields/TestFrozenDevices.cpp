// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Iterations in plans at several places: one block for each, captured graphs, copies, and
// DualViews.
#include "DeviceFields.hpp"

#include <Trellis_Late.hpp>

#include <Kokkos_DualView.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace trellis {
namespace {
namespace frozen_devices {

using namespace Test;
using testing::AllOf;
using testing::HasSubstr;
using HostKernels = Simulated::kernel_space;
using Dual = Kokkos::DualView<double*, Kokkos::LayoutRight, Simulated>;
using Kind = SimulatedRecord::Kind;

constexpr int length = 32;  ///< a device reads as many bytes at a time
constexpr std::size_t bytes = length * sizeof(double);

struct AddOne {
  KOKKOS_FUNCTION void operator()(int k, F::read_view const& from, F::view const& to) const {
    to(k) = from(k) + 1;
  }
};
F line(FieldGraph& model, std::string name) {
  return model.field<double*, Kokkos::LayoutRight>(Label(std::move(name)), length);
}
void add_on(FieldGraph& model, Label label, int number, F const& from, F const& to) {
  // The range is looked up when an iteration is submitted, or recorded, and stays.
  parallel_for(
      std::move(label),
      ResourcePolicy(model, extent(to), read(from), write(to), on<Simulated>, device(number)),
      AddOne());
}
void add_on_host(FieldGraph& model, Label label, F const& from, F const& to) {
  parallel_for(std::move(label),
               ResourcePolicy(model, length, read(from), write(to), on<HostKernels>), AddOne());
}
double last_of(DeviceValues const& values) {
  return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), values)(length - 1);
}
long count(Kind kind) {
  auto const log = Simulated::device(0).log();
  return std::count_if(log.begin(), log.end(),
                       [&](SimulatedRecord const& each) { return each.kind == kind; });
}

class FrozenOnSimulated : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    Simulated::configure({.virtual_time = GetParam(), .kernel_units = 2000, .link_latency = 1000},
                         2);
  }
  void TearDown() override { Simulated::configure({}); }
};
INSTANTIATE_TEST_SUITE_P(, FrozenOnSimulated, testing::Values(false, true), [](auto const& time) {
  return std::string(time.param ? "Virtual" : "Real");
});

TEST_P(FrozenOnSimulated, AreGraphsOfTheDevice) {
  TaskGraph graph(with_workers(1));
  FieldGraph model(graph, {.targets = {gpu(0)}});
  DeviceValues const x("x", length), y("y", length);
  Kokkos::deep_copy(x, 3.0);
  F last = model.bind("x", x);
  for (int k = 0; k < 11; ++k) {
    F const next = k == 10 ? model.bind("y", y) : line(model, "q" + std::to_string(k));
    add_on(model, "link", 0, last, next);
    last = next;
  }
  model.require(last);
  EXPECT_EQ(model.memory(gpu(0)).least_frozen, 2 * bytes);
  EXPECT_EQ(model.memory(gpu(0)).frozen, 2 * bytes);
  Plan const plan = model.record();
  Simulated::device(0).clear_log();
  for (int k = 0; k < 5; ++k) graph.replay(plan);
  graph.wait();
  EXPECT_EQ(last_of(y), 14);
  if (!*graph.options().serial && !*graph.options().record) {
    EXPECT_EQ(count(Kind::launch_graph), 5);
    EXPECT_EQ(count(Kind::launch), 0);
  }
  EXPECT_EQ(count(Kind::allocate), 0);
  EXPECT_EQ(model.pool().counts(gpu(0)).most_held, 2 * bytes);
  // Many rounds are captured as several at a time.
  graph.replay(plan, 64);
  model.submit();
  graph.wait();
  EXPECT_EQ(last_of(y), 14);
}

/// No graph stands for tasks with these.
TEST_P(FrozenOnSimulated, HaveTheArraysOfEachReplay) {
  using Array = LateView<double*, SimulatedSpace>;
  TaskGraph graph(with_workers(1));
  FieldGraph model(graph, {.targets = {gpu(0)}});
  DeviceValues const y("y", length);
  Array const late("late");
  F const q = line(model, "q"), to = model.bind("y", y);
  parallel_for("q", ResourcePolicy(model, length, read(late), write(q), on<Simulated>),
               [](int i, Array::read_view const& from, F::view const& v) { v(i) = from(0); });
  add_on(model, "y", 0, q, to);
  model.require(to);
  auto const renew = [&](int n, double value) {
    allocate("room", ResourcePolicy(graph), late, n);
    parallel_for("fill", ResourcePolicy(graph, extent(late), write(late), on<Simulated>),
                 [=](int, Array::view const& v) { v(0) = value; });
  };
  renew(9, 1);
  Plan const plan = model.record();
  for (int round = 1; round < 6; ++round) {
    renew(round, round);
    graph.replay(plan);
    graph.wait();
    EXPECT_EQ(last_of(y), round + 1);
  }
}

TEST_P(FrozenOnSimulated, HaveOneBlockAtEachPlaceAndCopyInEachRound) {
  TaskGraph graph(with_workers(2));
  FieldGraph model(graph, {.targets = {host, gpu(0), gpu(1)}, .placement = make_order_placement()});
  Values const x("x", length), y("y", length);
  F const from = model.bind("x", x), to = model.bind("y", y);
  F const a = line(model, "a"), b = line(model, "b"), c = line(model, "c");
  add_on(model, "a", 0, from, a);
  add_on_host(model, "b", a, b);
  add_on(model, "c", 1, b, c);
  add_on_host(model, "y", c, to);
  model.require(to);
  Plan const step = graph.record("step", [&] {
    model.submit();
    host_task("x", ResourcePolicy(graph, read(y), write(x)), [=] { Kokkos::deep_copy(x, y); });
  });
  std::vector<FieldPoolCounts> recorded;
  for (FieldTarget const& each : {FieldTarget(host), gpu(0), gpu(1)}) {
    EXPECT_EQ(model.pool().counts(each).live, model.memory(each).persistent);
    EXPECT_GT(model.pool().counts(each).live, 0U);
    recorded.push_back(model.pool().counts(each));
  }
  for (int k = 0; k < 3; ++k) graph.replay(step, 4);
  model.submit();
  graph.wait();
  EXPECT_EQ(x(0), 4 * 12);
  EXPECT_EQ(y(length - 1), 4 * 13);
}

TEST_P(FrozenOnSimulated, ADualViewIsCopiedAsThePlanSaysAndItsFlagsFollow) {
  TaskGraph graph(with_workers(2));
  FieldGraph model(graph, {.targets = {host, gpu(0)}});
  Dual x("x", length), y("y", length);
  Kokkos::deep_copy(x.view_host(), 1.0);
  x.modify_host();
  F const from = model.bind("x", x), to = model.bind("y", y), q = line(model, "q");
  add_on(model, "q", 0, from, q);
  add_on(model, "y", 0, q, to);
  model.require(to);
  // Both sides of y are up to date; after an iteration the one on the device is.
  EXPECT_THAT(message_of([&] { static_cast<void>(model.record()); }),
              AllOf(HasSubstr("the DualView \"y\" ("), HasSubstr("TestFrozenDevices.cpp:"),
                    HasSubstr("up to date on the host"), HasSubstr("submit one iteration before")));
  model.submit();
  graph.wait();
  EXPECT_TRUE(y.need_sync_host());
  y.sync_host();
  EXPECT_EQ(y.view_host()(0), 3);
  y.modify_device();
  // With x newer on the host, the plan copies it in each round.
  x.modify_host();
  Plan const plan = model.record();
  EXPECT_EQ(plan.tasks(), 3U);
  for (int k = 0; k < 4; ++k) {
    Kokkos::deep_copy(x.view_host(), 10.0 * k);
    x.clear_sync_state();
    x.modify_host();
    graph.replay(plan, 2);
    EXPECT_FALSE(x.need_sync_device());
    EXPECT_TRUE(y.need_sync_host());
    graph.wait();
    y.sync_host();
    EXPECT_EQ(y.view_host()(length - 1), 10 * k + 2);
  }
  x.modify_device();
  EXPECT_THAT(message_of([&] { graph.replay(plan); }),
              AllOf(HasSubstr("the DualView \"x\" ("), HasSubstr("on the host"),
                    HasSubstr("sync it before the replay")));
  EXPECT_FALSE(y.need_sync_host());
  x.sync_host();
  graph.replay(plan);
  graph.wait();
  EXPECT_TRUE(y.need_sync_host());
}

TEST_P(FrozenOnSimulated, WaitUntilThePlacementHasSettled) {
  TaskGraph graph(with_workers(1));
  FieldGraph model(graph, {.targets = {host, gpu(0)}, .placement = make_hybrid_placement()});
  Values const x("x", length), y("y", length);
  F const from = model.bind("x", x), to = model.bind("y", y), q = line(model, "q");
  auto const anywhere = [&](Label label, F const& in, F const& out) {
    parallel_for(
        std::move(label),
        ResourcePolicy(model, length, read(in), write(out), runs_on<HostKernels, Simulated>),
        AddOne());
  };
  anywhere("q", from, q);
  anywhere("y", q, to);
  model.require(to);
  if (*graph.options().serial) GTEST_SKIP() << "all tasks are on the host";
  int iterations = 0;
  std::string message;
  for (; iterations < 20; ++iterations) {
    message = message_of([&] {
      Plan const plan = model.record();
      graph.replay(plan, 3);
      graph.wait();
    });
    if (message == "no exception") break;
    EXPECT_THAT(message, AllOf(HasSubstr("placement policy \"hybrid\" still measures"),
                               HasSubstr("submit iterations until")));
    model.submit();
    graph.wait();
  }
  EXPECT_GE(iterations, 4);  // each task twice on each type
  EXPECT_LT(iterations, 20);
  EXPECT_EQ(y(0), 2);
}

/// Reductions, a scan and a copy on the device, which a plan captures.
TEST_P(FrozenOnSimulated, ResultsAreFieldsOfTheDevice) {
  TaskGraph graph(with_workers(1));
  FieldGraph model(graph, {.targets = {host, gpu(0)}});
  Values const x("x", length), y("y", length);
  for (int k = 0; k < length; ++k) x(k) = (k * 7 % length) - 3.0;
  using Scalar = Field<double, Kokkos::LayoutRight>;
  F const from = model.bind("x", x), to = model.bind("y", y);
  F const running = line(model, "running"), copy = line(model, "copy");
  Scalar const sum = model.field<double, Kokkos::LayoutRight>("sum");
  Scalar const most = model.field<double, Kokkos::LayoutRight>("most");
  Scalar const total = model.field<double, Kokkos::LayoutRight>("total");
  parallel_reduce(
      "sum", ResourcePolicy(model, length, read(from), on<Simulated>),
      [](int k, F::read_view const& in, double& value) { value += in(k); }, sum);
  parallel_reduce(
      "most", ResourcePolicy(model, length, read(from), on<Simulated>),
      [](int k, F::read_view const& in, double& value) {
        if (in(k) > value) value = in(k);
      },
      reduced<Kokkos::Max<double>>(most));
  parallel_scan(
      "total", ResourcePolicy(model, length, read(from), write(running), on<Simulated>),
      [](int k, F::read_view const& in, F::view const& out, double& value, bool last) {
        value += in(k);
        if (last) out(k) = value;
      },
      total);
  deep_copy("copy", ResourcePolicy(model, on<Simulated>), copy, running);
  parallel_for("y",
               ResourcePolicy(model, length, read(copy), read(sum), read(most), read(total),
                              write(to), on<Simulated>),
               [](int k, F::read_view const& in, Scalar::read_view const& a,
                  Scalar::read_view const& b, Scalar::read_view const& c,
                  F::view const& out) { out(k) = in(k) + 1000 * a() + 1e6 * b() + 1e9 * c(); });
  model.require(to);
  double all = 0, largest = -1e9;
  std::vector<double> right;
  for (int k = 0; k < length; ++k) {
    all += x(k);
    largest = std::max(largest, x(k));
    right.push_back(all);
  }
  auto const check = [&] {
    graph.wait();
    for (int k = 0; k < length; ++k)
      ASSERT_EQ(y(k), right[static_cast<std::size_t>(k)] + 1000 * all + 1e6 * largest + 1e9 * all);
    Kokkos::deep_copy(y, 0.0);
  };
  model.submit();
  check();
  graph.replay(model.record(), 3);
  check();
}

TEST_P(FrozenOnSimulated, ADeviceThatFailsLeavesNothingBehind) {
  if (GetParam()) GTEST_SKIP() << "in virtual time a function fails inside its launch";
  auto const pool = std::make_shared<FieldPool>();
  {
    TaskGraph graph(with_workers(1));
    FieldGraph model(graph, {.targets = {gpu(0)}, .pool = pool});
    DeviceValues const y("y", length);
    F const q = line(model, "q"), to = model.bind("y", y);
    parallel_for("q", ResourcePolicy(model, length, write(q), on<Simulated>),
                 [](int, F::view const&) { throw std::runtime_error("here"); });
    add_on(model, "y", 0, q, to);
    model.require(to);
    Plan const plan = model.record();
    graph.replay(plan, 3);
    EXPECT_THAT(message_of([&] { graph.wait(); }), HasSubstr("here"));
    Simulated::device(0).reset();
  }
  EXPECT_EQ(pool->counts().live, 0U);
  pool->trim();
  EXPECT_EQ(pool->counts().idle, 0U);
}

}  // namespace frozen_devices
}  // namespace
}  // namespace trellis
