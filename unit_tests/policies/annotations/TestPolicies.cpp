// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ResourcePolicy over each kind of base policy: what the user asked for arrives at Kokkos, on the
// worker's instance.
#include <Trellis.hpp>

#include "SpaceTest.hpp"
#include "Timing.hpp"

#include <Kokkos_Core.hpp>
#include <gmock/gmock.h>

#include <atomic>

namespace trellis {
namespace {

using Test::values_of;
using testing::HasSubstr;

/// The policy as it is when a task has kept it and a worker runs it on its own instance.
template <class Policy>
Policy moved_to(Space const& instance, Policy const& base) {
  using Traits = Impl::PolicyTraits<Policy, void>;
  return Traits::on(Traits::keep(base), instance);
}

/// One as a worker has. It is not the default one, which most policies have.
Space another_instance() {
  Impl::SpaceAdapter& adapter = Impl::space_adapter<Space>();
  void* const made = adapter.make_instance(1);
  Space const instance = *static_cast<Space const*>(made);
  adapter.destroy_instance(made);
  return instance;
}

constexpr bool on_host = std::is_same_v<Memory, Kokkos::HostSpace>;
bool const has_teams_of_two = std::string_view(Space::name()) != "Serial";

// ---- devices ------------------------------------------------------------------------------------

SPACE_TEST(Device, IsChosenByItsNumber) {
  TaskGraph graph;
  View<int*> x("x", 4);
  deep_copy(Label("first"), graph, x, 1);
  auto const run_on = [&](int number) {
    return space_task("task", ResourcePolicy(graph, read_write(x), on<Space>, device(number)),
                      [=](Space const& instance) { Kokkos::deep_copy(instance, x, 2); });
  };
  run_on(0).get();
  EXPECT_THAT(values_of(x), testing::Each(2));
  try {
    run_on(1000);
    ADD_FAILURE() << "there is no such device";
  } catch (Error const& error) {
    EXPECT_EQ(error.kind(), Error::Kind::bad_input);
    EXPECT_THAT(error.what(), HasSubstr("1000"));
  }
  graph.wait();
}

// ---- ranges -------------------------------------------------------------------------------------

template <class Integer>
std::vector<int> counted_over(Integer n) {
  TaskGraph graph;
  View<int*> x("x", 5);
  trellis::deep_copy(graph, x, 0);
  parallel_for(
      "count", ResourcePolicy(graph, n, read_write(x), on<Space>),
      KOKKOS_LAMBDA(int i) { x(i) += i + 1; });
  graph.wait();
  return values_of(x);
}

SPACE_TEST(Range, OverAnInteger) {
  EXPECT_EQ(counted_over(5), (std::vector{1, 2, 3, 4, 5}));
  EXPECT_EQ(counted_over(std::size_t{3}), (std::vector{1, 2, 3, 0, 0}));
  EXPECT_EQ(counted_over(short{1}), (std::vector{1, 0, 0, 0, 0}));
  EXPECT_EQ(counted_over(0u), (std::vector{0, 0, 0, 0, 0}));
}

SPACE_TEST(Range, ANegativeIntegerIsAnErrorThatNamesTheTask) {
  TaskGraph graph;
  View<int*> x("x", 5);
  auto const body = KOKKOS_LAMBDA(int i) {
    x(i) = 1;
  };
  auto const sum = KOKKOS_LAMBDA(int, int& s) {
    s += 1;
  };
  auto const scan = KOKKOS_LAMBDA(int, int& s, bool) {
    s += 1;
  };
  int const n = -2;
  unsigned const line = __LINE__ + 2;  // where the label stands
  Error const error = trellis::Test::error_of(
      [&] { parallel_for("negative", ResourcePolicy(graph, n, write(x), on<Space>), body); });
  EXPECT_EQ(error.kind(), Error::Kind::bad_input);
  EXPECT_THAT(error.what(),
              testing::AllOf(HasSubstr("\"negative\""), HasSubstr("negative range -2"),
                             HasSubstr(std::string(__FILE__) + ":" + std::to_string(line))));
  EXPECT_THROW(parallel_reduce("negative", ResourcePolicy(graph, n, on<Space>), sum), Error);
  EXPECT_THROW(parallel_scan("negative", ResourcePolicy(graph, n, on<Space>), scan), Error);
  EXPECT_EQ(graph.submitted(), 0u);
}

SPACE_TEST(Range, FromBeginToEnd) {
  TaskGraph graph;
  View<int*> x("x", 6);
  parallel_for(
      "middle", ResourcePolicy(graph, Kokkos::RangePolicy<Space>(2, 5), write(x)),
      KOKKOS_LAMBDA(int i) { x(i) = i; });
  graph.wait();
  EXPECT_EQ(values_of(x), (std::vector{0, 0, 2, 3, 4, 0}));
}

SPACE_TEST(Range, WithAnotherIndexTypeAndASchedule) {
  TaskGraph graph;
  View<int*> x("x", 100);
  // The number of blocks that a device may have does not fit into a short, and Kokkos puts it into
  // one.
  using Index = std::conditional_t<std::is_same_v<Memory, Kokkos::HostSpace>, short, unsigned>;
  using Policy =
      Kokkos::RangePolicy<Space, Kokkos::Schedule<Kokkos::Dynamic>, Kokkos::IndexType<Index>>;
  parallel_for(
      "dynamic", ResourcePolicy(graph, Policy(0, 100), write(x)),
      KOKKOS_LAMBDA(Index i) { x(i) = static_cast<int>(i); });
  auto const sum = parallel_reduce(
      "sum", ResourcePolicy(graph, Policy(0, 100), read(x)),
      KOKKOS_LAMBDA(Index i, int& s) { s += x(i); });
  EXPECT_EQ(sum.get(), 4950);
}

struct Twice {};
struct Thrice {};
struct Tagged {
  View<int*> x;
  KOKKOS_FUNCTION void operator()(Twice, int i) const { x(i) = 2 * i; }
  KOKKOS_FUNCTION void operator()(Thrice, int i) const { x(i) = 3 * i; }
};

SPACE_TEST(Range, KeepsWorkTags) {
  TaskGraph graph;
  View<int*> x("x", 4);
  parallel_for("twice", ResourcePolicy(graph, Kokkos::RangePolicy<Space, Twice>(0, 2), write(x)),
               Tagged{x});
  parallel_for("thrice", ResourcePolicy(graph, Kokkos::RangePolicy<Space, Thrice>(2, 4), write(x)),
               Tagged{x});
  graph.wait();
  EXPECT_EQ(values_of(x), (std::vector{0, 2, 6, 9}));
}

SPACE_TEST(Range, KeepsTheChunkSizeAndTheBoundsWhenItMovesToAWorkersInstance) {
  using Policy = Kokkos::RangePolicy<Space>;
  Space const instance = another_instance();
  ASSERT_FALSE(instance == Space());
  for (int chunk : {1, 3, 7, 64, 100}) {
    Policy const base(Space(), 5, 500, Kokkos::ChunkSize(chunk));
    Policy const moved = moved_to(instance, base);
    EXPECT_EQ(moved.begin(), 5);
    EXPECT_EQ(moved.end(), 500);
    EXPECT_EQ(moved.chunk_size(), base.chunk_size());
    EXPECT_TRUE(moved.space() == instance);
  }
}

struct MeetingIndex {
  Test::Rendezvous* all;
  std::atomic<int>* met;
  KOKKOS_FUNCTION void operator()(int) const { KOKKOS_IF_ON_HOST((if (all->meet())++ * met;)) }
};

/// Two launches on one instance take turns, so the two would never meet there. (A worker of one
/// thread may do without a launch.)
SPACE_TEST(Range, RunsOnTheWorkersOwnInstanceAndNotOnThePolicys) {
  if (!on_host) GTEST_SKIP() << "a device has streams";
  for (Space const& theirs : {Space(), another_instance()}) {
    TaskGraphOptions options = Test::with_workers(2);
    options.threads_per_worker = has_teams_of_two ? 2 : 1;
    TaskGraph graph(options);
    if (*graph.options().serial) GTEST_SKIP() << "one task at a time";
    Test::Rendezvous all(2);
    std::atomic<int> met{0};
    Kokkos::RangePolicy<Space> const base(theirs, 0, 1);
    for (int k = 0; k < 2; ++k)
      parallel_for("meet", ResourcePolicy(graph, base), MeetingIndex{&all, &met});
    graph.wait();
    EXPECT_EQ(met, 2);
  }
}

SPACE_TEST(SpaceTask, GetsTheWorkersOwnInstance) {
  TaskGraphOptions options;
  options.workers = 1;
  TaskGraph graph(options);
  Space const* used = nullptr;
  space_task("look", ResourcePolicy(graph, on<Space>),
             [&](Space const& space) { used = new Space(space); });
  graph.wait();
  ASSERT_NE(used, nullptr);
  EXPECT_FALSE(*used == Space()) << "not the default instance, which others may use";
  delete used;
}

struct MeetingTeam {
  Test::Rendezvous* all;
  std::atomic<int>* met;
  KOKKOS_FUNCTION void operator()(Member const&) const {
    KOKKOS_IF_ON_HOST((if (all->meet())++ * met;))
  }
};

/// Two launches on one instance take turns.
SPACE_TEST(Team, RunsOnTheWorkersOwnInstanceAndNotOnThePolicys) {
  if (!on_host) GTEST_SKIP() << "a device has streams";
  TaskGraph graph(Test::with_workers(2));
  Test::Rendezvous all(2);
  std::atomic<int> met{0};
  Teams const base(Space(), 1, 1);
  for (int k = 0; k < 2; ++k)
    parallel_for("meet", ResourcePolicy(graph, base), MeetingTeam{&all, &met});
  graph.wait();
  EXPECT_EQ(met, 2);
}

// ---- MDRange ------------------------------------------------------------------------------------

SPACE_TEST(MDRange, OfRank2WithBounds) {
  TaskGraph graph;
  View<int**> x("x", 4, 5);
  using Policy = Kokkos::MDRangePolicy<Space, Kokkos::Rank<2>>;
  parallel_for(
      "inner", ResourcePolicy(graph, Policy({1, 2}, {3, 5}), write(x)),
      KOKKOS_LAMBDA(int i, int j) { x(i, j) = 10 * i + j; });
  graph.wait();
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), x);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 5; ++j) EXPECT_EQ(host(i, j), i >= 1 && i < 3 && j >= 2 ? 10 * i + j : 0);
}

