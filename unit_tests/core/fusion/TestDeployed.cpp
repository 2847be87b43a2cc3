// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Batches of host tasks on the simulated device: one launch, late ends, and the way back home.
#include "ShakeOrchestration.hpp"
#include "Devices.hpp"
#include "FusionTest.hpp"

#include <Trellis_Recorded.hpp>
#include <Trellis_Resources.hpp>

#include <Simulated/Trellis_SpaceSimulated.hpp>

#include <map>

namespace trellis::Test {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Home = Kokkos::DefaultHostExecutionSpace;
using Range = Kokkos::RangePolicy<Home>;
/// Both can touch it.
using Shared = Kokkos::View<double*, SimulatedHostPinnedSpace>;

struct Cell {
  Shared x;
  double add;
  KOKKOS_FUNCTION void operator()(int i) const { x(i) = 2 * x(i) + add; }
};

/// Throws at this index.
struct Breaks {
  Shared x;
  int at;
  void operator()(int i) const {
    if (i == at) throw std::runtime_error("in a kernel");
    x(i) = 1;
  }
};

std::vector<Shared> cells(int count, std::size_t extent = 4) {
  std::vector<Shared> all;
  for (int k = 0; k < count; ++k) all.emplace_back("x", extent);
  return all;
}

template <class Target, class... More>
Future<void> submit(Target& target, Shared const& x, double add, More const&... more) {
  return parallel_for("cell",
                      ResourcePolicy(target, Range(0, static_cast<int>(x.extent(0))),
                                     experimental::fusable_on<Simulated>, read_write(x), more...),
                      Cell{x, add});
}

/// Names of what has been launched on a device.
std::vector<std::string> launched_on(int number) {
  std::vector<std::string> names;
  for (SimulatedRecord const& record : Simulated::device(number).log())
    if (record.kind == Kind::launch) names.push_back(record.name);
  return names;
}

/// All to device 0, as soon as there are `n`.
class ToDevice final : public Orchestration {
 public:
  explicit ToDevice(std::size_t n, int device = 0) : m_n(n), m_device(device) {}
  [[nodiscard]] std::string name() const override { return "to device"; }
  [[nodiscard]] std::size_t hold_back(TaskKind) override { return FuseInstruction::never; }
  [[nodiscard]] FuseInstruction fuse(TaskKind) override {
    return {.min = m_n, .max = m_n, .device = m_device, .when = FuseInstruction::When::at_spawn};
  }
  void formed(TaskKind, FusionSample const& sample) override {
    (sample.device == m_device ? m_there : m_at_home) += sample.batch;
  }
  [[nodiscard]] std::size_t there() const { return m_there; }
  [[nodiscard]] std::size_t at_home() const { return m_at_home; }

