// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions that a graph calls while there is something to ask for.
#include "LateTest.hpp"
#include "Timing.hpp"

#include <Trellis_Progress.hpp>

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;
using namespace std::chrono_literals;
using testing::HasSubstr;

class ProgressFunctions : public Timed {};

TaskGraphOptions one_by_one() {
  TaskGraphOptions options;
  options.serial = true;
  return options;
}

TEST_F(ProgressFunctions, CompleteTasks) {
  for (TaskGraphOptions const& options :
       {with_workers(1), with_workers(2), with_workers(4), one_by_one()}) {
    Block x("x", 4);
    Slots slots;
    TaskGraph graph(options);
    Progress progress = graph.add_progress([&] {
      if (Completion<> completion = slots.try_take(); completion.valid()) completion.done();
      return !slots.empty();
    });
    for (int k = 0; k < 1000; ++k) {
      late(graph, "late", {updates(x(k % 4, 1))}, [&](Completion<> completion) {
        slots.put(std::move(completion));
        progress.ask();
      });
      task(graph, "next", {updates(x(k % 4, 1))}, [&, k] { ++x[k % 4]; });
    }
    graph.wait();
    for (int k = 0; k < 4; ++k) EXPECT_EQ(x[k], 250);
  }
}

/// Time goes by, so that a function that is called for nothing would be seen.
TEST_F(ProgressFunctions, AreCalledOnlyWhileThereIsSomethingToAskFor) {
  for (int const workers : {1, 2}) {
    std::atomic<int> calls{0};
    std::atomic<int> left{0};
    TaskGraph graph(with_workers(workers));
    Progress progress = graph.add_progress([&] {
      ++calls;
      return --left > 0;
    });
    auto const idle = [&] {
      for (int k = 0; k < 20; ++k) task(graph, "t", {}, [] {});
      graph.wait();
      std::this_thread::sleep_for(5ms);
    };
    idle();
    EXPECT_EQ(calls, 0);
    left = 10;
    progress.ask();
    while (left > 0) std::this_thread::yield();
    idle();
    EXPECT_EQ(calls, 10);
    left = 1;
    progress.ask();
    while (left > 0) std::this_thread::yield();
    idle();
    EXPECT_EQ(calls, 11);
  }
}

/// Nobody is ever idle.
TEST_F(ProgressFunctions, AreCalledBetweenTasks) {
  for (int const workers : {1, 2}) {
    Block x("x");
    std::atomic<bool> is_over{false};
    std::atomic<int> running{0}, between{0};
    TaskGraph graph(with_workers(workers));
    Progress progress = graph.add_progress([&] {
      between += running == 0;
      return !is_over;
    });
    progress.ask();
    while (between < 20)
      task(graph, "chain", {updates(x)}, [&] {
        ++running;
        auto const until = std::chrono::steady_clock::now() + 5us;
        while (std::chrono::steady_clock::now() < until) {
        }
        --running;
      });
    is_over = true;
    graph.wait();
  }
}

/// What takes long takes no core.
TEST_F(ProgressFunctions, LetTheThreadSleepWhileTheyAskInVain) {
  for (TaskGraphOptions const& options : {with_workers(1), with_workers(2), one_by_one()})
    for (ProgressThread const thread : {ProgressThread::any, ProgressThread::main}) {
      double used = 1;  // seconds of a core, of 0.3
      std::chrono::nanoseconds late_by = 1s;
      for (int attempt = 0; attempt < 5 && (used >= 0.15 || late_by >= 250ms); ++attempt) {
        Slots slots;
        TaskGraph graph(options);
        auto const end = std::chrono::steady_clock::now() + 300ms;
        Progress progress = graph.add_progress(
            [&] {
              if (std::chrono::steady_clock::now() < end) return true;
              slots.take().done();
              return false;
            },
            thread);
        std::clock_t const before = std::clock();
        late(graph, "late", {}, [&](Completion<> completion) {
          slots.put(std::move(completion));
          progress.ask();
        });
        graph.wait();
        used = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
        late_by = std::chrono::steady_clock::now() - end;
      }
      EXPECT_LT(used, 0.15);
      EXPECT_LT(late_by, 250ms);
    }
}

