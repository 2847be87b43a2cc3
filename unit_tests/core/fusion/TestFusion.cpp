// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Batches of host tasks: what they are to their members, and what goes wrong in them.
#include "FusionTest.hpp"

#include <Trellis_Recorded.hpp>
#include <Trellis_Scheduling.hpp>

#include <thread>

namespace trellis::Test {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

Token& shared_token() {
  static Token token("shared");
  return token;
}

TEST(Fusion, MakesBatchesOfTheSizeAskedFor) {
  Gated gated(make_fuse_immediately(4));
  std::atomic<int> runs{0};
  std::vector<Future<int>> futures;
  for (int k = 0; k < 10; ++k)
    futures.push_back(host_task("member", ResourcePolicy(gated.graph, gated.behind(), fusable),
                                [&runs, k] { return ++runs, k; }));
  gated.form_and_wait(2);
  EXPECT_EQ(runs, 10);
  for (int k = 0; k < 10; ++k) EXPECT_EQ(futures[static_cast<std::size_t>(k)].get(), k);
  // The last two are too few for a batch.
  EXPECT_THAT(gated.observed->formed(), ElementsAre(4, 4, 1, 1));
  // It is told shortly after the last member is complete.
  while (gated.observed->run().size() < 2) std::this_thread::yield();
  ASSERT_THAT(gated.observed->run(), SizeIs(2));
  EXPECT_EQ(gated.observed->run()[0].batch, 4u);
  EXPECT_GT(gated.observed->run()[0].time.count(), 0);
}

TEST(Fusion, GoesByTypeAndSpaceNotByLabel) {
  Gated gated(make_fuse_immediately(3));
  std::atomic<int> a{0}, b{0};
  for (int k = 0; k < 3; ++k) {
    host_task("one label", ResourcePolicy(gated.graph, gated.behind(), fusable), [&a] { ++a; });
    host_task("one label", ResourcePolicy(gated.graph, gated.behind(), fusable), [&b] { ++b; });
  }
  gated.form_and_wait(2);
  EXPECT_THAT(gated.observed->formed(), ElementsAre(3, 3));
  EXPECT_EQ(a, 3);
  EXPECT_EQ(b, 3);
}

struct Named {
  std::atomic<int>* runs;
  void operator()() const { ++*runs; }
};

TEST(Fusion, TellsTheKindInWords) {
  Gated gated(make_fuse_immediately(2));
  std::atomic<int> runs{0};
  for (int k = 0; k < 2; ++k)
    host_task(ResourcePolicy(gated.graph, gated.behind(), fusable), Named{&runs});
  gated.form_and_wait();
  EXPECT_THAT(gated.observed->kind().name(), HasSubstr("Named"));
  EXPECT_EQ(TaskKind().name(), "none");
}

TEST(Fusion, OfNothingFusableAsksNobody) {
  auto const observed = std::make_shared<Observed>(make_fuse_immediately(1));
  TaskGraphOptions options;
  options.orchestration = observed;
  TaskGraph graph(options);
  for (int k = 0; k < 100; ++k) host_task(ResourcePolicy(graph), [] {});
  graph.wait();
  EXPECT_THAT(observed->formed(), testing::IsEmpty());
}

TEST(Fusion, NeverHoldsWhatIsExclusiveBoundOrSynchronizing) {
  Gated gated(make_fuse_immediately(2));
  std::atomic<int> runs{0};
  Kokkos::View<int, Kokkos::HostSpace> x("x");
  for (int k = 0; k < 4; ++k) {
    host_task("exclusive", ResourcePolicy(gated.graph, gated.behind(), fusable, exclusive(x)),
              [&, x] { ++runs, ++x(); });
    host_task("main", ResourcePolicy(gated.graph, gated.behind(), fusable, main_thread),
              [&] { ++runs; });
  }
  for (int k = 0; k < 2; ++k)
    host_task("synchronizing", ResourcePolicy(gated.graph, fusable, synchronizing),
              [&] { ++runs; });
  gated.open_and_wait();
  EXPECT_EQ(runs, 10);
  EXPECT_EQ(x(), 4);
  EXPECT_THAT(gated.observed->formed(), testing::IsEmpty());
}

TEST(Fusion, AFailedMemberFailsAlone) {
  for (int const failing : {0, 2, 5}) {
    Gated gated(make_fuse_immediately(6));
    std::atomic<int> runs{0}, behind{0};
    std::vector<Future<void>> members, consumers;
    for (int k = 0; k < 6; ++k) {
      members.push_back(host_task("member " + std::to_string(k),
                                  ResourcePolicy(gated.graph, gated.behind(), fusable),
                                  [&runs, k, failing] {
                                    ++runs;
                                    if (k == failing) throw std::runtime_error("on purpose");
                                  }));
      consumers.push_back(host_task("consumer", ResourcePolicy(gated.graph, after(members.back())),
                                    [&behind] { ++behind; }));
    }
    gated.form();
    try {
      gated.graph.wait();
      FAIL() << "nothing has failed";
    } catch (Error const& error) {
      EXPECT_THAT(error.what(), HasSubstr("member " + std::to_string(failing)));
      EXPECT_THAT(error.what(), HasSubstr("on purpose"));
    }
    EXPECT_EQ(runs, 6);
    EXPECT_EQ(behind, 5);
    EXPECT_THAT(gated.observed->formed(), ElementsAre(6));
    for (int k = 0; k < 6; ++k) {
      auto const get = [&] { members[static_cast<std::size_t>(k)].get(); };
      if (k == failing)
        EXPECT_THROW(get(), Error);
      else
        EXPECT_NO_THROW(get());
    }
  }
}

/// Its class runs a batch of them.
struct Together {
  int number;
  int failing;
  std::vector<int>* order;
  std::atomic<int>* together;
  std::mutex* mutex;
  void operator()() const {
    std::lock_guard const lock(*mutex);
    order->push_back(number);
    if (number == failing) throw std::runtime_error("alone");
  }
  static void fused(std::span<Together* const> all, std::size_t& at) {
    ++*all.front()->together;
    for (at = 0; at < all.size(); ++at) (*all[at])();
  }
};

TEST(Fusion, ACallableMayRunABatchItself) {
  Gated gated(make_fuse_immediately(5));
  std::vector<int> order;
  std::atomic<int> together{0};
  std::mutex mutex;
  for (int k = 0; k < 5; ++k)
    host_task("member", ResourcePolicy(gated.graph, gated.behind(), fusable),
              Together{k, -1, &order, &together, &mutex});
  gated.form_and_wait();
  EXPECT_EQ(together, 1);
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3, 4));
}

