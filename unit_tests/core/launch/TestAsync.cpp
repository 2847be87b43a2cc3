// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Asynchronous spaces: edges on the device trigger on launch, all others on completion.
#include "AsyncTest.hpp"
#include "Memory.hpp"

#include <Trellis_Progress.hpp>
#include <Trellis_SchedulingPolicy.hpp>

#include <gmock/gmock.h>

#include <atomic>
#include <memory>
#include <random>
#include <vector>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;
using testing::HasSubstr;

TEST_F(Async, ADeviceTaskIsLaunchedBeforeItsPredecessorOnTheDeviceIsComplete) {
  TaskGraph graph(with_workers(1));
  Block x("x");
  Gate gate, second_launched;
  kernel(graph, "first", {writes(x)}, [&] {
    gate.pass();
    x[0] = 1;
  });
  kernel(
      graph, "second", {updates(x)}, [&] { x[0] = 10 * x[0] + 2; },
      [&] { second_launched.open(); });
  EXPECT_TRUE(second_launched.pass()) << "the edge waits for completion";
  EXPECT_EQ(graph.in_flight(), 2u);
  gate.open();
  graph.wait();
  EXPECT_EQ(x[0], 12) << "the device kept the order";
  EXPECT_EQ(device.waits, 0) << "on one stream no event is needed";
  EXPECT_EQ(device.streams, 1);
}

TEST_F(Async, AChainIsEnqueuedAtTheSubmittingThreadsSpeed) {
  TaskGraph graph(with_workers(1));
  Block x("x");
  Gate gate, last_launched;
  int const length = 1000;
  kernel(graph, "gate", {writes(x)}, [&] { gate.pass(); });
  for (int k = 1; k < length; ++k) kernel(graph, "link", {updates(x)}, [&] { ++x[0]; });
  kernel(graph, "last", {updates(x)}, [] {}, [&] { last_launched.open(); });
  EXPECT_TRUE(last_launched.pass());
  EXPECT_EQ(graph.in_flight(), static_cast<std::uint64_t>(length + 1));
  gate.open();
  graph.wait();
  EXPECT_EQ(x[0], length - 1);
}

TEST_F(Async, WhoLaunchesDoesNotWaitForWhoAsks) {
  Gate asked, launched, answered;
  std::atomic<int> in_time{-1};
  TaskGraph graph(with_workers(2));
  Block x("x"), y("y");
  Gate gate;
  device.when_asked = [&] {
    if (asked.is_open()) return;
    asked.open();
    in_time = launched.pass(5s) ? 1 : 0;
  };
  kernel(graph, "first", {writes(x)}, [&] { gate.pass(); });
  task(graph, "behind", {reads(x)}, [] {});  // so that the device is asked
  ASSERT_TRUE(asked.pass());
  kernel(graph, "second", {writes(y)}, [] {}, [&] { launched.open(); });
  gate.open();
  graph.wait();
  EXPECT_EQ(in_time, 1);
  device.when_asked = nullptr;
}

/// Who asks has its answers when the launch has begun.
TEST_F(Async, ALaunchThatTakesLongKeepsNobodyFromProgress) {
  Gate asked, in_launch, called, gate;
  TaskGraph graph(with_workers(2));
  Block x("x"), y("y");
  Progress progress = graph.add_progress([&] {
    called.open();
    return false;
  });
  device.when_asked = [&] {
    if (asked.is_open()) return;
    asked.open();
    EXPECT_TRUE(in_launch.pass());
  };
  kernel(graph, "first", {writes(x)}, [&] { gate.pass(); });
  task(graph, "behind", {reads(x)}, [] {});
  ASSERT_TRUE(asked.pass());
  kernel(
      graph, "second", {writes(y)}, [] {},
      [&] {
        in_launch.open();
        std::this_thread::sleep_for(20ms);
        progress.ask();
        EXPECT_TRUE(called.pass(5s));
      });
  gate.open();
  graph.wait();
  device.when_asked = nullptr;
}

