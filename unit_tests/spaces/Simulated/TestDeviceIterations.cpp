// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Iterations of a loop whose tasks run on a device.
#include "Kernels.hpp"

#include <atomic>
#include <random>
#include <stdexcept>
#include <thread>

namespace trellis::Test {
namespace {

using namespace Bare;
using testing::AllOf;
using testing::HasSubstr;

/// Launches a count, and fetches it.
struct Counting {
  static constexpr bool launches_only = true;
  long* on_device;
  long* result;
  bool fails;
  void operator()(void* instance) const {
    SimulatedDevice::launch(instance, {[to = on_device] { ++std::atomic_ref(*to); }, "count"});
  }
  void finish() const {
    if (fails) throw std::runtime_error("no result");
    *result = std::atomic_ref(*on_device).load();  // where the next iteration counts, too
  }
};

/// Launches, and then the device fails, if it is to.
struct Unplugging {
  static constexpr bool launches_only = true;
  SimulatedDevice* device;
  bool fails;
  void operator()(void* instance) const {
    SimulatedDevice::launch(instance, {[] {}, "unplugging"});
    if (fails) device->fail("unplugged");
  }
};

class DeviceIterations : public EitherTime {
 protected:
  std::shared_ptr<SimulatedClock> clock = make_clock();
  SimulatedDevice device{{.clock = clock}};
};
INSTANTIATE_TEST_SUITE_P(Time, DeviceIterations, testing::Bool(), name_of_time);

TEST_P(DeviceIterations, NobodyWaitsForIterationsThatCannotStartYet) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  Gate gate;
  task(graph, "in front", {updates(x)}, [&] { EXPECT_TRUE(gate.pass()); });
  IterateReport const report = graph.iterate("loop", 20, [&](std::uint64_t k) {
    kernel(graph, device, "a", {updates(x)},
           [&, k] { x[0] = x[0] * 3 % 1009 + static_cast<long>(k); });
    kernel(graph, device, "b", {updates(x)}, [&] { ++x[0]; });
  });
  EXPECT_EQ(report.replayed, 19U);
  gate.open();
  graph.wait();
  long expected = 0;
  for (long k = 0; k != 20; ++k) expected = expected * 3 % 1009 + k + 1;
  EXPECT_EQ(x[0], expected);
  EXPECT_EQ(count(device, Kind::launch_graph), 20U);
}

/// In a graph there is no edge between them, so they would run at once.
TEST_P(DeviceIterations, WithExclusiveTasksAreNoGraphHoweverLongTheyAre) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  IterateReport const report = graph.iterate("loop", 6, [&](std::uint64_t k) {
    kernel(graph, device, "a", {excludes(x)}, [&] { ++x[0]; });
    kernel(graph, device, "b", {excludes(x)}, [&] { ++x[0]; });
    if (k == 0) kernel(graph, device, "c", {updates(x)}, [&] { ++x[0]; });
  });
  graph.wait();
  EXPECT_EQ(report.recorded, 2U);
  EXPECT_EQ(x[0], 13);
  EXPECT_EQ(count(device, Kind::launch_graph), 0U);
}

TEST_P(DeviceIterations, IterationsMayBeAskedAfterAtAnyTime) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  std::vector<Future<void>> futures;
  graph.iterate("loop", 30, [&](std::uint64_t k) {
    futures.push_back(kernel(graph, device, "a", {updates(x)}, [&] { ++x[0]; }));
    if (k % 5 == 1) {
      futures.back().get();
      EXPECT_EQ(x[0], static_cast<long>(2 * k + 1));
    }
    if (k % 5 == 2) std::thread([&] { futures.back().get(); }).join();
    if (k % 5 == 4) futures[futures.size() - 3].get();
    futures.push_back(kernel(graph, device, "b", {updates(x)}, [&] { ++x[0]; }));
  });
  for (Future<void> const& future : futures) future.get();
  EXPECT_EQ(x[0], 60);
  graph.wait();
}