 private:
  std::size_t const m_n;
  int const m_device;
  std::atomic<std::size_t> m_there{0};
  std::atomic<std::size_t> m_at_home{0};
};

/// In virtual time or not, and with a recording or not.
class Deployed : public testing::TestWithParam<std::tuple<bool, bool>> {
 protected:
  void SetUp() override { configure(1); }
  void TearDown() override { Simulated::configure({}); }
  static void configure(int devices, std::int64_t overhead = 0) {
    Simulated::configure({.virtual_time = std::get<0>(GetParam()), .start_overhead = overhead},
                         devices);
  }
  static TaskGraphOptions options() {
    TaskGraphOptions options;
    options.workers = 1;  // nobody else takes what is too little for a batch
    options.record = std::get<1>(GetParam());
    return options;
  }
};
INSTANTIATE_TEST_SUITE_P(Time, Deployed, testing::Combine(testing::Bool(), testing::Bool()),
                         [](auto const& with) {
                           return std::string(std::get<0>(with.param) ? "virtual" : "real") +
                                  (std::get<1>(with.param) ? "_recorded" : "");
                         });

TEST_P(Deployed, RoundRobinTakesTheHostFirstThenTheDevicesInTurn) {
  configure(2);
  auto const all = cells(15);
  Gated gated(make_round_robin(3, 2), options());
  std::atomic<int> behind{0};
  for (Shared const& x : all) {
    auto const cell = submit(gated.graph, x, 1, gated.behind());
    host_task("behind", ResourcePolicy(gated.graph, after(cell), read(x)), [&behind, x] {
      for (std::size_t i = 0; i < x.extent(0); ++i) EXPECT_EQ(x(i), 1);
      ++behind;
    });
  }
  Simulated::device(0).clear_log();
  Simulated::device(1).clear_log();
  gated.form_and_wait(5);
  EXPECT_THAT(gated.observed->formed(), ElementsAre(3, 3, 3, 3, 3));
  EXPECT_THAT(launched_on(0), ElementsAre("cell", "cell"));
  EXPECT_THAT(launched_on(1), ElementsAre("cell"));
  EXPECT_EQ(behind, 15);
  EXPECT_EQ(gated.observed->run().size(), 2u) << "of these the first and the fourth are at home";
  if (!std::get<1>(GetParam())) return;
  Trace const trace = gated.graph.trace();
  std::map<std::uint64_t, int> on_device;  // by batch
  for (TaskRecord const& task : trace.graph.nodes())
    if (task.label == "cell") {
      EXPECT_EQ(task.state, TaskState::done);
      EXPECT_GE(task.finished_ns, task.started_ns);
      on_device[task.batch] +=
          trace.rows[static_cast<std::size_t>(task.row)].find("stream") != std::string::npos;
    }
  std::vector<int> counts;
  for (auto const& [batch, count] : on_device) counts.push_back(count);
  EXPECT_THAT(counts, testing::UnorderedElementsAre(0, 0, 3, 3, 3));
}

TEST_P(Deployed, OneLaunchForManyOfSeveralSizes) {
  constexpr int members = 40;
  std::vector<Shared> all;
  for (int k = 0; k < members; ++k) all.emplace_back("x", k % 5);
  auto const advice = std::make_shared<ToDevice>(members);
  Gated gated(advice, options());
  for (Shared const& x : all) submit(gated.graph, x, 3, gated.behind());
  Simulated::device().clear_log();
  gated.form_and_wait();
  EXPECT_THAT(launched_on(0), ElementsAre("cell"));
  EXPECT_EQ(advice->there(), static_cast<std::size_t>(members));
  for (Shared const& x : all)
    for (std::size_t i = 0; i < x.extent(0); ++i) ASSERT_EQ(x(i), 3);
}

/// Tasks of the device, batches of the host's on it, and tasks of the host, behind each other.
TEST_P(Deployed, AreOrderedAmongTasksOfTheDeviceAndOfTheHost) {
  constexpr int members = 6;
  auto const all = cells(members);
  for (int round = 0; round < 8; ++round) {
    for (Shared const& x : all) Kokkos::deep_copy(x, 1);
    auto const advice = std::make_shared<ToDevice>(members);
    Gated gated(advice, options());
    auto const on_device = [&](Shared const& x, double add, auto const&... more) {
      parallel_for("device", ResourcePolicy(gated.graph, 4, on<Simulated>, read_write(x), more...),
                   Cell{x, add});
    };
    for (Shared const& x : all) on_device(x, 10, gated.behind());
    auto const all_there =
        parallel_for("join", ResourcePolicy(gated.graph, 1, on<Simulated>, read(all)), [](int) {});
    for (Shared const& x : all) submit(gated.graph, x, 1, after(all_there));
    for (Shared const& x : all) on_device(x, 5);
    for (Shared const& x : all)
      parallel_for("host", ResourcePolicy(gated.graph, Range(0, 4), read_write(x)), Cell{x, 2});
    gated.open_and_wait();
    EXPECT_EQ(advice->there(), static_cast<std::size_t>(members));
    for (Shared const& x : all)
      for (std::size_t i = 0; i < x.extent(0); ++i) ASSERT_EQ(x(i), 2 * (2 * (2 * 12 + 1) + 5) + 2);
  }
}

TEST_P(Deployed, AForkJoinsTasksGoWhenItIsOver) {
  configure(2);
  auto const all = cells(5);
  TaskGraphOptions with = options();
  with.orchestration = make_all_on_device(1);
  TaskGraph graph(with);
  fork_join("fork-join", ResourcePolicy(graph), [&](TaskScope& scope) {
    for (Shared const& x : all)
      host_task("child", ResourcePolicy(scope), [&graph, x] { submit(graph, x, 3); });
  });
  graph.wait();
  EXPECT_THAT(launched_on(0), IsEmpty());
  EXPECT_THAT(launched_on(1), Contains("cell"));
  for (Shared const& x : all) EXPECT_EQ(x(3), 3);
}

TEST_P(Deployed, AsChildrenOfTasksAndOfForkJoins) {
  auto const all = cells(8);
  auto const advice = std::make_shared<ToDevice>(4);
  TaskGraphOptions with = options();
  with.orchestration = advice;
  TaskGraph graph(with);
  for (int step = 0; step < 5; ++step) {
    auto const whole =
        host_task("whole", ResourcePolicy(graph, read_write(all)), [&](TaskScope& self) {
          for (Shared const& x : all) submit(self, x, 1);
          self.wait();
          for (Shared const& x : all) x(0) += 1;
        });
    whole.get();
    fork_join("fork-join", ResourcePolicy(graph, read_write(all)), [&](TaskScope& scope) {
      for (Shared const& x : all) submit(scope, x, 1);
    });
  }
  EXPECT_GT(advice->there(), 0u);
  double expected = 0, first = 0;
  for (int step = 0; step < 10; ++step) {
    expected = 2 * expected + 1;
    first = 2 * first + 1 + (step % 2 == 0);
  }
  for (Shared const& x : all) {
    EXPECT_EQ(x(0), first);
    EXPECT_EQ(x(3), expected);
  }
}

TEST_P(Deployed, StayAtHomeWhereThereIsNoSuchDevice) {
  auto const all = cells(4);
  Gated gated(std::make_shared<ToDevice>(4, 7), options());
  for (Shared const& x : all) submit(gated.graph, x, 3, gated.behind());
  Simulated::device().clear_log();
  gated.form_and_wait();
  EXPECT_THAT(launched_on(0), IsEmpty());
  for (Shared const& x : all) EXPECT_EQ(x(3), 3);
}

TEST_P(Deployed, TooFewForABatchStayAtHome) {
  auto const all = cells(5);
  auto const advice = std::make_shared<ToDevice>(4);
  Gated gated(advice, options());
  for (Shared const& x : all) submit(gated.graph, x, 3, gated.behind());
  Simulated::device().clear_log();
  gated.form_and_wait();
  EXPECT_THAT(launched_on(0), ElementsAre("cell"));
  EXPECT_EQ(advice->there(), 4u);
  EXPECT_EQ(advice->at_home(), 1u);
  for (Shared const& x : all) EXPECT_EQ(x(3), 3);
}

TEST_P(Deployed, ALaunchThatThrowsRunsAtHome) {
  auto const all = cells(4);
  Gated gated(std::make_shared<ToDevice>(4), options());
  std::vector<Future<void>> members;
  for (Shared const& x : all) members.push_back(submit(gated.graph, x, 3, gated.behind()));
  Simulated::device().fail("it is gone");
  gated.form_and_wait();
  for (auto const& each : members) EXPECT_NO_THROW(each.get());
  for (Shared const& x : all) EXPECT_EQ(x(3), 3);
  Simulated::device().reset();
}

TEST_P(Deployed, AKernelThatFailsOnTheDeviceFailsItsBatchAndNoOthers) {
  auto const all = cells(4);
  {
    Gated gated(std::make_shared<ToDevice>(4), options());
    std::vector<Future<void>> members;
    std::atomic<int> behind{0};
    for (Shared const& x : all) {
      int const at = members.size() == 2 ? 1 : -1;
      members.push_back(parallel_for("cell",
                                     ResourcePolicy(gated.graph, Range(0, 4), gated.behind(),
                                                    experimental::fusable_on<Simulated>, write(x)),
                                     Breaks{x, at}));
      host_task("behind", ResourcePolicy(gated.graph, after(members.back())), [&] { ++behind; });
    }
    auto const other =
        host_task("other", ResourcePolicy(gated.graph, gated.behind()), [] { return 3; });
    gated.form();
    EXPECT_THROW(gated.graph.wait(), Error);
    EXPECT_EQ(behind, 0);
    for (auto const& each : members) EXPECT_THROW(each.get(), Error);
    EXPECT_EQ(other.get(), 3);
    EXPECT_NO_THROW(gated.graph.wait());
    // The device is lost; what is left of the program goes on at home.
    for (Shared const& x : all) submit(gated.graph, x, 5);
    EXPECT_NO_THROW(gated.graph.wait());
    EXPECT_EQ(all[0](0), 7);
  }
  Simulated::device().reset();
}

TEST_P(Deployed, ACancelledMemberLetsTheOthersGo) {
  auto const all = cells(4);
  Gated gated(std::make_shared<ToDevice>(3), options());
  std::vector<Future<void>> members;
  for (Shared const& x : all) members.push_back(submit(gated.graph, x, 3, gated.behind()));
  gated.graph.cancel(members[1]);
  gated.form();
  gated.graph.wait();
  EXPECT_THROW(members[1].get(), Error);
  for (std::size_t k : {0u, 2u, 3u}) {
    EXPECT_NO_THROW(members[k].get());
    EXPECT_EQ(all[k](3), 3);
  }
  EXPECT_EQ(all[1](3), 0);
}

TEST_P(Deployed, InPlans) {
  auto const all = cells(6);
  auto const advice = std::make_shared<ToDevice>(6);
  TaskGraphOptions with = options();
  with.orchestration = advice;
  TaskGraph graph(with);
  Plan const plan = graph.record("plan", [&] {
    host_task("begin", ResourcePolicy(graph), [] {});
    for (int step = 0; step < 2; ++step)
      for (Shared const& x : all) submit(graph, x, 1);
  });
  graph.replay(plan, 4);
  graph.replay(plan);
  graph.wait();
  for (Shared const& x : all)
    for (std::size_t i = 0; i < x.extent(0); ++i) ASSERT_EQ(x(i), 1023);
  EXPECT_EQ(advice->there() + advice->at_home(), 60u);
  graph.orchestrate(make_native());
  Simulated::device().clear_log();
  graph.replay(plan);
  graph.wait();
  EXPECT_THAT(launched_on(0), IsEmpty()) << "it was for one batch";
  EXPECT_EQ(all[0](0), 4095);
}

TEST_P(Deployed, TheEndOfAGraphWaitsForThem) {
  configure(1, 20000);
  auto const all = cells(8);
  {
    TaskGraphOptions with = options();
    with.orchestration = std::make_shared<ToDevice>(4);
    TaskGraph graph(with);
    for (int step = 0; step < 5; ++step)
      for (Shared const& x : all) submit(graph, x, 1);
  }
  for (Shared const& x : all) EXPECT_EQ(x(0), 31);
}

TEST_P(Deployed, TakeValuesOfFutures) {
  struct Add {
    void operator()(int i, Shared const& x, double const& value) const { x(i) += value; }
  };
  auto const all = cells(4);
  Gated gated(std::make_shared<ToDevice>(4), options());
  auto const value_of_gate =
      host_task("value", ResourcePolicy(gated.graph, gated.behind()), [] { return 2.5; });
  for (Shared const& x : all)
    parallel_for("cell",
                 ResourcePolicy(gated.graph, Range(0, 4), experimental::fusable_on<Simulated>,
                                read_write(x), value(value_of_gate)),
                 Add{});
  gated.form_and_wait();
  EXPECT_THAT(launched_on(0), ElementsAre("cell"));
  for (Shared const& x : all) EXPECT_EQ(x(2), 2.5);
}

TEST_P(Deployed, AListOfOtherMemoryIsAnError) {
  TaskGraph graph(options());
  Kokkos::View<double*, Kokkos::HostSpace> const x("x", 4);
  AccessList list;
  list.add(read(x));
  EXPECT_THROW(
      parallel_for("cell",
                   ResourcePolicy(graph, Range(0, 4), experimental::fusable_on<Simulated>, list),
                   [](int) {}),
      Error);
}

/// Without devices it says no more than `fusable`.
TEST_P(Deployed, OnASpaceOfTheHostItIsFusable) {
  auto const all = cells(4);
  Gated gated(std::make_shared<ToDevice>(4), options());
  for (Shared const& x : all)
    parallel_for("cell",
                 ResourcePolicy(gated.graph, Range(0, 4), gated.behind(),
                                experimental::fusable_on<Home>, read_write(x)),
                 Cell{x, 1});
  gated.form_and_wait();
  EXPECT_THAT(gated.observed->formed(), ElementsAre(4));
  EXPECT_THAT(launched_on(0), IsEmpty());
  EXPECT_EQ(all[0](0), 1);
}

/// Sweeps of chains, under every strategy, with random swaps.
TEST_P(Deployed, ChainsUnderAnyAdvice) {
  configure(2);
  constexpr int steps = 20;
  auto const all = cells(10);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (Shared const& x : all) Kokkos::deep_copy(x, 0);
    TaskGraphOptions with = options();
    with.workers = 1 + static_cast<int>(seed % 2);
    with.orchestration = any_orchestration(seed);
    TaskGraph graph(with);
    for (int step = 0; step < steps; ++step) {
      if (step % 7 == 3) graph.orchestrate(any_orchestration(seed * 31 + step));
      fork_join("sweep", ResourcePolicy(graph), [&](TaskScope& scope) {
        for (Shared const& x : all)
          host_task("child", ResourcePolicy(scope), [&graph, x] { submit(graph, x, 1); });
      });
    }
    graph.wait();
    for (Shared const& x : all)
      for (std::size_t i = 0; i < x.extent(0); ++i) ASSERT_EQ(x(i), (1 << steps) - 1) << seed;
  }
}

}  // namespace
}  // namespace trellis::Test