SPACE_TEST(MDRange, OfRank3And4) {
  TaskGraph graph;
  View<int***> x("x", 3, 4, 5);
  parallel_for(
      "3",
      ResourcePolicy(graph, Kokkos::MDRangePolicy<Space, Kokkos::Rank<3>>({0, 0, 0}, {3, 4, 5}),
                     write(x)),
      KOKKOS_LAMBDA(int i, int j, int k) { x(i, j, k) = 100 * i + 10 * j + k; });
  auto const sum3 = parallel_reduce(
      "sum 3",
      ResourcePolicy(graph, Kokkos::MDRangePolicy<Space, Kokkos::Rank<3>>({0, 0, 0}, {3, 4, 5}),
                     read(x)),
      KOKKOS_LAMBDA(int i, int j, int k, int& s) { s += x(i, j, k); });
  EXPECT_EQ(sum3.get(), 20 * 300 + 15 * 60 + 12 * 10);

  View<int****> y("y", 2, 3, 4, 5);
  using Policy = Kokkos::MDRangePolicy<Space, Kokkos::Rank<4>>;
  parallel_for(
      "4", ResourcePolicy(graph, Policy({0, 0, 0, 0}, {2, 3, 4, 5}), write(y)),
      KOKKOS_LAMBDA(int i, int j, int k, int l) {
        y(i, j, k, l) = 1000 * i + 100 * j + 10 * k + l;
      });
  graph.wait();
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), y);
  EXPECT_EQ(host(1, 2, 3, 4), 1234);
  EXPECT_EQ(host(0, 0, 0, 0), 0);
  EXPECT_EQ(host(1, 0, 2, 0), 1020);
}

