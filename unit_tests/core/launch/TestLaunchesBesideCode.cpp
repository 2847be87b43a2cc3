// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Devices whose launches take long, and code of the user's that takes long on the thread that
// launches for others: no launch, and no task of the host, waits for the end of that.
#include "AsyncTest.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;

class LaunchesBesideCode : public Async {
 protected:
  void SetUp() override { device.is_slow = true; }

  /// Calls something at its end.
  struct Ends {
    std::function<void()> call;
    explicit Ends(std::function<void()> f) : call(std::move(f)) {}
    Ends(Ends const&) = delete;
    Ends& operator=(Ends const&) = delete;
    ~Ends() { call(); }
  };
  /// A device task that is done when `end` is opened. Then its functor is destroyed, most likely by
  /// a thread that stands by, which calls `at_end`.
  void ends_with(TaskGraph& graph, Gate& end, std::function<void()> at_end) {
    auto const object = std::make_shared<Ends>(std::move(at_end));
    task(graph, "with code at its end", {},
         [object, &end](void* instance) {
           static_cast<FakeDevice::Stream*>(instance)->enqueue([&end] { end.pass(); });
         },
         {.space = &device});
  }
  /// The device is busy until this is opened, so that a thread asks it.
  Gate busy;
  void keep_busy(TaskGraph& graph) {
    kernel(graph, "keeps the device busy", {}, [this] { busy.pass(); });
  }
  static void let_others_sleep() { std::this_thread::sleep_for(3ms); }
};

constexpr int worker_counts[] = {1, 2, 4};

/// The program waits by itself, so no thread is in the graph but the one in the destructor.
TEST_F(LaunchesBesideCode, ADestructorMayWaitForALaunchThatIsSubmittedMeanwhile) {
  for (int const workers : worker_counts) {
    Gate end, in, launched, over;
    std::atomic<bool> in_time{false};
    TaskGraph graph(with_workers(workers));
    keep_busy(graph);
    ends_with(graph, end, [&] {
      in.open();
      in_time = launched.pass(10s);
      over.open();
    });
    let_others_sleep();
    end.open();
    ASSERT_TRUE(in.pass());
    kernel(graph, "one", {}, [] {}, [&] { launched.open(); });
    ASSERT_TRUE(over.pass());
    EXPECT_TRUE(in_time) << workers;
    busy.open();
    graph.wait();
  }
}

/// The same while the program is in wait().
TEST_F(LaunchesBesideCode, ADestructorMayWaitForALaunchOfAChild) {
  for (int const workers : {2, 4}) {
    Gate end, in, launched;
    std::atomic<bool> in_time{false};
    {
      TaskGraph graph(with_workers(workers));
      keep_busy(graph);
      ends_with(graph, end, [&] {
        in.open();
        in_time = launched.pass(10s);
      });
      task(graph, "host", {}, [&] {
        let_others_sleep();
        end.open();
        EXPECT_TRUE(in.pass());
        child("one", {}, [&](void*) { launched.open(); }, {.space = &device}).wait();
        busy.open();
      });
      graph.wait();
    }
    EXPECT_TRUE(in_time) << workers;
  }
}

TEST_F(LaunchesBesideCode, ADestructorMayWaitForLaunchesThatAreOffered) {
  constexpr int launches = 40;
  for (int const workers : {2, 4}) {
    Gate end, launched;
    std::atomic<bool> in_time{false};
    std::atomic<int> count{0};
    {
      TaskGraph graph(with_workers(workers));
      keep_busy(graph);
      ends_with(graph, end, [&] { in_time = launched.pass(10s); });
      task(graph, "host", {}, [&] {
        let_others_sleep();
        Future<void> last;
        for (int k = 0; k < launches; ++k)
          last = child("one", {},
                       [&](void*) {
                         std::this_thread::sleep_for(100us);
                         if (++count == launches) launched.open();
                       },
                       {.space = &device});
        end.open();
        EXPECT_TRUE(launched.pass());
        busy.open();
        last.wait();
      });
      graph.wait();
    }
    EXPECT_TRUE(in_time) << workers;
  }
}

TEST_F(LaunchesBesideCode, ADestructorMayWaitForADeviceTaskOfItsOwn) {
  for (int const workers : {2, 4}) {
    Gate end, ran, over;
    std::atomic<bool> in_time{false};
    TaskGraph graph(with_workers(workers));
    keep_busy(graph);
    ends_with(graph, end, [&] {
      kernel(graph, "from a destructor", {}, [&] { ran.open(); });
      in_time = ran.pass(10s);
      over.open();
    });
    let_others_sleep();
    end.open();
    ASSERT_TRUE(over.pass());
    EXPECT_TRUE(in_time) << workers;
    busy.open();
    graph.wait();
  }
}

TEST_F(LaunchesBesideCode, AHostTaskBeginsDuringADestructor) {
  for (int const workers : {2, 4}) {
    Gate end, in, ran, over;
    std::atomic<bool> in_time{false};
    TaskGraph graph(with_workers(workers));
    keep_busy(graph);
    ends_with(graph, end, [&] {
      in.open();
      in_time = ran.pass(10s);
      over.open();
    });
    let_others_sleep();
    end.open();
    ASSERT_TRUE(in.pass());
    task(graph, "host", {}, [&] { ran.open(); });
    ASSERT_TRUE(over.pass());
    EXPECT_TRUE(in_time) << workers;
    busy.open();
    graph.wait();
  }
}

