// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Host tasks whose callables take a Completion.
#include <Trellis.hpp>
#include <Trellis_Observation.hpp>

#include "Timing.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace trellis {
namespace {

using namespace Test;
using testing::HasSubstr;
using LateCell = Kokkos::View<long, Kokkos::HostSpace>;

TaskGraphOptions late_workers(int workers) {
  TaskGraphOptions options;
  options.workers = workers;
  return options;
}

template <class F>
std::string late_error(F&& f) {
  try {
    f();
  } catch (Error const& error) {
    return error.what();
  }
  return "nothing is thrown";
}

/// Threads that end a task a moment later.
class Threads {
 public:
  ~Threads() {
    for (std::thread& each : m_threads) each.join();
  }
  template <class F>
  void start(F f) {
    std::lock_guard const lock(m_mutex);
    m_threads.emplace_back(std::move(f));
  }

 private:
  std::mutex m_mutex;
  std::vector<std::thread> m_threads;
};

class LateTasks : public Timed {};

TEST_F(LateTasks, HaveTheValueThatDoneIsTold) {
  for (int const workers : {1, 2}) {
    Threads threads;
    TaskGraph graph(late_workers(workers));
    auto const future =
        host_task("late", ResourcePolicy(graph), [&](Completion<std::string> completion) {
          threads.start([c = std::move(completion)]() mutable { c.done("a value"); });
        });
    static_assert(std::is_same_v<decltype(future), Future<std::string> const>);
    EXPECT_EQ(future.get(), "a value");
    EXPECT_EQ(future.then([](std::string const& text) { return text.size(); }).get(), 7U);
    auto const sum = host_task("sum", ResourcePolicy(graph, value(future)),
                               [](std::string const& text) { return text + '!'; });
    EXPECT_EQ(sum.get(), "a value!");
  }
}

TEST_F(LateTasks, GetTheirViewsBehindTheCompletion) {
  Threads threads;
  TaskGraph graph(late_workers(2));
  LateCell x("x"), y("y");
  for (int k = 0; k < 20; ++k) {
    host_task("late", ResourcePolicy(graph, read_write(x)),
              [&](Completion<> completion, LateCell const& its) {
                threads.start([its, c = std::move(completion)]() mutable {
                  ++its();
                  c.done();
                });
              });
    host_task(
        "follows", ResourcePolicy(graph, read(x), read_write(y)),
        [=](read_view<LateCell> const& from, LateCell const& to) { EXPECT_EQ(from(), ++to()); });
  }
  graph.wait();
  EXPECT_EQ(y(), 20);
}

TEST_F(LateTasks, MayHaveChildren) {
  Threads threads;
  TaskGraph graph(late_workers(2));
  Kokkos::View<long[2], Kokkos::HostSpace> x("x");
  auto const whole =
      host_task("whole", ResourcePolicy(graph, read_write(x)),
                [&](TaskScope& self, Completion<long> completion, decltype(x) const& all) {
                  parallel_for(
                      "child", ResourcePolicy(self, 2, read_write(all)),
                      KOKKOS_LAMBDA(int k, decltype(x) const& its) { its(k) += k + 1; });
                  threads.start([c = std::move(completion)]() mutable { c.done(42); });
                });
  long sum = 0;
  host_task("next", ResourcePolicy(graph, read(x)), [&] { sum = x(0) + x(1); });
  EXPECT_EQ(whole.get(), 42);
  graph.wait();
  EXPECT_EQ(sum, 3);
}

/// Then the future has no value, as nothing names its type.
TEST_F(LateTasks, MayBeGeneric) {
  TaskGraph graph(late_workers(2));
  LateCell x("x");
  host_task("late", ResourcePolicy(graph, write(x)), [](Completion<> completion, auto const& its) {
    its() = 1;
    completion.done();
  });
  host_task("with children", ResourcePolicy(graph, read_write(x)),
            [](TaskScope& self, Completion<> completion, auto const& its) {
              host_task("child", ResourcePolicy(self, read_write(its)), [its] { its() += 1; });
              completion.done();
            });
  graph.wait();
  EXPECT_EQ(x(), 2);
}

void says_at_once(Completion<double> completion) {
  completion.done(0.5);
}

TEST_F(LateTasks, AreWhateverCanBeCalled) {
  TaskGraph graph(late_workers(1));
  EXPECT_EQ(host_task("function", ResourcePolicy(graph), says_at_once).get(), 0.5);
  EXPECT_EQ(host_task("pointer", ResourcePolicy(graph), &says_at_once).get(), 0.5);
  struct Functor {
    void operator()(Completion<int>&& completion) const noexcept { completion.done(3); }
  };
  EXPECT_EQ(host_task("functor", ResourcePolicy(graph), Functor()).get(), 3);
  int runs = 0;
  EXPECT_EQ(host_task("moved", ResourcePolicy(graph),
                      [&runs, own = std::make_unique<int>(4)](Completion<int> c) mutable {
                        ++runs;
                        c.done(*own);
                      })
                .get(),
            4);
  EXPECT_EQ(host_task(ResourcePolicy(graph), [](Completion<int> c) { c.done(5); }).get(), 5);
  EXPECT_EQ(runs, 1);
}

/// A value that cannot be made has not been said.
TEST_F(LateTasks, FailWithWhatTheyAreTold) {
  struct Picky {
    explicit Picky(int value) {
      if (value < 0) throw std::runtime_error("negative");
    }
  };
  TaskGraph graph(late_workers(2));
  auto const future = host_task("picky", ResourcePolicy(graph), [](Completion<Picky> completion) {
    try {
      completion.done(-1);
    } catch (std::runtime_error const& error) {
      EXPECT_TRUE(completion.valid());
      completion.fail(error);
    }
  });
  EXPECT_THAT(late_error([&] { (void)future.get(); }),
              testing::AllOf(HasSubstr("task \"picky\""), HasSubstr("negative")));
  EXPECT_THAT(late_error([&] { graph.wait(); }), HasSubstr("negative"));
}

TEST_F(LateTasks, CannotRunAgain) {
  TaskGraph graph(late_workers(2));
  auto const future =
      host_task("again", ResourcePolicy(graph), [](TaskScope& self, Completion<> completion) {
        self.respawn();
        completion.done();
      });
  EXPECT_THAT(late_error([&] { future.get(); }),
              HasSubstr("self.respawn() in a body with a Completion"));
  EXPECT_THAT(late_error([&] { graph.wait(); }), HasSubstr("respawn"));
}

TEST_F(LateTasks, GiveEachRoundOfAPlanAValueOfItsOwn) {
  Threads threads;
  TaskGraph graph(late_workers(2));
  LateCell x("x");
  Future<long> last;
  Plan const plan = graph.record("plan", [&] {
    last = host_task("late", ResourcePolicy(graph, read_write(x)),
                     [&](Completion<long> completion, LateCell const& its) {
                       threads.start([its, c = std::move(completion)]() mutable {
                         long const now = ++its();
                         c.done(now);
                       });
                     });
  });
  for (long k = 1; k <= 20; ++k) {
    graph.replay(plan);
    EXPECT_EQ(last.get(), k);
  }
}

TEST_F(LateTasks, StandForTimers) {
  using Clock = std::chrono::steady_clock;
  struct Timer {
    Clock::time_point when;
    Completion<> completion;
  };
  std::mutex mutex;
  std::vector<Timer> timers;
  TaskGraph graph(late_workers(1));
  Progress progress = graph.add_progress([&] {
    std::vector<Timer> rung;
    bool any_left = false;
    {
      std::lock_guard const lock(mutex);
      std::erase_if(timers, [&](Timer& each) {
        if (each.when > Clock::now()) return false;
        rung.push_back(std::move(each));
        return true;
      });
      any_left = !timers.empty();
    }
    for (Timer& each : rung) each.completion.done();
    return any_left;
  });
  auto const begin = Clock::now();
  for (int k = 1; k <= 5; ++k)
    host_task("timer", ResourcePolicy(graph), [&, k](Completion<> completion) {
      std::lock_guard const lock(mutex);
      timers.push_back({begin + std::chrono::milliseconds(4 * k), std::move(completion)});
      progress.ask();
    });
  graph.wait();
  EXPECT_GE(Clock::now() - begin, std::chrono::milliseconds(20));
}

}  // namespace
}  // namespace trellis
