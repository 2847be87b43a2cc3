// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// fork_join: whoever runs the children, the caller goes on when they are complete.
#include "ForkJoinTest.hpp"

#include <thread>

namespace trellis::Test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class ForkJoin : public testing::TestWithParam<std::tuple<ForkJoinPolicy, int>> {
 protected:
  std::shared_ptr<Noting> const advice = std::make_shared<Noting>(std::get<0>(GetParam()));
  int const workers = std::get<1>(GetParam());
  Watchdog const watchdog{std::chrono::seconds(60), "a fork-join"};
};
std::string name_of(ForkJoinPolicy policy, int workers) {
  std::string const name = policy == ForkJoinPolicy::serial     ? "serial"
                           : policy == ForkJoinPolicy::parallel ? "parallel"
                                                                : "keep_held";
  return name + "_" + std::to_string(workers);
}
INSTANTIATE_TEST_SUITE_P(
    Policy, ForkJoin,
    testing::Combine(testing::Values(ForkJoinPolicy::serial, ForkJoinPolicy::parallel,
                                     ForkJoinPolicy::parallel_keep_held),
                     testing::Values(1, 2, 3)),
    [](auto const& each) { return name_of(std::get<0>(each.param), std::get<1>(each.param)); });

TEST_P(ForkJoin, ReturnsWhenAllChildrenAreComplete) {
  TaskGraph graph(with(advice, workers));
  for (int round = 0; round < 50; ++round) {
    std::vector<int> done(20, 0);
    fork_join("fork-join", ResourcePolicy(graph), [&](TaskScope& scope) {
      for (int& each : done) host_task("child", ResourcePolicy(scope), [&each] { each = 1; });
    });
    EXPECT_THAT(done, testing::Each(1));
  }
}

TEST_P(ForkJoin, TellsTheAdviceInOrder) {
  TaskGraph graph(with(advice, workers));
  fork_join("fork-join", ResourcePolicy(graph), [&](TaskScope& scope) {
    for (int k = 0; k < 3; ++k) host_task("child", ResourcePolicy(scope), [] {});
    scope.wait();
    for (int k = 0; k < 2; ++k) host_task("child", ResourcePolicy(scope), [] {});
  });
  fork_join(ResourcePolicy(graph), [](TaskScope&) {});
  std::vector<std::string> expected = {"starts 0", "fork-join 0 of 3", "fork-join 0 of 2"};
  if (std::get<0>(GetParam()) == ForkJoinPolicy::parallel) expected.push_back("hold back");
  expected.insert(expected.end(), {"ends 0", "starts 0", "hold back", "ends 0"});
  EXPECT_EQ(advice->heard(), expected);
}

TEST_P(ForkJoin, ChildrenSeeTheOrderOfTheirAccesses) {
  TaskGraph graph(with(advice, workers));
  Kokkos::View<int, Kokkos::HostSpace> x("x");
  fork_join("fork-join", ResourcePolicy(graph, read_write(x)), [&](TaskScope& scope) {
    for (int k = 0; k < 30; ++k)
      host_task("child", ResourcePolicy(scope, read_write(x)),
                [x, k] { x() = 3 * x() % 1000 + k; });
  });
  int expected = 0;
  for (int k = 0; k < 30; ++k) expected = 3 * expected % 1000 + k;
  EXPECT_EQ(x(), expected);
}

TEST_P(ForkJoin, AFailedChildIsThrown) {
  TaskGraph graph(with(advice, workers));
  std::atomic<int> others{0};
  try {
    fork_join("fork-join", ResourcePolicy(graph), [&](TaskScope& scope) {
      for (int k = 0; k < 5; ++k)
        host_task("child " + std::to_string(k), ResourcePolicy(scope), [&, k] {
          if (k == 2) throw std::runtime_error("on purpose");
          ++others;
        });
    });
    FAIL() << "nothing has failed";
  } catch (Error const& error) {
    EXPECT_THAT(error.what(), HasSubstr("child 2"));
    EXPECT_THAT(error.what(), HasSubstr("on purpose"));
  }
  EXPECT_EQ(others, 4);
  EXPECT_EQ(advice->heard().back(), "ends 0");
  EXPECT_THROW(graph.wait(), Error);
  EXPECT_NO_THROW(fork_join(ResourcePolicy(graph), [](TaskScope&) {}));
}

TEST_P(ForkJoin, WhatTheBodyThrowsIsThrownWhenItsChildrenAreOver) {
  TaskGraph graph(with(advice, workers));
  std::atomic<int> children{0};
  EXPECT_THROW(fork_join("fork-join", ResourcePolicy(graph),
                         [&](TaskScope& scope) {
                           for (int k = 0; k < 5; ++k)
                             host_task("child", ResourcePolicy(scope), [&] { ++children; });
                           throw std::runtime_error("on purpose");
                         }),
               Error);
  EXPECT_EQ(children, 5);
  EXPECT_THAT(advice->heard().front(), "starts 0");
  EXPECT_EQ(advice->heard().back(), "ends 0");
}