TEST(Fusion, WhatACallableOfABatchThrowsIsTheFailureOfOne) {
  Gated gated(make_fuse_immediately(5));
  std::vector<int> order;
  std::atomic<int> together{0};
  std::mutex mutex;
  std::vector<Future<void>> futures;
  for (int k = 0; k < 5; ++k)
    futures.push_back(host_task("member " + std::to_string(k),
                                ResourcePolicy(gated.graph, gated.behind(), fusable),
                                Together{k, 2, &order, &together, &mutex}));
  gated.form();
  EXPECT_THROW(gated.graph.wait(), Error);
  std::sort(order.begin(), order.end());
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3, 4)) << "each has run once";
  for (std::size_t k = 0; k < 5; ++k)
    if (k == 2)
      EXPECT_THROW(futures[k].get(), Error);
    else
      EXPECT_NO_THROW(futures[k].get());
}

TEST(Fusion, AMemberMayWaitForAnother) {
  Watchdog const watchdog(std::chrono::seconds(60), "a member waits for another");
  for (int workers : {1, 2, 3}) {
    TaskGraphOptions options;
    options.workers = workers;
    Gated gated(make_fuse_immediately(8), options);
    std::vector<Future<int>> futures(8);
    std::atomic<bool> all_are_there{false};
    for (int k = 0; k < 8; ++k)
      futures[static_cast<std::size_t>(k)] =
          host_task("member", ResourcePolicy(gated.graph, gated.behind(), fusable), [&, k] {
            while (!all_are_there) std::this_thread::yield();
            return k == 7 ? 1 : 1 + futures[static_cast<std::size_t>(k + 1)].get();
          });
    all_are_there = true;
    workers == 1 ? gated.form_and_wait() : gated.open_and_wait();
    EXPECT_EQ(futures[0].get(), 8);
    if (workers == 1) {
      EXPECT_EQ(gated.observed->formed().front(), 8u);
    }
  }
}

