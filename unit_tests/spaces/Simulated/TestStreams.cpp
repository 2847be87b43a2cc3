// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Streams and events of a simulated device: order, waits, and what the log says of them.
#include "Devices.hpp"

#include <random>

namespace trellis::Test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Streams : public EitherTime {
 protected:
  std::shared_ptr<SimulatedClock> clock = make_clock();
  SimulatedDevice device{{.number = 0, .clock = clock}};
  SimulatedDevice other{{.number = 1, .clock = clock}};
};
INSTANTIATE_TEST_SUITE_P(Time, Streams, testing::Bool(), name_of_time);

TEST_P(Streams, AStreamKeepsTheOrder) {
  Stream const stream(device);
  std::vector<int> order;
  for (int k = 0; k < 100; ++k) stream.launch([&order, k] { order.push_back(k); });
  Event const event(stream);
  EXPECT_TRUE(wait(event, device));
  ASSERT_EQ(order.size(), 100u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_P(Streams, AStreamWaitsForTheEventOfAnother) {
  Stream const a(device), b(device);
  int value = 0;
  a.launch([&] { value = 1; });
  join(b, a);  // the wait outlives the event's handle
  b.launch([&] { value = 10 * value + 2; });
  join(a, b);
  a.launch([&] { value = 10 * value + 3; });
  SimulatedDevice::synchronize(a);
  EXPECT_EQ(value, 123);
}

TEST_P(Streams, DevicesWithOneClockWaitForEachOther) {
  EXPECT_TRUE(device.can_wait_for(other));
  EXPECT_TRUE(device.can_wait_for(device));
  SimulatedDevice const stranger({.clock = make_clock()});
  EXPECT_FALSE(device.can_wait_for(stranger));
  Stream const here(device), there(other);
  int value = 0;
  here.launch([&] { value = 1; });
  join(there, here);
  there.launch([&] { value = 10 * value + 2; });
  join(here, there);
  here.launch([&] { value = 10 * value + 3; });
  device.synchronize();
  EXPECT_EQ(value, 123);
  EXPECT_THAT(texts(other, {Kind::wait_event}),
              ElementsAre("wait_event stream 0 event 0 of device 0"));
}

TEST_P(Streams, AnEventOfAnotherClockIsRefused) {
  SimulatedDevice stranger({.name = "Stranger", .number = 4, .clock = make_clock()});
  Stream const here(device), there(stranger);
  Event const event(there);
  EXPECT_THAT(
      message_of([&] { device.enqueue_wait(here, event); }),
      HasSubstr("stream 0 of Simulated device 0 cannot wait for an event of Stranger device 4"));
}

TEST_P(Streams, AUsersStreamIsTheSameQueue) {
  auto const users = std::make_unique<Stream>(device);
  Stream const another(device);
  void* const copy = device.copy_instance(*users);
  EXPECT_TRUE(device.same_queue(*users, copy));
  EXPECT_FALSE(device.same_queue(another, copy));
  EXPECT_EQ(SimulatedDevice::stream_number(copy), 0);
  EXPECT_EQ(device.live_streams(), 3);
  int value = 0;
  users->launch([&] { value = 1; });
  SimulatedDevice::launch(copy, {[&] { value = 10 * value + 2; }, "work"});
  SimulatedDevice::synchronize(*users);
  EXPECT_EQ(value, 12);
  device.destroy_instance(copy);
  EXPECT_EQ(device.live_streams(), 2);
}

TEST_P(Streams, TheLogSaysWhatTheDeviceWasAskedAndWhatTheHostWaitedFor) {
  {
    Stream const a(device), b(device);
    a.launch("first");
    Event const event(a);
    device.enqueue_wait(b, event);
    SimulatedDevice::copy(b, 64, SimulatedCopy::to_host, [] {}, "back");
    for (SimulatedRecord const& record : device.log()) EXPECT_FALSE(record.blocks_the_host());
    SimulatedDevice::synchronize(b);
    EXPECT_TRUE(event.has_passed());
  }
  EXPECT_THAT(
      texts(device),
      ElementsAre("make_stream stream 0", "make_stream stream 1", "launch \"first\" stream 0",
                  "record_event stream 0 event 0", "wait_event stream 1 event 0",
                  "copy \"back\" stream 1 64 bytes", "synchronize stream 1",
                  "query \"passed\" event 0", "release_event event 0", "destroy_stream stream 1",
                  "destroy_stream stream 0"));
  EXPECT_EQ(device.log().at(2).thread, std::this_thread::get_id());
  EXPECT_EQ(device.live_streams(), 0);
  EXPECT_EQ(device.live_events(), 0);
  device.clear_log();
  EXPECT_TRUE(device.log().empty());
  SimulatedDevice silent({.clock = clock, .log = false});
  Stream const stream(silent);
  EXPECT_TRUE(silent.log().empty());
}

TEST_P(Streams, AnUnansweredQuestionIsLoggedOnce) {
  SimulatedDevice slow({.clock = clock, .kernel_units = is_virtual() ? 100. : 2'000'000.});
  Stream const stream(slow);
  stream.launch("work");
  Event const event(stream);
  EXPECT_FALSE(event.has_passed());
  EXPECT_FALSE(event.has_passed());
  EXPECT_TRUE(wait(event, slow));
  EXPECT_THAT(texts(slow, {Kind::query}),
              ElementsAre("query \"not yet\" event 0", "query \"passed\" event 0"));
}

TEST_P(Streams, ATimeIsAskedOfTimedEventsThatHavePassed) {
  SimulatedDevice slow({.clock = clock, .kernel_units = 1'000'000});
  Stream const stream(slow);
  Event const before(stream, true);
  stream.launch("work");
  Event const after(stream, true), untimed(stream);
  EXPECT_THAT(message_of([&] { (void)slow.nanoseconds_between(before, after); }),
              HasSubstr("of Simulated device 0 has no time, it has not passed"));
  EXPECT_TRUE(wait(after, slow));
  EXPECT_GE(slow.nanoseconds_between(before, after), 1'000'000);
  if (is_virtual()) {
    EXPECT_EQ(slow.nanoseconds_between(before, after), 1'000'000);
  }
  EXPECT_THAT(message_of([&] { (void)slow.nanoseconds_between(before, untimed); }),
              HasSubstr("event 2 of Simulated device 0 has no time, it was recorded without"));
}

TEST_P(Streams, WorkCannotUseADevice) {
  Stream const stream(device);
  std::string message;
  stream.launch([&] { message = message_of([&] { stream.launch("inner"); }); });
  device.synchronize();
  EXPECT_THAT(message, HasSubstr("work of a simulated device cannot use a simulated device"));
}

// Random waits between random streams of two devices against the order of the calls.
TEST_P(Streams, RandomProgramsGiveWhatTheOrderOfTheCallsGives) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<std::unique_ptr<Stream>> streams;
    for (int k = 0; k < 4; ++k)
      streams.push_back(std::make_unique<Stream>(k % 2 == 0 ? device : other));
    std::vector<long> values(6, 0), expected(6, 0);
    std::vector<std::unique_ptr<Event>> last(values.size());  // of whoever touched it
    for (int k = 0; k < 100; ++k) {
      Stream const& stream = *streams[random() % streams.size()];
      std::size_t const to = random() % values.size(), from = random() % values.size();
      auto const step = [=](std::vector<long>& all) {
        all[to] = (3 * all[to] + all[from] + k) % 1'000'003;
      };
      step(expected);
      for (std::size_t const each : {to, from})
        if (last[each] != nullptr) stream.device().enqueue_wait(stream, *last[each]);
      stream.launch([&values, step] { step(values); });
      for (std::size_t const each : {to, from}) last[each] = std::make_unique<Event>(stream);
    }
    for (auto const& stream : streams) SimulatedDevice::synchronize(*stream);
    ASSERT_EQ(values, expected) << "seed " << seed;
  }
}