TEST_F(Async, OneQuestionIsForManyEvents) {
  int const count = 512;
  TaskGraphOptions options = with_workers(1);
  options.streams = 1;
  TaskGraph graph(options);
  std::vector<std::unique_ptr<Block>> blocks;
  for (int k = 0; k < count; ++k) blocks.push_back(std::make_unique<Block>("x"));
  Gate all_done;
  device.silent_about = 0;
  for (int k = 0; k < count; ++k)
    kernel(graph, "independent", {writes(*blocks[static_cast<std::size_t>(k)])}, [&, k] {
      if (k == count - 1) all_done.open();
    });
  ASSERT_TRUE(all_done.pass());
  EXPECT_GE(device.recorded, count - 1) << "each has an event, but for the last one";
  device.silent_about = -1;  // until then the poller asks in vain, as often as it can
  int const before = device.questions;
  graph.wait();
  EXPECT_LT(device.questions - before, count / 4);
}

TEST_F(Async, AJoinWaitsForTheEventsOfOtherStreams) {
  TaskGraph graph(with_workers(1));
  Block x("x"), y("y"), z("z");
  Gate gate, joined;
  kernel(graph, "x", {writes(x)}, [&] {
    gate.pass();
    x[0] = 1;
  });
  kernel(graph, "y", {writes(y)}, [&] {
    gate.pass();
    y[0] = 2;
  });
  kernel(
      graph, "join", {reads(x), reads(y), writes(z)}, [&] { z[0] = x[0] + y[0]; },
      [&] { joined.open(); });
  EXPECT_TRUE(joined.pass());
  EXPECT_EQ(device.waits, 1) << "it stays on the stream of one and waits for the other's event";
  EXPECT_EQ(device.streams, 2);
  gate.open();
  graph.wait();
  EXPECT_EQ(z[0], 3);
}

TEST_F(Async, IndependentTasksGoToDifferentStreams) {
  TaskGraphOptions options = with_workers(1);
  options.streams = 4;
  TaskGraph graph(options);
  Rendezvous all(4);
  std::atomic<int> met{0};
  for (int k = 0; k < 4; ++k) kernel(graph, "independent", {}, [&] { met += all.meet(); });
  graph.wait();
  EXPECT_EQ(met, 4);
  EXPECT_EQ(device.streams, 4);
  for (int k = 0; k < 20; ++k) kernel(graph, "more", {}, [] {});
  graph.wait();
  EXPECT_EQ(device.streams, 4) << "streams are reused";
}

TEST_F(Async, AChainNeedsNoEvents) {
  TaskGraph graph(with_workers(2));
  Block x("x"), y("y", 8);
  Gate gate, last_launched;
  kernel(graph, "gate", {writes(x), writes(y)}, [&] { gate.pass(); });
  for (int k = 0; k < 100; ++k)
    kernel(graph, "link", {updates(x), updates(y), reads(y(2, 3))}, [&] { ++x[0]; });
  kernel(graph, "last", {updates(x), updates(y)}, [] {}, [&] { last_launched.open(); });
  EXPECT_TRUE(last_launched.pass());
  std::this_thread::sleep_for(1ms);
  EXPECT_LE(device.recorded, 2)
      << "progress asks for one at the end, maybe while the chain was launched";
  gate.open();
  graph.wait();
  EXPECT_EQ(x[0], 100);
  EXPECT_EQ(device.waits, 0);
  EXPECT_EQ(device.streams, 1);
}

TEST_F(Async, AFanOutTakesFurtherStreamsAndOneEvent) {
  TaskGraph graph(with_workers(1));
  Block x("x"), y("y", 4);
  Gate gate;
  Rendezvous all(4);
  std::atomic<int> met{0};
  kernel(graph, "root", {writes(x)}, [&] { gate.pass(); });
  for (std::size_t k = 0; k < 4; ++k)
    kernel(graph, "branch", {reads(x), writes(y(k, 1))}, [&] { met += all.meet(); });
  EXPECT_EQ(device.waits, 3) << "one branch stays with the root";
  EXPECT_EQ(device.streams, 4);
  gate.open();
  graph.wait();
  EXPECT_EQ(met, 4);
}

