// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans whose tasks run on one device become graphs of that device.
#include "Occupancy.hpp"
#include "Kernels.hpp"

#include <Trellis_Recorded.hpp>

#include <chrono>
#include <random>
#include <thread>

namespace trellis::Test {
namespace {

using namespace Bare;
using testing::HasSubstr;
using testing::IsEmpty;

/// Counts on the device, and the result comes when that is done.
struct Finishing {
  static constexpr bool launches_only = true;
  long* on_device;
  long* result;
  void operator()(void* instance) const {
    SimulatedDevice::launch(instance, {[to = on_device] { ++*to; }, "count"});
  }
  void finish() const { *result = *on_device; }
};

/// Launches something, but may have no result.
struct Failing {
  static constexpr bool launches_only = true;
  bool* fails;
  void operator()(void* instance) const {
    SimulatedDevice::launch(instance, {[] {}, "failing"});
  }
  void finish() const {
    if (*fails) throw std::runtime_error("no result");
  }
};

class DevicePlans : public EitherTime {
 protected:
  std::shared_ptr<SimulatedClock> clock = make_clock();
  SimulatedDevice device{{.clock = clock}};
};
INSTANTIATE_TEST_SUITE_P(Time, DevicePlans, testing::Bool(), name_of_time);

TEST_P(DevicePlans, AReplayIsOneLaunch) {
  {
    TaskGraph graph(with_workers(1));
    Block x("x"), y("y"), z("z");
    Plan const plan = graph.record([&] {
      kernel(graph, device, "grow", {updates(x)}, [&] { x[0] = (3 * x[0] + 1) % 1000; });
      kernel(graph, device, "left", {reads(x), writes(y)}, [&] { y[0] = x[0] + 1; });
      kernel(graph, device, "right", {reads(x), writes(z)}, [&] { z[0] = x[0] + 2; });
      kernel(graph, device, "join", {reads(y), reads(z), updates(x)},
             [&] { x[0] += y[0] * z[0] % 7; });
    });
    EXPECT_EQ(x[0], 0) << "recording runs nothing";
    kernel(graph, device, "before", {writes(x)}, [&] { x[0] = 5; });
    graph.replay(plan, 3);
    graph.replay(plan, 100);
    kernel(graph, device, "after", {updates(x)}, [&] { x[0] = -x[0]; });
    graph.wait();
    long expected = 5;
    for (int round = 0; round < 103; ++round) {
      expected = (3 * expected + 1) % 1000;
      expected += (expected + 1) * (expected + 2) % 7;
    }
    EXPECT_EQ(x[0], -expected);
    EXPECT_EQ(count(device, Kind::launch_graph), 3u + 3 * (32 / 8) + 4)
        << "3 rounds; 3 times 32, as graphs of 8 rounds; and 4";
    EXPECT_EQ(count(device, Kind::end_capture), 2u);
    EXPECT_THAT(texts(device, {Kind::synchronize}), IsEmpty());
    std::size_t launches = 0;
    for (SimulatedRecord const& record : device.log())
      launches += record.kind == Kind::launch && !record.captured ? 1 : 0;
    EXPECT_EQ(launches, 2u) << "before and after";
    EXPECT_EQ(device.live_graphs(), 2);
  }
  EXPECT_EQ(device.live_graphs(), 0);
  EXPECT_EQ(device.live_streams(), 0);
  EXPECT_EQ(device.live_events(), 0);
}

TEST_P(DevicePlans, AGraphHasNoEdgesThatOthersImply) {
  int const readers = 6;
  TaskGraph graph(with_workers(1));
  Block x("x"), z("z");
  std::vector<std::unique_ptr<Block>> y;
  for (int k = 0; k < readers; ++k) y.push_back(std::make_unique<Block>("y"));
  Plan const plan = graph.record([&] {
    for (int turn = 0; turn < 3; ++turn) {
      kernel(graph, device, "fork", {updates(x), reads(z)}, [&] { x[0] += z[0] + 1; });
      for (auto const& each : y)
        kernel(graph, device, "read", {reads(x), updates(*each)},
               [&x, y = each.get()] { (*y)[0] += x[0]; });
      std::vector<Touch> all{reads(x), updates(z)};
      for (auto const& each : y) all.push_back(reads(*each));
      kernel(graph, device, "join", all, [&] {
        for (auto const& each : y) z[0] = (z[0] + (*each)[0]) % 1000;
      });
    }
  });
  std::size_t waits = 0;
  for (SimulatedRecord const& record : device.log())
    waits += record.kind == Kind::wait_event && record.captured ? 1 : 0;
  // In each turn the readers but one, which follows on its stream, wait for the fork, and the join
  // for those but one; the next fork follows the join, and its readers find their streams free.
  // Besides: streams begin behind the first one, and end in it.
  std::size_t const others = readers - 1;
  EXPECT_EQ(waits, 3 * 2 * others + 2 * others);
  graph.replay(plan, 2);
  graph.wait();
  long in_x = 0, in_z = 0;
  std::vector<long> in_y(readers, 0);
  for (int turn = 0; turn < 2 * 3; ++turn) {
    in_x += in_z + 1;
    for (long& each : in_y) in_z = (in_z + (each += in_x)) % 1000;
  }
  EXPECT_EQ(z[0], in_z);
}

TEST_P(DevicePlans, AFutureHoldsTheNewestReplay) {
  long on_device = 0, result = 0;
  TaskGraph graph(with_workers(1));
  Future<void> counted;
  Plan const plan = graph.record([&] {
    counted = task(graph, "count", {}, Finishing{&on_device, &result}, {.space = &device});
  });
  graph.replay(plan, 4);
  counted.get();
  EXPECT_EQ(result, 4);
  graph.replay(plan, 3);
  counted.get();
  EXPECT_EQ(result, 7);
  EXPECT_EQ(count(device, Kind::launch_graph), 7u);
}

TEST_P(DevicePlans, WhatCannotBeCapturedIsLaunchedTaskByTask) {
  TaskGraph graph(with_workers(1));
  Block x("x"), y("y");
  Plan const plan = graph.record([&] {
    kernel(graph, device, "one", {updates(x)}, [&] { ++x[0]; });
    struct Allocating : Kernel {
      void operator()(void* instance) const {
        SimulatedDevice::uncapturable(instance, "an allocation");
        Kernel::operator()(instance);
      }
    };
    task(graph, "two", {reads(x), updates(y)}, Allocating{{[&] { y[0] += x[0]; }, "two"}},
         {.space = &device});
  });
  graph.replay(plan, 5);
  graph.wait();
  EXPECT_EQ(y[0], 15);
  EXPECT_EQ(count(device, Kind::launch_graph), 0u);
  EXPECT_EQ(device.live_graphs(), 0);
}

TEST_P(DevicePlans, APlanWithBodiesThatDoMoreThanLaunchIsLaunchedTaskByTask) {
  TaskGraph graph(with_workers(1));
  int calls = 0;
  Plan const plan = graph.record(
      [&] { task(graph, "counts its calls", {}, [&](void*) { ++calls; }, {.space = &device}); });
  graph.replay(plan, 5);
  graph.wait();
  EXPECT_EQ(calls, 5);
}

TEST_P(DevicePlans, ADeviceWithoutGraphsLaunchesTaskByTask) {
  SimulatedDevice plain({.clock = clock, .graphs = false});
  TaskGraph graph(with_workers(1));
  Block x("x");
  Plan const plan =
      graph.record([&] { kernel(graph, plain, "one", {updates(x)}, [&] { ++x[0]; }); });
  graph.replay(plan, 5);
  graph.wait();
  EXPECT_EQ(x[0], 5);
}

TEST_P(DevicePlans, IterationsThatAreAlikeUpdateTheGraph) {
  TaskGraph graph(with_workers(1));
  Block a("a"), b("b");
  Block* front = &a;
  Block* back = &b;
  long expected_a = 1, expected_b = 0;
  a[0] = 1;
  IterateReport const report = graph.iterate("steps", 30, [&](std::uint64_t step) {
    long const add = static_cast<long>(step);
    kernel(graph, device, "step", {reads(*front), writes(*back)},
           [from = front, to = back, add] { (*to)[0] = ((*from)[0] * 3 + add) % 1009; });
    kernel(graph, device, "more", {updates(*back)}, [to = back] { ++(*to)[0]; });
    long& from = front == &a ? expected_a : expected_b;
    long& to = front == &a ? expected_b : expected_a;
    to = (from * 3 + add) % 1009 + 1;
    std::swap(front, back);
    return true;
  });
  graph.wait();
  EXPECT_EQ(a[0], expected_a);
  EXPECT_EQ(b[0], expected_b);
  EXPECT_EQ(report.dynamic, 0u);
  EXPECT_GT(count(device, Kind::update_graph), 20u);
  EXPECT_EQ(count(device, Kind::launch_graph), 30u);
}

TEST_P(DevicePlans, AFailureInAGraphIsThatOfItsTasks) {
  TaskGraph graph(with_workers(1));
  Block x("x"), y("y");
  Future<void> bad, beside;
  Plan const plan = graph.record([&] {
    bad = kernel(graph, device, "bad", {updates(x)},
                 [] { throw std::runtime_error("out of range"); });
    beside = kernel(graph, device, "beside", {updates(y)}, [&] { ++y[0]; });
  });
  auto const whole = graph.replay(plan, 2);
  EXPECT_THAT(Bare::message_of([&] { whole.get(); }), HasSubstr("out of range"));
  EXPECT_THAT(Bare::message_of([&] { bad.get(); }),
              testing::AllOf(HasSubstr("\"bad\""), HasSubstr("out of range")));
  EXPECT_NE(Bare::message_of([&] { beside.get(); }), "no error") << "nobody knows what it has done";
  EXPECT_THROW(graph.wait(), Error);
}

TEST_P(DevicePlans, InARecordingGraphTheTasksAreSeenOneByOne) {
  TaskGraph graph(recorded(1));
  Block x("x");
  Plan const plan =
      graph.record([&] { kernel(graph, device, "one", {updates(x)}, [&] { ++x[0]; }); });
  graph.replay(plan, 3);
  graph.wait();
  EXPECT_EQ(x[0], 3);
  EXPECT_EQ(graph.dependency_graph().nodes().size(), 4u);
}

TEST_P(DevicePlans, PiecesOfAMixedPlanAreOneLaunchEach) {
  TaskGraph graph(with_workers(2));
  Block x("x"), y("y"), z("z"), sum("sum");
  Future<long> total;
  Plan const plan = graph.record([&] {
    kernel(graph, device, "a", {updates(x)}, [&] { x[0] = (3 * x[0] + 1) % 1000; });
    kernel(graph, device, "b", {reads(x), writes(y)}, [&] { y[0] = x[0] + 1; });
    kernel(graph, device, "c", {reads(x), writes(z)}, [&] { z[0] = x[0] + 2; });
    total = task(graph, "host", {reads(y), reads(z), updates(sum)},
                 [&] { return sum[0] += y[0] + z[0]; });
    kernel(graph, device, "d", {reads(sum), updates(x)}, [&] { x[0] = (x[0] + sum[0]) % 1000; });
    kernel(graph, device, "e", {updates(x)}, [&] { ++x[0]; });
    kernel(graph, device, "alone", {updates(sum)}, [&] { sum[0] %= 500; });
  });
  graph.replay(plan, 20);
  long at = 0, all = 0, result = 0;
  for (int round = 0; round < 20; ++round) {
    at = (3 * at + 1) % 1000;
    result = all += 2 * at + 3;
    at = (at + all) % 1000 + 1;
    all %= 500;
  }
  EXPECT_EQ(total.get(), result);
  graph.wait();
  EXPECT_EQ(x[0], at);
  EXPECT_EQ(sum[0], all);
  EXPECT_EQ(count(device, Kind::end_capture), 2u);
  EXPECT_EQ(count(device, Kind::launch_graph), 40u);
  std::size_t single = 0;
  for (SimulatedRecord const& record : device.log())
    single += record.kind == Kind::launch && !record.captured ? 1 : 0;
  EXPECT_EQ(single, 0u) << "\"alone\" follows \"d\", which reads the sum";
}

TEST_P(DevicePlans, AFailureInAPieceIsThatOfItsTasks) {
  TaskGraph graph(with_workers(1));
  Block x("x"), y("y");
  bool fails = true;
  Future<void> bad, behind;
  std::atomic<int> host_ran{0}, beside{0};
  Plan const plan = graph.record([&] {
    bad = task(graph, "bad", {updates(x)}, Failing{&fails}, {.space = &device});
    behind = kernel(graph, device, "behind", {reads(x), updates(y)}, [&] { ++y[0]; });
    task(graph, "host", {reads(y)}, [&] { ++host_ran; });
    task(graph, "beside", {}, [&] { ++beside; });
  });
  auto const whole = graph.replay(plan, 2);
  EXPECT_THAT(Bare::message_of([&] { whole.get(); }), HasSubstr("no result"));
  EXPECT_THAT(Bare::message_of([&] { bad.get(); }), HasSubstr("\"bad\""));
  EXPECT_NE(Bare::message_of([&] { behind.get(); }), "no error");
  EXPECT_THROW(graph.wait(), Error);
  EXPECT_EQ(host_ran, 0);
  EXPECT_EQ(beside, 2);
  fails = false;
  graph.replay(plan, 3);
  graph.wait();
  EXPECT_NO_THROW(bad.get());
  EXPECT_EQ(host_ran, 3);
}

TEST_P(DevicePlans, AreMadeAndDroppedInALaunch) {
  TaskGraph graph(with_workers(1));
  Block x("x");
  auto const body = [&](void*) {
    Plan const plan =
        graph.record([&] { kernel(graph, device, "one", {updates(x)}, [&] { ++x[0]; }); });
    Plan const dropped = graph.record([&] { kernel(graph, device, "one", {updates(x)}); });
    graph.replay(plan, 3);
  };
  task(graph, "records", {}, body, {.space = &device});
  graph.wait();
  EXPECT_EQ(x[0], 3);
}

/// In real time. Replays that only read, so that no access orders them.
class ReplaysThatOnlyRead : public testing::Test {
 protected:
  /// A task of the plan: notes when two replays are there at once, which the thread sanitizer sees
  /// as well.
  void record_into(TaskGraph& graph) {
    task(graph, "count", {reads(x)}, Finishing{&on_device, &result}, {.space = &device});
    kernel(graph, device, "stay", {reads(x)}, [this] {
      Occupancy::Stay const here(occupancy);
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    });
  }
  SimulatedDevice device{{}};
  Block x{"x"};
  long on_device = 0, result = 0;
  Occupancy occupancy;
};

TEST_F(ReplaysThatOnlyRead, NeverOverlap) {
  TaskGraph graph(with_workers(2));
  Plan const plan = graph.record([&] { record_into(graph); });
  long rounds = 0;
  for (int k = 0; k < 60; ++k) {  // graphs of one round and of several in turns
    graph.replay(plan, k % 2 == 0 ? 1 : 9);
    rounds += k % 2 == 0 ? 1 : 9;
  }
  graph.wait();
  EXPECT_EQ(occupancy.most(), 1);
  EXPECT_EQ(on_device, rounds);
  EXPECT_EQ(result, rounds);
}

TEST_F(ReplaysThatOnlyRead, NeverOverlapWithThoseNestedInAnotherPlan) {
  TaskGraph graph(with_workers(2));
  Block y("y");
  Plan const plan = graph.record([&] { record_into(graph); });
  Plan const outer = graph.record([&] {
    task(graph, "host", {reads(y)}, [] {});
    graph.replay(plan, 2);
  });
  Plan const outermost = graph.record([&] { graph.replay(outer, 1); });
  long rounds = 0;
  for (int k = 0; k < 40; ++k) {
    graph.replay(plan, 1);
    graph.replay(outer, 1);
    graph.replay(plan, 9);
    graph.replay(outermost, 1);
    rounds += 14;
  }
  graph.wait();
  EXPECT_EQ(occupancy.most(), 1);
  EXPECT_EQ(on_device, rounds);
  EXPECT_EQ(result, rounds);
}

TEST_F(ReplaysThatOnlyRead, NeverOverlapWhoeverSubmitsThem) {
  TaskGraph graph(with_workers(2));
  Plan const plan = graph.record([&] { record_into(graph); });
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (int k = 0; k < 20; ++k) graph.replay(plan, k % 2 == 0 ? 1 : 33);
    });
  for (std::thread& each : threads) each.join();
  graph.wait();
  EXPECT_EQ(occupancy.most(), 1);
  EXPECT_EQ(on_device, 3 * 10 * 34);
}

