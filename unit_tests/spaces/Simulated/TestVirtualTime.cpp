// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Times in virtual time, computed by hand.
#include "Devices.hpp"

namespace trellis::Test {
namespace {

using testing::HasSubstr;

class VirtualTime : public testing::Test {
 protected:
  std::shared_ptr<SimulatedClock> clock = virtual_clock();
};

TEST_F(VirtualTime, OneStream) {
  SimulatedDevice device({.clock = clock, .launch_latency = 5, .start_overhead = 3});
  Stream const stream(device);
  stream.launch("a", 100);  // launched at 5
  stream.launch("b", 10);   // launched at 10
  EXPECT_EQ(clock->now(), 10);
  Event const event(stream);
  EXPECT_FALSE(event.has_passed());
  EXPECT_TRUE(wait(event, device));
  EXPECT_EQ(times(device, "a"), Times(8, 108));
  EXPECT_EQ(times(device, "b"), Times(108, 118)) << "a busy stream hides the overhead";
  EXPECT_EQ(clock->now(), 118);
  EXPECT_EQ(clock->makespan(), 118);
  EXPECT_EQ(device.busy(0), 110);
  EXPECT_EQ(device.busy(), 110);
  EXPECT_DOUBLE_EQ(device.utilisation(), 110. / 118);
}

TEST_F(VirtualTime, TheHostIsTheBottleneckOfSmallKernels) {
  SimulatedDevice device({.clock = clock, .launch_latency = 10, .kernel_units = 4});
  Stream const stream(device);
  for (int k = 0; k < 100; ++k) stream.launch("small");
  clock->finish();
  EXPECT_EQ(clock->now(), 100 * 10 + 4);
  EXPECT_EQ(device.busy(), 400);
}

TEST_F(VirtualTime, WorkIsDoneInsideTheLaunch) {
  SimulatedDevice device({.clock = clock, .kernel_units = 1000});
  Stream const stream(device);
  bool done = false;
  stream.launch([&] { done = true; });
  EXPECT_TRUE(done);
  EXPECT_EQ(clock->now(), 0);
  Event const event(stream);
  EXPECT_FALSE(event.has_passed()) << "for the host it is not done yet";
  clock->spend(999);
  EXPECT_FALSE(event.has_passed());
  clock->spend(1);
  EXPECT_TRUE(event.has_passed());
}

TEST_F(VirtualTime, StreamsOverlapAndAJoinWaitsForTheLater) {
  SimulatedDevice device({.clock = clock, .launch_latency = 1});
  Stream const a(device), b(device);
  a.launch("a", 50);  // 1 .. 51
  b.launch("b", 70);  // 2 .. 72
  join(a, b);
  a.launch("c", 10);
  device.synchronize();
  EXPECT_EQ(times(device, "a"), Times(1, 51));
  EXPECT_EQ(times(device, "b"), Times(2, 72));
  EXPECT_EQ(times(device, "c"), Times(72, 82));
  EXPECT_EQ(device.busy(0), 60);
  EXPECT_EQ(device.busy(1), 70);
  EXPECT_EQ(device.busy(), 81) << "one or two at a time from 1 to 82";
}

TEST_F(VirtualTime, RoomGoesToWhoIsReadyFirst) {
  SimulatedDevice device({.clock = clock, .concurrent_kernels = 2});
  Stream const a(device), b(device), c(device), d(device);
  a.launch("a", 10);
  b.launch("b", 30);
  join(c, b);
  c.launch("c", 5);  // enqueued before d, ready after it
  d.launch("d", 100);
  device.synchronize();
  EXPECT_EQ(times(device, "a"), Times(0, 10));
  EXPECT_EQ(times(device, "b"), Times(0, 30));
  EXPECT_EQ(times(device, "d"), Times(10, 110));
  EXPECT_EQ(times(device, "c"), Times(30, 35));
}

TEST_F(VirtualTime, SpeedAndLink) {
  SimulatedDevice device({.clock = clock,
                          .units_per_ns = 4,
                          .link_bytes_per_ns = 16,
                          .link_latency = 100,
                          .memory_bytes_per_ns = 64});
  Stream const a(device), b(device), c(device);
  SimulatedDevice::copy(a, 1600, SimulatedCopy::from_host, [] {}, "in");      // 200
  SimulatedDevice::copy(b, 3200, SimulatedCopy::from_host, [] {}, "in too");  // 300, the same way
  SimulatedDevice::copy(c, 1600, SimulatedCopy::to_host, [] {}, "out");       // the other way
  a.launch("kernel", 1000);                                                   // 250
  SimulatedDevice::copy(a, 6400, SimulatedCopy::inside, [] {}, "inside");     // 100
  device.synchronize();
  EXPECT_EQ(times(device, "in"), Times(0, 200));
  EXPECT_EQ(times(device, "in too"), Times(200, 500));
  EXPECT_EQ(times(device, "out"), Times(0, 200));
  EXPECT_EQ(times(device, "kernel"), Times(200, 450));
  EXPECT_EQ(times(device, "inside"), Times(450, 550));
}

TEST_F(VirtualTime, DevicesOfOneMachine) {
  SimulatedDevice fast({.number = 0, .clock = clock, .launch_latency = 2, .units_per_ns = 2});
  SimulatedDevice slow({.number = 1, .clock = clock, .launch_latency = 3});
  Stream const here(fast), there(slow);
  here.launch("a", 100);  // 2 .. 52
  join(there, here);
  there.launch("b", 100);  // launched at 5; 52 .. 152
  Event const event(there);
  join(here, there);
  here.launch("c", 100);  // 152 .. 202
  Event const last(here);
  EXPECT_FALSE(event.has_passed());
  EXPECT_FALSE(last.has_passed());
  fast.host_is_idle();
  EXPECT_EQ(clock->now(), 152) << "up to the first event that was asked for";
  EXPECT_TRUE(event.has_passed());
  EXPECT_FALSE(last.has_passed());
  slow.host_is_idle();  // any device will do
  EXPECT_EQ(clock->now(), 202);
  EXPECT_TRUE(last.has_passed());
  EXPECT_EQ(times(slow, "b"), Times(52, 152));
  EXPECT_EQ(clock->makespan(), 202);
}

TEST_F(VirtualTime, AnIdleHostThatAskedForNothingStaysWhereItIs) {
  SimulatedDevice device({.clock = clock, .kernel_units = 100});
  Stream const stream(device);
  stream.launch("work");
  Event const event(stream);
  device.host_is_idle();
  EXPECT_EQ(clock->now(), 0);
  EXPECT_FALSE(event.has_passed());
  clock->spend(200);
  device.host_is_idle();
  EXPECT_EQ(clock->now(), 200) << "it has passed meanwhile, and will be asked for again";
  EXPECT_TRUE(event.has_passed());
  {
    stream.launch("more");
    Event const dropped(stream);
    EXPECT_FALSE(dropped.has_passed());
  }
  device.host_is_idle();
  EXPECT_EQ(clock->now(), 200);
}

TEST_F(VirtualTime, TwoRunsAreTheSame) {
  auto const run = [] {
    auto const its_clock = virtual_clock();
    SimulatedDevice device(
        {.clock = its_clock, .launch_latency = 3, .start_overhead = 7, .concurrent_kernels = 2});
    std::vector<std::unique_ptr<Stream>> streams;
    for (int k = 0; k < 5; ++k) streams.push_back(std::make_unique<Stream>(device));
    for (int k = 0; k < 200; ++k) {
      auto const& stream = *streams[static_cast<std::size_t>(k * k % 5)];
      if (k % 3 == 0) join(stream, *streams[static_cast<std::size_t>(k * 7 % 5)]);
      stream.launch("work", (k * 37) % 101);
    }
    its_clock->finish();
    std::vector<std::string> all;
    for (SimulatedRecord const& record : device.log())
      all.push_back(record.text() + " " + std::to_string(record.called) + " " +
                    std::to_string(record.begin) + " " + std::to_string(record.end));
    return all;
  };
  EXPECT_EQ(run(), run());
}

}  // namespace
}  // namespace trellis::Test
