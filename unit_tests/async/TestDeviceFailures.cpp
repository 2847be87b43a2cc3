// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Asynchronous spaces: what goes wrong at a launch, on the device, or in what the program asks for.
#include "AsyncTest.hpp"

#include <gmock/gmock.h>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;
using testing::HasSubstr;

TEST_F(Async, WaitingInALaunchIsAnError) {
  TaskGraph graph(with_workers(2));
  std::string said;
  Gate gate;
  auto const slow = task(graph, "slow", {}, [&] { gate.pass(); });
  until_done(
      task(graph, "waits", {}, [&](void*) { said = message_of([&] { slow.wait(); }); }, {.space = &device}));
  EXPECT_THAT(said, testing::AllOf(HasSubstr("\"waits\""), HasSubstr("while it is launched")));
  gate.open();
  graph.wait();
}

TEST_F(Async, AFailureOfTheDeviceIsThatOfAllThatItHasNotDone) {
  TaskGraph graph(with_workers(2));
  Block x("x"), y("y"), z("z");
  Gate gate;
  kernel(graph, "before", {writes(z)}, [] {}).get();
  auto const first = kernel(graph, "first", {writes(x)}, [&] { gate.pass(); });
  auto const behind = kernel(graph, "behind", {updates(x)}, [] {});
  auto const beside = kernel(graph, "beside", {writes(y)}, [&] { gate.pass(); });
  std::atomic<bool> ran{false};
  auto const host = task(graph, "host", {reads(y)}, [&] { ran = true; });
  auto const elsewhere = task(graph, "elsewhere", {reads(z)}, [] { return 5; });
  device.failed = true;
  for (auto const* each : {&first, &behind, &beside}) {
    Error const error = error_of([&] { each->get(); });
    EXPECT_EQ(error.kind(), Error::Kind::task_failed);
    EXPECT_THAT(error.what(), HasSubstr("the device is on fire"));
  }
  EXPECT_THAT(message_of([&] { behind.get(); }), HasSubstr("\"behind\""));
  EXPECT_EQ(error_of([&] { host.get(); }).kind(), Error::Kind::cancelled);
  EXPECT_EQ(elsewhere.get(), 5);
  EXPECT_THROW(graph.wait(), Error);
  EXPECT_FALSE(ran);
  EXPECT_EQ(device.events, 0);
  gate.open();
  device.failed = false;
  kernel(graph, "again", {writes(x)}, [&] { x[0] = 7; });
  graph.wait();
  EXPECT_EQ(x[0], 7);
}

TEST_F(Async, WaitingForADeviceTaskThatDependsOnTheWaiterIsAnError) {
  TaskGraph graph(with_workers(2));
  Block x("x");
  task(graph, "host", {writes(x)}, [&] {
    auto const future = kernel(graph, "kernel", {reads(x)}, [] {});
    EXPECT_EQ(error_of([&] { future.wait(); }).kind(), Error::Kind::deadlock);
  });
  EXPECT_NO_THROW(graph.wait());
}

TEST_F(Async, AnErrorAtLaunchCancelsWhatDependsOnItAndNothingElse) {
  TaskGraph graph(with_workers(2));
  Block x("x"), y("y");
  std::atomic<int> ran{0};
  auto const bad =
      task(graph, "bad", {writes(x)}, [](void*) { throw std::runtime_error("no memory on the device"); },
           {.space = &device});
  auto const on_device = kernel(graph, "on device", {reads(x)}, [&] { ++ran; });
  auto const on_host = task(graph, "on host", {reads(x)}, [&] { ++ran; });
  auto const beside = kernel(graph, "beside", {writes(y)}, [&] { ++ran; });
  EXPECT_NO_THROW(beside.get());
  Error const error = error_of([&] { bad.get(); });
  EXPECT_EQ(error.kind(), Error::Kind::task_failed);
  EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("\"bad\""), HasSubstr("write \"x\""),
                                           HasSubstr("no memory on the device")));
  EXPECT_EQ(error_of([&] { on_device.get(); }).kind(), Error::Kind::cancelled);
  EXPECT_EQ(error_of([&] { on_host.get(); }).kind(), Error::Kind::cancelled);
  EXPECT_THROW(graph.wait(), Error);
  EXPECT_EQ(ran, 1);
  kernel(graph, "again", {writes(x)}, [&] { x[0] = 7; });
  graph.wait();
  EXPECT_EQ(x[0], 7);
}

TEST_F(Async, AnErrorAtLaunchBehindALaunchedTaskWaitsForNobodysData) {
  // `bad` is launched, and fails, while its predecessor still runs on the device; what comes later must not
  // overtake that.
  TaskGraph graph(with_workers(2));
  Block x("x");
  Gate gate;
  kernel(graph, "slow", {writes(x)}, [&] {
    gate.pass();
    x[0] = 1;
  });
  auto const bad =
      task(graph, "bad", {updates(x)}, [](void*) { throw std::runtime_error("boom"); }, {.space = &device});
  bad.wait();
  auto const reader = task(graph, "reader", {reads(x)}, [&] { return x[0]; });
  EXPECT_EQ(error_of([&] { reader.get(); }).kind(), Error::Kind::cancelled);
  gate.open();
  EXPECT_THROW(graph.wait(), Error);
  EXPECT_EQ(task(graph, "reader", {reads(x)}, [&] { return x[0]; }).get(), 1);
}

TEST_F(Async, AnErrorAtLaunchInAPlanCancelsWhatDependsOnIt) {
  TaskGraph graph(with_workers(2));
  Block x("x"), y("y");
  std::atomic<int> behind{0}, beside{0};
  bool fails = true;
  Plan const plan = graph.record([&] {
    task(graph, "bad", {updates(x)},
         [&](void*) {
           if (fails) throw std::runtime_error("no memory on the device");
         },
         {.space = &device});
    kernel(graph, "behind", {reads(x)}, [&] { ++behind; });
    kernel(graph, "beside", {updates(y)}, [&] { ++beside; });
  });
  auto const whole = graph.replay(plan, 3);
  EXPECT_THAT(error_of([&] { whole.get(); }).what(),
              testing::AllOf(HasSubstr("\"bad\""), HasSubstr("no memory")));
  EXPECT_THROW(graph.wait(), Error);
  EXPECT_EQ(behind, 0);
  EXPECT_EQ(beside, 3);
  fails = false;
  graph.replay(plan, 2);
  graph.wait();
  EXPECT_EQ(behind, 2);
}

}  // namespace
}  // namespace trellis
