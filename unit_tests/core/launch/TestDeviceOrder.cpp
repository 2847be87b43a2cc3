// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Asynchronous spaces: who is complete before whom, and what that sets off, when streams are asked
// in an unlucky order.
#include "AsyncTest.hpp"

#include <base/Trellis_SpinLock.hpp>

#include <gmock/gmock.h>

#include <optional>
#include <random>
#include <vector>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;
using testing::HasSubstr;

/// Waits without running tasks. True when it was done in time.
template <class T>
bool done_in(Future<T> const& future, std::chrono::milliseconds patience) {
  auto const end = std::chrono::steady_clock::now() + patience;
  while (!future.is_done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

/// Two tasks on the device, one behind the other, on streams 1 and 0, launched when a host task is
/// over.
class TwoStreams : public Async {
 protected:
  void launch_both(TaskGraph& graph) {
    Gate before, launched;
    kernel(graph, "on stream 0", {writes(a)}, [this] { gate.pass(); });
    task(graph, "host", {writes(x)}, [&] { before.pass(); });
    first = kernel(graph, "first", {updates(x)}, [this] {
      gate.pass();
      x[0] = 1;
    });
    second = kernel(
        graph, "second", {reads(x), updates(a)}, [this] { a[0] = x[0]; }, [&] { launched.open(); });
    before.open();
    EXPECT_TRUE(launched.pass());
    EXPECT_EQ(device.streams, 2);
    EXPECT_EQ(device.waits, 1) << "the second one is behind the first one of the other stream";
  }
  Block x{"x"}, a{"a"};
  Gate gate;
  std::optional<Future<void>> first, second;
};

TEST_F(TwoStreams, ACompletedTaskTriggersNobodyWhoHasTakenThePlaceOfAnother) {
  // The second one waits for the launch of the first alone. Where it is found to have passed
  // earlier, its memory goes to one of the host tasks, which is not the first one's successor.
  TaskGraph graph(with_workers(2));
  launch_both(graph);
  device.silent_about = 1;
  gate.open();
  done_in(*second, 100ms);  // may be, or not
  std::this_thread::sleep_for(10ms);
  Block token("token");
  Gate behind;
  int const length = 200;
  int next = 0, violations = 0;
  task(graph, "in front", {updates(token)}, [&] { behind.pass(); });
  for (int k = 0; k < length; ++k)
    task(graph, "link", {updates(token)}, [&, k] { violations += next++ != k; });
  device.silent_about = -1;
  EXPECT_TRUE(done_in(*first, 20s));
  std::this_thread::sleep_for(10ms);
  behind.open();
  graph.wait();
  EXPECT_EQ(violations, 0);
  EXPECT_EQ(next, length);
  EXPECT_EQ(a[0], 1);
}

TEST_F(TwoStreams, ATaskIsNotCompleteBeforeWhatItIsOrderedBehind) {
  TaskGraph graph(with_workers(2));
  launch_both(graph);
  device.silent_about = 1;
  gate.open();
  EXPECT_FALSE(done_in(*second, 50ms));
  device.silent_about = -1;
  EXPECT_TRUE(done_in(*second, 20s));
  EXPECT_TRUE(first->is_done());
  graph.wait();
}

TEST_F(TwoStreams, ATaskBehindAnotherOneFailsWithIt) {
  // Though its own stream says that it has passed, before the failure is known or later.
  for (bool const fails_late : {false, true}) {
    FakeDevice own;
    TaskGraph graph(with_workers(2));
    Gate go;
    Block b("b"), c("c");
    kernel(graph, "on stream 0", {writes(c)}, [&] { go.pass(); }, [] {}, {.space = &own});
    auto const bad = kernel(graph, "bad", {writes(b)}, [&] { go.pass(); }, [] {}, {.space = &own});
    auto const behind =
        kernel(graph, "behind", {reads(b), updates(c)}, [] {}, [] {}, {.space = &own});
    auto const last = kernel(graph, "last", {updates(c)}, [] {}, [] {}, {.space = &own});
    auto const host = task(graph, "host", {reads(c)}, [] { FAIL(); });
    EXPECT_EQ(own.waits, 1);
    (fails_late ? own.silent_about : own.failed_stream) = 1;
    if (!fails_late) until_done(bad);
    go.open();
    std::this_thread::sleep_for(5ms);
    own.failed_stream = 1;
    EXPECT_THROW(graph.wait(), Error);
    EXPECT_EQ(error_of([&] { bad.get(); }).kind(), Error::Kind::task_failed) << fails_late;
    for (auto const* each : {&behind, &last, &host}) {
      Error const error = error_of([&] { each->get(); });
      EXPECT_EQ(error.kind(), Error::Kind::cancelled) << fails_late;
      EXPECT_THAT(error.what(), HasSubstr("\"bad\"")) << fails_late;
    }
  }
}

/// Has launched what it has to, and cannot fetch the result.
struct NoResult {
  void operator()(void* instance) const {
    on_stream([] {})(instance);
  }
  void finish() const { throw std::runtime_error("no result"); }
};

TEST_F(Async, WhatFailsAtItsEndCancelsThoseThatHaveBeenLaunchedBehindIt) {
  TaskGraph graph(with_workers(2));
  Block x("x"), y("y");
  Gate gate;
  kernel(graph, "slow", {writes(x)}, [&] { gate.pass(); });
  auto const bad = task(graph, "bad", {updates(x)}, NoResult{}, {.space = &device});
  auto const behind = kernel(graph, "behind", {reads(x)}, [] {});
  auto const other = kernel(graph, "behind", {reads(x), writes(y)}, [] {});
  gate.open();
  EXPECT_THROW(graph.wait(), Error);
  EXPECT_EQ(error_of([&] { bad.get(); }).kind(), Error::Kind::task_failed);
  EXPECT_EQ(error_of([&] { behind.get(); }).kind(), Error::Kind::cancelled);
  EXPECT_EQ(error_of([&] { other.get(); }).kind(), Error::Kind::cancelled);
}

// A stale successor as it happens: tasks of the device behind one of the host, beside a chain on
// the host.
TEST_F(Async, AChainOnTheHostBesideManyStreamsKeepsItsOrder) {
  device.late = 98;
  TaskGraphOptions options = with_workers(2);
  options.streams = 6;
  options.in_flight = 256;
  TaskGraph graph(options);
  Block token("token"), start("start", 8), parts("parts", 24);
  long next = 0, violations = 0, submitted = 0;
  auto const take_long = [] {  // so that what comes behind is pending
    for (int k = 0; k < 500; ++k) Impl::cpu_relax();
  };
  std::mt19937_64 random(1);
  for (int round = 0; round < (sanitized ? 100 : 300); ++round) {
    std::size_t const here = static_cast<std::size_t>(round % 8);
    task(graph, "start", {updates(start(here, 1))}, [&] { take_long(); });
    for (int k = 0; k < 24; ++k)
      kernel(
          graph, "branch",
          {reads(start(here, 1)), reads(parts(random() % 24, 1)), updates(parts(random() % 24, 1))},
          [] {});
    for (int k = 0; k < 32; ++k)
      task(graph, "link", {updates(token)}, [&, at = submitted++] {
        violations += next++ != at;
        take_long();
      });
  }
  graph.wait();
  EXPECT_EQ(violations, 0);
  EXPECT_EQ(next, submitted);
}

}  // namespace
}  // namespace trellis