TEST_P(DevicePlans, NestedPlansAndPlansOnTwoDevicesWork) {
  SimulatedDevice other({.number = 1, .clock = clock});
  TaskGraph graph(with_workers(2));
  Block x("x");
  Plan const inner =
      graph.record([&] { kernel(graph, device, "inner", {updates(x)}, [&] { x[0] += 2; }); });
  Plan const outer = graph.record([&] {
    kernel(graph, other, "outer", {updates(x)}, [&] { x[0] *= 3; });
    graph.replay(inner, 2);
  });
  graph.replay(outer, 3);
  graph.replay(inner, 1);
  graph.wait();
  long expected = 0;
  for (int round = 0; round < 3; ++round) expected = expected * 3 + 4;
  EXPECT_EQ(x[0], expected + 2);
}

/// In virtual time: the branches of a graph run side by side, whole graphs one after the other.
TEST(DevicePlanTimes, BranchesRunSideBySide) {
  auto const clock = virtual_clock();
  SimulatedDevice device({.clock = clock});
  TaskGraph graph(with_workers(1));
  Block x("x"), y("y", 4);
  Plan const plan = graph.record([&] {
    kernel(graph, device, "root", {updates(x)}, [] {}, 100);
    for (std::size_t k = 0; k < 4; ++k)
      kernel(graph, device, "branch", {reads(x), updates(y(k, 1))}, [] {}, 1000);
    kernel(graph, device, "join", {updates(x), reads(y)}, [] {}, 10);
  });
  graph.replay(plan, 2);
  graph.wait();
  EXPECT_EQ(clock->makespan(), 2 * 1110);
}