TEST_F(LaunchesBesideCode, AHostTaskBeginsDuringALaunch) {
  for (int const workers : {2, 4}) {
    Gate in, ran, over;
    std::atomic<bool> in_time{false};
    TaskGraph graph(with_workers(workers));
    keep_busy(graph);
    let_others_sleep();
    std::thread submits([&] {
      kernel(
          graph, "slow launch", {}, [] {},
          [&] {
            in.open();
            in_time = ran.pass(10s);
            over.open();
          });
    });
    ASSERT_TRUE(in.pass());
    task(graph, "host", {}, [&] { ran.open(); });
    ASSERT_TRUE(over.pass());
    EXPECT_TRUE(in_time) << workers;
    submits.join();
    busy.open();
    graph.wait();
  }
}

/// The thread that stands by runs it, or another one; either way nothing that has been offered
/// waits for its end.
TEST_F(LaunchesBesideCode, ALongTaskOfTheHostKeepsNoLaunch) {
  constexpr int launches = 200;
  for (int const workers : {1, 2}) {
    Gate launched;
    std::atomic<int> count{0};
    std::atomic<bool> in_time{true};
    TaskGraph graph(with_workers(workers));
    Block x("x");
    keep_busy(graph);
    let_others_sleep();
    for (int k = 0; k < launches; ++k)
      kernel(
          graph, "update", {updates(x)}, [&] { ++x[0]; },
          [&] {
            std::this_thread::sleep_for(10us);
            if (++count == launches) launched.open();
          });
    for (int k = 0; k < workers; ++k)
      task(graph, "long", {}, [&] {
        if (!launched.pass(10s)) in_time = false;
      });
    EXPECT_TRUE(launched.pass()) << workers;
    busy.open();
    graph.wait();
    EXPECT_TRUE(in_time) << workers;
    EXPECT_EQ(x[0], launches);
  }
}

/// What the program launches there by hand afterwards comes behind it, though a destructor waits on
/// the thread that what comes before had been offered to.
TEST_F(LaunchesBesideCode, ATaskOnAStreamOfTheUsersIsLaunchedThoughADestructorWaits) {
  for (int round = 0; round < (sanitized ? 30 : 150); ++round) {
    Gate end;
    std::atomic<bool> in{false}, continues{false}, launched{false};
    std::atomic<int> value{0}, seen{0};
    FakeDevice::Stream mine;
    Gate still_busy;
    {
      TaskGraph graph(with_workers(1));
      Block x("x");
      Future<void> const first = kernel(graph, "first", {}, [&] { still_busy.pass(); });
      ends_with(graph, end, [&] {
        in = true;
        while (!continues) std::this_thread::yield();
        first.wait();
      });
      std::this_thread::sleep_for(1ms);
      end.open();
      while (!in) std::this_thread::yield();
      kernel(graph, "before", {updates(x)}, [&] { value = 1; });
      continues = true;
      std::this_thread::sleep_for(std::chrono::nanoseconds(200 * round));
      kernel(
          graph, "mine", {updates(x)}, [&] { value = 2 * value; }, [&] { launched = true; },
          {.instance = &mine});
      EXPECT_TRUE(launched) << round;
      mine.enqueue([&] { seen = value.load(); });
      still_busy.open();
      graph.wait();
      Gate through;
      mine.enqueue([&] { through.open(); });
      ASSERT_TRUE(through.pass());
      EXPECT_EQ(seen, 2) << round;
    }
  }
}

/// Such a task has launched nothing, so it ends there and then, and so does its functor.
TEST_F(LaunchesBesideCode, AFunctorMayWaitAtTheEndOfALaunchThatFails) {
  for (bool const opens_a_stream : {false, true}) {
    Gate failed, launched;
    std::atomic<bool> in_time{true};
    std::atomic<int> warm{0};
    FakeDevice::Stream mine;
    TaskGraphOptions options = with_workers(2);
    options.streams = 1;
    TaskGraph graph(options);
    Block x("x");
    auto const here = std::this_thread::get_id();
    keep_busy(graph);
    let_others_sleep();
    kernel(graph, "warm", {writes(x)}, [] {}, [&] { ++warm; });
    while (warm == 0) std::this_thread::yield();
    device.cannot_record = true;
    auto object = std::make_shared<Ends>([&] {
      device.cannot_record = false;
      failed.open();
      if (std::this_thread::get_id() == here) return;
      if (opens_a_stream)
        kernel(graph, "mine", {}, [] {}, [] {}, {.instance = &mine});
      else
        in_time = launched.pass(10s);
    });
    task(graph, "fails", {}, [object](void*) {}, {.space = &device});
    object.reset();
    ASSERT_TRUE(failed.pass());
    kernel(graph, "later", {}, [] {}, [&] { launched.open(); });
    busy.open();
    EXPECT_THROW(graph.wait(), std::runtime_error);
    EXPECT_TRUE(in_time);
  }
}

/// It asks the device while it waits.
TEST_F(LaunchesBesideCode, ATaskOfASerialGraphMayWaitForAChildOnADevice) {
  for (bool const is_slow : {false, true}) {
    device.is_slow = is_slow;
    TaskGraphOptions options = with_workers(1);
    options.serial = true;
    TaskGraph graph(options);
    Block x("x");
    auto const later = [&](int by) {
      return on_stream([&x, by] {
        std::this_thread::sleep_for(1ms);
        x[0] += by;
      });
    };
    task(graph, "waits for all", {updates(x)}, [&] {
      child("child", {updates(x)}, later(1), {.space = &device});
      wait_for_children();
      EXPECT_EQ(x[0], 1);
    });
    task(graph, "waits for one", {updates(x)}, [&] {
      child("child", {updates(x)}, later(2), {.space = &device}).wait();
      EXPECT_EQ(x[0], 3);
    });
    graph.wait();
    EXPECT_EQ(x[0], 3);
  }
}

}  // namespace
}  // namespace trellis