struct TaggedPlane {
  View<int**> x;
  KOKKOS_FUNCTION void operator()(Twice, int i, int j) const { x(i, j) = 2 * i + j; }
};

SPACE_TEST(MDRange, KeepsTilesTagsAndIterationPatterns) {
  using Policy =
      Kokkos::MDRangePolicy<Space, Kokkos::Rank<2, Kokkos::Iterate::Right, Kokkos::Iterate::Left>,
                            Twice>;
  Policy const base({1, 0}, {9, 8}, {2, 4});
  Space const instance = another_instance();
  Policy const moved = moved_to(instance, base);
  EXPECT_TRUE(moved.space() == instance);
  for (int k = 0; k < 2; ++k) {
    EXPECT_EQ(moved.m_tile[k], base.m_tile[k]);
    EXPECT_EQ(moved.m_lower[k], base.m_lower[k]);
    EXPECT_EQ(moved.m_upper[k], base.m_upper[k]);
  }
  TaskGraph graph;
  View<int**> x("x", 9, 8);
  parallel_for("tagged", ResourcePolicy(graph, base, write(x)), TaggedPlane{x});
  graph.wait();
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), x);
  EXPECT_EQ(host(0, 7), 0);
  EXPECT_EQ(host(8, 7), 23);
}

SPACE_TEST(MDRange, IsEmptyWhereAnExtentIs) {
  TaskGraph graph;
  View<int**> x("x", 3, 3);
  parallel_for(
      "nothing",
      ResourcePolicy(graph, Kokkos::MDRangePolicy<Space, Kokkos::Rank<2>>({0, 0}, {3, 0}),
                     write(x)),
      KOKKOS_LAMBDA(int i, int j) { x(i, j) = 1; });
  graph.wait();
  EXPECT_EQ(values_of(x), std::vector<int>(9, 0));
}