TEST_P(ForkJoin, KeepsTheOrderAfterAWaitThatThrows) {
  TaskGraph graph(with(advice, workers));
  Token const token("token");
  std::atomic<bool> is_written{false};
  bool was_written = false;
  EXPECT_THROW(fork_join("section", ResourcePolicy(graph),
                         [&](TaskScope& section) {
                           host_task("bad", ResourcePolicy(section),
                                     [] { throw std::runtime_error("on purpose"); });
                           EXPECT_THROW(section.wait(), Error);
                           section.local(token);
                           host_task("writes", ResourcePolicy(section, write(token)), [&] {
                             std::this_thread::sleep_for(std::chrono::milliseconds(20));
                             is_written = true;
                           });
                           host_task("reads", ResourcePolicy(section, read(token)),
                                     [&] { was_written = is_written; });
                         }),
               Error);
  EXPECT_TRUE(was_written);
}

TEST_P(ForkJoin, ABodyMayWaitForOneOfItsChildren) {
  TaskGraph graph(with(advice, workers));
  fork_join("fork-join", ResourcePolicy(graph), [&](TaskScope& scope) {
    auto const child = host_task("child", ResourcePolicy(scope), [] { return 3; });
    EXPECT_EQ(child.get(), 3);
    auto const another = host_task("another", ResourcePolicy(scope), [] { return 4; });
    auto const behind = host_task("behind", ResourcePolicy(graph, after(another)), [] {});
    behind.wait();
    EXPECT_EQ(another.get(), 4);
    host_task("last", ResourcePolicy(scope), [] {});
  });
}

TEST_P(ForkJoin, ChildrenMayComeAfterTasksOutside) {
  TaskGraph graph(with(advice, workers));
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> order{0};
    int producer_at = -1, child_at = -1;
    // Nobody has started it when the fork-join waits for it.
    Token const token("token");
    auto const producer = host_task("producer", ResourcePolicy(graph, write(token)), [&] {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      producer_at = order++;
    });
    fork_join("fork-join", ResourcePolicy(graph), [&](TaskScope& scope) {
      host_task("child", ResourcePolicy(scope, after(producer)), [&] { child_at = order++; });
      host_task("other", ResourcePolicy(scope), [] {});
    });
    EXPECT_EQ(producer_at, 0);
    EXPECT_EQ(child_at, 1);
  }
}

TEST_P(ForkJoin, NestedInChildrenAndTasks) {
  TaskGraph graph(with(advice, workers));
  std::atomic<int> leaves{0};
  fork_join("outer", ResourcePolicy(graph), [&](TaskScope& scope) {
    for (int k = 0; k < 3; ++k)
      host_task("child", ResourcePolicy(scope), [&](TaskScope& self) {
        fork_join("inner", ResourcePolicy(self), [&](TaskScope& inner) {
          for (int j = 0; j < 4; ++j) host_task("leaf", ResourcePolicy(inner), [&] { ++leaves; });
        });
        fork_join("of the graph", ResourcePolicy(graph), [&](TaskScope& other) {
          host_task("leaf", ResourcePolicy(other), [&] { ++leaves; });
        });
      });
  });
  EXPECT_EQ(leaves, 15);
  int nested = 0;
  for (std::string const& what : advice->heard()) nested += what == "starts 1";
  EXPECT_EQ(nested, 6);
  host_task("task", ResourcePolicy(graph), [&] {
    fork_join("fork-join", ResourcePolicy(graph),
              [&](TaskScope& scope) { host_task(ResourcePolicy(scope), [&] { ++leaves; }); });
  }).get();
  EXPECT_EQ(leaves, 16);
  EXPECT_EQ(advice->heard().back(), "ends 0") << "a task is no fork-join";
}

TEST_P(ForkJoin, WhatIsSubmittedToTheGraphOutlivesIt) {
  TaskGraph graph(with(advice, workers));
  std::atomic<bool> open{false};
  Future<void> enclave;
  fork_join("fork-join", ResourcePolicy(graph), [&](TaskScope& scope) {
    host_task("child", ResourcePolicy(scope), [&] {
      if (workers > 1)
        enclave = host_task("enclave", ResourcePolicy(graph), [&] {
          while (!open) std::this_thread::yield();
        });
    });
  });
  if (workers > 1) {
    EXPECT_FALSE(enclave.is_done());
  }
  open = true;
  graph.wait();
}

TEST_P(ForkJoin, InPlans) {
  TaskGraph graph(with(advice, workers));
  Kokkos::View<long, Kokkos::HostSpace> x("x");
  Plan const plan = graph.record("plan", [&] {
    fork_join("fork-join", ResourcePolicy(graph, read_write(x)), [x](TaskScope& scope) {
      for (int k = 0; k < 4; ++k)
        host_task("child", ResourcePolicy(scope, read_write(x)), [x, k] { x() = 2 * x() + k; });
    });
    host_task("behind", ResourcePolicy(graph, read_write(x)), [x] { x() %= 1009; });
  });
  EXPECT_THAT(advice->heard(), IsEmpty());
  graph.replay(plan, 3);
  graph.replay(plan);
  graph.wait();
  long expected = 0;
  for (int round = 0; round < 4; ++round) {
    for (int k = 0; k < 4; ++k) expected = 2 * expected + k;
    expected %= 1009;
  }
  EXPECT_EQ(x(), expected);
  int starts = 0, ends = 0;
  for (std::string const& what : advice->heard()) {
    starts += what == "starts 0";
    ends += what == "ends 0";
  }
  EXPECT_EQ(starts, 4);
  EXPECT_EQ(ends, 4);
}

