// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Streams that are captured, and the graphs that come of it.
#include "Devices.hpp"

namespace trellis::Test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class Capture : public EitherTime {
 protected:
  std::shared_ptr<SimulatedClock> clock = make_clock();
  SimulatedDevice device{{.number = 0, .clock = clock}};
  std::vector<int> order;
  std::function<void()> add(int value) {
    return [this, value] { order.push_back(value); };
  }
};
INSTANTIATE_TEST_SUITE_P(Time, Capture, testing::Bool(), name_of_time);

TEST_P(Capture, WhatIsCapturedIsDoneWhenTheGraphIsLaunched) {
  Stream const stream(device);
  EXPECT_TRUE(device.begin_capture(stream));
  stream.launch(add(1));
  stream.launch(add(2));
  void* const graph = device.end_capture(stream);
  device.synchronize();
  EXPECT_TRUE(order.empty());
  stream.launch(add(0));
  device.launch_graph(stream, graph);
  device.launch_graph(stream, graph);
  stream.launch(add(9));
  device.synchronize();
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 1, 2, 9));
  EXPECT_EQ(device.live_graphs(), 1);
  device.release_graph(graph);
  EXPECT_EQ(device.live_graphs(), 0);
  EXPECT_THAT(
      texts(device, {Kind::launch, Kind::launch_graph, Kind::begin_capture, Kind::end_capture}),
      ElementsAre("begin_capture stream 0", "launch captured \"work\" stream 0",
                  "launch captured \"work\" stream 0", "end_capture stream 0 graph 0",
                  "launch \"work\" stream 0", "launch_graph stream 0 graph 0",
                  "launch_graph stream 0 graph 0", "launch \"work\" stream 0"));
}

TEST_P(Capture, OtherStreamsJoinByAnEventAndAreJoinedBack) {
  Stream const a(device), b(device), c(device);
  int x = 0, y = 0, z = 0, sum = 0;
  device.begin_capture(a);
  a.launch([&] { x = x + 1; });
  join(b, a);
  join(c, a);
  b.launch([&] { y = 10 * x; });
  c.launch([&] { z = 100 * x; });
  join(a, b);
  join(a, c);
  a.launch([&] { sum += x + y + z; });
  void* const graph = device.end_capture(a);
  for (int k = 0; k < 3; ++k) device.launch_graph(b, graph);
  device.synchronize();
  EXPECT_EQ(sum, 111 + 222 + 333);
  b.launch([&] { y = -1; });
  SimulatedDevice::synchronize(b);
  EXPECT_EQ(y, -1) << "no stream is captured any more";
  device.release_graph(graph);
}

TEST_P(Capture, AStreamThatIsNotJoinedBackIsAnError) {
  Stream const a(device), b(device);
  device.begin_capture(a);
  a.launch("first");
  join(b, a);
  b.launch("lost");
  EXPECT_THAT(
      message_of([&] { device.end_capture(a); }),
      AllOf(HasSubstr("capture of stream 0 of Simulated device 0 ends"),
            HasSubstr("stream 1 of Simulated device 0, which did \"lost\", is not joined")));
  b.launch(add(1));
  device.synchronize();
  EXPECT_THAT(order, ElementsAre(1)) << "the device goes on, without what was captured";
  EXPECT_EQ(device.live_graphs(), 0);
}

TEST_P(Capture, AGraphOfTheSameShapeIsUpdatedInPlace) {
  Stream const a(device), b(device);
  auto const capture = [&](int from, bool fork, void* old) {
    device.begin_capture(a);
    a.launch(add(from));
    if (fork) join(b, a);
    (fork ? b : a).launch(add(from + 1));
    if (fork) join(a, b);
    a.launch(add(from + 2));
    return device.end_capture(a, old);
  };
  void* graph = capture(1, true, nullptr);
  device.launch_graph(a, graph);
  void* const same = capture(11, true, graph);
  EXPECT_EQ(same, graph);
  device.launch_graph(a, graph);
  graph = capture(21, false, graph);
  device.launch_graph(a, graph);
  device.synchronize();
  EXPECT_THAT(order, ElementsAre(1, 2, 3, 11, 12, 13, 21, 22, 23));
  EXPECT_EQ(device.live_graphs(), 1);
  EXPECT_THAT(texts(device, {Kind::end_capture, Kind::update_graph, Kind::release_graph}),
              ElementsAre("end_capture stream 0 graph 0", "update_graph stream 0 graph 0",
                          "release_graph graph 0", "end_capture stream 0 graph 1"));
  device.release_graph(graph);
}

