// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Futures as senders: what a receiver is told, and how often. Compiled with stdexec where it is
// found, and everywhere with a stand-in for it.
#include <Trellis.hpp>
#include <senders/Trellis_Sender.hpp>

#include "Timing.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace trellis {
namespace {

using namespace Test;
using testing::ElementsAre;
using testing::HasSubstr;

/// What a receiver has been told.
class Told {
 public:
  void value(int n) { tell("value " + std::to_string(n)); }
  void nothing() { tell("done"); }
  void stopped() { tell("stopped"); }
  void error(std::exception_ptr const& problem) {
    try {
      std::rethrow_exception(problem);
    } catch (std::exception const& error) {
      tell(std::string("error ") + error.what());
    }
  }
  /// All of it; waits for the first of it.
  std::vector<std::string> const& all() {
    while (!m_any) std::this_thread::yield();
    return m_all;
  }
  [[nodiscard]] bool any() const { return m_any; }

 private:
  void tell(std::string what) {
    m_all.push_back(std::move(what));
    m_any = true;
  }
  std::vector<std::string> m_all;
  std::atomic<bool> m_any{false};
};
struct TellingReceiver {
  using receiver_concept = stdexec::receiver_t;
  Told* told;
  void set_value(int n) && noexcept { told->value(n); }
  void set_value() && noexcept { told->nothing(); }
  void set_error(std::exception_ptr problem) && noexcept { told->error(problem); }
  void set_stopped() && noexcept { told->stopped(); }
};
template <class T>
struct SenderOperation {
  using Type = decltype(stdexec::connect(experimental::as_sender(Future<T>()), TellingReceiver{}));
  Told told;
  Type operation;
  explicit SenderOperation(Future<T> const& future)
      : operation(stdexec::connect(experimental::as_sender(future), TellingReceiver{&told})) {}
  void start() { stdexec::start(operation); }
};

class SenderOperations : public Timed {
 protected:
  static TaskGraphOptions options(int workers, bool serial = false) {
    TaskGraphOptions options;
    options.workers = workers;
    options.serial = serial;
    return options;
  }
};

TEST_F(SenderOperations, TellTheValueOnceWhenItIsThere) {
  for (int const workers : {1, 2}) {
    TaskGraph graph(options(workers));
    Gate gate;
    auto const six = host_task("six", ResourcePolicy(graph), [&] {
      EXPECT_TRUE(gate.pass());
      return 6;
    });
    auto const nothing = host_task("nothing", ResourcePolicy(graph, after(six)), [] {});
    SenderOperation<int> one(six), another(six);
    SenderOperation<void> behind(nothing);
    one.start();
    another.start();
    behind.start();
    EXPECT_FALSE(one.told.any());
    gate.open();
    EXPECT_THAT(one.told.all(), ElementsAre("value 6"));
    EXPECT_THAT(another.told.all(), ElementsAre("value 6"));
    EXPECT_THAT(behind.told.all(), ElementsAre("done"));
    graph.wait();
    SenderOperation<int> late(six);
    late.start();
    EXPECT_TRUE(late.told.any()) << "in the call";
    EXPECT_THAT(late.told.all(), ElementsAre("value 6"));
    EXPECT_THAT(one.told.all(), ElementsAre("value 6"));
  }
}

TEST_F(SenderOperations, OfASerialGraphAreOverInTheCall) {
  TaskGraph graph(options(1, true));
  SenderOperation<int> one(host_task("one", ResourcePolicy(graph), [] { return 1; }));
  one.start();
  EXPECT_TRUE(one.told.any());
  EXPECT_THAT(one.told.all(), ElementsAre("value 1"));
}

TEST_F(SenderOperations, TellFailuresAndWhatWasStopped) {
  TaskGraph graph(options(2));
  Gate gate;
  auto const bad = host_task("bad", ResourcePolicy(graph), [&]() -> int {
    EXPECT_TRUE(gate.pass());
    throw std::runtime_error("no");
  });
  auto const asked = host_task("asked", ResourcePolicy(graph, after(bad)), [] { return 1; });
  auto const held = host_task("held", ResourcePolicy(graph), [&] { EXPECT_TRUE(gate.pass()); });
  auto const stopped = host_task("stopped", ResourcePolicy(graph, after(held)), [] { return 1; });
  SenderOperation<int> of_bad(bad), behind(asked), of_stopped(stopped);
  of_bad.start();
  behind.start();
  of_stopped.start();
  graph.cancel(stopped);
  gate.open();
  EXPECT_THAT(of_bad.told.all(), ElementsAre(HasSubstr("\"bad\"")));
  EXPECT_THAT(behind.told.all(),
              ElementsAre(testing::AllOf(HasSubstr("\"asked\""), HasSubstr("was cancelled"))));
  EXPECT_THAT(of_stopped.told.all(), ElementsAre("stopped"));
  EXPECT_THROW(graph.wait(), Error);
}

TEST_F(SenderOperations, OfNoTaskAndOfAGraphThatIsGone) {
  SenderOperation<int> of_none{Future<int>()};
  of_none.start();
  EXPECT_THAT(of_none.told.all(), ElementsAre(HasSubstr("error ")));
  Future<int> late;
  {
    TaskGraph graph(options(1));
    late = host_task("late", ResourcePolicy(graph), [] { return 3; });
  }
  SenderOperation<int> of_late(late);
  of_late.start();
  EXPECT_THAT(of_late.told.all(), ElementsAre("value 3"));
}

/// A recorded task has the value of the newest replay.
TEST_F(SenderOperations, OfARecordedTask) {
  TaskGraph graph(options(2));
  Future<int> count;
  Plan const plan = graph.record("plan", [&] {
    count = host_task("count", ResourcePolicy(graph), [n = 0]() mutable { return ++n; });
  });
  SenderOperation<int> early(count);
  early.start();
  EXPECT_THAT(early.told.all(), ElementsAre(HasSubstr("has no result yet")));
  for (int round = 1; round <= 5; ++round) {
    graph.replay(plan, 3);
    SenderOperation<int> newest(count);
    newest.start();
    EXPECT_THAT(newest.told.all(), ElementsAre("value " + std::to_string(3 * round)));
  }
  graph.wait();
}

/// One that is started within a recording is told of the first round, or that there was none.
TEST_F(SenderOperations, StartedInARecording) {
  for (int const rounds : {0, 1, 5})
    for (bool const fails : {false, true}) {
      std::unique_ptr<SenderOperation<int>> started;
      TaskGraph graph(options(2));
      {
        Plan const plan = graph.record("plan", [&] {
          started = std::make_unique<SenderOperation<int>>(
              host_task("count", ResourcePolicy(graph), [fails, n = 0]() mutable {
                if (fails) throw std::runtime_error("no");
                return ++n;
              }));
          started->start();
        });
        EXPECT_FALSE(started->told.any());
        if (rounds != 0) graph.replay(plan, static_cast<std::uint64_t>(rounds));
        if (fails && rounds != 0)
          EXPECT_THROW(graph.wait(), Error);
        else
          graph.wait();
      }
      EXPECT_THAT(started->told.all(), ElementsAre(HasSubstr(rounds == 0 ? "has no result yet"
                                                             : fails     ? "\"count\""
                                                                         : "value 1")));
    }
}

}  // namespace
}  // namespace trellis
