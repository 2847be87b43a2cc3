// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Asynchronous spaces: the trace has the device's own times.
#include "AsyncTest.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <sstream>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;
using testing::HasSubstr;

TEST_F(Async, RowsAreTheStreams) {
  TaskGraph graph(recorded(1));
  Block x("x");
  kernel(graph, "kernel", {writes(x)}, [] { std::this_thread::sleep_for(1ms); });
  task(graph, "host", {reads(x)}, [] {});
  graph.wait();
  auto const trace = graph.trace();
  TaskRecord const& node = trace.graph.node(1);
  EXPECT_EQ(node.space, "Fake");
  EXPECT_EQ(node.state, TaskState::done);
  EXPECT_EQ(trace.rows.at(static_cast<std::size_t>(node.row)), "Fake stream 0");
  EXPECT_GE(node.finished_ns, node.started_ns + 900'000)
      << "the end is that of the work, not of the launch";
  std::ostringstream json, svg;
  trace.write_chrome_json(json);
  trace.write_svg(svg);
  EXPECT_THAT(json.str(), HasSubstr("Fake stream 0"));
  EXPECT_THAT(svg.str(), HasSubstr("Fake stream 0"));
}

/// Its clock goes too fast or too slow, and tells spans in a float of milliseconds.
class Drifting : public FakeDevice {
 public:
  explicit Drifting(double rate) : FakeDevice("Drifting"), m_rate(rate) {}
  std::int64_t nanoseconds_between(void* earlier, void* later) override {
    std::int64_t const span = FakeDevice::nanoseconds_between(earlier, later);
    longest_span = std::max(longest_span, span);
    return std::llround(
        static_cast<double>(static_cast<float>(static_cast<double>(span) * m_rate / 1e6)) * 1e6);
  }
  std::int64_t longest_span = 0;

 private:
  double m_rate;
};

/// Says whether an event has passed, but no times.
class WithoutTimes : public FakeDevice {
 public:
  std::int64_t nanoseconds_between(void* /*earlier*/, void* /*later*/) override {
    throw std::runtime_error("the device has failed meanwhile");
  }
};

Properties on(Impl::SpaceAdapter& space) {
  Properties properties;
  properties.space = &space;
  return properties;
}

TEST_F(Async, ADeviceThatFailsWhenItIsAskedForATimeLosesNoTask) {
  WithoutTimes silent;
  Block x("x");
  {
    TaskGraph graph(recorded(1));
    for (int k = 0; k < 3; ++k)
      kernel(graph, "kernel", {updates(x)}, [&] { ++x[0]; }, [] {}, on(silent));
    auto const last = task(graph, "host", {updates(x)}, [&] { return x[0]; });
    EXPECT_EQ(last.get(), 3);
    graph.wait();
    EXPECT_EQ(graph.trace().graph.node(1).state, TaskState::done);
  }
  EXPECT_EQ(silent.events, 0);
}

TEST_F(Async, TimesOfADeviceWhoseClockDriftsFitThoseOfTheHost) {
  for (double const rate : {1.0, 1.01, 0.99}) {
    Drifting drifting(rate);
    TaskGraph graph(recorded(1));
    Block x("x");
    for (int k = 0; k < 200; ++k) {
      kernel(
          graph, "kernel", {updates(x)}, [] { std::this_thread::sleep_for(200us); }, [] {},
          on(drifting));
      task(graph, "host", {updates(x)}, [] {});
    }
    graph.wait();
    auto const trace = graph.trace();
    // A host that did not look for long knows only then how far the clocks are apart: a few may be
    // wrong.
    int squeezed = 0;
    for (TaskId id = 1; id < 400; id += 2) {
      TaskRecord const& node = trace.graph.node(id);
      if (node.finished_ns < node.started_ns + 120'000) ++squeezed;
      ASSERT_LE(node.finished_ns, trace.graph.node(id + 1).started_ns)
          << "task " << id << ", rate " << rate;
    }
    EXPECT_LT(squeezed, 20) << "of 200 that take 200 us, rate " << rate;
  }
}

TEST_F(Async, TimesAreNotTakenFromAnEventOfLongAgo) {
  Drifting drifting(1.0);
  std::int64_t longest_step = 0;  // of a stream
  {
    TaskGraph graph(recorded(1));
    Block x("x"), y("y");
    for (int k = 0; k < 30; ++k) {
      kernel(
          graph, "x", {updates(x)}, [] { std::this_thread::sleep_for(50ms); }, [] {}, on(drifting));
      kernel(
          graph, "y", {updates(y)}, [] { std::this_thread::sleep_for(50ms); }, [] {}, on(drifting));
    }
    graph.wait();
    auto const trace = graph.trace();
    int squeezed = 0;  // by a host that did not look for long, as above
    for (TaskId id = 1; id <= 60; ++id) {
      TaskRecord const& node = trace.graph.node(id);
      if (node.finished_ns < node.started_ns + 49'000'000) ++squeezed;
      if (id > 2)
        longest_step = std::max(
            longest_step,
            static_cast<std::int64_t>(node.finished_ns - trace.graph.node(id - 2).finished_ns));
    }
    EXPECT_LT(squeezed, 6) << "of 60";
  }
  // An event is taken after a second, or when the task then under way is over.
  EXPECT_LT(drifting.longest_span, 1'000'000'000 + 4 * longest_step);
  EXPECT_EQ(drifting.events, 0);
}

}  // namespace
}  // namespace trellis