TEST_F(ProgressFunctions, AreCalledByOneThreadAtATime) {
  std::atomic<int> inside{0}, met{0}, calls{0};
  TaskGraph graph(with_workers(4));
  auto const f = [&] {
    met += inside++ != 0;
    std::this_thread::yield();
    --inside;
    return ++calls < 2000;
  };
  Progress progress = graph.add_progress(f);
  Progress another = graph.add_progress(f);
  progress.ask();
  another.ask();
  while (calls < 2000)
    for (int k = 0; k < 10; ++k) task(graph, "t", {}, [] { std::this_thread::yield(); });
  graph.wait();
  EXPECT_EQ(met, 0);
}

/// Who asks during the last call is not forgotten.
TEST_F(ProgressFunctions, ForgetNothingThatIsAskedFor) {
  for (int const workers : {1, 2}) {
    std::atomic<int> asked{0}, seen{0};
    TaskGraph graph(with_workers(workers));
    Progress progress = graph.add_progress([&] {
      seen = asked.load();
      return false;
    });
    for (int k = 1; k <= (sanitized ? 1000 : 10'000); ++k) {
      ++asked;
      progress.ask();
      if (k % 3 == 0) std::this_thread::yield();
      if (k % 10 == 0)
        while (seen != k) std::this_thread::yield();
    }
  }
}

TEST_F(ProgressFunctions, OfTheMainThreadAreCalledThere) {
  for (int const workers : {1, 2}) {
    auto const main = std::this_thread::get_id();
    Block x("x");
    Slots slots;
    std::atomic<int> elsewhere{0};
    TaskGraph graph(with_workers(workers));
    Progress progress = graph.add_progress(
        [&] {
          elsewhere += std::this_thread::get_id() != main;
          if (Completion<> completion = slots.try_take(); completion.valid()) completion.done();
          return !slots.empty();
        },
        ProgressThread::main);
    auto const keep = [&](Completion<> completion) {
      slots.put(std::move(completion));
      progress.ask();
    };
    for (int k = 0; k < 200; ++k) late(graph, "late", {updates(x)}, keep);
    graph.wait();
    // While the main thread waits inside a task.
    for (int k = 0; k < 20; ++k) {
      auto const awaited = late(graph, "late", {updates(x)}, keep);
      Properties bound;
      bound.main_thread = true;
      task(
          graph, "waits", {},
          [&, awaited] {
            EXPECT_EQ(std::this_thread::get_id(), main);
            awaited.wait();
          },
          bound);
      graph.wait();
    }
    EXPECT_EQ(elsewhere, 0);
  }
}

TEST_F(ProgressFunctions, AreGoneWhenTheirObjectIs) {
  struct Held {
    std::shared_ptr<std::atomic<int>> value = std::make_shared<std::atomic<int>>(0);
    bool operator()() const { return ++*value > 0; }
  };
  TaskGraph graph(with_workers(2));
  for (int repeat = 0; repeat < 200; ++repeat) {
    std::weak_ptr<std::atomic<int>> watched;
    {
      Held held;
      watched = held.value;
      Progress progress = graph.add_progress(std::move(held));
      progress.ask();
      if (repeat % 2 == 0)
        while (*watched.lock() == 0) std::this_thread::yield();
      Progress moved = std::move(progress);
      EXPECT_FALSE(progress.valid());  // NOLINT(bugprone-use-after-move)
      EXPECT_TRUE(moved.valid());
    }
    EXPECT_TRUE(watched.expired());
  }
  // By themselves.
  std::optional<Progress> own;
  std::atomic<bool> is_gone{false};
  own = graph.add_progress([&] {
    own.reset();
    is_gone = true;
    return true;
  });
  own->ask();
  while (!is_gone) std::this_thread::yield();
  graph.wait();
}

TEST_F(ProgressFunctions, MayOutliveTheirGraph) {
  std::optional<Progress> progress;
  auto const held = std::make_shared<int>(0);
  {
    TaskGraph graph(with_workers(2));
    progress = graph.add_progress([held] { return false; });
    progress->ask();
  }
  progress->ask();
  progress.reset();
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_THAT(message_of([] { Progress().ask(); }), HasSubstr("belongs to no graph"));
}

TEST_F(ProgressFunctions, ThatWaitForTasksGetAnError) {
  TaskGraph graph(with_workers(2));
  std::string message;
  std::atomic<bool> is_over{false};
  Slots slots;
  auto const first = late(graph, "late", {}, slots.keeper());
  Progress progress = graph.add_progress([&] {
    message = message_of([&] { first.wait(); });
    is_over = true;
    return false;
  });
  progress.ask();
  while (!is_over) std::this_thread::yield();
  EXPECT_THAT(message, HasSubstr("a progress function waits for"));
  slots.take().done();
  graph.wait();
}

TEST_F(ProgressFunctions, MaySubmitTasks) {
  for (TaskGraphOptions const& options : {capped(1, 4), capped(2, 4), one_by_one()}) {
    Slots slots;
    std::atomic<int> ran{0};
    TaskGraph graph(options);
    Progress progress = graph.add_progress([&] {
      Completion<> completion = slots.try_take();
      if (!completion.valid()) return false;
      for (int k = 0; k < 10; ++k) task(graph, "from there", {}, [&] { ++ran; });
      completion.done();
      return true;
    });
    for (int k = 0; k < 20; ++k)
      late(graph, "late", {}, [&](Completion<> completion) {
        slots.put(std::move(completion));
        progress.ask();
      });
    graph.wait();
    EXPECT_EQ(ran, 200);
  }
}

/// The main thread is asleep, as a task has all workers, when somebody asks.
TEST_F(ProgressFunctions, OfTheMainThreadAreCalledAfterAWideTask) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    Slots slots;
    TaskGraph graph(with_workers(2));
    Progress progress = graph.add_progress(
        [&] {
          if (Completion<> completion = slots.try_take(); completion.valid()) completion.done();
          return !slots.empty();
        },
        ProgressThread::main);
    Properties wide;
    wide.space =
        Impl::GraphInternals::space_with(Impl::GraphInternals::handle(graph), nullptr, 2, "wide");
    late(
        graph, "wide", {},
        [&](Completion<> completion) {
          std::this_thread::sleep_for(2ms);
          slots.put(std::move(completion));
          progress.ask();
          std::this_thread::sleep_for(2ms);
        },
        wide);
    graph.wait();
  }
}

