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
  until_done(task(graph, "waits", {}, [&](void*) { said = message_of([&] { slow.wait(); }); },
                  {.space = &device}));
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
      task(graph, "bad", {writes(x)},
           [](void*) { throw std::runtime_error("no memory on the device"); }, {.space = &device});
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

TEST_F(Async, AnErrorAtLaunchBehindALaunchedTaskIsKnownWhenThatIsDone) {
  // `bad` is launched, and fails, while its predecessor still runs on the device; what comes later
  // must not overtake that.
  TaskGraph graph(with_workers(2));
  Block x("x");
  Gate gate;
  kernel(graph, "slow", {writes(x)}, [&] {
    gate.pass();
    x[0] = 1;
  });
  auto const bad = task(graph, "bad", {updates(x)}, [](void*) { throw std::runtime_error("boom"); },
                        {.space = &device});
  auto const reader = task(graph, "reader", {reads(x)}, [&] { return x[0]; });
  std::this_thread::sleep_for(5ms);
  EXPECT_FALSE(bad.is_done() || reader.is_done());
  gate.open();
  EXPECT_EQ(error_of([&] { reader.get(); }).kind(), Error::Kind::cancelled);
  EXPECT_THROW(graph.wait(), Error);
  EXPECT_EQ(task(graph, "reader", {reads(x)}, [&] { return x[0]; }).get(), 1);
}

/// The body of a task that launches something, and then throws.
template <class Kernel>
auto half_launched(Kernel kernel) {
  return [kernel](void* instance) {
    on_stream(kernel)(instance);
    throw std::runtime_error("boom");
  };
}

TEST_F(Async, AFailedLaunchIsOverWhenWhatItHasLaunchedIsDone) {
  TaskGraph graph(with_workers(2));
  Block x("x"), y("y");
  Gate gate;
  std::atomic<bool> written{false};
  std::atomic<int> ran{0};
  auto const bad = task(graph, "bad", {writes(x)}, half_launched([&] {
                          gate.pass();
                          x[0] = 1;
                          written = true;
                        }),
                        {.space = &device});
  auto const on_device = kernel(graph, "on device", {reads(x), writes(y)}, [&] { ++ran; });
  auto const on_host = task(graph, "on host", {reads(x)}, [&] { ++ran; });
  std::thread opens([&] {
    std::this_thread::sleep_for(20ms);
    EXPECT_FALSE(bad.is_done() || on_device.is_done() || on_host.is_done());
    gate.open();
  });
  EXPECT_THAT(message_of([&] { graph.wait(); }),
              testing::AllOf(HasSubstr("\"bad\""), HasSubstr("boom")));
  EXPECT_TRUE(written) << "wait() returned while the kernel could still write";
  opens.join();
  EXPECT_EQ(error_of([&] { bad.get(); }).kind(), Error::Kind::task_failed);
  EXPECT_EQ(error_of([&] { on_device.get(); }).kind(), Error::Kind::cancelled);
  EXPECT_EQ(error_of([&] { on_host.get(); }).kind(), Error::Kind::cancelled);
  EXPECT_EQ(ran, 0);
  EXPECT_EQ(device.events, 0);
}

TEST_F(Async, WhatAFailedLaunchHasLaunchedIsNotOvertakenByLaterTasks) {
  TaskGraph graph(with_workers(2));
  Block x("x"), y("y");
  Gate gate, host_may_go;
  task(graph, "in front", {writes(x)}, [&] { host_may_go.pass(); });
  auto const bad = task(graph, "bad", {updates(x)}, half_launched([&] {
                          gate.pass();
                          ++x[0];
                        }),
                        {.space = &device});
  std::vector<Future<void>> behind;  // some are there when it is launched, and some come later
  for (int k = 0; k < 4; ++k) behind.push_back(kernel(graph, "behind", {reads(x)}, [] { FAIL(); }));
  host_may_go.open();
  while (device.streams == 0) std::this_thread::yield();
  for (int k = 0; k < 4; ++k) behind.push_back(kernel(graph, "behind", {reads(x)}, [] { FAIL(); }));
  std::this_thread::sleep_for(5ms);
  for (auto const& each : behind) EXPECT_FALSE(each.is_done());
  gate.open();
  for (auto const& each : behind)
    EXPECT_EQ(error_of([&] { each.get(); }).kind(), Error::Kind::cancelled);
  EXPECT_EQ(error_of([&] { bad.get(); }).kind(), Error::Kind::task_failed);
  EXPECT_THROW(graph.wait(), Error);
  EXPECT_EQ(x[0], 1);
}

TEST_F(Async, WhenNotEvenAnEventCanBeRecordedTheStreamHasFailed) {
  TaskGraph graph(with_workers(2));
  Block x("x"), y("y");
  device.cannot_record = true;
  auto const bad = task(graph, "bad", {writes(x)}, half_launched([] {}), {.space = &device});
  auto const beside = kernel(graph, "beside", {writes(y)}, [] {});
  EXPECT_THAT(message_of([&] { bad.get(); }), HasSubstr("boom"));
  EXPECT_THAT(message_of([&] { beside.get(); }), HasSubstr("no more events"));
  EXPECT_THROW(graph.wait(), Error);
  device.cannot_record = false;
  kernel(graph, "again", {writes(x)}, [&] { x[0] = 7; });
  graph.wait();
  EXPECT_EQ(x[0], 7);
}

TEST_F(Async, AFailedDeviceFailsTheTaskAndNotItsSubmissionAlsoWhereTimesAreRecorded) {
  FakeDevice::Stream mine;
  TaskGraphOptions options = with_workers(2);
  options.record = true;
  TaskGraph graph(options);
  Block x("x"), y("y");
  device.failed = true;
  auto const on_mine = kernel(graph, "on mine", {writes(x)}, [] {}, [] {}, {.instance = &mine});
  auto const beside = kernel(graph, "beside", {writes(y)}, [] {});
  for (auto const* each : {&on_mine, &beside})
    EXPECT_THAT(message_of([&] { each->get(); }), HasSubstr("the device is on fire"));
  EXPECT_THROW(graph.wait(), Error);
  EXPECT_EQ(device.events, 0);
  device.failed = false;
  kernel(graph, "again", {updates(x)}, [&] { x[0] = 7; }, [] {}, {.instance = &mine});
  graph.wait();
  EXPECT_EQ(x[0], 7);
}

TEST_F(Async, AFailedStreamSaysNothingOfAnother) {
  TaskGraph graph(with_workers(2));
  Block x("x"), y("y");
  Gate gate, stuck;
  std::atomic<bool> written{false};
  auto const bad = kernel(graph, "bad", {writes(x)}, [&] { stuck.pass(); });
  auto const behind = kernel(graph, "behind", {updates(x)}, [] {});
  auto const beside = kernel(graph, "beside", {writes(y)}, [&] {
    gate.pass();
    y[0] = 1;
    written = true;
  });
  EXPECT_EQ(device.streams, 2);
  std::thread opens([&] {
    std::this_thread::sleep_for(20ms);
    EXPECT_FALSE(beside.is_done());
    gate.open();
  });
  device.failed_stream = 0;
  EXPECT_THROW(graph.wait(), Error);
  EXPECT_TRUE(written) << "wait() returned while a kernel could still write";
  opens.join();
  EXPECT_NO_THROW(beside.get());
  EXPECT_THAT(message_of([&] { bad.get(); }), HasSubstr("the device is on fire"));
  EXPECT_THAT(message_of([&] { behind.get(); }),
              testing::AllOf(HasSubstr("\"behind\""), HasSubstr("or later")));
  stuck.open();
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
