// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Futures as senders; where stdexec is found.
#include <Trellis.hpp>
#include <senders/Trellis_Sender.hpp>

#include "Timing.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace trellis {
namespace {

using namespace Test;

class Sender : public Timed {};

TEST_F(Sender, CompletesWithTheValueBeforeAndAfterTheTask) {
  for (int const workers : {1, 2}) {
    TaskGraphOptions options;
    options.workers = workers;
    TaskGraph graph(options);
    Gate gate;
    auto const six = host_task("six", ResourcePolicy(graph), [&] {
      EXPECT_TRUE(gate.pass());
      return 6;
    });
    auto chain = experimental::as_sender(six) | stdexec::then([](int n) { return n + 1; });
    gate.open();
    EXPECT_EQ(stdexec::sync_wait(chain), std::optional(std::tuple(7)));
    six.wait();
    EXPECT_EQ(stdexec::sync_wait(chain), std::optional(std::tuple(7)));
    auto const nothing = host_task("nothing", ResourcePolicy(graph), [] {});
    EXPECT_TRUE(stdexec::sync_wait(experimental::as_sender(nothing)).has_value());
    graph.wait();
  }
}

/// It is not copied on the way.
TEST_F(Sender, SendsAReferenceToTheValue) {
  TaskGraph graph;
  auto const made =
      host_task("made", ResourcePolicy(graph), [] { return std::make_unique<int>(5); });
  std::unique_ptr<int> const* sent = nullptr;
  stdexec::sync_wait(experimental::as_sender(made) |
                     stdexec::then([&](std::unique_ptr<int> const& value) { sent = &value; }));
  EXPECT_EQ(sent, &made.get());
}

TEST_F(Sender, FailuresAreErrorsAndCancellationStops) {
  TaskGraph graph;
  Gate gate;
  auto const bad = host_task("bad", ResourcePolicy(graph), [&]() -> int {
    EXPECT_TRUE(gate.pass());
    throw std::runtime_error("no");
  });
  auto const behind = bad.then("behind", [](int n) { return n; });
  auto const never = host_task("never", ResourcePolicy(graph, after(bad)), [] {});
  graph.cancel(never);
  gate.open();
  for (auto const& future : {bad, behind}) {
    try {
      stdexec::sync_wait(experimental::as_sender(future));
      ADD_FAILURE() << "nothing is thrown";
    } catch (Error const& error) {
      EXPECT_EQ(error.kind(),
                future.id() == bad.id() ? Error::Kind::task_failed : Error::Kind::cancelled);
    }
  }
  EXPECT_THROW(graph.wait(), Error);
  Gate other;
  host_task("holds", ResourcePolicy(graph), [&] { EXPECT_TRUE(other.pass()); });
  auto const asked = host_task("asked", ResourcePolicy(graph, synchronizing), [] { return 1; });
  graph.cancel(asked);
  other.open();
  EXPECT_FALSE(stdexec::sync_wait(experimental::as_sender(asked)).has_value());
  graph.wait();
}

TEST_F(Sender, GraphsMayBeGoneAndFuturesEmpty) {
  Future<int> late;
  {
    TaskGraph graph;
    late = host_task("late", ResourcePolicy(graph), [] { return 3; });
  }
  EXPECT_EQ(stdexec::sync_wait(experimental::as_sender(late)), std::optional(std::tuple(3)));
  EXPECT_THROW(stdexec::sync_wait(experimental::as_sender(Future<int>())), Error);
  EXPECT_THROW(stdexec::sync_wait(experimental::as_sender(Future<void>())), Error);
}

/// Operations may end while they are still being started, and are completed once.
TEST_F(Sender, ManyAtATime) {
  for (bool const serial : {false, true})
    for (int round = 0; round < (sanitized ? 20 : 200); ++round) {
      TaskGraphOptions options;
      options.workers = 2;
      options.serial = serial;
      TaskGraph graph(options);
      std::atomic<int> completed{0};
      auto const task = [&](int k) {
        return experimental::as_sender(
                   host_task("number", ResourcePolicy(graph), [k] { return k; })) |
               stdexec::then([&](int n) {
                 ++completed;
                 return n;
               });
      };
      auto const sum = stdexec::sync_wait(stdexec::when_all(task(1), task(2), task(3), task(4)) |
                                          stdexec::then([](auto... n) { return (n + ...); }));
      EXPECT_EQ(sum, std::optional(std::tuple(10)));
      EXPECT_EQ(completed, 4);
      graph.wait();
    }
}

}  // namespace
}  // namespace trellis