struct CountPlane {
  View<int**> x;
  KOKKOS_FUNCTION void operator()(int i, int j) const { ++x(i, j); }
};

/// Small ones may be plain loops, see DirectLoop; large ones are Kokkos' own.
SPACE_TEST(MDRange, VisitsEachIndexOnce) {
  TaskGraph graph;
  for (int const n : {1, 2, 63, 64, 65, 200}) {
    View<int**> x("x", n, n + 1);
    parallel_for("all", ResourcePolicy(graph, Square({0, 0}, {n, n + 1}), write(x)), CountPlane{x});
    parallel_for("inner", ResourcePolicy(graph, Square({1, 1}, {n, n}), read_write(x)),
                 CountPlane{x});
    graph.wait();
    auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), x);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n + 1; ++j)
        ASSERT_EQ(host(i, j), i >= 1 && j >= 1 && j < n ? 2 : 1) << n << ": " << i << ", " << j;
  }
}

template <Kokkos::Iterate inner>
std::vector<int> order_of_indices() {
  using Policy = Kokkos::MDRangePolicy<Space, Kokkos::Rank<3, Kokkos::Iterate::Default, inner>>;
  TaskGraph graph(Test::with_workers(1));
  View<int*> order("order", 2 * 3 * 2);
  View<int> next("next");
  parallel_for(
      "in order", ResourcePolicy(graph, Policy({1, 0, 5}, {3, 3, 7}), write(order), write(next)),
      KOKKOS_LAMBDA(int i, int j, int k) { order(next()++) = 100 * i + 10 * j + k; });
  graph.wait();
  return values_of(order);
}

SPACE_TEST(MDRange, OfOneThreadIsInTheOrderOfItsPattern) {
  if (Space().concurrency() != 1 && !std::is_same_v<Space, Kokkos::DefaultHostExecutionSpace>)
    return;  // indices have no order
  EXPECT_EQ(order_of_indices<Kokkos::Iterate::Right>(),
            (std::vector{105, 106, 115, 116, 125, 126, 205, 206, 215, 216, 225, 226}));
  EXPECT_EQ(order_of_indices<Kokkos::Iterate::Left>(),
            (std::vector{105, 205, 115, 215, 125, 225, 106, 206, 116, 216, 126, 226}));
}

struct NotedRange {
  V x;
  KOKKOS_FUNCTION void operator()(Twice, int i) const { x(i) += 2 * i; }
};

SPACE_TEST(MDRange, OfOneDimensionKeepsBoundsAndTags) {
  TaskGraph graph;
  V x("x", 10);
  using Policy = Kokkos::RangePolicy<Space, Twice>;
  parallel_for("tagged", ResourcePolicy(graph, Policy(3, 9), read_write(x)), NotedRange{x});
  parallel_for("empty", ResourcePolicy(graph, Policy(9, 9), read_write(x)), NotedRange{x});
  graph.wait();
  EXPECT_EQ(values_of(x), (std::vector<double>{0, 0, 0, 6, 8, 10, 12, 14, 16, 0}));
}