TEST_P(Capture, AGraphMayBeReleasedWhileItRuns) {
  Stream const stream(device);
  device.begin_capture(stream);
  for (int k = 0; k < 50; ++k) stream.launch(add(k));
  void* const graph = device.end_capture(stream);
  device.launch_graph(stream, graph);
  device.release_graph(graph);
  device.synchronize();
  EXPECT_EQ(order.size(), 50u);
}

TEST_P(Capture, AGraphBecomesPartOfAnother) {
  Stream const a(device), b(device);
  device.begin_capture(a);
  a.launch(add(2));
  a.launch(add(3));
  void* const inner = device.end_capture(a);
  device.begin_capture(b);
  b.launch(add(1));
  device.launch_graph(b, inner);
  b.launch(add(4));
  void* const outer = device.end_capture(b);
  device.release_graph(inner);
  device.launch_graph(a, outer);
  device.synchronize();
  EXPECT_THAT(order, ElementsAre(1, 2, 3, 4));
  device.release_graph(outer);
}

TEST_P(Capture, AGraphSpansDevices) {
  SimulatedDevice other({.number = 1, .clock = clock});
  Stream const here(device), there(other);
  device.begin_capture(here);
  here.launch(add(1));
  join(there, here);
  there.launch(add(2));
  join(here, there);
  here.launch(add(3));
  void* const graph = device.end_capture(here);
  device.launch_graph(here, graph);
  device.launch_graph(here, graph);
  device.synchronize();
  EXPECT_THAT(order, ElementsAre(1, 2, 3, 1, 2, 3));
  EXPECT_THAT(texts(other, {Kind::graph_node}), testing::SizeIs(2));
  EXPECT_THAT(
      message_of([&] { other.launch_graph(there, graph); }),
      HasSubstr("graph 0 begins on Simulated device 0, so it cannot be launched on stream 0 of "
                "Simulated device 1"));
  device.release_graph(graph);
}

TEST_P(Capture, AnEmptyCaptureIsAGraph) {
  Stream const stream(device);
  device.begin_capture(stream);
  void* const graph = device.end_capture(stream);
  device.launch_graph(stream, graph);
  device.synchronize();
  device.release_graph(graph);
}

TEST_P(Capture, WhatCannotBeCapturedMakesItInvalid) {
  Stream const stream(device);
  SimulatedDevice::uncapturable(stream, "an allocation");  // nothing is captured
  device.begin_capture(stream);
  stream.launch(add(1));
  EXPECT_THAT(
      message_of([&] { SimulatedDevice::uncapturable(stream, "an allocation"); }),
      HasSubstr("an allocation cannot be part of a graph (stream 0 of Simulated device 0)"));
  EXPECT_THAT(message_of([&] { stream.launch(add(2)); }),
              HasSubstr("the capture of stream 0 of Simulated device 0 is invalid: an allocation"));
  EXPECT_THAT(message_of([&] { device.end_capture(stream); }),
              HasSubstr("is invalid: an allocation"));
  stream.launch(add(3));
  device.synchronize();
  EXPECT_THAT(order, ElementsAre(3));
}

TEST_P(Capture, TheOldGraphOutlivesAFailedCapture) {
  Stream const stream(device);
  device.begin_capture(stream);
  stream.launch(add(1));
  void* const graph = device.end_capture(stream);
  device.begin_capture(stream);
  EXPECT_THROW(SimulatedDevice::uncapturable(stream, "it"), Error);
  EXPECT_THROW(device.end_capture(stream, graph), Error);
  device.launch_graph(stream, graph);
  device.synchronize();
  EXPECT_THAT(order, ElementsAre(1));
  device.release_graph(graph);
}

TEST_P(Capture, TheHostCannotWaitForACapturedStream) {
  Stream const stream(device);
  device.begin_capture(stream);
  EXPECT_THAT(
      message_of([&] { SimulatedDevice::synchronize(stream); }),
      HasSubstr("the host cannot wait for stream 0 of Simulated device 0, which is captured"));
  EXPECT_THROW(device.end_capture(stream), Error);
  device.begin_capture(stream);
  EXPECT_THROW(device.synchronize(), Error);
  EXPECT_THROW(device.end_capture(stream), Error);
  device.synchronize();
}

TEST_P(Capture, AnEventFromOutsideMakesItInvalid) {
  Stream const a(device), b(device);
  Event const event(b);
  device.begin_capture(a);
  EXPECT_THAT(
      message_of([&] { device.enqueue_wait(a, event); }),
      HasSubstr(
          "stream 0 of Simulated device 0 waits for event 0, which is not part of its capture"));
  EXPECT_THROW(device.end_capture(a), Error);
}

