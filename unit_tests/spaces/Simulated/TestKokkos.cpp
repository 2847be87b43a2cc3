// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Typed tasks on simulated devices.
#include "Devices.hpp"

#include <Simulated/Trellis_SpaceSimulated.hpp>
#include <Trellis.hpp>

namespace trellis::Test {
namespace {

using testing::HasSubstr;
using Values = Kokkos::View<double*, SimulatedSpace>;
using Grid = Kokkos::View<double**, SimulatedSpace>;
using Number = Kokkos::View<double, SimulatedSpace>;
using Host = Simulated::kernel_space;

class OnSimulated : public EitherTime {
 protected:
  void SetUp() override { Simulated::configure({.virtual_time = is_virtual()}); }
  void TearDown() override { Simulated::configure({}); }
  static TaskGraphOptions workers(int count) {
    TaskGraphOptions options;
    options.workers = count;
    return options;
  }
  /// What is in a View on the device.
  template <class V>
  static auto host_copy(TaskGraph& graph, V const& view) {
    auto const mirror = Kokkos::create_mirror_view(view);
    deep_copy("read back", graph, mirror, view).get();
    return mirror;
  }
};
INSTANTIATE_TEST_SUITE_P(Time, OnSimulated, testing::Bool(), name_of_time);

static_assert(std::is_same_v<decltype(Kokkos::create_mirror_view(Values()))::memory_space,
                             Kokkos::HostSpace>);
static_assert(!Impl::CanTouch<Kokkos::DefaultHostExecutionSpace, SimulatedSpace>::value);
static_assert(!Impl::CanTouch<Simulated, Kokkos::HostSpace>::value);
static_assert(Impl::CanTouch<Simulated, SimulatedSpace>::value);

TEST_P(OnSimulated, ForReduceAndScan) {
  TaskGraph graph(workers(2));
  int const n = 1000;
  Values const x("x", n), y("y", n);
  parallel_for(
      "fill", ResourcePolicy(graph, n, write(x), on<Simulated>),
      KOKKOS_LAMBDA(int i) { x(i) = i; });
  parallel_for(
      "scale", ResourcePolicy(graph, n, read(x), write(y), on<Simulated>),
      KOKKOS_LAMBDA(int i, read_view<Values> in, Values out) { out(i) = 2 * in(i); });
  auto const sum = parallel_reduce(
      "sum", ResourcePolicy(graph, n, read(y), on<Simulated>),
      KOKKOS_LAMBDA(int i, double& s) { s += y(i); });
  auto const largest = parallel_reduce(
      "largest", ResourcePolicy(graph, n, read(y), on<Simulated>),
      KOKKOS_LAMBDA(int i, double& m) { m = y(i) > m ? y(i) : m; }, reduced<Kokkos::Max<double>>);
  auto const total = parallel_scan(
      "scan", ResourcePolicy(graph, n, read_write(y), on<Simulated>),
      KOKKOS_LAMBDA(int i, double& partial, bool last) {
        partial += y(i);
        if (last) y(i) = partial;
      });
  EXPECT_EQ(sum.get(), n * (n - 1.));
  EXPECT_EQ(largest.get(), 2 * (n - 1.));
  EXPECT_EQ(total.get(), n * (n - 1.));
  auto const result = host_copy(graph, y);
  EXPECT_EQ(result(3), 0 + 2 + 4 + 6);
  EXPECT_EQ(result(n - 1), n * (n - 1.));
}

TEST_P(OnSimulated, ResultsInViews) {
  TaskGraph graph(workers(1));
  int const n = 100;
  Number const sum("sum"), most("most");
  parallel_reduce(
      "sum", ResourcePolicy(graph, n, on<Simulated>), KOKKOS_LAMBDA(int i, double& s) { s += i; },
      sum);
  parallel_reduce(
      "both", ResourcePolicy(graph, n, read_write(sum), on<Simulated>),
      KOKKOS_LAMBDA(int i, double& m) { m = i + sum() > m ? i + sum() : m; },
      Kokkos::Max<double, SimulatedSpace>(most));
  EXPECT_EQ(host_copy(graph, sum)(), 4950);
  EXPECT_EQ(host_copy(graph, most)(), 4950 + 99);
}

struct Doubling {};
struct Doubler {
  Grid grid;
  KOKKOS_FUNCTION void operator()(Doubling, int i, int j) const { grid(i, j) *= 2; }
};

TEST_P(OnSimulated, PoliciesOfAHostSpace) {
  TaskGraph graph(workers(2));
  int const n = 30, m = 20;
  Grid const grid("grid", n, m);
  parallel_for(
      "range", ResourcePolicy(graph, Kokkos::RangePolicy<Host>(0, n), write(grid), on<Simulated>),
      KOKKOS_LAMBDA(int i) {
        for (int j = 0; j < m; ++j) grid(i, j) = 1;
      });
  using Md = Kokkos::MDRangePolicy<Host, Kokkos::Rank<2>>;
  parallel_for(
      "md", ResourcePolicy(graph, Md({0, 0}, {n, m}), read_write(grid), on<Simulated>),
      KOKKOS_LAMBDA(int i, int j) { grid(i, j) += 100 * i + j; });
  parallel_for(
      "tag",
      ResourcePolicy(graph, Kokkos::MDRangePolicy<Host, Kokkos::Rank<2>, Doubling>({0, 0}, {n, m}),
                     read_write(grid), on<Simulated>),
      Doubler{grid});
  using Team = Kokkos::TeamPolicy<Host>;
  using Member = Team::member_type;
  using Scratch =
      Kokkos::View<double*, Host::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  Team const team = Team(n, 1).set_scratch_size(0, Kokkos::PerTeam(Scratch::shmem_size(m)));
  parallel_for(
      "team", ResourcePolicy(graph, team, read_write(grid), on<Simulated>),
      KOKKOS_LAMBDA(Member const& member) {
        Scratch const row(member.team_scratch(0), m);
        int const i = member.league_rank();
        Kokkos::parallel_for(Kokkos::TeamThreadRange(member, m),
                             [&](int j) { row(j) = grid(i, m - 1 - j); });
        member.team_barrier();
        Kokkos::parallel_for(Kokkos::TeamThreadRange(member, m),
                             [&](int j) { grid(i, j) = row(j); });
      });
  auto const result = host_copy(graph, grid);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < m; ++j) ASSERT_EQ(result(i, j), 2 * (1 + 100 * i + m - 1 - j));
}

TEST_P(OnSimulated, SpaceTasks) {
  TaskGraph graph(workers(1));
  Values const x("x", 10);
  auto const first =
      space_task("fill", ResourcePolicy(graph, write(x), on<Simulated>), [=](Host const& host) {
        Kokkos::parallel_for(
            Kokkos::RangePolicy<Host>(host, 0, 10), KOKKOS_LAMBDA(int i) { x(i) = i * i; });
        return x(3);
      });
  auto const second = space_task("with Views", ResourcePolicy(graph, read(x), on<Simulated>),
                                 [](Host const&, read_view<Values> in) { return in(4); });
  EXPECT_EQ(first.get(), 9);
  EXPECT_EQ(second.get(), 16);
}

TEST_P(OnSimulated, Copies) {
  TaskGraph graph(workers(2));
  int const n = 12, m = 7;
  Grid const here("here", n, m), there("there", n, m);
  Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace> const host("host", n, m),
      back("back", n, m);
  host_task("fill", ResourcePolicy(graph, write(host)), [=] {
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < m; ++j) host(i, j) = 10 * i + j;
  });
  deep_copy("in", graph, here, host);  // changes the layout on the way
  deep_copy("fill", graph, there, -1);
  auto const part = std::pair(2, 6);
  deep_copy("inside", graph, Kokkos::subview(there, part, Kokkos::ALL()),
            Kokkos::subview(here, part, Kokkos::ALL()));
  deep_copy("out", graph, back, there);
  auto const wrong = host_task("compare", ResourcePolicy(graph, read(back)), [=] {
    int count = 0;
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < m; ++j) count += back(i, j) != (i >= 2 && i < 6 ? 10 * i + j : -1);
    return count;
  });
  EXPECT_EQ(wrong.get(), 0);
  Number const number("number");
  deep_copy("one", graph, number, 5);
  EXPECT_EQ(host_copy(graph, number)(), 5);
  std::vector<std::uint64_t> bytes;
  for (SimulatedRecord const& record : Simulated::device().log())
    if (record.kind == Kind::copy) bytes.push_back(record.bytes);
  EXPECT_THAT(bytes, testing::ElementsAre(n * m * 8, n * m * 8, 4 * m * 8, n * m * 8, 8, 8));
  for (SimulatedRecord const& record : Simulated::device().log())
    EXPECT_FALSE(record.blocks_the_host());
}