TEST_F(Async, AJoinWaitsOnceForEachStream) {
  TaskGraphOptions options = with_workers(1);
  options.streams = 3;
  TaskGraph graph(options);
  Block x("x", 30), y("y");
  Gate gate;
  for (std::size_t k = 0; k < 30; ++k)
    kernel(graph, "part", {writes(x(k, 1))}, [&, k] {
      gate.pass();
      x[k] = 1;
    });
  EXPECT_EQ(device.waits, 0);
  kernel(graph, "join", {reads(x), writes(y)}, [&] {
    for (std::size_t k = 0; k < 30; ++k) y[0] += x[k];
  });
  EXPECT_EQ(device.waits, 2);
  kernel(graph, "again", {reads(x), updates(y)}, [&] { y[0] *= 2; });
  EXPECT_EQ(device.waits, 2) << "its stream has waited before";
  gate.open();
  graph.wait();
  EXPECT_EQ(y[0], 60);
}

TEST_F(Async, TheSubmittingThreadLaunchesWhatTheDeviceKeepsInOrder) {
  TaskGraph graph(with_workers(2));
  Block x("x");
  Gate gate;
  std::vector<std::thread::id> launched_by;
  auto const note = [&] { launched_by.push_back(std::this_thread::get_id()); };
  kernel(graph, "first", {writes(x)}, [&] { gate.pass(); }, note);
  for (int k = 0; k < 10; ++k) {
    kernel(graph, "link", {updates(x)}, [] {}, note);
    EXPECT_EQ(launched_by.size(), static_cast<std::size_t>(k + 2))
        << "launched before the call returned";
  }
  gate.open();
  graph.wait();
  EXPECT_THAT(launched_by, testing::Each(std::this_thread::get_id()));
}

/// First in, first out; counts what it sees of the device.
class CountingPolicy : public SchedulingPolicy {
 public:
  std::string_view name() const override { return "counting"; }
  void start(int slots) override { m_fifo->start(slots); }
  void push(ReadyTask task, int slot) override {
    note(task);
    m_fifo->push(task, slot);
  }
  ReadyTask finished(std::span<ReadyTask const> ready, int slot) override {
    for (ReadyTask const task : ready) note(task);
    return m_fifo->finished(ready, slot);
  }
  ReadyTask pop(int slot) override { return m_fifo->pop(slot); }
  bool empty() const override { return m_fifo->empty(); }
  std::atomic<int> of_the_device{0};

 private:
  void note(ReadyTask task) { of_the_device += task.label() == "kernel"; }
  std::shared_ptr<SchedulingPolicy> m_fifo = make_fifo_policy();
};

TEST_F(Async, AWorkerLaunchesWhatItMakesReadyAtOnce) {
  TaskGraphOptions options = with_workers(2);
  auto const policy = std::make_shared<CountingPolicy>();
  options.policy = policy;
  TaskGraph graph(options);
  Block x("x", 4);
  for (int round = 0; round < 20; ++round) {
    task(graph, "host", {updates(x)}, [] { std::this_thread::sleep_for(100us); });
    for (std::size_t k = 0; k < 4; ++k) {
      kernel(graph, "kernel", {updates(x(k, 1))}, [&, k] { ++x[k]; });
      task(graph, "beside", {reads(x(k, 1))}, [] {});
    }
    graph.wait();
  }
  EXPECT_EQ(policy->of_the_device, 0);
  EXPECT_EQ(x[3], 20);
}

TEST_F(Async, APlansRootsOnTheDeviceAreLaunchedByWhoeverStartsARound) {
  TaskGraphOptions options = with_workers(2);
  auto const policy = std::make_shared<CountingPolicy>();
  options.policy = policy;
  TaskGraph graph(options);
  Block x("x", 4), sum("sum");
  Plan const plan = graph.record([&] {
    for (std::size_t k = 0; k < 4; ++k)
      kernel(graph, "kernel", {updates(x(k, 1))}, [&, k] { ++x[k]; });
    task(graph, "host", {reads(x), updates(sum)}, [&] { sum[0] += x[0] + x[3]; });
  });
  graph.replay(plan, 10);
  graph.wait();
  EXPECT_EQ(policy->of_the_device, 0);
  EXPECT_EQ(sum[0], 110);
}

