// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whatever is held back is let go in the end: strategies against ways to wait, and random programs.
#include "ShakeOrchestration.hpp"
#include "FusionTest.hpp"

#include <Trellis_Observation.hpp>
#include <Trellis_Scheduling.hpp>

#include <random>
#include <thread>

namespace trellis::Test {
namespace {

struct Bump {
  std::atomic<int>* count;
  void operator()() const { ++*count; }
};

/// The name of a strategy, and how somebody waits.
class HeldBack : public testing::TestWithParam<std::tuple<std::string, std::string>> {};
INSTANTIATE_TEST_SUITE_P(
    Liveness, HeldBack,
    testing::Combine(testing::Values("native", "bsp", "backfill", "fuse_immediately:64",
                                     "fuse_immediately:3", "fuse_late:64", "fuse_late:3",
                                     "all_on_device:0", "round_robin:64", "round_robin:3:2",
                                     "learning", "shake"),
                     testing::Values("wait", "get", "get_inside", "children", "cap", "destructor",
                                     "nobody", "behind", "poll", "respawn")),
    [](auto const& each) {
      std::string name = std::get<0>(each.param) + "_" + std::get<1>(each.param);
      std::replace(name.begin(), name.end(), ':', '_');
      return name;
    });

TEST_P(HeldBack, IsLetGo) {
  auto const& [strategy, how] = GetParam();
  Watchdog const watchdog(std::chrono::seconds(60), strategy + ", " + how);
  for (int workers = 1; workers <= 2; ++workers) {
    std::atomic<int> count{0};
    {
      TaskGraphOptions options;
      options.workers = workers;
      if (how == "cap") options.in_flight = 2;
      options.orchestration = strategy == "shake" ? std::make_shared<ShakeOrchestration>(7)
                                                  : make_orchestration(strategy);
      TaskGraph graph(options);
      std::vector<Future<void>> all;
      auto const submit = [&](auto& target) {
        for (int k = 0; k < 10; ++k)
          all.push_back(host_task("held", ResourcePolicy(target, fusable), Bump{&count}));
      };
      if (how == "get_inside") {
        submit(graph);
        host_task("waits", ResourcePolicy(graph), [&] {
          for (auto const& each : all) each.get();
        }).get();
      } else if (how == "children") {
        host_task("whole", ResourcePolicy(graph), [&](TaskScope& self) {
          submit(self);
          self.wait();
          EXPECT_EQ(count, 10);
        }).get();
      } else if (how == "behind") {
        submit(graph);
        host_task("behind", ResourcePolicy(graph, after(all)), [] {}).get();
      } else if (how == "poll") {
        submit(graph);
        // Nobody is told that this thread waits; the workers have nothing else to do.
        for (auto const& each : all)
          while (!each.is_done()) std::this_thread::yield();
      } else if (how == "respawn") {
        submit(graph);
        host_task("polls", ResourcePolicy(graph), [&](TaskScope& self) {
          if (count < 10) self.respawn();
        }).get();
      } else {
        submit(graph);
        if (how == "get") all.back().get();
        if (how == "nobody")
          while (count < 10) std::this_thread::yield();
        if (how == "wait") {
          graph.wait();
          EXPECT_EQ(count, 10);
        }
      }
    }
    EXPECT_EQ(count, 10);
  }
}

TEST(HeldBackTasks, AreNoMoreThanTheAdviceAllows) {
  struct Few final : Orchestration {
    std::string name() const override { return "few"; }
    std::size_t hold_back(TaskKind) override { return 3; }
    FuseInstruction fuse(TaskKind) override {
      return {.min = 100, .max = 100, .when = FuseInstruction::When::at_spawn};
    }
  };
  TaskGraphOptions options;
  options.workers = 1;
  Gated gated(std::make_shared<Few>(), options);
  std::atomic<int> count{0};
  for (int k = 0; k < 10; ++k)
    host_task("member", ResourcePolicy(gated.graph, gated.behind(), fusable), Bump{&count});
  gated.open_and_wait();
  EXPECT_EQ(count, 10);
  for (std::size_t const size : gated.observed->formed()) EXPECT_EQ(size, 1u);
}

TEST(HeldBackTasks, AreCounted) {
  TaskGraphOptions options;
  options.statistics = "";  // counters, and no file
  Gated gated(make_fuse_immediately(4), options);
  std::atomic<int> count{0};
  std::atomic<bool> are_held{false};
  std::vector<Future<void>> batched;
  for (int k = 0; k < 11; ++k) {
    auto const member =
        host_task("member", ResourcePolicy(gated.graph, gated.behind(), fusable), Bump{&count});
    if (k < 8) batched.push_back(member);
  }
  // Keeps the worker from what is left over.
  host_task("busy", ResourcePolicy(gated.graph, after(batched)), [&] {
    while (!are_held) std::this_thread::yield();
  });
  gated.form(2);
  while (count < 8) std::this_thread::yield();
  GraphStatistics const now = gated.graph.statistics();
  are_held = true;
  EXPECT_EQ(now.held, 3);
  EXPECT_EQ(now.batches, 2u);
  EXPECT_EQ(now.batched, 8u);
  EXPECT_EQ(now.spawned_fusable, 11u);
  int sections = -1;
  fork_join("section", ResourcePolicy(gated.graph),
            [&](TaskScope&) { sections = static_cast<int>(gated.graph.statistics().fork_joins); });
  EXPECT_EQ(sections, 1);
  gated.graph.wait();
  GraphStatistics const after = gated.graph.statistics();
  EXPECT_EQ(count, 11);
  EXPECT_EQ(after.held, 0);
  EXPECT_EQ(after.fork_joins, 0);
  EXPECT_EQ(after.spawned, 14u);
  EXPECT_EQ(after.completed, 14u);
}

TEST(HeldBackTasks, GoOnUnderOtherAdvice) {
  Watchdog const watchdog(std::chrono::seconds(120), "advice is exchanged while tasks run");
  TaskGraphOptions options;
  options.workers = 2;
  TaskGraph graph(options);
  std::atomic<bool> stop{false};
  std::thread swaps([&] {
    for (std::uint64_t k = 0; !stop; ++k) {
      graph.orchestrate(any_orchestration(k * 31));
      std::this_thread::yield();
    }
  });
  std::atomic<int> count{0};
  int submitted = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<Future<void>> all;
    for (int k = 0; k < 40; ++k, ++submitted)
      all.push_back(host_task("member", ResourcePolicy(graph, fusable), Bump{&count}));
    if (round % 3 == 0) graph.wait();
    if (round % 3 == 1) all[20].get();
  }
  graph.wait();
  stop = true;
  swaps.join();
  EXPECT_EQ(count, submitted);
}

/// Chains of fusable tasks over tiles, with readers of neighbours: what they leave depends on the
/// order.
struct Step {
  Kokkos::View<std::uint64_t*, Kokkos::HostSpace> tile, left;
  std::uint64_t salt;
  void operator()() const {
    for (std::size_t i = 0; i < tile.extent(0); ++i)
      tile(i) = tile(i) * 6364136223846793005u + left(i) + salt;
  }
};
struct Kernel {
  Kokkos::View<std::uint64_t*, Kokkos::HostSpace> tile, left;
  std::uint64_t salt;
  KOKKOS_FUNCTION void operator()(int i) const {
    tile(i) = tile(i) * 6364136223846793005u + left(i) + salt;
  }
};

std::vector<std::uint64_t> run_random(std::uint64_t seed, bool serial,
                                      std::shared_ptr<Orchestration> orchestration, int workers) {
  using Host = Kokkos::DefaultHostExecutionSpace;
  constexpr int tiles = 6;
  constexpr int size = 5;
  TaskGraphOptions options;
  options.serial = serial;
  options.workers = workers;
  options.orchestration = std::move(orchestration);
  if (!serial && seed % 3 == 0) options.policy = make_shake_policy(seed);
  Kokkos::View<std::uint64_t*, Kokkos::HostSpace> x("x", tiles * size);
  {
    TaskGraph graph(options);
    std::mt19937_64 random(seed);
    auto const tile = [&](int k) {
      return Kokkos::subview(x, std::pair(k * size, (k + 1) * size));
    };
    auto const submit = [&](auto& target) {
      int const k = static_cast<int>(random() % tiles);
      auto const here = tile(k), left = tile((k + tiles - 1) % tiles);
      std::uint64_t const salt = random();
      if (random() % 2 == 0)
        host_task("step", ResourcePolicy(target, fusable, read_write(here), read(left)),
                  Step{here, left, salt});
      else
        parallel_for("kernel",
                     ResourcePolicy(target, Kokkos::RangePolicy<Host>(0, size), fusable,
                                    read_write(here), read(left)),
                     Kernel{here, left, salt});
    };
    for (int k = 0; k < 150; ++k) {
      switch (random() % 16) {
        case 0: {
          host_task("whole", ResourcePolicy(graph, read_write(x)), [&](TaskScope& self) {
            for (int child = 0; child < 5; ++child) submit(self);
          }).wait();
          break;
        }
        case 1: {
          Plan const plan = graph.record("plan", [&] {
            for (int each = 0; each < 8; ++each) submit(graph);
          });
          graph.replay(plan, 1 + random() % 3);
          break;
        }
        case 2:
          graph.wait();
          break;
        default:
          submit(graph);
      }
    }
    graph.wait();
  }
  return {x.data(), x.data() + x.extent(0)};
}

TEST(HeldBackTasks, LeaveWhatASerialRunLeaves) {
  int seeds = 40;
  if (char const* const text = std::getenv("TRELLIS_TEST_SEEDS")) seeds = std::atoi(text);
  for (int seed = 1; seed <= seeds; ++seed) {
    auto const number = static_cast<std::uint64_t>(seed);
    Watchdog const watchdog(std::chrono::seconds(60), "seed " + std::to_string(seed));
    auto const expected = run_random(number, true, nullptr, 1);
    EXPECT_EQ(run_random(number, false, any_orchestration(number), 1 + seed % 3), expected)
        << "seed " << seed;
  }
}

}  // namespace
}  // namespace trellis::Test