TEST_P(ForkJoin, InIterationsOfALoop) {
  TaskGraph graph(with(advice, workers));
  Kokkos::View<long, Kokkos::HostSpace> x("x");
  graph.iterate("iterations", 10, [&] {
    host_task("before", ResourcePolicy(graph, read_write(x)), [x] { ++x(); });
    fork_join("fork-join", ResourcePolicy(graph, read_write(x)), [x](TaskScope& scope) {
      host_task("child", ResourcePolicy(scope, read_write(x)), [x] { x() *= 2; });
    });
  });
  graph.wait();
  EXPECT_EQ(x(), 2046);
}

TEST_P(ForkJoin, MayRunAgain) {
  TaskGraph graph(with(advice, workers));
  std::atomic<int> children{0};
  fork_join("fork-join", ResourcePolicy(graph), [&, round = 0](TaskScope& scope) mutable {
    for (int k = 0; k < 3; ++k) host_task("child", ResourcePolicy(scope), [&] { ++children; });
    if (++round < 4) scope.respawn();
  });
  EXPECT_EQ(children, 12);
}

TEST_P(ForkJoin, TakesItsViewsAsArguments) {
  TaskGraph graph(with(advice, workers));
  Kokkos::View<int*, Kokkos::HostSpace> x("x", 4);
  fork_join("fork-join", ResourcePolicy(graph, write(x)),
            [](TaskScope& scope, Kokkos::View<int*, Kokkos::HostSpace> const& mine) {
              for (int k = 0; k < 4; ++k) {
                auto const tile = Kokkos::subview(mine, std::pair(k, k + 1));
                host_task("child", ResourcePolicy(scope, write(tile)), [tile] { tile(0) = 5; });
              }
            });
  for (int k = 0; k < 4; ++k) EXPECT_EQ(x(k), 5);
}

TEST_P(ForkJoin, WithChildrenOfOtherKinds) {
  TaskGraph graph(with(advice, workers));
  Kokkos::View<int, Kokkos::HostSpace> x("x");
  std::atomic<int> count{0};
  auto const main = std::this_thread::get_id();
  fork_join("fork-join", ResourcePolicy(graph, read_write(x)), [&](TaskScope& scope) {
    for (int k = 0; k < 3; ++k) {
      host_task("exclusive", ResourcePolicy(scope, exclusive(x)), [&, x] { ++x(), ++count; });
      host_task("main", ResourcePolicy(scope, main_thread), [&] {
        EXPECT_EQ(std::this_thread::get_id(), main);
        ++count;
      });
      host_task("late", ResourcePolicy(scope), [&](Completion<> completion) {
        ++count;
        completion.done();
      });
      host_task("fusable", ResourcePolicy(scope, fusable), [&] { ++count; });
      host_task("again", ResourcePolicy(scope), [&, round = 0](TaskScope& self) mutable {
        if (++round < 3) return self.respawn();
        ++count;
      });
    }
  });
  EXPECT_EQ(x(), 3);
  EXPECT_EQ(count, 15);
}

TEST_P(ForkJoin, AChildMayWaitForALaterOne) {
  for (int round = 0; round < 20; ++round) {
    TaskGraph graph(with(advice, workers));
    std::vector<Future<int>> children(6);
    fork_join("fork-join", ResourcePolicy(graph), [&](TaskScope& scope) {
      for (std::size_t k = 0; k < 6; ++k)
        children[k] = host_task("child", ResourcePolicy(scope), [&children, k](TaskScope& self) {
          if (k == 5) return 1;
          // By a child of its own, which any thread may run.
          return 1 + host_task("waits", ResourcePolicy(self), [&children, k] {
                       return children[k + 1].get();
                     }).get();
        });
    });
    EXPECT_EQ(children[0].get(), 6);
  }
}

TEST_P(ForkJoin, ABodyMayWaitForAnotherGraphThatWaitsForItsChildren) {
  TaskGraph graph(with(advice, workers));
  TaskGraph other(with(make_native(), workers));
  fork_join("fork-join", ResourcePolicy(graph), [&](TaskScope& scope) {
    auto const child = host_task("child", ResourcePolicy(scope), [] { return 5; });
    EXPECT_EQ(
        host_task("elsewhere", ResourcePolicy(other), [child] { return child.get() + 1; }).get(),
        6);
    auto const another = host_task("another", ResourcePolicy(scope), [] {});
    fork_join("elsewhere", ResourcePolicy(other), [&](TaskScope& inner) {
      host_task("waits", ResourcePolicy(inner), [another] { another.wait(); });
    });
  });
}

}  // namespace
}  // namespace trellis::Test