TEST_P(DeviceIterations, TasksOfTheHostMayBeAmongThem) {
  Block x("x"), y("y");
  TaskGraph graph(with_workers(2));
  IterateReport const report = graph.iterate("loop", 30, [&] {
    kernel(graph, device, "a", {updates(x)}, [&] { ++x[0]; });
    kernel(graph, device, "b", {updates(x)}, [&] { ++x[0]; });
    task(graph, "host", {reads(x), updates(y)}, [&] { y[0] += x[0]; });
    kernel(graph, device, "c", {updates(x), reads(y)}, [&] { x[0] = (x[0] + y[0]) % 1009; });
  });
  graph.wait();
  long at = 0, sum = 0;
  for (int k = 0; k != 30; ++k) {
    at += 2;
    sum += at;
    at = (at + sum) % 1009;
  }
  EXPECT_EQ(x[0], at);
  EXPECT_EQ(y[0], sum);
  EXPECT_EQ(report.replayed, 29U);
  EXPECT_EQ(count(device, Kind::launch_graph), 0U);
}

TEST_P(DeviceIterations, ADeviceWithoutGraphsLaunchesTaskByTask) {
  SimulatedDevice plain({.clock = clock, .graphs = false});
  TaskGraph graph(with_workers(1));
  Block x("x");
  graph.iterate("loop", 10, [&] {
    kernel(graph, plain, "a", {updates(x)}, [&] { ++x[0]; });
    kernel(graph, plain, "b", {updates(x)}, [&] { ++x[0]; });
  });
  graph.wait();
  EXPECT_EQ(x[0], 20);
}

TEST_P(DeviceIterations, WhatCannotBeCapturedIsLaunchedTaskByTask) {
  TaskGraph graph(with_workers(1));
  Block x("x");
  struct Allocating : Kernel {
    void operator()(void* instance) const {
      SimulatedDevice::uncapturable(instance, "an allocation");
      Kernel::operator()(instance);
    }
  };
  graph.iterate("loop", 10, [&] {
    kernel(graph, device, "a", {updates(x)}, [&] { ++x[0]; });
    task(graph, "b", {updates(x)}, Allocating{{[&] { ++x[0]; }, "b"}}, {.space = &device});
  });
  graph.wait();
  EXPECT_EQ(x[0], 20);
  EXPECT_EQ(count(device, Kind::launch_graph), 0U);
}

TEST_P(DeviceIterations, EachIterationFetchesItsOwnResult) {
  TaskGraph graph(with_workers(1));
  Block x("x");
  long counted = 0;
  std::vector<long> results(20);
  std::vector<Future<void>> futures;
  graph.iterate("loop", 20, [&](std::uint64_t k) {
    futures.push_back(task(graph, "count", {updates(x)}, Counting{&counted, &results[k], false},
                           {.space = &device}));
  });
  graph.wait();
  EXPECT_EQ(counted, 20);
  for (Future<void> const& future : futures) EXPECT_TRUE(future.is_done());
}

TEST_P(DeviceIterations, AFailureIsThatOfItsTaskAndItsIteration) {
  Block x("x");
  long counted = 0;
  std::vector<long> results(6);
  std::vector<Future<void>> counts, beside;
  TaskGraph graph(with_workers(1));
  graph.iterate("loop", 6, [&](std::uint64_t k) {
    bool const fails = k == 2;
    counts.push_back(task(graph, "count", {updates(x)}, Counting{&counted, &results[k], fails},
                          {.space = &device}));
    beside.push_back(kernel(graph, device, "beside", {reads(x)}, [] {}));
  });
  EXPECT_EQ(Bare::message_of([&] { counts[1].get(); }), "no error");
  EXPECT_THAT(Bare::message_of([&] { counts[2].get(); }),
              AllOf(HasSubstr("\"count\""), HasSubstr("failed: no result")));
  EXPECT_THAT(Bare::message_of([&] { beside[2].get(); }),
              AllOf(HasSubstr("\"beside\""), HasSubstr("no result")));
  EXPECT_THAT(Bare::message_of([&] { graph.wait(); }),
              AllOf(HasSubstr("task \"count\""), HasSubstr("no result")));
}