TEST_P(OnSimulated, CopiesBetweenDevicesGoOverTheLink) {
  Simulated::configure(
      {.virtual_time = is_virtual(), .link_latency = 500, .memory_bytes_per_ns = 8}, 3);
  TaskGraph graph(workers(1));
  Values const a(Kokkos::view_alloc("a", SimulatedSpace(1)), 100),
      b(Kokkos::view_alloc("b", SimulatedSpace(2)), 100);
  EXPECT_GE(Simulated::device(1).live_bytes(), 800u);
  EXPECT_EQ(Simulated::device(0).live_bytes(), 0u);
  deep_copy("fill", graph, a, 3);
  deep_copy("over", graph, b, a);
  EXPECT_EQ(host_copy(graph, b)(42), 3);
  EXPECT_THAT(texts(Simulated::device(1), {Kind::copy}),
              testing::ElementsAre(HasSubstr("\"fill\"")));
  EXPECT_THAT(texts(Simulated::device(2), {Kind::copy}),
              testing::ElementsAre(HasSubstr("\"over\""), HasSubstr("\"read back\"")));
  if (is_virtual()) {
    EXPECT_EQ(times(Simulated::device(1), "fill"), Times(0, 100));
    EXPECT_EQ(times(Simulated::device(2), "over"), Times(100, 600));
    EXPECT_EQ(times(Simulated::device(2), "read back"), Times(600, 1100));
  }
}