TEST_F(Async, ALongChainBehindAHostTaskIsLaunchedWithoutRecursion) {
  TaskGraphOptions options = with_workers(1);
  int const length = sanitized ? 2'000 : 100'000;
  options.in_flight = static_cast<std::size_t>(length) + 10;
  TaskGraph graph(options);
  Block x("x");
  Gate gate;
  task(graph, "host", {writes(x)}, [&] { gate.pass(); });
  for (int k = 0; k < length; ++k) kernel(graph, "link", {updates(x)}, [&] { ++x[0]; });
  gate.open();
  graph.wait();
  EXPECT_EQ(x[0], length);
}

TEST_F(Async, AStreamOfTheUsersIsUsedAndNoOther) {
  FakeDevice::Stream mine;
  Gate gate;
  mine.enqueue([&] { gate.pass(); });  // work of the user's own
  TaskGraphOptions options = with_workers(1);
  options.streams = 1;
  TaskGraph graph(options);
  Block x("x"), y("y");
  kernel(graph, "here", {writes(x)}, [&] { x[0] = 1; }, [] {}, {.instance = &mine});
  FakeDevice::Stream const same = mine;
  kernel(graph, "there", {updates(y)}, [&] {
    gate.pass();
    y[0] = 2;
  });
  auto const joined = kernel(
      graph, "behind both", {updates(x), reads(y)}, [&] { x[0] += y[0]; }, [] {},
      {.instance = &same});
  kernel(graph, "elsewhere", {reads(x), updates(y)}, [&] { y[0] = x[0]; });
  EXPECT_EQ(device.streams, 2) << "one of the graph, and the user's";
  EXPECT_EQ(device.waits, 2);
  std::this_thread::sleep_for(1ms);
  EXPECT_FALSE(joined.is_done());
  gate.open();
  graph.wait();
  EXPECT_EQ(y[0], 3);
}

TEST_F(Async, ADeviceTaskSubmittedInALaunchIsLaunchedLater) {
  TaskGraph graph(with_workers(1));
  std::atomic<bool> ran{false};
  task(graph, "submits", {}, [&](void*) { kernel(graph, "submitted", {}, [&] { ran = true; }); },
       {.space = &device});
  graph.wait();
  EXPECT_TRUE(ran);
}

/// A body with a result that is there when the device is done.
struct Finishing {
  long* on_device;
  long* result;
  bool throws = false;
  void operator()(void* instance) const {
    on_stream([to = on_device] { *to = 7; })(instance);
  }
  void finish() const {
    if (throws) throw std::runtime_error("no result");
    *result = *on_device;
  }
};

TEST_F(Async, AResultIsFetchedWhenTheDeviceIsDone) {
  TaskGraph graph(with_workers(1));
  long on_device = 0, result = 0;
  task(graph, "result", {}, Finishing{&on_device, &result}, {.space = &device}).get();
  EXPECT_EQ(result, 7);
  auto const bad = task(graph, "bad", {}, Finishing{&on_device, &result, true}, {.space = &device});
  EXPECT_THAT(message_of([&] { bad.get(); }),
              testing::AllOf(HasSubstr("\"bad\""), HasSubstr("no result")));
  EXPECT_THROW(graph.wait(), Error);
}

TEST_F(Async, AHostTaskWaitsForTheCompletionOfADeviceTask) {
  TaskGraph graph(with_workers(2));
  Block x("x");
  Gate gate;
  std::atomic<bool> host_ran{false};
  kernel(graph, "kernel", {writes(x)}, [&] {
    gate.pass();
    x[0] = 5;
  });
  auto const host = task(graph, "host", {reads(x)}, [&] {
    host_ran = true;
    return x[0];
  });
  std::this_thread::sleep_for(5ms);
  EXPECT_FALSE(host_ran);
  gate.open();
  EXPECT_EQ(host.get(), 5);
}