/// Each kind is asked for, in vain for long, and the main thread comes late.
TEST_F(ProgressFunctions, OfTheMainThreadAreCalledBesideOthers) {
  for (int const workers : {1, 2}) {
    Slots slots, of_main;
    TaskGraph graph(with_workers(workers));
    auto const begin = std::chrono::steady_clock::now();
    auto const asks = [&](Slots& which, std::chrono::milliseconds after) {
      return [&which, begin, after] {
        if (std::chrono::steady_clock::now() - begin < after) return true;
        if (Completion<> completion = which.try_take(); completion.valid()) completion.done();
        return !which.empty();
      };
    };
    Progress any = graph.add_progress(asks(slots, 60ms));
    Progress main = graph.add_progress(asks(of_main, 30ms), ProgressThread::main);
    late(graph, "any", {}, [&](Completion<> completion) {
      slots.put(std::move(completion));
      any.ask();
    });
    late(graph, "of main", {}, [&](Completion<> completion) {
      of_main.put(std::move(completion));
      main.ask();
    });
    std::this_thread::sleep_for(5ms);
    graph.wait();
  }
}

/// A task of one graph completes later in the function of another.
TEST_F(ProgressFunctions, OfOneGraphMayServeAnother) {
  for (int const workers : {1, 2}) {
    Slots slots;
    TaskGraph one(with_workers(workers)), other(with_workers(workers));
    Progress progress = other.add_progress([&] {
      if (Completion<> completion = slots.try_take(); completion.valid()) completion.done();
      return !slots.empty();
    });
    for (int k = 0; k < 300; ++k)
      late(one, "late", {}, [&](Completion<> completion) {
        slots.put(std::move(completion));
        progress.ask();
      });
    one.wait();
  }
}

// --- when nothing goes on ------------------------------------------------------------------------