TEST_P(OnSimulated, ATaskThatThrowsFailsItsDevice) {
  {
    TaskGraph graph(workers(1));
    Values const x("x", 1);
    space_task("bad", ResourcePolicy(graph, write(x), on<Simulated>),
               [](Host const&) { throw std::runtime_error("illegal address"); });
    try {
      graph.wait();
      ADD_FAILURE() << "no exception";
    } catch (std::exception const& error) {
      EXPECT_THAT(error.what(), HasSubstr("illegal address"));
    }
  }
  Simulated::device().reset();
}

TEST_P(OnSimulated, ViewsOutsideOfTasks) {
  struct Counted {
    int value = 7;
    Counted() = default;
    Counted(Counted const&) = default;
    Counted& operator=(Counted const&) = default;
    ~Counted() { value = 0; }
  };
  {
    Kokkos::View<Counted*, SimulatedSpace> const objects("objects", 3);  // not trivial
    Kokkos::View<int*, SimulatedSpace> const numbers("numbers", 100);
    EXPECT_EQ(numbers.label(), "numbers");
    EXPECT_GT(Simulated::device().live_bytes(), 400u);
    auto const copy = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), numbers);
    EXPECT_EQ(copy(50), 0);
    copy(50) = 5;
    Kokkos::deep_copy(numbers, copy);
    copy(50) = 6;
    Kokkos::deep_copy(copy, numbers);
    EXPECT_EQ(copy(50), 5);
    Grid const grid("grid", 4, 5), other("other", 4, 5);
    auto const plate = Kokkos::create_mirror_view(grid);
    Kokkos::deep_copy(plate, 3);
    Kokkos::deep_copy(grid, plate);
    Kokkos::deep_copy(other, grid);
    Kokkos::deep_copy(plate, 0);
    Kokkos::deep_copy(plate, other);
    EXPECT_EQ(plate(2, 3), 3);
  }
  EXPECT_EQ(Simulated::device().live_bytes(), 0u);
  EXPECT_TRUE(texts(Simulated::device(), {Kind::launch, Kind::copy, Kind::synchronize}).empty());
}

TEST_P(OnSimulated, CostsFollowTheRange) {
  Simulated::configure(
      {.virtual_time = is_virtual(), .units_per_ns = 2, .kernel_units = 1000, .index_units = 10});
  TaskGraph graph(workers(1));
  using Md = Kokkos::MDRangePolicy<Host, Kokkos::Rank<2>>;
  Token const token("order");
  parallel_for("count", ResourcePolicy(graph, 50, write(token), on<Simulated>),
               KOKKOS_LAMBDA(int){});
  parallel_for("range",
               ResourcePolicy(graph, Kokkos::RangePolicy<Host>(5, 25), write(token), on<Simulated>),
               KOKKOS_LAMBDA(int){});
  parallel_for("md", ResourcePolicy(graph, Md({0, 1}, {10, 11}), write(token), on<Simulated>),
               KOKKOS_LAMBDA(int, int){});
  space_task("once", ResourcePolicy(graph, write(token), on<Simulated>), [](Host const&) {});
  graph.wait();
  auto const cost = [](char const* name) {
    auto const [begin, end] = times(Simulated::device(), name);
    return end - begin;
  };
  if (is_virtual()) {
    EXPECT_EQ(cost("count"), 750);
    EXPECT_EQ(cost("range"), 600);
    EXPECT_EQ(cost("md"), 1000);
    EXPECT_EQ(cost("once"), 500);
    EXPECT_EQ(Simulated::clock().makespan(), 2850);
  } else {
    EXPECT_GE(cost("count"), 750);
  }
}

TEST(SimulatedSettings, CannotChangeUnderAView) {
  Values const x("x", 10);
  EXPECT_THAT(
      message_of([] { Simulated::configure({}); }),
      HasSubstr(
          "the simulated devices cannot be replaced, device 0 still has 0 streams of graphs"));
  EXPECT_THAT(message_of([] { Simulated::configure({}, 0); }),
              HasSubstr("there cannot be 0 simulated devices"));
  EXPECT_THAT(message_of([] { (void)Simulated::device(7); }),
              HasSubstr("there is no simulated device 7, there are 1"));
}

TEST(SimulatedDevices, HaveNoThreadsOfTheHost) {
  TaskGraph graph;
  for (int const n : {1, 2})
    EXPECT_THAT(message_of([&] {
                  parallel_for("kernel", ResourcePolicy(graph, 1, on<Simulated>, threads(n)),
                               KOKKOS_LAMBDA(int){});
                }),
                testing::AllOf(HasSubstr("task \"kernel\" ("),
                               HasSubstr("asks for threads(" + std::to_string(n) + ")"),
                               HasSubstr("a device; threads(n) is for tasks on the host")));
}

}  // namespace
}  // namespace trellis::Test
