// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Batches on the simulated device: one launch, the right waits, and failures.
#include "Devices.hpp"
#include "FusionTest.hpp"

#include <Simulated/Trellis_SpaceSimulated.hpp>
#include <Trellis_Analysis.hpp>
#include <Trellis_Recorded.hpp>

#include <sstream>

namespace trellis::Test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

template <class T>
using On = Kokkos::View<T, SimulatedSpace>;

struct Fill {
  On<double*> x;
  double add;
  void operator()(int i) const { x(i) = 2 * x(i) + add; }
};

std::size_t launches_of(std::string const& name) {
  std::size_t count = 0;
  for (SimulatedRecord const& record : Simulated::device().log())
    count += record.kind == Kind::launch && record.name == name;
  return count;
}
std::size_t count_of(Kind kind) {
  std::size_t count = 0;
  for (SimulatedRecord const& record : Simulated::device().log()) count += record.kind == kind;
  return count;
}

class FusedOnDevice : public testing::TestWithParam<std::tuple<bool, bool>> {
 protected:
  void SetUp() override { Simulated::configure({.virtual_time = std::get<0>(GetParam())}); }
  void TearDown() override { Simulated::configure({}); }
  static TaskGraphOptions options() {
    TaskGraphOptions options;
    options.workers = 1;  // nobody else takes what is too little for a batch
    options.record = std::get<1>(GetParam());
    return options;
  }
  static std::vector<double> host_copy(On<double*> const& x) {
    auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), x);
    return {host.data(), host.data() + host.extent(0)};
  }
};
INSTANTIATE_TEST_SUITE_P(Time, FusedOnDevice, testing::Combine(testing::Bool(), testing::Bool()),
                         [](auto const& each) {
                           return std::string(std::get<0>(each.param) ? "virtual" : "real") +
                                  (std::get<1>(each.param) ? "_recorded" : "");
                         });

TEST_P(FusedOnDevice, ManyTasksAreOneLaunch) {
  constexpr int members = 40;
  std::vector<On<double*>> views;
  for (int k = 0; k < members; ++k) views.emplace_back("x", 3 + k % 4);
  {
    Gated gated(make_fuse_immediately(members), options());
    for (int k = 0; k < members; ++k)
      parallel_for("member",
                   ResourcePolicy(gated.graph, 3 + k % 4, gated.behind(), fusable, on<Simulated>,
                                  read_write(views[static_cast<std::size_t>(k)])),
                   Fill{views[static_cast<std::size_t>(k)], k + 1.0});
    Simulated::device().clear_log();
    gated.form_and_wait();
    EXPECT_EQ(launches_of("member"), 1u);
    EXPECT_EQ(count_of(Kind::launch), 1u);
    EXPECT_LE(count_of(Kind::record_event), std::get<1>(GetParam()) ? 12u : 3u)
        << "not one for each member";
    EXPECT_THAT(gated.observed->formed(), ElementsAre(members));
    if (std::get<1>(GetParam())) {
      Graph const graph = gated.graph.scheduling_graph();
      for (TaskRecord const& task : graph.nodes())
        if (task.label == "member") {
          EXPECT_EQ(task.batch, 1u);
          EXPECT_EQ(task.state, TaskState::done);
          EXPECT_GE(task.finished_ns, task.started_ns);
        }
    }
  }
  for (int k = 0; k < members; ++k)
    for (double const value : host_copy(views[static_cast<std::size_t>(k)]))
      ASSERT_EQ(value, k + 1);
}

TEST_P(FusedOnDevice, RecordsOfBatchesAreDrawn) {
  if (!std::get<1>(GetParam())) return;  // nothing is recorded
  Gated gated(make_fuse_immediately(8), options());
  std::vector<On<double*>> views;
  for (int k = 0; k < 8; ++k) views.emplace_back("x", 4);
  for (auto const& x : views)
    parallel_for(
        "member",
        ResourcePolicy(gated.graph, 4, gated.behind(), fusable, on<Simulated>, read_write(x)),
        Fill{x, 1.0});
  gated.form_and_wait();
  Trace const trace = gated.graph.trace();
  std::ostringstream json, picture, analysis;
  trace.write_chrome_json(json);
  EXPECT_THAT(json.str(), HasSubstr("\"batch\":1"));
  trace.write_svg(picture);
  EXPECT_THAT(picture.str(), HasSubstr("member"));
  write_analysis(analysis, gated.graph.dependency_graph());
  EXPECT_THAT(analysis.str(), testing::Not(testing::IsEmpty()));
}