// ---- teams --------------------------------------------------------------------------------------

SPACE_TEST(Team, GetsTheLeagueAndSizeItAskedFor) {
  TaskGraphOptions options = Test::with_workers(1);
  options.threads_per_worker = 2;
  TaskGraph graph(options);
  // Of two sizes, so that a size of Kokkos' own choice cannot be right.
  for (int const size : {1, 2}) {
    if (size == 2 && !has_teams_of_two) break;
    View<int**> x("x", 6, 2);
    parallel_for(
        "teams", ResourcePolicy(graph, Teams(6, size), write(x)),
        KOKKOS_LAMBDA(Member const& team) {
          x(team.league_rank(), 0) = team.league_size();
          x(team.league_rank(), 1) = team.team_size();
        });
    graph.wait();
    auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), x);
    for (int k = 0; k < 6; ++k) {
      EXPECT_EQ(host(k, 0), 6);
      EXPECT_EQ(host(k, 1), size);
    }
  }
}

/// Teams of as many threads as the default instance has, which the workers have not.
SPACE_TEST(Team, ThatIsLargerThanAWorkerIsRefusedWhenItIsSubmitted) {
  int const threads = Space().concurrency();
  if (Impl::DeviceSpace<Space> || threads < 2)
    GTEST_SKIP() << "a team of one thread fits every worker";
  TaskGraphOptions options;
  options.threads_per_worker = 1;
  TaskGraph graph(options);
  V x("x", 4);
  auto const body = KOKKOS_LAMBDA(Member const& team) {
    x(team.league_rank()) = 1;
  };
  auto const what = [&](auto& target) {
    return std::string(Test::error_of([&] {
                         parallel_for("teams", ResourcePolicy(target, Teams(4, 2), write(x)), body);
                       }).what());
  };
  auto const says_what_to_set =
      testing::AllOf(testing::HasSubstr("\"teams\""), testing::HasSubstr("teams of 2 threads"),
                     testing::HasSubstr("threads_per_worker"));
  EXPECT_THAT(what(graph), says_what_to_set);
  std::string of_child;
  host_task("parent", ResourcePolicy(graph), [&](TaskScope& self) { of_child = what(self); });
  graph.wait();
  EXPECT_THAT(of_child, says_what_to_set);

  options.threads_per_worker = 2;
  options.workers = 1;
  TaskGraph larger(options);
  parallel_for("teams", ResourcePolicy(larger, Teams(4, 2), write(x)), body);
  larger.wait();
  EXPECT_EQ(values_of(x), std::vector<double>(4, 1));
}

SPACE_TEST(Team, OfAutomaticSizeWorksInParallelInside) {
  TaskGraph graph;
  View<long**> x("x", 10, 100);
  parallel_for(
      "fill", ResourcePolicy(graph, Teams(10, Kokkos::AUTO), write(x)),
      KOKKOS_LAMBDA(Member const& team) {
        int const i = team.league_rank();
        Kokkos::parallel_for(Kokkos::TeamThreadRange(team, 100), [&](int j) { x(i, j) = i * j; });
      });
  auto const sum = parallel_reduce(
      "sum", ResourcePolicy(graph, Teams(10, Kokkos::AUTO, Kokkos::AUTO), read(x)),
      KOKKOS_LAMBDA(Member const& team, long& s) {
        long row = 0;
        int const i = team.league_rank();
        Kokkos::parallel_reduce(
            Kokkos::TeamVectorRange(team, 100), [&](int j, long& r) { r += x(i, j); }, row);
        Kokkos::single(Kokkos::PerTeam(team), [&] { s += row; });
      });
  EXPECT_EQ(sum.get(), 45L * 4950);
}