TEST_F(Async, ADeviceTaskIsLaunchedWhenAHostTaskIsComplete) {
  TaskGraph graph(with_workers(2));
  Block x("x");
  Gate gate;
  std::atomic<bool> launched{false};
  task(graph, "host", {writes(x)}, [&] {
    gate.pass();
    x[0] = 5;
  });
  kernel(graph, "kernel", {updates(x)}, [&] { x[0] *= 2; }, [&] { launched = true; });
  std::this_thread::sleep_for(5ms);
  EXPECT_FALSE(launched);
  gate.open();
  graph.wait();
  EXPECT_EQ(x[0], 10);
}

TEST_F(Async, DevicesThatCannotWaitForEachOtherGoByCompletion) {
  FakeDevice other("Other");
  TaskGraph graph(with_workers(1));
  Block x("x");
  Gate gate;
  std::atomic<bool> launched{false};
  kernel(graph, "here", {writes(x)}, [&] {
    gate.pass();
    x[0] = 1;
  });
  task(graph, "there", {updates(x)},
       [&](void* instance) {
         launched = true;
         on_stream([&] { x[0] += 10; })(instance);
       },
       {.space = &other});
  std::this_thread::sleep_for(5ms);
  EXPECT_FALSE(launched);
  gate.open();
  graph.wait();
  EXPECT_EQ(x[0], 11);
  EXPECT_EQ(device.waits + other.waits, 0);
}

TEST_F(Async, AfterHoldsOnTheDeviceToo) {
  TaskGraph graph(with_workers(1));
  Gate gate, launched;
  std::atomic<int> order{0};
  int first = 0, second = 0;
  auto const before = kernel(graph, "before", {}, [&] {
    gate.pass();
    first = ++order;
  });
  kernel(
      graph, "behind", {}, [&] { second = ++order; }, [&] { launched.open(); },
      {.after = handles(before)});
  EXPECT_TRUE(launched.pass());
  gate.open();
  graph.wait();
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 2);
}

TEST_F(Async, ASynchronizingHostTaskSeesTheDeviceIdle) {
  TaskGraph graph(with_workers(2));
  std::atomic<int> done{0};
  for (int k = 0; k < 6; ++k)
    kernel(graph, "kernel", {}, [&] {
      std::this_thread::sleep_for(1ms);
      ++done;
    });
  task(graph, "all", {}, [&] { EXPECT_EQ(done, 6); }, {.synchronizing = true});
  std::atomic<int> late{0};
  kernel(graph, "late", {}, [&] { late = done.load(); });
  graph.wait();
  EXPECT_EQ(late, 6);
}

TEST_F(Async, AFutureIsDoneWhenTheDeviceIs) {
  TaskGraph graph(with_workers(1));
  Gate gate, launched;
  auto const future = kernel(graph, "kernel", {}, [&] { gate.pass(); }, [&] { launched.open(); });
  launched.pass();
  std::this_thread::sleep_for(2ms);
  EXPECT_FALSE(future.is_done());
  gate.open();
  future.get();
  EXPECT_TRUE(future.is_done());
}

TEST_F(Async, AHostTaskMayWaitForADeviceTask) {
  for (int workers : {1, 2}) {
    TaskGraph graph(with_workers(workers));
    Block x("x");
    auto const sum = task(graph, "host", {}, [&] {
      long total = 0;
      for (int k = 0; k < 10; ++k) {
        kernel(graph, "kernel", {updates(x)}, [&] { ++x[0]; }).get();
        total += x[0];
      }
      return total;
    });
    EXPECT_EQ(sum.get(), 55) << workers << " workers";
  }
}

TEST_F(Async, ABodyLivesUntilTheDeviceIsDone) {
  TaskGraph graph(with_workers(1));
  Gate gate, launched;
  auto const data = std::make_shared<int>(1);
  auto const future = task(graph, "kernel", {},
                           [&gate, &launched, data](void* instance) {
                             on_stream([&gate, raw = data.get()] {
                               gate.pass();
                               *raw = 2;  // only the task's body keeps it
                             })(instance);
                             launched.open();
                           },
                           {.space = &device});
  launched.pass();
  std::this_thread::sleep_for(2ms);
  EXPECT_EQ(data.use_count(), 2);
  gate.open();
  future.get();
  EXPECT_EQ(data.use_count(), 1);
  EXPECT_EQ(*data, 2);
}