/// Two stages with two buffers between them: the second stage of a round may run beside the first
/// one of the next round, if both are in one graph.
TEST(DevicePlanTimes, RoundsInOneGraphOverlap) {
  auto const clock = virtual_clock();
  SimulatedDevice device({.clock = clock});
  TaskGraph graph(with_workers(1));
  Block x("x"), y("y"), even("even"), odd("odd");
  Plan const plan = graph.record([&] {
    for (Block* buffer : {&even, &odd}) {
      kernel(
          graph, device, "first", {updates(x), writes(*buffer)},
          [&x, buffer] { (*buffer)[0] = ++x[0]; }, 10);
      kernel(
          graph, device, "second", {reads(*buffer), updates(y)},
          [&y, buffer] { y[0] = (3 * y[0] + (*buffer)[0]) % 1009; }, 10);
    }
  });
  graph.replay(plan, 32);
  graph.wait();
  long expected = 0;
  for (long k = 1; k <= 64; ++k) expected = (3 * expected + k) % 1009;
  EXPECT_EQ(y[0], expected);
  EXPECT_EQ(count(device, Kind::launch_graph), 4u);
  EXPECT_EQ(clock->makespan(), 4 * (8 * 20 + 10)) << "32 * 30 without";
}

/// A task that would meet itself in the next round: nobody else orders the two.
TEST_P(DevicePlans, ATasksRunsDoNotOverlapInOneGraph) {
  TaskGraph graph(with_workers(1));
  Block x("x");
  std::atomic<int> running{0}, met{0}, runs{0};
  Plan const plan = graph.record([&] {
    for (int k = 0; k < 2; ++k)
      kernel(graph, device, "reader", {reads(x)}, [&, k] {
        if (k == 0 && running.fetch_add(1) != 0) ++met;
        if (!is_virtual()) std::this_thread::sleep_for(std::chrono::microseconds(50));
        ++runs;
        if (k == 0) --running;
      });
  });
  graph.replay(plan, 64);
  graph.wait();
  EXPECT_EQ(runs, 128);
  EXPECT_EQ(met, 0);
  EXPECT_EQ(count(device, Kind::launch_graph), 8u);
}

