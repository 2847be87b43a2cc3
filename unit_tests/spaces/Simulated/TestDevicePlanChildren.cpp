// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans that become graphs of a device piece by piece, and tasks of which have children.
#include "Kernels.hpp"

#include <stdexcept>

namespace trellis::Test {
namespace {

using namespace Bare;
using testing::AllOf;
using testing::HasSubstr;

/// Launches something, but may have no result.
struct WithoutResult {
  static constexpr bool launches_only = true;
  bool const* fails;
  void operator()(void* instance) const {
    SimulatedDevice::launch(instance, {[] {}, "without result"});
  }
  void finish() const {
    if (*fails) throw std::runtime_error("no result");
  }
};

class DevicePlanChildren : public EitherTime {
 protected:
  /// A child of the task whose body calls this, on the device.
  Future<void> child_on_device(std::string const& name, std::vector<Touch> const& touches,
                               std::function<void()> work) {
    return part(Label(std::string(name), std::source_location::current()), touches,
                Kernel{std::move(work), name}, {.space = &device});
  }
  std::shared_ptr<SimulatedClock> clock = make_clock();
  SimulatedDevice device{{.clock = clock}};
};
INSTANTIATE_TEST_SUITE_P(Time, DevicePlanChildren, testing::Bool(), name_of_time);

TEST_P(DevicePlanChildren, AHostTaskBetweenPiecesMaySplitIntoChildrenOnTheDevice) {
  constexpr int rounds = 20;
  for (int workers : {1, 2, 3}) {
    device.clear_log();
    TaskGraph graph(with_workers(workers));
    Block x("x", 2), y("y");
    int runs = 0;
    Plan const plan = graph.record([&] {
      kernel(graph, device, "a", {updates(x)}, [&] { x[0] = (3 * x[0] + 1) % 1009; });
      kernel(graph, device, "b", {updates(x)}, [&] { x[1] = (x[1] + x[0]) % 1009; });
      task(graph, "splits", {updates(x), updates(y)}, [&] {
        child_on_device("left", {updates(x(0, 1))}, [&] { x[0] = (5 * x[0] + 2) % 1009; });
        child_on_device("right", {updates(x(1, 1))}, [&] { x[1] = (7 * x[1] + 3) % 1009; });
        child("both", {reads(x), updates(y)}, [&] { y[0] = (y[0] + x[0] * x[1]) % 1009; });
        if (++runs % 2 == 0) wait_for_children();
        child_on_device("last", {updates(x), reads(y)}, [&] { x[0] = (x[0] + y[0]) % 1009; });
      });
      kernel(graph, device, "c", {updates(x), reads(y)}, [&] { x[1] = (x[1] * y[0] + 1) % 1009; });
      kernel(graph, device, "d", {updates(x)}, [&] { x[0] = (x[0] + x[1]) % 1009; });
    });
    graph.replay(plan, rounds);
    kernel(graph, device, "between", {updates(x)}, [&] { x[0] += 1; });
    graph.replay(plan, rounds);
    graph.wait();
    long left = 0, right = 0, sum = 0;
    for (int round = 0; round < 2 * rounds; ++round) {
      left = (3 * left + 1) % 1009;
      right = (right + left) % 1009;
      left = (5 * left + 2) % 1009;
      right = (7 * right + 3) % 1009;
      sum = (sum + left * right) % 1009;
      left = (left + sum) % 1009;
      right = (right * sum + 1) % 1009;
      left = (left + right) % 1009;
      if (round == rounds - 1) left += 1;
    }
    EXPECT_EQ(x[0], left);
    EXPECT_EQ(x[1], right);
    EXPECT_EQ(y[0], sum);
    EXPECT_EQ(count(device, Kind::launch_graph), 2u * 2 * rounds) << "two pieces in each round";
    std::size_t single = 0;
    for (SimulatedRecord const& record : device.log())
      single += record.kind == Kind::launch && !record.captured ? 1 : 0;
    EXPECT_EQ(single, 3u * 2 * rounds + 1) << "the children, and the task between";
  }
  EXPECT_EQ(device.live_graphs() + device.live_streams() + device.live_events(), 0);
}

TEST_P(DevicePlanChildren, AChildWithoutResultCancelsThePieceBehindAndThePlanRunsAgain) {
  bool fails = true;
  int beside = 0;
  Block x("x"), y("y");
  TaskGraph graph(with_workers(2));
  Future<void> splits, behind;
  Plan const plan = graph.record([&] {
    kernel(graph, device, "a", {updates(x)}, [&] { ++x[0]; });
    kernel(graph, device, "b", {updates(x)}, [&] { ++x[0]; });
    splits = task(graph, "splits", {updates(x)}, [&] {
      child_on_device("good child", {updates(x)}, [&] { x[0] += 10; });
      child("bad child", {updates(x)}, WithoutResult{&fails}, {.space = &device});
      child_on_device("child behind", {updates(x)}, [&] { x[0] += 100; });
    });
    behind = kernel(graph, device, "behind", {updates(x)}, [&] { x[0] += 1000; });
    kernel(graph, device, "behind too", {updates(x)}, [&] { x[0] += 1000; });
    task(graph, "beside", {updates(y)}, [&] { ++beside; });
  });
  Future<void> const whole = graph.replay(plan, 2);
  EXPECT_THAT(Bare::message_of([&] { splits.get(); }),
              AllOf(HasSubstr("\"bad child\""), HasSubstr("no result")));
  EXPECT_THAT(Bare::message_of([&] { whole.get(); }), HasSubstr("no result"));
  EXPECT_THAT(Bare::message_of([&] { behind.get(); }),
              AllOf(HasSubstr("\"behind\""), HasSubstr("was cancelled")));
  EXPECT_THAT(Bare::message_of([&] { graph.wait(); }), HasSubstr("no result"));
  EXPECT_EQ(beside, 2);
  long const left = x[0];  // a child on the device may have been launched behind the bad one
  EXPECT_TRUE(left == 12 || left == 112) << left;
  fails = false;
  graph.replay(plan, 3);
  graph.wait();
  EXPECT_EQ(x[0], left + 3 * 2112);
  EXPECT_EQ(beside, 5);
}

TEST_P(DevicePlanChildren, ATaskOnTheDeviceCannotHaveAny) {
  TaskGraph graph(with_workers(2));
  Block x("x");
  auto const split = [&] {
    task(graph, "splits", {updates(x)},
         [&](void* instance) {
           SimulatedDevice::launch(instance, {[] {}, "own"});
           child("child", {updates(x)}, [] { FAIL() << "the child runs"; });
         },
         {.space = &device});
  };
  auto const text = [&] { return message_of([&] { graph.wait(); }); };
  split();
  EXPECT_THAT(text(), AllOf(HasSubstr("\"splits\""), HasSubstr("cannot have children")));
  Plan const plan = graph.record(split);
  graph.replay(plan);
  EXPECT_THAT(text(), AllOf(HasSubstr("\"splits\""), HasSubstr("cannot have children")));
  kernel(graph, device, "next", {updates(x)}, [&] { x[0] = 7; });  // the graph is as good as before
  graph.wait();
  EXPECT_EQ(x[0], 7);
}

}  // namespace
}  // namespace trellis::Test