TEST(Fusion, TheEndOfAMemberMayWaitForAnother) {
  Watchdog const watchdog(std::chrono::seconds(60), "a destructor waits for a member");
  struct WaitsAtTheEnd {
    std::shared_ptr<Future<void>> what;
    std::shared_ptr<std::atomic<int>> ends;
    void operator()() const {}
    ~WaitsAtTheEnd() {
      if (what == nullptr || !what->valid()) return;
      what->wait();
      ++*ends;
    }
    WaitsAtTheEnd(std::shared_ptr<Future<void>> for_what, std::shared_ptr<std::atomic<int>> count)
        : what(std::move(for_what)), ends(std::move(count)) {}
    WaitsAtTheEnd(WaitsAtTheEnd&&) = default;
    WaitsAtTheEnd(WaitsAtTheEnd const&) = default;
    static void fused(std::span<WaitsAtTheEnd* const>, std::size_t&) {}
  };
  auto const ends = std::make_shared<std::atomic<int>>(0);
  {
    Gated gated(make_fuse_immediately(4));
    std::vector<std::shared_ptr<Future<void>>> futures;
    for (int k = 0; k < 4; ++k) futures.push_back(std::make_shared<Future<void>>());
    for (std::size_t k = 0; k < 4; ++k)
      *futures[k] = host_task("member", ResourcePolicy(gated.graph, gated.behind(), fusable),
                              WaitsAtTheEnd(k < 3 ? futures[k + 1] : nullptr, ends));
    gated.form_and_wait();
    EXPECT_EQ(gated.observed->formed().front(), 4u);
  }
  EXPECT_GE(*ends, 3);
}

TEST(Fusion, ACancelledMemberDoesNotRun) {
  Gated gated(make_fuse_immediately(3));
  std::atomic<int> runs{0};
  std::vector<Future<void>> futures;
  for (int k = 0; k < 3; ++k)
    futures.push_back(host_task("member", ResourcePolicy(gated.graph, gated.behind(), fusable),
                                [&runs] { ++runs; }));
  gated.graph.cancel(futures[1]);
  gated.open_and_wait();
  EXPECT_EQ(runs, 2);
  EXPECT_THROW(futures[1].get(), Error);
}

/// Notes how urgent the tasks are that it gets.
class NotesPriorities final : public ForwardingPolicy {
 public:
  NotesPriorities() : ForwardingPolicy(make_work_stealing_policy()) {}
  ReadyTask finished(std::span<ReadyTask const> ready, int slot) override {
    {
      std::lock_guard const lock(m_mutex);
      for (ReadyTask const task : ready) m_seen.push_back(task.priority());
    }
    return ForwardingPolicy::finished(ready, slot);
  }
  [[nodiscard]] std::vector<int> seen() const {
    std::lock_guard const lock(m_mutex);
    return m_seen;
  }

 private:
  mutable std::mutex m_mutex;
  std::vector<int> m_seen;
};

TEST(Fusion, TheMostUrgentMemberSpeaksForTheBatch) {
  auto const policy = std::make_shared<NotesPriorities>();
  TaskGraphOptions options;
  options.policy = policy;
  Gated gated(make_fuse_immediately(5), options);
  std::atomic<int> runs{0};
  for (int const urgency : {1, 3, 7, 2, 7})
    host_task("member", ResourcePolicy(gated.graph, gated.behind(), fusable, priority(urgency)),
              Named{&runs});
  gated.form_and_wait();
  EXPECT_EQ(runs, 5);
  EXPECT_THAT(policy->seen(), ElementsAre(7));
}