TEST_P(DeviceIterations, AFailureInALaunchedGraphReachesEachFuture) {
  TaskGraph graph(with_workers(1));
  Block x("x"), y("y");
  std::vector<Future<void>> bad, beside;
  graph.iterate("loop", 3, [&](std::uint64_t k) {
    bad.push_back(kernel(graph, device, "bad", {updates(x)}, [k] {
      if (k == 1) throw std::runtime_error("out of range");
    }));
    beside.push_back(kernel(graph, device, "beside", {updates(y)}, [&] { ++y[0]; }));
  });
  EXPECT_THAT(Bare::message_of([&] { bad[1].get(); }), HasSubstr("out of range"));
  EXPECT_NE(Bare::message_of([&] { beside[1].get(); }), "no error")
      << "nobody knows what it has done";
  EXPECT_NE(Bare::message_of([&] { bad[2].get(); }), "no error");
  EXPECT_THROW(graph.wait(), Error);
}

TEST_P(DeviceIterations, ADeviceMayFailWhileAnIterationIsCaptured) {
  for (std::uint64_t at : {0, 1, 2}) {
    Block x("x"), y("y");
    {
      TaskGraph graph(with_workers(1));
      std::vector<Future<void>> unplugging, behind;
      graph.iterate("loop", 4, [&](std::uint64_t k) {
        unplugging.push_back(task(graph, "unplugging", {updates(x)}, Unplugging{&device, k == at},
                                  {.space = &device}));
        behind.push_back(kernel(graph, device, "behind", {reads(x), updates(y)}));
        kernel(graph, device, "beside", {reads(x)});
      });
      EXPECT_THAT(Bare::message_of([&] { unplugging[at].get(); }), HasSubstr("unplugged"));
      EXPECT_NE(Bare::message_of([&] { behind[at].get(); }), "no error");
      EXPECT_THROW(graph.wait(), Error);
    }
    EXPECT_EQ(device.live_graphs() + device.live_streams() + device.live_events(), 0);
    device.reset();
  }
}

TEST_P(DeviceIterations, ATaskThatWaitsForAnIterationThatDependsOnItIsTold) {
  TaskGraph graph(with_workers(2));
  Block x("x");
  Future<void> const submits = task(graph, "submits", {updates(x)}, [&] {
    Future<void> last;
    graph.iterate("loop", 2,
                  [&] { last = kernel(graph, device, "grow", {updates(x)}, [&] { ++x[0]; }); });
    last.get();
  });
  EXPECT_THAT(Bare::message_of([&] { submits.get(); }),
              HasSubstr("which cannot be complete before it is"));
  EXPECT_THROW(graph.wait(), Error);
}

TEST_P(DeviceIterations, PlansThatAreGraphsMayBeReplayedAmongThem) {
  TaskGraph graph(with_workers(2));
  Block x("x");
  Plan const plan =
      graph.record([&] { kernel(graph, device, "in plan", {updates(x)}, [&] { x[0] += 10; }); });
  graph.iterate("loop", 10, [&] {
    kernel(graph, device, "a", {updates(x)}, [&] { x[0] = x[0] * 2 % 1009; });
    graph.replay(plan, 2);
    kernel(graph, device, "b", {updates(x)}, [&] { ++x[0]; });
  });
  graph.wait();
  long expected = 0;
  for (int k = 0; k != 10; ++k) expected = expected * 2 % 1009 + 21;
  EXPECT_EQ(x[0], expected);
}

TEST_P(DeviceIterations, LeaveNothingBehind) {
  Block x("x");
  {
    TaskGraph graph(with_workers(2));
    graph.iterate("loop", 40, [&](std::uint64_t k) {
      for (std::uint64_t n = 0; n != 1 + k % 10; ++n)
        kernel(graph, device, "step", {updates(x)}, [&] { ++x[0]; });
    });
  }
  EXPECT_EQ(device.live_graphs() + device.live_streams() + device.live_events(), 0);
}

}  // namespace
}  // namespace trellis::Test