TEST_F(ProgressFunctions, WhoWaitsForWhatIsToldWhenNothingGoesOn) {
  Block x("x");
  Slots slots;
  TaskGraphOptions options = with_workers(2);
  options.name = "graph \"g\"";
  options.watchdog = 0.05;
  testing::internal::CaptureStderr();
  {
    TaskGraph graph(options);
    Progress progress = graph.add_progress([&] { return !slots.empty(); });
    for (int k = 0; k < 100; ++k) task(graph, "before", {}, [] {});
    late(graph, "message", {writes(x)}, [&](Completion<> completion) {
      slots.put(std::move(completion));
      progress.ask();
    });
    auto const next = task(graph, "next", {reads(x)}, [] {});
    task(graph, "waits", {}, [next] { next.wait(); });
    Properties bound;
    bound.main_thread = true;
    task(graph, "bound", {}, [] {}, bound);
    std::this_thread::sleep_for(sanitized ? 1s : 400ms);
    slots.take().done();
    graph.wait();
    std::this_thread::sleep_for(200ms);  // nothing is in flight
  }
  std::string const text = testing::internal::GetCapturedStderr();
  EXPECT_THAT(text,
              HasSubstr("Trellis: no task of graph \"g\" has been completed for 0.05 s; 4 are "
                        "in flight (TRELLIS_WATCHDOG)\n"));
  EXPECT_THAT(text, HasSubstr("[host_task; write \"x\"]: under way; nobody has said yet that it is "
                              "over (Completion)\n"));
  EXPECT_THAT(text, HasSubstr("[host_task; read \"x\"]: waits for #101\n"));
  EXPECT_THAT(text, HasSubstr("  task #103 waits inside its body for task #102\n"));
  EXPECT_THAT(text, HasSubstr(": ready; bound to the main thread\n"));
  EXPECT_THAT(text, HasSubstr("  1 progress function is asked again and again\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr("for room")));
  EXPECT_EQ(text.find("no task of"), text.rfind("no task of")) << "it is told once: " << text;
}

/// The first task waits for what this thread would do next.
TEST_F(ProgressFunctions, AThreadThatWaitsForRoomIsToldWhenNothingGoesOn) {
  Block x("x");
  TaskGraphOptions options = capped(1, 2);
  options.watchdog = 0.05;
  testing::internal::CaptureStderr();
  {
    TaskGraph graph(options);
    Gate begun, gate;
    task(graph, "first", {writes(x)}, [&] {
      begun.open();
      EXPECT_TRUE(gate.pass());
    });
    ASSERT_TRUE(begun.pass());  // on a worker, not on this thread
    task(graph, "second", {reads(x)}, [] {});
    std::thread opener([&] {
      std::this_thread::sleep_for(sanitized ? 1s : 400ms);
      gate.open();
    });
    task(graph, "third", {reads(x)}, [] {});
    opener.join();
    graph.wait();
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("  1 thread that submits waits for room: in_flight is 2 "
                        "(TRELLIS_IN_FLIGHT)\n"));
}

/// A mutex that is taken again at once lets nobody else in.
TEST_F(ProgressFunctions, AreAskedWithoutEndAndStillTellWhatTheyWaitFor) {
  constexpr int tells = 100, calls_for_each = 5;
  struct Function {
    std::atomic<int>* calls;
    bool operator()() {
      ++*calls;
      auto const end = std::chrono::steady_clock::now() + 100us;
      while (std::chrono::steady_clock::now() < end) continue;
      return true;
    }
    [[nodiscard]] std::string report() const { return "the tide"; }
  };
  std::atomic<int> calls{0};
  Impl::ProgressFunction<Function> source(false, Function{&calls});
  EXPECT_TRUE(source.ask());
  std::atomic<bool> is_over{false};
  std::thread caller([&] {
    while (!is_over) static_cast<void>(source.call());
  });
  while (calls == 0) std::this_thread::yield();
  int const before = calls;
  for (int k = 0; k < tells; ++k) EXPECT_EQ(source.tell(), "the tide");
  EXPECT_LT(calls - before, tells * calls_for_each);
  EXPECT_TRUE(source.take_away());
  is_over = true;
  caller.join();
  EXPECT_EQ(source.tell(), "");
}

TEST_F(ProgressFunctions, WatchdogsHaveATime) {
  TaskGraphOptions options;
  for (double const wrong : {-1.0, 1e300, std::numeric_limits<double>::quiet_NaN()}) {
    options.watchdog = wrong;
    EXPECT_THAT(message_of([&] { TaskGraph graph(options); }),
                HasSubstr("cannot have a watchdog of"));
  }
}

}  // namespace
}  // namespace trellis