TEST_F(Async, ExclusiveTasksNeverOverlapOnTheDevice) {
  TaskGraph graph(with_workers(2));
  Block box("box");
  Occupancy occupancy;
  for (int k = 0; k < 40; ++k) {
    auto const stay = [&] {
      Occupancy::Stay const here(occupancy);
      std::this_thread::sleep_for(100us);
      ++box[0];
    };
    if (k % 4 == 0)
      task(graph, "host", {excludes(box)}, stay);
    else
      kernel(graph, "kernel", {excludes(box)}, stay);
  }
  graph.wait();
  EXPECT_EQ(occupancy.most(), 1);
  EXPECT_EQ(box[0], 40);
}

TEST_F(Async, TasksThatAddAtomicallyOverlapOnTheDevice) {
  TaskGraph graph(with_workers(1));
  Block sum("sum");
  Rendezvous both(2);
  std::atomic<int> met{0};
  for (int k = 0; k < 2; ++k) kernel(graph, "add", {adds(sum)}, [&] { met += both.meet(); });
  graph.wait();
  EXPECT_EQ(met, 2);
}

TEST_F(Async, EventsAndStreamsAreGivenBack) {
  {
    TaskGraph graph(with_workers(2));
    Block x("x", 4);
    for (int k = 0; k < 200; ++k) {
      auto const at = static_cast<std::size_t>(k % 4);
      kernel(graph, "kernel", {updates(x(at, 1)), reads(x((at + 1) % 4, 1))}, [] {});
    }
    graph.wait();
    EXPECT_EQ(device.events, 0);
    EXPECT_GT(device.streams, 0);
  }
  EXPECT_EQ(device.streams, 0);
}

TEST_F(Async, TheGraphsEndWaitsForTheDevice) {
  std::atomic<int> ran{0};
  {
    TaskGraph graph(with_workers(1));
    for (int k = 0; k < 8; ++k)
      kernel(graph, "kernel", {}, [&] {
        std::this_thread::sleep_for(1ms);
        ++ran;
      });
  }
  EXPECT_EQ(ran, 8);
}

TEST_F(Async, TheCapHoldsForTheDeviceToo) {
  TaskGraphOptions options = with_workers(1);
  options.in_flight = 8;
  TaskGraph graph(options);
  Block x("x");
  for (int k = 0; k < 500; ++k) {
    kernel(graph, "kernel", {updates(x)}, [&] { ++x[0]; });
    EXPECT_LE(graph.in_flight(), 8u);
  }
  graph.wait();
  EXPECT_EQ(x[0], 500);
}

TEST_F(Async, WhoeverSleepsAtTheCapIsWokenByWhatIsFoundToHavePassed) {
  // The submitter sleeps; the worker finds that most of the tasks have passed, and that is enough.
  // It does not get an answer to its next question before the submitter is awake.
  TaskGraphOptions options = with_workers(1);
  options.in_flight = 64;
  TaskGraph graph(options);
  Block x("x"), y("y");
  Gate gate, others, through, worker_asks;
  until_done(kernel(graph, "by the worker", {}, [] {}));
  std::atomic<bool> woken{true};
  auto const submitter = std::this_thread::get_id();
  device.when_asked = [&] {
    if (std::this_thread::get_id() == submitter) return;  // it does not sleep
    worker_asks.open();
    if (gate.is_open() && graph.in_flight() <= 16 && !through.pass()) woken = false;
  };
  kernel(graph, "first", {writes(x)}, [&] { gate.pass(); });
  for (int k = 1; k < 48; ++k) kernel(graph, "link", {updates(x)}, [] {});
  kernel(graph, "other", {writes(y)}, [&] { others.pass(); });
  for (int k = 1; k < 16; ++k) kernel(graph, "other", {updates(y)}, [] {});
  EXPECT_TRUE(worker_asks.pass());
  std::thread opens([&] {
    std::this_thread::sleep_for(50ms);
    gate.open();
  });
  task(graph, "one too many", {}, [] {});
  through.open();
  others.open();
  opens.join();
  graph.wait();
  EXPECT_TRUE(woken);
}