TEST_P(Capture, TwoCapturesCannotMeet) {
  Stream const a(device), b(device);
  device.begin_capture(a);
  device.begin_capture(b);
  EXPECT_THAT(message_of([&] { join(a, b); }), HasSubstr("which is part of another capture"));
  EXPECT_THROW(device.end_capture(a), Error);
  EXPECT_THROW(device.end_capture(b), Error);
}

TEST_P(Capture, AnEventOfACaptureIsOfNoUseOutside) {
  Stream const a(device), b(device);
  device.begin_capture(a);
  Event const event(a, true);
  EXPECT_THAT(message_of([&] { (void)event.has_passed(); }),
              HasSubstr("event 0 of Simulated device 0 was captured, so it never passes"));
  void* const graph = device.end_capture(a);
  EXPECT_THAT(message_of([&] { device.enqueue_wait(b, event); }),
              HasSubstr("event 0, whose capture is over"));
  EXPECT_THROW((void)device.nanoseconds_between(event, event), Error);
  device.release_graph(graph);
}

TEST_P(Capture, ItEndsWhereItBegan) {
  Stream const a(device), b(device);
  EXPECT_THAT(message_of([&] { device.end_capture(a); }), HasSubstr("is not captured"));
  device.begin_capture(a);
  join(b, a);
  EXPECT_THAT(message_of([&] { device.end_capture(b); }),
              HasSubstr("a capture ends on stream 1 of Simulated device 0, but began on stream 0"));
  EXPECT_THROW(device.end_capture(a), Error);
  device.begin_capture(a);
  EXPECT_THAT(message_of([&] { device.begin_capture(a); }), HasSubstr("is captured already"));
  EXPECT_THROW(device.end_capture(a), Error);
}

TEST_P(Capture, ADeviceWithoutGraphsSaysSo) {
  SimulatedDevice plain({.clock = clock, .graphs = false});
  Stream const stream(plain);
  EXPECT_FALSE(plain.begin_capture(stream));
  stream.launch(add(1));
  plain.synchronize();
  EXPECT_THAT(order, ElementsAre(1));
}

TEST(CaptureTime, AGraphIsOneLaunchAndItsBranchesOverlap) {
  auto const clock = virtual_clock();
  SimulatedDevice device(
      {.clock = clock, .launch_latency = 10, .graph_launch_latency = 20, .start_overhead = 5});
  Stream const a(device), b(device);
  device.begin_capture(a);
  a.launch("fork", 100);
  join(b, a);
  a.launch("left", 30);
  b.launch("right", 50);
  join(a, b);
  a.launch("join", 7);
  void* const graph = device.end_capture(a);
  EXPECT_EQ(clock->now(), 0) << "to capture costs nothing";
  b.launch("before", 200);  // launched at 10, 15 .. 215
  device.launch_graph(b, graph);
  EXPECT_EQ(clock->now(), 30);
  b.launch("after", 1);
  device.synchronize();
  EXPECT_EQ(times(device, "before"), Times(15, 215));
  std::vector<std::pair<std::string, Times>> nodes;
  for (SimulatedRecord const& record : device.log())
    if (record.kind == Kind::graph_node)
      nodes.emplace_back(record.name, Times(record.begin, record.end));
  EXPECT_THAT(nodes,
              ElementsAre(std::pair("fork", Times(215, 315)), std::pair("left", Times(315, 345)),
                          std::pair("right", Times(315, 365)), std::pair("join", Times(365, 372))));
  EXPECT_EQ(times(device, "after"), Times(372, 373));
  for (SimulatedRecord const& record : device.log())
    if (record.kind == Kind::launch_graph) {
      EXPECT_EQ(Times(record.begin, record.end), Times(215, 372));
    }
  device.release_graph(graph);
}

TEST(CaptureTime, LaunchesOfOneGraphComeOneAfterTheOther) {
  auto const clock = virtual_clock();
  SimulatedDevice device({.clock = clock});
  Stream const a(device), b(device);
  device.begin_capture(a);
  a.launch("work", 100);
  void* const graph = device.end_capture(a);
  device.launch_graph(a, graph);
  device.launch_graph(b, graph);
  device.synchronize();
  EXPECT_EQ(clock->makespan(), 200);
  device.release_graph(graph);
}

}  // namespace
}  // namespace trellis::Test