TEST_P(FusedOnDevice, ABatchWaitsForThePredecessorsOfAll) {
  constexpr int members = 6;
  std::vector<On<double*>> views;
  for (int k = 0; k < members; ++k) views.emplace_back("x", 4);
  for (int round = 0; round < 20; ++round) {
    for (auto const& x : views) Kokkos::deep_copy(x, 0);
    Gated gated(make_fuse_immediately(members), options());
    // Each of the first ones on a stream of its own.
    for (int k = 0; k < members; ++k)
      parallel_for("before",
                   ResourcePolicy(gated.graph, 4, gated.behind(), on<Simulated>,
                                  write(views[static_cast<std::size_t>(k)])),
                   Fill{views[static_cast<std::size_t>(k)], 10.0});
    for (int k = 0; k < members; ++k)
      parallel_for("member",
                   ResourcePolicy(gated.graph, 4, fusable, on<Simulated>,
                                  read_write(views[static_cast<std::size_t>(k)])),
                   Fill{views[static_cast<std::size_t>(k)], 1.0});
    for (int k = 0; k < members; ++k)
      parallel_for("behind",
                   ResourcePolicy(gated.graph, 4, on<Simulated>,
                                  read_write(views[static_cast<std::size_t>(k)])),
                   Fill{views[static_cast<std::size_t>(k)], 5.0});
    Simulated::device().clear_log();
    gated.form_and_wait();
    EXPECT_EQ(launches_of("before"), static_cast<std::size_t>(members));
    EXPECT_EQ(launches_of("member"), 1u);
    EXPECT_EQ(launches_of("behind"), static_cast<std::size_t>(members));
    for (auto const& x : views)
      for (double const value : host_copy(x)) ASSERT_EQ(value, 2 * (2 * 10 + 1) + 5);
  }
}

TEST_P(FusedOnDevice, ChainsOfBatches) {
  constexpr int members = 8;
  constexpr int steps = 12;
  for (char const* const strategy : {"fuse_immediately:4", "fuse_late:4", "backfill", "bsp"}) {
    std::vector<On<double*>> views;
    for (int k = 0; k < members; ++k) views.emplace_back("x", 4);
    auto const observed = std::make_shared<Observed>(make_orchestration(strategy));
    TaskGraphOptions with = options();
    with.orchestration = observed;
    TaskGraph graph(with);
    for (int step = 0; step < steps; ++step)
      for (auto const& x : views)
        parallel_for("member", ResourcePolicy(graph, 4, fusable, on<Simulated>, read_write(x)),
                     Fill{x, 1.0});
    graph.wait();
    for (auto const& x : views)
      for (double const value : host_copy(x)) ASSERT_EQ(value, (1 << steps) - 1);
    std::size_t all = 0;
    for (std::size_t const size : observed->formed()) all += size;
    EXPECT_EQ(all, static_cast<std::size_t>(members * steps));
  }
}

