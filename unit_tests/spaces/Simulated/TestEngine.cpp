// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The engine on simulated devices: which stream, which waits, and when, by what the devices have
// been asked.
#include "Kernels.hpp"

#include <Trellis_Recorded.hpp>
#include <Trellis_Scheduling.hpp>

#include <random>

namespace trellis::Test {
namespace {

using namespace Bare;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class DeviceTasks : public EitherTime {
 protected:
  std::shared_ptr<SimulatedClock> clock = make_clock();
  SimulatedDevice device{{.number = 0, .clock = clock, .kernel_units = 1000}};
  SimulatedDevice other{{.name = "Other", .number = 1, .clock = clock, .kernel_units = 1000}};
};
INSTANTIATE_TEST_SUITE_P(Time, DeviceTasks, testing::Bool(), name_of_time);

TEST_P(DeviceTasks, ADiamondTakesTwoStreamsAndTwoWaitsAndNeverBlocksTheHost) {
  TaskGraph graph(with_workers(1));
  Block x("x"), y("y"), z("z");
  Gate gate;
  kernel(graph, device, "top", {writes(x)}, [&] {
    if (!is_virtual()) gate.pass();
    x[0] = 1;
  });
  kernel(graph, device, "left", {reads(x), writes(y)}, [&] { y[0] = x[0] + 1; });
  kernel(graph, device, "right", {reads(x), writes(z)}, [&] { z[0] = x[0] + 2; });
  kernel(graph, device, "bottom", {updates(x), reads(y), reads(z)}, [&] { x[0] += y[0] + z[0]; });
  EXPECT_EQ(stream_of(device, "top"), stream_of(device, "left"));
  EXPECT_NE(stream_of(device, "top"), stream_of(device, "right"));
  EXPECT_EQ(count(device, Kind::make_stream), 2u);
  EXPECT_EQ(count(device, Kind::wait_event), 2u) << "right for top, bottom for left or right";
  if (!is_virtual()) gate.open();
  graph.wait();
  EXPECT_EQ(x[0], 6);
  EXPECT_THAT(texts(device, {Kind::synchronize}), IsEmpty());
  EXPECT_EQ(device.live_events(), 0);
}

TEST_P(DeviceTasks, DevicesWithOneClockKeepTheOrderThemselves) {
  TaskGraph graph(with_workers(1));
  Block x("x");
  Gate gate;
  kernel(graph, device, "here", {writes(x)}, [&] {
    if (!is_virtual()) gate.pass();
    x[0] = 1;
  });
  kernel(graph, other, "there", {updates(x)}, [&] { x[0] = 10 * x[0] + 2; });
  kernel(graph, device, "back", {updates(x)}, [&] { x[0] = 10 * x[0] + 3; });
  EXPECT_NE(stream_of(other, "there"), -1) << "launched before the first is over";
  EXPECT_NE(stream_of(device, "back"), -1);
  EXPECT_THAT(texts(other, {Kind::wait_event}), testing::SizeIs(1));
  if (!is_virtual()) gate.open();
  graph.wait();
  EXPECT_EQ(x[0], 123);
}

TEST_P(DeviceTasks, AFailureOfTheDeviceNamesATaskAndIsThatOfAllBehindIt) {
  TaskGraph graph(with_workers(1));
  Block x("x"), y("y");
  kernel(graph, other, "beside", {writes(y)}, [&] { y[0] = 7; });
  auto const bad =
      kernel(graph, device, "bad", {writes(x)}, [] { throw std::runtime_error("out of range"); });
  auto const behind = kernel(graph, device, "behind", {updates(x)}, [&] { x[0] = 1; });
  auto const host = task(graph, "host", {reads(x)}, [&] { return x[0]; });
  EXPECT_THAT(Bare::message_of([&] { bad.get(); }),
              testing::AllOf(HasSubstr("\"bad\""), HasSubstr("out of range")));
  EXPECT_NE(Bare::message_of([&] { behind.get(); }), "no error");
  EXPECT_NE(Bare::message_of([&] { host.get(); }), "no error");
  EXPECT_THROW(graph.wait(), Error);
  EXPECT_EQ(y[0], 7);
  EXPECT_EQ(x[0], 0);
  EXPECT_TRUE(device.has_failed());
  auto const late = kernel(graph, device, "late", {writes(x)});
  EXPECT_NE(Bare::message_of([&] { late.get(); }), "no error") << "the device stays lost";
  EXPECT_THROW(graph.wait(), Error);
  device.reset();
  kernel(graph, device, "again", {writes(x)}, [&] { x[0] = 5; });
  graph.wait();
  EXPECT_EQ(x[0], 5);
}

TEST_P(DeviceTasks, WhatRunsOnAnotherStreamWhenTheDeviceFailsIsWaitedFor) {
  for (int time = 0; time < (is_virtual() ? 1 : 5); ++time) {
    TaskGraph graph(with_workers(2));
    Block x("x"), y("y"), z("z");
    Gate begun;
    std::atomic<bool> ends{false};
    kernel(graph, device, "long", {writes(x)}, [&] {
      begun.open();
      if (!is_virtual()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      ends = true;
    });
    if (time % 2 == 0) kernel(graph, device, "behind", {updates(x)}, [] {});
    kernel(graph, device, "bad", {writes(y)}, [&] {
      if (!is_virtual()) begun.pass();
      throw std::runtime_error("out of range");
    });
    EXPECT_THROW(graph.wait(), Error);
    EXPECT_TRUE(ends);
    EXPECT_EQ(graph.in_flight(), 0u);
    device.reset();
    kernel(graph, device, "again", {writes(z)}, [&] { z[0] = 5; });
    graph.wait();
    EXPECT_EQ(z[0], 5);
  }
}

TEST_P(DeviceTasks, EachDeviceSaysItselfWhyItFailed) {
  TaskGraph graph(with_workers(1));
  Block x("x"), y("y");
  auto const here =
      kernel(graph, device, "here", {writes(x)}, [] { throw std::runtime_error("out of range"); });
  auto const there =
      kernel(graph, other, "there", {writes(y)}, [] { throw std::runtime_error("no memory"); });
  EXPECT_THAT(Bare::message_of([&] { here.get(); }), HasSubstr("out of range"));
  EXPECT_THAT(Bare::message_of([&] { there.get(); }),
              testing::AllOf(HasSubstr("no memory"), testing::Not(HasSubstr("or later"))));
  EXPECT_THROW(graph.wait(), Error);
}

/// Random programs over the host and two devices against the same steps in order.
TEST_P(DeviceTasks, RandomProgramsGiveWhatTheSerialOrderGives) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    std::mt19937_64 random(seed);
    TaskGraphOptions options = with_workers(1 + static_cast<int>(seed % 3));
    if (seed % 2 == 0) options.policy = make_shake_policy(seed);
    options.streams = 1 + static_cast<int>(seed % 5);
    options.in_flight = seed % 5 == 0 ? 4 : 1000;
    options.record = seed % 4 == 0;
    TaskGraph graph(options);
    std::size_t const size = 12;
    Block x("x", size);
    std::vector<long> expected(size, 0);
    std::vector<Future<void>> futures;
    for (int k = 0; k < 120; ++k) {
      std::size_t const first = random() % size, many = 1 + random() % (size - first);
      std::size_t const from = random() % size;
      bool const overwrites = random() % 3 == 0;
      auto const step = [=](auto& values) {
        long const add = values[from];
        for (std::size_t n = first; n < first + many; ++n)
          values[n] = ((overwrites ? 0 : values[n] * 3) + add + k) % 1'000'003;
      };
      step(expected);
      std::vector<Touch> const touches = {
          reads(x(from, 1)), overwrites ? writes(x(first, many)) : updates(x(first, many))};
      auto const body = [&x, step] { step(x); };
      Properties properties;
      if (random() % 8 == 0 && !futures.empty())
        properties.after = handles(futures[random() % futures.size()]);
      properties.synchronizing = random() % 40 == 0;
      switch (random() % 5) {
        case 0:
          futures.push_back(task(graph, "host", touches, body, properties));
          break;
        case 1:
          futures.push_back(kernel(graph, other, "other", touches, body, -1, properties));
          break;
        default:
          futures.push_back(kernel(graph, device, "kernel", touches, body, -1, properties));
      }
      if (random() % 50 == 0) graph.wait();
    }
    graph.wait();
    for (std::size_t n = 0; n < size; ++n) ASSERT_EQ(x[n], expected[n]) << "seed " << seed;
    ASSERT_EQ(device.live_events(), options.record.value() ? 1 : 0);
    device.clear_log();
    other.clear_log();
  }
  EXPECT_EQ(device.live_events() + other.live_events(), 0);
  EXPECT_EQ(device.live_streams() + other.live_streams(), 0);
}

/// Two buffers: the copy of one goes on beside the kernel on the other, so a step costs the larger
/// of the two.
TEST(DeviceTimes, CopiesAndKernelsOverlap) {
  auto const clock = virtual_clock();
  SimulatedDevice device({.clock = clock, .link_bytes_per_ns = 1});
  TaskGraph graph(with_workers(1));
  Block buffer("buffer", 2), sum("sum");
  for (std::size_t step = 0; step < 10; ++step) {
    task(graph, "copy", {writes(buffer(step % 2, 1))},
         [](void* instance) {
           SimulatedDevice::copy(instance, 1000, SimulatedCopy::from_host, [] {});
         },
         {.space = &device});
    kernel(graph, device, "kernel", {reads(buffer(step % 2, 1)), updates(sum)}, [] {}, 1000);
  }
  graph.wait();
  EXPECT_EQ(clock->makespan(), 11'000) << "10 copies, and the last kernel";
}

TEST(DeviceTimes, IndependentTasksRunSideBySide) {
  auto const clock = virtual_clock();
  SimulatedDevice device({.clock = clock, .concurrent_kernels = 4});
  TaskGraph graph(with_workers(1));
  for (int k = 0; k < 16; ++k) kernel(graph, device, "kernel", {}, [] {}, 1000);
  graph.wait();
  EXPECT_EQ(clock->makespan(), 4000);
}

TEST(DeviceTimes, TheTraceHasTheDevicesTimes) {
  auto const clock = virtual_clock();
  SimulatedDevice device({.clock = clock});
  TaskGraph graph(recorded(1));
  Block x("x");
  kernel(graph, device, "first", {writes(x)}, [] {}, 1000);
  kernel(graph, device, "second", {updates(x)}, [] {}, 500);
  graph.wait();
  auto const trace = graph.trace();
  TaskRecord const& first = trace.graph.node(1);
  TaskRecord const& second = trace.graph.node(2);
  EXPECT_EQ(first.finished_ns - first.started_ns, 1000u);
  EXPECT_EQ(second.started_ns, first.finished_ns);
  EXPECT_EQ(second.finished_ns - second.started_ns, 500u);
}

/// One thread that does the same calls: nothing differs from run to run.
TEST(DeviceTimes, TwoRunsGiveTheSameEvents) {
  auto const run = [] {
    auto const clock = virtual_clock();
    SimulatedDevice device({.clock = clock, .launch_latency = 100, .start_overhead = 50});
    {
      TaskGraph graph(with_workers(1));
      Block x("x", 8);
      std::mt19937_64 random(5);
      for (int k = 0; k < 200; ++k)
        kernel(
            graph, device, "kernel " + std::to_string(k),
            {reads(x(random() % 8, 1)), updates(x(random() % 8, 1))}, [] {},
            static_cast<double>(random() % 1000));
      graph.wait();
    }
    std::vector<std::string> all = texts(device, {Kind::launch, Kind::make_stream});
    all.push_back(std::to_string(clock->makespan()));
    return all;
  };
  auto const once = run();
  EXPECT_EQ(run(), once);
  EXPECT_EQ(run(), once);
}

}  // namespace
}  // namespace trellis::Test