TEST(Fusion, MembersAreThemselvesInRecords) {
  auto const program = [](std::shared_ptr<Orchestration> orchestration, bool fuses) {
    TaskGraphOptions options;
    options.record = true;
    options.workers = 1;
    auto gated = std::make_unique<Gated>(std::move(orchestration), options);
    Kokkos::View<int*, Kokkos::HostSpace> x("x", 8);
    for (int k = 0; k < 8; ++k) {
      auto const tile = Kokkos::subview(x, std::pair(k, k + 1));
      host_task("member " + std::to_string(k),
                ResourcePolicy(gated->graph, gated->behind(), fusable, write(tile)),
                [tile] { tile(0) = 1; });
    }
    host_task("sum", ResourcePolicy(gated->graph, read(x)), [] {});
    if (fuses)
      gated->form_and_wait(2);
    else
      gated->open_and_wait();
    return gated;
  };
  auto const plain = program(make_native(), false);
  auto const fused = program(make_fuse_immediately(4), true);
  EXPECT_EQ(plain->graph.dependency_graph().edges(), fused->graph.dependency_graph().edges());
  EXPECT_EQ(plain->graph.scheduling_graph().edges(), fused->graph.scheduling_graph().edges());
  std::vector<std::uint32_t> batches;
  Graph const graph = fused->graph.scheduling_graph();
  for (TaskRecord const& task : graph.nodes()) {
    EXPECT_EQ(task.state, TaskState::done);
    EXPECT_GE(task.row, 0);
    batches.push_back(task.batch);
  }
  // The two have run in any order.
  ASSERT_THAT(batches, SizeIs(10));
  std::uint32_t const first = batches[1], second = batches[5];
  EXPECT_THAT(batches,
              ElementsAre(0, first, first, first, first, second, second, second, second, 0));
  EXPECT_EQ(first + second, 3u);
}

TEST(Fusion, InPlansIsAsOutside) {
  auto const observed = std::make_shared<Observed>(make_fuse_immediately(4));
  TaskGraphOptions options;
  options.orchestration = observed;
  options.workers = 2;
  TaskGraph graph(options);
  Kokkos::View<long*, Kokkos::HostSpace> x("x", 8);
  Kokkos::View<long, Kokkos::HostSpace> sum("sum");
  Plan const plan = graph.record("steps", [&] {
    for (int k = 0; k < 8; ++k) {
      auto const tile = Kokkos::subview(x, std::pair(k, k + 1));
      host_task("member", ResourcePolicy(graph, fusable, read_write(tile)),
                [tile, k] { tile(0) += k; });
    }
    host_task("sum", ResourcePolicy(graph, read(x), read_write(sum)), [x, sum] {
      for (int k = 0; k < 8; ++k) sum() += x(k);
    });
  });
  graph.replay(plan, 20);
  graph.replay(plan, 5);
  graph.wait();
  long expected = 0;
  for (int round = 1; round <= 25; ++round) expected += round * 28;
  EXPECT_EQ(sum(), expected);
  EXPECT_THAT(observed->formed(), Contains(4u));
}

TEST(Fusion, ChildrenAreFusedToo) {
  for (int workers : {1, 2}) {
    TaskGraphOptions options;
    options.workers = workers;
    auto const observed = std::make_shared<Observed>(make_fuse_immediately(4));
    options.orchestration = observed;
    TaskGraph graph(options);
    Kokkos::View<int*, Kokkos::HostSpace> x("x", 12);
    host_task("whole", ResourcePolicy(graph, write(x)), [x](TaskScope& self) {
      for (int k = 0; k < 10; ++k) {
        auto const tile = Kokkos::subview(x, std::pair(k, k + 1));
        host_task("child", ResourcePolicy(self, fusable, write(tile)), [tile] { tile(0) = 7; });
      }
      self.wait();
      for (int k = 0; k < 10; ++k) EXPECT_EQ(x(k), 7);
      x(11) = 1;
    });
    graph.wait();
    EXPECT_EQ(x(11), 1);
    std::size_t all = 0;
    for (std::size_t const size : observed->formed()) all += size;
    EXPECT_EQ(all, 10u);
  }
}

TEST(Fusion, InSerialGraphsHoldsNothing) {
  auto const observed = std::make_shared<Observed>(make_fuse_immediately(4));
  TaskGraphOptions options;
  options.serial = true;
  options.orchestration = observed;
  TaskGraph graph(options);
  std::vector<int> order;
  for (int k = 0; k < 9; ++k)
    host_task("member", ResourcePolicy(graph, fusable), [&order, k] { order.push_back(k); });
  graph.wait();
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_THAT(observed->formed(), testing::IsEmpty());
}

TEST(Fusion, NeedsAnOrchestration) {
  TaskGraph graph;
  EXPECT_THROW(graph.orchestrate(nullptr), Error);
  auto const mine = make_backfill();
  auto const before = graph.orchestrate(mine);
  EXPECT_EQ(before->name(), "native");
  EXPECT_EQ(graph.orchestration(), mine);
  EXPECT_EQ(graph.orchestrate(before), mine);
}

}  // namespace
}  // namespace trellis::Test