TEST_P(FusedOnDevice, GoWhereTheAdviceSays) {
  Simulated::configure({.virtual_time = std::get<0>(GetParam())}, 2);
  auto const launches = [](int number) {
    std::vector<std::string> names;
    for (SimulatedRecord const& record : Simulated::device(number).log())
      if (record.kind == Kind::launch) names.push_back(record.name);
    return names;
  };
  {
    std::vector<On<double*>> views;
    for (int k = 0; k < 12; ++k) views.emplace_back("x", 4);
    // At home, which is device 0, then on 0, then on 1.
    Gated gated(make_round_robin(4, 2), options());
    for (auto const& x : views)
      parallel_for(
          "member",
          ResourcePolicy(gated.graph, 4, gated.behind(), fusable, on<Simulated>, read_write(x)),
          Fill{x, 3.0});
    for (auto const& x : views)
      parallel_for("behind", ResourcePolicy(gated.graph, 4, on<Simulated>, read_write(x)),
                   Fill{x, 1.0});
    Simulated::device(0).clear_log();
    Simulated::device(1).clear_log();
    gated.form_and_wait(3);
    EXPECT_THAT(gated.observed->formed(), ElementsAre(4, 4, 4));
    auto const first = launches(0), second = launches(1);
    EXPECT_EQ(std::count(first.begin(), first.end(), "member"), 2);
    EXPECT_EQ(std::count(second.begin(), second.end(), "member"), 1);
    for (auto const& x : views)
      for (double const value : host_copy(x)) ASSERT_EQ(value, 7);
  }
  {
    std::vector<On<double*>> views;
    for (int k = 0; k < 5; ++k) views.emplace_back("x", 4);
    TaskGraphOptions with = options();
    with.orchestration = make_all_on_device(1);
    TaskGraph graph(with);
    Simulated::device(0).clear_log();
    Simulated::device(1).clear_log();
    fork_join("fork-join", ResourcePolicy(graph), [&](TaskScope& scope) {
      for (auto const& x : views)
        host_task("child", ResourcePolicy(scope), [&graph, x] {
          parallel_for("member", ResourcePolicy(graph, 4, fusable, on<Simulated>, read_write(x)),
                       Fill{x, 3.0});
        });
    });
    graph.wait();
    EXPECT_THAT(launches(0), testing::IsEmpty());
    EXPECT_THAT(launches(1), testing::Not(testing::IsEmpty()));
    for (auto const& x : views)
      for (double const value : host_copy(x)) ASSERT_EQ(value, 3);
    // No such device: they stay at home.
    graph.orchestrate(make_all_on_device(7));
    fork_join("fork-join", ResourcePolicy(graph), [&](TaskScope&) {
      for (auto const& x : views)
        parallel_for("member", ResourcePolicy(graph, 4, fusable, on<Simulated>, read_write(x)),
                     Fill{x, 3.0});
    });
    graph.wait();
    EXPECT_THAT(launches(0), testing::Not(testing::IsEmpty()));
    for (auto const& x : views)
      for (double const value : host_copy(x)) ASSERT_EQ(value, 9);
  }
}

TEST_P(FusedOnDevice, ALaunchThatThrowsFailsItsMembersAndNoOthers) {
  struct Throws {
    On<double*> x;
    void operator()(int) const { throw std::runtime_error("in a kernel"); }
  };
  std::vector<On<double*>> views;
  for (int k = 0; k < 4; ++k) views.emplace_back("x", 4);
  Gated gated(make_fuse_immediately(4), options());
  std::vector<Future<void>> members;
  std::atomic<int> behind{0};
  for (auto const& x : views) {
    members.push_back(parallel_for(
        "member",
        ResourcePolicy(gated.graph, 4, gated.behind(), fusable, on<Simulated>, read_write(x)),
        Throws{x}));
    host_task("behind", ResourcePolicy(gated.graph, after(members.back())), [&] { ++behind; });
  }
  auto const other =
      host_task("other", ResourcePolicy(gated.graph, gated.behind()), [] { return 3; });
  gated.open();
  EXPECT_THROW(gated.graph.wait(), Error);
  EXPECT_EQ(behind, 0);
  for (auto const& each : members) EXPECT_THROW(each.get(), Error);
  EXPECT_EQ(other.get(), 3);
  EXPECT_NO_THROW(gated.graph.wait());
}

TEST_P(FusedOnDevice, InPlans) {
  auto const observed = std::make_shared<Observed>(make_fuse_immediately(6));
  TaskGraphOptions with = options();
  with.orchestration = observed;
  std::vector<On<double*>> views;
  for (int k = 0; k < 6; ++k) views.emplace_back("x", 4);
  TaskGraph graph(with);
  Plan const plan = graph.record("plan", [&] {
    host_task("begin", ResourcePolicy(graph), [] {});
    for (auto const& x : views)
      parallel_for("member", ResourcePolicy(graph, 4, fusable, on<Simulated>, read_write(x)),
                   Fill{x, 1.0});
  });
  graph.replay(plan, 4);
  graph.replay(plan);
  graph.wait();
  for (auto const& x : views)
    for (double const value : host_copy(x)) ASSERT_EQ(value, 31);
}

}  // namespace
}  // namespace trellis::Test
