// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Devices that fail.
#include "Devices.hpp"

namespace trellis::Test {
namespace {

using testing::HasSubstr;

class Failure : public EitherTime {
 protected:
  std::shared_ptr<SimulatedClock> clock = make_clock();
  SimulatedDevice device{{.number = 3, .clock = clock}};

  static void await_failure(SimulatedDevice& failing, Event const& event) {
    EXPECT_THAT(message_of([&] { wait(event, failing); }), HasSubstr("has failed"))
        << failing.options().number;
  }
};
INSTANTIATE_TEST_SUITE_P(Time, Failure, testing::Bool(), name_of_time);

TEST_P(Failure, WorkThatThrowsFailsTheDevice) {
  Stream const a(device), b(device);
  Gate gate;
  bool behind = false;
  a.launch("bad", 10, [&] {
    if (!is_virtual()) gate.pass();
    throw std::runtime_error("illegal address");
  });
  Event const event(a);
  join(b, a);
  a.launch([&] { behind = true; });
  b.launch([&] { behind = true; });
  gate.open();
  std::string const text =
      "Trellis: Simulated device 3 has failed: \"bad\" failed: illegal address";
  EXPECT_EQ(message_of([&] { wait(event, device); }), text);
  EXPECT_FALSE(behind);
  EXPECT_TRUE(device.has_failed());
  EXPECT_EQ(message_of([&] { a.launch("more"); }), text);
  EXPECT_EQ(message_of([&] { Event const more(b); }), text);
  EXPECT_EQ(message_of([&] { device.enqueue_wait(b, event); }), text);
  EXPECT_EQ(message_of([&] { (void)event.has_passed(); }), text);
  EXPECT_EQ(message_of([&] { device.synchronize(); }), text);
  EXPECT_EQ(message_of([&] { device.begin_capture(b); }), text);
  EXPECT_EQ(message_of([&] { device.make_instance(); }), text);
  EXPECT_THAT(texts(device, {Kind::error}), testing::ElementsAre(HasSubstr("illegal address")));
}

TEST_P(Failure, AnExceptionThatIsNone) {
  Stream const stream(device);
  stream.launch([] { throw 5; });
  EXPECT_THAT(message_of([&] { device.synchronize(); }),
              HasSubstr("an exception that is no std::exception"));
}

TEST_P(Failure, ADeviceThatWaitsForAFailedOneFailsToo) {
  SimulatedDevice other({.number = 4, .clock = clock}), third({.number = 5, .clock = clock});
  Stream const here(device), there(other), elsewhere(third);
  Gate gate;
  bool behind = false, beside = false;
  here.launch([&] {
    if (!is_virtual()) gate.pass();
    throw std::runtime_error("boom");
  });
  join(there, here);
  there.launch([&] { behind = true; });
  Event const event(there);
  elsewhere.launch([&] { beside = true; });
  gate.open();
  await_failure(other, event);
  EXPECT_THAT(
      message_of([&] { other.synchronize(); }),
      HasSubstr(
          "Simulated device 4 has failed: it waited for an event of Simulated device 3, which "
          "has failed: \"work\" failed: boom"));
  EXPECT_FALSE(behind);
  third.synchronize();
  EXPECT_TRUE(beside);
}

TEST_P(Failure, AnInjectedFailureIsThereAtOnce) {
  Stream const stream(device);
  Event const event(stream);
  device.fail("fell off the bus");
  EXPECT_THAT(message_of([&] { (void)event.has_passed(); }), HasSubstr("fell off the bus"));
  device.fail("again");
  EXPECT_THAT(message_of([&] { device.synchronize(); }), HasSubstr("fell off the bus"))
      << "the first one";
}

TEST_P(Failure, AfterAResetTheDeviceGoesOn) {
  Stream const a(device), b(device);
  a.launch("bad", -1, [] { throw std::runtime_error("boom"); });
  EXPECT_THROW(device.synchronize(), SimulatedDeviceError);
  device.reset();
  EXPECT_FALSE(device.has_failed());
  int value = 0;
  a.launch([&] { value = 1; });
  join(b, a);
  b.launch([&] { value = 10 * value + 2; });
  device.synchronize();
  EXPECT_EQ(value, 12);
}

TEST_P(Failure, AnEventOfBeforeTheResetDoesNotPass) {
  SimulatedDevice slow({.number = 6, .clock = clock});
  Stream const stream(slow);
  Gate gate;
  stream.launch("long", 1'000'000, [&] {
    if (!is_virtual()) gate.pass();
  });
  Event const event(stream);
  slow.fail("boom");
  slow.reset();
  gate.open();
  EXPECT_THAT(message_of([&] { wait(event, slow); }),
              HasSubstr("Simulated device 6 was reset before event 0 passed"));
  stream.launch("more");
  slow.synchronize();
}

TEST_P(Failure, InsideAGraph) {
  Stream const a(device), b(device);
  bool fails = true, behind = false;
  device.begin_capture(a);
  join(b, a);
  b.launch("bad", -1, [&] {
    if (fails) throw std::runtime_error("boom");
  });
  join(a, b);
  a.launch([&] { behind = true; });
  void* const graph = device.end_capture(a);
  device.launch_graph(a, graph);
  EXPECT_THAT(message_of([&] { SimulatedDevice::synchronize(a); }),
              HasSubstr("\"bad\" failed: boom"));
  EXPECT_FALSE(behind);
  EXPECT_THROW(device.launch_graph(a, graph), SimulatedDeviceError);
  device.reset();
  device.release_graph(graph);
}

TEST(FailureTime, TheHostSeesItWhenTheWorkIsOver) {
  SimulatedDevice device({.virtual_time = true, .launch_latency = 10});
  Stream const a(device), b(device);
  a.launch("bad", 500, [] { throw std::runtime_error("boom"); });
  bool beside = false;
  b.launch([&] { beside = true; });
  Event const event(a);
  EXPECT_FALSE(device.has_failed());
  EXPECT_FALSE(event.has_passed());
  EXPECT_TRUE(beside);
  device.host_is_idle();
  EXPECT_EQ(device.clock().now(), 510);
  EXPECT_TRUE(device.has_failed());
  EXPECT_THROW((void)event.has_passed(), SimulatedDeviceError);
}

}  // namespace
}  // namespace trellis::Test