SPACE_TEST(Team, HasTheScratchMemoryItAskedForOnBothLevels) {
  using Scratch = Kokkos::View<int*, Space::scratch_memory_space, Kokkos::MemoryUnmanaged>;
  TaskGraph graph;
  View<int*> bad("bad", 1);
  int const n0 = 40, n1 = 3000;
  Teams const base =
      Teams(20, 1)
          .set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(Scratch::shmem_size(n0))),
                            Kokkos::PerThread(static_cast<int>(Scratch::shmem_size(n0))))
          .set_scratch_size(1, Kokkos::PerTeam(static_cast<int>(Scratch::shmem_size(n1))));
  parallel_for(
      "scratch", ResourcePolicy(graph, base, write(bad)), KOKKOS_LAMBDA(Member const& team) {
        Scratch const a(team.team_scratch(0), n0), b(team.thread_scratch(0), n0),
            c(team.team_scratch(1), n1);
        if (a.data() == nullptr || b.data() == nullptr || c.data() == nullptr) {
          Kokkos::atomic_inc(&bad(0));
          return;
        }
        int const mark = team.league_rank();
        for (int k = 0; k < n0; ++k) a(k) = mark, b(k) = -mark;
        for (int k = 0; k < n1; ++k) c(k) = 2 * mark;
        team.team_barrier();
        for (int k = 0; k < n0; ++k)
          if (a(k) != mark || b(k) != -mark) Kokkos::atomic_inc(&bad(0));
        for (int k = 0; k < n1; ++k)
          if (c(k) != 2 * mark) Kokkos::atomic_inc(&bad(0));
      });
  graph.wait();
  EXPECT_EQ(values_of(bad), std::vector{0});
}

SPACE_TEST(Team, KeepsScratchSizesChunkAndLengthsWhenItMovesToAWorkersInstance) {
  Teams const base = Teams(17, 1, 1)
                         .set_scratch_size(0, Kokkos::PerTeam(1000), Kokkos::PerThread(24))
                         .set_scratch_size(1, Kokkos::PerTeam(70000), Kokkos::PerThread(0))
                         .set_chunk_size(4);
  Space const instance = another_instance();
  Teams const moved = moved_to(instance, base);
  EXPECT_TRUE(moved.space() == instance);
  EXPECT_EQ(moved.league_size(), 17);
  EXPECT_EQ(moved.team_size(), 1);
  EXPECT_EQ(moved.chunk_size(), 4);
  for (int level : {0, 1})
    for (int team_size : {0, 1, 3})
      EXPECT_EQ(moved.scratch_size(level, team_size), base.scratch_size(level, team_size))
          << level << ' ' << team_size;
  Teams const automatic(17, Kokkos::AUTO);
  EXPECT_EQ(moved_to(Space(), automatic).impl_auto_team_size(), automatic.impl_auto_team_size());
}

struct TaggedTeam {
  View<int*> x;
  KOKKOS_FUNCTION void operator()(
      Thrice, Kokkos::TeamPolicy<Space, Thrice>::member_type const& team) const {
    x(team.league_rank()) = 3;
  }
};

SPACE_TEST(Team, KeepsWorkTags) {
  TaskGraph graph;
  View<int*> x("x", 2);
  parallel_for("tagged", ResourcePolicy(graph, Kokkos::TeamPolicy<Space, Thrice>(2, 1), write(x)),
               TaggedTeam{x});
  graph.wait();
  EXPECT_EQ(values_of(x), (std::vector{3, 3}));
}

SPACE_TEST(Team, RunsOnWorkersWithSeveralThreads) {
  TaskGraphOptions options;
  options.workers = 1;
  options.threads_per_worker = 2;
  TaskGraph graph(options);
  View<int*> x("x", 1), ranks("ranks", 2);
  int const size = has_teams_of_two ? 2 : 1;  // the whole worker
  parallel_for(
      "teams", ResourcePolicy(graph, Teams(50, size), atomic_add(x), atomic_add(ranks)),
      KOKKOS_LAMBDA(Member const& team) {
        Kokkos::atomic_inc(&ranks(team.team_rank()));
        Kokkos::parallel_for(Kokkos::TeamThreadRange(team, 10),
                             [&](int) { Kokkos::atomic_inc(&x(0)); });
      });
  int concurrency = 0;
  space_task("look", ResourcePolicy(graph, on<Space>),
             [&](Space const& space) { concurrency = Impl::concurrency_of(space); });
  graph.wait();
  EXPECT_EQ(values_of(x), std::vector{500});
  EXPECT_EQ(values_of(ranks), (std::vector{50, size == 2 ? 50 : 0})) << "each thread has run";
  if constexpr (std::is_same_v<Space, Kokkos::DefaultHostExecutionSpace>) {
    EXPECT_EQ(concurrency, std::string_view(Space::name()) == "Serial" ? 1 : 2);
  }
}

}  // namespace
}  // namespace trellis