TEST_P(DevicePlans, RoundsOfAPlanWithASynchronizingTaskAreGraphsOfTheirOwn) {
  TaskGraph graph(with_workers(1));
  Block x("x"), y("y");
  Plan const plan = graph.record([&] {
    kernel(graph, device, "x", {updates(x)}, [&] { ++x[0]; });
    kernel(graph, device, "all", {}, [&] { y[0] = 3 * y[0] + x[0]; }, -1, {.synchronizing = true});
    kernel(graph, device, "x again", {updates(x)}, [&] { x[0] *= 2; });
  });
  graph.replay(plan, 32);
  graph.wait();
  long at = 0, sum = 0;
  for (int round = 0; round < 32; ++round) {
    sum = 3 * sum + ++at;
    at *= 2;
  }
  EXPECT_EQ(x[0], at);
  EXPECT_EQ(y[0], sum);
  EXPECT_EQ(count(device, Kind::launch_graph), 32u);
}

/// Random plans against plain loops, with replays, iterations of `iterate` and single tasks in
/// turns.
TEST_P(DevicePlans, RandomPlansGiveWhatTheSerialOrderGives) {
  for (std::uint64_t seed = 1; seed <= 90; ++seed) {
    std::mt19937_64 random(seed);
    TaskGraphOptions options = with_workers(1 + static_cast<int>(seed % 2));
    options.streams = 1 + static_cast<int>(seed % 4);
    TaskGraph graph(options);
    std::size_t const size = 10;
    Block x("x", size);
    std::vector<long> expected(size, 0);
    struct Step {
      std::size_t first, many, from;
      long add;
      bool on_host;
    };
    bool const mixed = seed % 3 != 0;
    auto const make_step = [&] {
      std::size_t const first = random() % size;
      return Step{first, 1 + random() % (size - first), random() % size,
                  static_cast<long>(random() % 100), mixed && random() % 3 == 0};
    };
    auto const apply = [](auto& values, Step const& step) {
      long const add = values[step.from];
      for (std::size_t n = step.first; n < step.first + step.many; ++n)
        values[n] = (values[n] * 3 + add + step.add) % 1'000'003;
    };
    auto const submit = [&](Step const& step) {
      std::vector<Touch> const touches = {reads(x(step.from, 1)),
                                          updates(x(step.first, step.many))};
      auto const body = [&x, step, apply] { apply(x, step); };
      if (step.on_host)
        task(graph, "host", touches, body);
      else
        kernel(graph, device, "kernel", touches, body);
    };
    std::vector<Step> steps(1 + random() % 12);
    for (Step& step : steps) step = make_step();
    Plan const plan = graph.record([&] {
      for (Step const& step : steps) submit(step);
    });
    for (int k = 0; k < 12; ++k) {
      if (random() % 3 == 0) {
        Step const step = make_step();
        apply(expected, step);
        submit(step);
      } else if (random() % 3 == 0) {
        std::uint64_t const iterations = 1 + random() % 4;
        long const base = static_cast<long>(random() % 100);
        graph.iterate("iterations", iterations, [&](std::uint64_t iteration) {
          for (Step step : steps) {
            step.add = base + static_cast<long>(iteration);
            apply(expected, step);
            submit(step);
          }
          return true;
        });
      } else {
        std::uint64_t const rounds = random() % (random() % 4 == 0 ? 90 : 5);
        for (std::uint64_t round = 0; round < rounds; ++round)
          for (Step const& step : steps) apply(expected, step);
        graph.replay(plan, rounds);
      }
      if (random() % 6 == 0) graph.wait();
    }
    graph.wait();
    for (std::size_t n = 0; n < size; ++n) ASSERT_EQ(x[n], expected[n]) << "seed " << seed;
    device.clear_log();
  }
  EXPECT_EQ(device.live_graphs() + device.live_streams() + device.live_events(), 0);
}

}  // namespace
}  // namespace trellis::Test