TEST_F(Async, ManyTasksCostNoMemoryForEver) {
  TaskGraphOptions options = with_workers(1);
  options.in_flight = 64;
  TaskGraph graph(options);
  Block x("x", 3);
  int const count = sanitized ? 2'000 : 30'000;
  std::size_t resident = 0;
  for (int k = 0; k < count; ++k) {
    auto const at = static_cast<std::size_t>(k % 3);
    kernel(graph, "kernel", {updates(x(at, 1)), reads(x((at + 1) % 3, 1))}, [] {});
    if (k == count / 10) resident = resident_bytes();
  }
  graph.wait();
  EXPECT_LT(resident_bytes(), resident + (std::size_t{4} << 20));
}

TEST_F(Async, PlansMixHostAndDeviceTasks) {
  {
    TaskGraph graph(with_workers(2));
    Block x("x"), y("y"), z("z");
    Future<long> sum;
    Plan const plan = graph.record([&] {
      kernel(graph, "grow", {updates(x)}, [&] { x[0] = 3 * x[0] + 1; });
      task(graph, "fold", {updates(x)}, [&] { x[0] %= 1000; });
      kernel(graph, "copy", {reads(x), writes(y)}, [&] { y[0] = x[0]; });
      kernel(graph, "beside", {updates(z)}, [&] { ++z[0]; });
      sum = task(graph, "sum", {reads(y), reads(z)}, [&] { return y[0] + z[0]; });
    });
    kernel(graph, "before", {writes(x)}, [&] { x[0] = 5; });
    graph.replay(plan, 50);
    kernel(graph, "after", {updates(y)}, [&] { y[0] = -y[0]; });
    long expected = 5;
    for (int round = 0; round != 50; ++round) expected = (3 * expected + 1) % 1000;
    EXPECT_EQ(sum.get(), expected + 50);
    graph.wait();
    EXPECT_EQ(y[0], -expected);
    EXPECT_EQ(device.events, 0);
  }
  EXPECT_EQ(device.streams, 0);
}

TEST_F(Async, TheSerialOracleRunsOneAfterTheOther) {
  Environment const serial("TRELLIS_SERIAL", "1");
  TaskGraph graph;
  Block x("x");
  for (int k = 0; k < 10; ++k) {
    auto const future = kernel(graph, "kernel", {updates(x)}, [&] { ++x[0]; });
    EXPECT_TRUE(future.is_done());
    EXPECT_EQ(x[0], k + 1);
  }
}

// Random chains over host and device against the same steps in order.
TEST_F(Async, RandomProgramsGiveWhatTheSerialOrderGives) {
  FakeDevice other("Other");
  for (std::uint64_t seed = 1; seed <= (sanitized ? 15u : 60u); ++seed) {
    std::mt19937_64 random(seed);
    TaskGraphOptions options = with_workers(1 + static_cast<int>(seed % 3));
    if (seed % 2 == 0) options.policy = make_shake_policy(seed);
    options.in_flight = seed % 5 == 0 ? 4 : 1000;
    TaskGraph graph(options);
    std::size_t const size = 12;
    Block x("x", size);
    std::vector<long> expected(size, 0);
    for (int k = 0; k < 150; ++k) {
      std::size_t const first = random() % size, count = 1 + random() % (size - first);
      std::size_t const from = random() % size;
      auto const step = [=](auto& values) {
        long const add = values[from];
        for (std::size_t n = first; n < first + count; ++n)
          values[n] = (values[n] * 3 + add + k) % 1'000'003;
      };
      step(expected);
      std::vector<Touch> const touches = {reads(x(from, 1)), updates(x(first, count))};
      auto const body = [&x, step] { step(x); };
      switch (random() % 4) {
        case 0:
          task(graph, "host", touches, body);
          break;
        case 1:
          task(graph, "other", touches, on_stream(body), {.space = &other});
          break;
        default:
          kernel(graph, "kernel", touches, body);
      }
      if (random() % 50 == 0) graph.wait();
    }
    graph.wait();
    for (std::size_t n = 0; n < size; ++n) ASSERT_EQ(x[n], expected[n]) << "seed " << seed;
  }
}

}  // namespace
}  // namespace trellis