TEST(RealStreams, DifferentStreamsRunAtTheSameTime) {
  SimulatedDevice device;
  Stream const a(device), b(device);
  Gate here, there;
  bool met = false;
  a.launch([&] {
    here.open();
    met = there.pass();
  });
  b.launch([&] {
    here.pass();
    there.open();
  });
  device.synchronize();
  EXPECT_TRUE(met);
}

TEST(RealStreams, ALaunchReturnsBeforeTheWorkIsDone) {
  SimulatedDevice device;
  Stream const stream(device);
  Gate gate;
  stream.launch([&] { gate.pass(); });
  Event const event(stream);
  EXPECT_FALSE(event.has_passed());
  gate.open();
  EXPECT_TRUE(wait(event, device));
}

TEST(RealStreams, CostsAreTimeThatGoesBy) {
  SimulatedDevice device(
      {.launch_latency = 300'000, .start_overhead = 400'000, .concurrent_kernels = 1});
  Stream const a(device), b(device);
  SimulatedClock& clock = device.clock();
  std::int64_t const start = clock.now();
  a.launch("a", 2'000'000);
  EXPECT_GE(clock.now() - start, 300'000);
  b.launch("b", 1'000'000);
  device.synchronize();
  EXPECT_GE(clock.now() - start, 3'700'000) << "there is room for one of them";
  EXPECT_GE(device.busy(0), 2'000'000);
  EXPECT_GE(device.busy(1), 1'000'000);
  EXPECT_GE(device.busy(), 3'000'000);
}

TEST(RealStreams, ThePlaceForOneKernelIsHeldByOne) {
  SimulatedDevice device({.concurrent_kernels = 1});
  std::vector<std::unique_ptr<Stream>> streams;
  for (int k = 0; k < 4; ++k) streams.push_back(std::make_unique<Stream>(device));
  std::atomic<int> here{0}, most{0};
  for (int k = 0; k < 100; ++k)
    streams[static_cast<std::size_t>(k % 4)]->launch([&] {
      int const now = ++here;
      if (now > most) most = now;
      std::this_thread::yield();
      --here;
    });
  device.synchronize();
  EXPECT_EQ(most, 1);
}

TEST(RealStreams, SeveralThreadsMayUseADevice) {
  SimulatedDevice device;
  std::atomic<int> done{0};
  auto const use = [&] {
    Stream const a(device), b(device);
    for (int k = 0; k < 100; ++k) {
      a.launch([&] { ++done; });
      join(b, a);
      b.launch([&] { ++done; });
      join(a, b);
    }
    Event const event(a);
    EXPECT_TRUE(wait(event, device));
  };
  std::vector<std::thread> threads;
  for (int k = 0; k < 3; ++k) threads.emplace_back(use);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done, 600);
  EXPECT_EQ(device.live_streams(), 0);
}

}  // namespace
}  // namespace trellis::Test
