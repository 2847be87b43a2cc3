// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a team can do inside a task: nested ranges of all kinds, reductions and scans of the team,
// scratch memory of both levels. On teams of one thread and of two, with the vector lengths that
// there are.
#include <Trellis.hpp>

#include "Ways.hpp"

#include <Kokkos_Core.hpp>
#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace trellis {
namespace {
namespace teams {

using Test::value_of;
using Test::values_of;

constexpr int rows = 11, columns = 23;

/// Calls `check(graph, teams)` with teams of each size and vector length, as many as there are
/// rows, in a graph whose workers have that many threads.
template <class Check>
void for_each_size(Check const& check) {
  for (int const size : {1, 2}) {
    if (size == 2 && !has_teams_of_two) break;
    TaskGraphOptions options = Test::with_workers(2);
    options.threads_per_worker = size;
    TaskGraph graph(options);
    for (int const vector_length : {1, 4}) {
      SCOPED_TRACE("team size " + std::to_string(size) + ", vector length " +
                   std::to_string(vector_length));
      check(graph, Teams(rows, size, vector_length));
      graph.wait();
    }
    SCOPED_TRACE("team size " + std::to_string(size) + ", vector length of Kokkos' choice");
    check(graph, Teams(rows, size, Kokkos::AUTO));
    graph.wait();
    check(graph, Teams(rows, Kokkos::AUTO, Kokkos::AUTO));
    graph.wait();
  }
}

/// Each element of a row is counted by each of the nested ranges.
struct NestedFor {
  View<int**> x;
  KOKKOS_FUNCTION void operator()(Member const& team) const {
    int const i = team.league_rank();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, columns), [&](int j) {
      Kokkos::single(Kokkos::PerThread(team), [&] { x(i, j) += 1; });
    });
    team.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, int{columns}),
                         [&](int j) { x(i, j) += 10; });
    team.team_barrier();
    // A thread for each piece of 5 columns, its vector lanes for the columns of the piece.
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, 0, (columns + 4) / 5), [&](int piece) {
      int const end = piece * 5 + 5 < columns ? piece * 5 + 5 : columns;
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, piece * 5, end),
                           [&](int j) { x(i, j) += 100; });
    });
  }
};

SPACE_TEST(TeamsDo, NestedRanges) {
  for_each_size([](TaskGraph& graph, Teams const& teams) {
    View<int**> const x("x", rows, columns);
    parallel_for("nested", ResourcePolicy(graph, teams, write(x)), NestedFor{x});
    graph.wait();
    EXPECT_THAT(values_of(x), testing::Each(111));
  });
}

struct NestedBoxes {
  View<int****> x;  // row, then a box of 3 x 4 x 5
  KOKKOS_FUNCTION void operator()(Member const& team) const {
    int const i = team.league_rank();
    Kokkos::parallel_for(Kokkos::TeamThreadMDRange(team, 3, 4), [&](int a, int b) {
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, 5), [&](int c) { x(i, a, b, c) += 1; });
    });
    team.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamVectorMDRange(team, 3, 4, 5),
                         [&](int a, int b, int c) { x(i, a, b, c) += 10; });
    team.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, 3), [&](int a) {
      Kokkos::parallel_for(Kokkos::ThreadVectorMDRange(team, 4, 5),
                           [&](int b, int c) { x(i, a, b, c) += 100; });
    });
  }
};

SPACE_TEST(TeamsDo, NestedBoxes) {
  for_each_size([](TaskGraph& graph, Teams const& teams) {
    View<int****> const x("x", rows, 3, 4, 5);
    parallel_for("boxes", ResourcePolicy(graph, teams, write(x)), NestedBoxes{x});
    graph.wait();
    auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), x);
    for (int i = 0; i < rows; ++i)
      for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 4; ++b)
          for (int c = 0; c < 5; ++c) ASSERT_EQ(host(i, a, b, c), 111);
  });
}

/// Results that all threads of a team get, by each way of reducing.
struct NestedReduce {
  View<int**> results;
  KOKKOS_FUNCTION void operator()(Member const& team) const {
    int const i = team.league_rank();
    int by_threads = 0, by_lanes = 0, most = 0;
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(team, columns), [&](int j, int& sum) { sum += i + j; }, by_threads);
    Kokkos::parallel_reduce(
        Kokkos::TeamVectorRange(team, int{columns}), [&](int j, int& sum) { sum += i * j; },
        by_lanes);
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(team, columns),
        [&](int j, int& m) { m = (j * 7) % columns > m ? (j * 7) % columns : m; },
        Kokkos::Max<int>(most));
    // Each thread brings its rank plus one.
    int of_ranks = team.team_rank() + 1;
    team.team_reduce(Kokkos::Sum<int>(of_ranks));
    int const before = team.team_scan(team.team_rank() + 1);
    int in_lanes = 0;
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(team, columns), [&](int j, int& sum) { sum += j; }, in_lanes);
    int sent = team.team_rank() == team.team_size() - 1 ? 77 : 0;
    team.team_broadcast(sent, team.team_size() - 1);
    int good = before == team.team_rank() * (team.team_rank() + 1) / 2 && sent == 77 ? 1 : 0;
    team.team_reduce(Kokkos::Min<int>(good));
    Kokkos::single(Kokkos::PerTeam(team), [&] {
      results(i, 0) = by_threads;
      results(i, 1) = by_lanes;
      results(i, 2) = most;
      results(i, 3) = of_ranks - team.team_size() * (team.team_size() + 1) / 2;
      results(i, 4) = in_lanes;
      results(i, 5) = good;
    });
  }
};

SPACE_TEST(TeamsDo, Reductions) {
  for_each_size([](TaskGraph& graph, Teams const& teams) {
    View<int**> const results("results", rows, 6);
    parallel_for("reduce", ResourcePolicy(graph, teams, write(results)), NestedReduce{results});
    graph.wait();
    auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), results);
    int const triangle = columns * (columns - 1) / 2;
    for (int i = 0; i < rows; ++i) {
      EXPECT_EQ(host(i, 0), i * columns + triangle);
      EXPECT_EQ(host(i, 1), i * triangle);
      EXPECT_EQ(host(i, 2), columns - 1);
      EXPECT_EQ(host(i, 3), 0);
      EXPECT_EQ(host(i, 4), triangle);
      EXPECT_EQ(host(i, 5), 1);
    }
  });
}

/// Each thread takes as many places as its rank plus one, beside those of all others: of its team
/// and of the other ones.
struct TakePlaces {
  View<int> taken;
  View<int*> places;
  View<int*> sizes;
  KOKKOS_FUNCTION void operator()(Member const& team) const {
    int const count = team.team_rank() + 1;
    int const first = team.team_scan(count, &taken());
    for (int k = first; k < first + count; ++k) places(k) = 10 * team.league_rank() + count;
    Kokkos::single(Kokkos::PerTeam(team), [&] { sizes(team.league_rank()) = team.team_size(); });
  }
};

SPACE_TEST(TeamsDo, ScansOverAllTeams) {
  for_each_size([](TaskGraph& graph, Teams const& teams) {
    // On a device Kokkos' scan adds to the total once for each lane.
    if constexpr (!std::is_same_v<Memory, Kokkos::HostSpace>)
      if (teams.impl_auto_vector_length() || teams.impl_vector_length() != 1) return;
    constexpr int room = 3 * rows;  // for teams of two
    View<int> const taken("taken");
    View<int*> const places("places", room), sizes("sizes", rows);
    parallel_for("take",
                 ResourcePolicy(graph, teams, read_write(taken), write(places), write(sizes)),
                 TakePlaces{taken, places, sizes});
    graph.wait();
    std::vector<int> expected;
    std::vector<int> const size_of = values_of(sizes);
    for (int i = 0; i < rows; ++i)
      for (int count = 1; count <= size_of[static_cast<std::size_t>(i)]; ++count)
        expected.insert(expected.end(), static_cast<std::size_t>(count), 10 * i + count);
    ASSERT_EQ(value_of(taken), static_cast<int>(expected.size()));
    std::vector<int> const got = values_of(places);
    for (std::size_t k = 0; k < expected.size();) {  // each thread's places are side by side
      int const count = got[k] % 10;
      for (int n = 0; n < count; ++n, ++k)
        EXPECT_EQ(got.at(k), got[k - static_cast<std::size_t>(n)]);
      if (count == 0) FAIL() << "place " << k << " is nobody's";
    }
    std::vector<int> sorted(got.begin(),
                            got.begin() + static_cast<std::ptrdiff_t>(expected.size()));
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(sorted, expected);
  });
}

struct NestedScan {
  View<int**> by_threads, by_lanes;
  KOKKOS_FUNCTION void operator()(Member const& team) const {
    int const i = team.league_rank();
    Kokkos::parallel_scan(Kokkos::TeamThreadRange(team, columns),
                          [&](int j, int& sum, bool is_final) {
                            sum += i + j;
                            if (is_final) by_threads(i, j) = sum;
                          });
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, 1), [&](int) {
      Kokkos::parallel_scan(Kokkos::ThreadVectorRange(team, columns),
                            [&](int j, int& sum, bool is_final) {
                              if (is_final) by_lanes(i, j) = sum;  // exclusive
                              sum += i + j;
                            });
    });
  }
};

SPACE_TEST(TeamsDo, Scans) {
  for_each_size([](TaskGraph& graph, Teams const& teams) {
    View<int**> const by_threads("by threads", rows, columns), by_lanes("by lanes", rows, columns);
    parallel_for("scan", ResourcePolicy(graph, teams, write(by_threads), write(by_lanes)),
                 NestedScan{by_threads, by_lanes});
    graph.wait();
    auto const threads = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), by_threads);
    auto const lanes = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), by_lanes);
    for (int i = 0; i < rows; ++i)
      for (int j = 0, sum = 0; j < columns; ++j) {
        ASSERT_EQ(lanes(i, j), sum) << i << ", " << j;
        ASSERT_EQ(threads(i, j), sum += i + j) << i << ", " << j;
      }
  });
}

// ---- scratch memory

using Scratch = Kokkos::View<int*, Space::scratch_memory_space, Kokkos::MemoryUnmanaged>;

/// Turns its row round, through scratch memory of the level. Each thread writes and reads its own,
/// too. `Asks` says how the memory is asked for.
template <class Asks>
struct TurnRow : Asks {
  View<int**> x;
  View<int> bad;
  int level;
  TurnRow(View<int**> const& x_, View<int> const& bad_, int level_)
      : x(x_), bad(bad_), level(level_) {}
  KOKKOS_FUNCTION void operator()(Member const& team) const {
    int const i = team.league_rank();
    Scratch const row(team.team_scratch(level), columns), own(team.thread_scratch(level), 4);
    if (row.data() == nullptr || own.data() == nullptr) {
      Kokkos::atomic_inc(&bad());
      return;
    }
    int const mark = 100 * i + team.team_rank();
    Kokkos::single(Kokkos::PerThread(team), [&] {
      for (int k = 0; k < 4; ++k) own(k) = mark;
    });
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, columns),
                         [&](int j) { row(j) = x(i, columns - 1 - j); });
    team.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, columns), [&](int j) { x(i, j) = row(j); });
    for (int k = 0; k < 4; ++k)
      if (own(k) != mark) Kokkos::atomic_inc(&bad());
  }
};
struct AsksInThePolicy {};
/// Level 0 is asked for by the functor, under one of two names.
struct AsksItself {
  [[nodiscard]] std::size_t team_shmem_size(int team_size) const {
    return Scratch::shmem_size(columns) +
           static_cast<std::size_t>(team_size) * Scratch::shmem_size(4);
  }
};
struct AsksByTheOtherName {
  [[nodiscard]] std::size_t shmem_size(int team_size) const {
    return AsksItself().team_shmem_size(team_size);
  }
};

template <class Asks>
void turn_rows(TaskGraph& graph, Teams const& teams, int level) {
  View<int**> const x("x", rows, columns);
  View<int> const bad("bad");
  parallel_for(
      "fill", ResourcePolicy(graph, Square({0, 0}, {rows, columns}), write(x)),
      KOKKOS_LAMBDA(int i, int j) { x(i, j) = 1000 * i + j; });
  parallel_for("turn", ResourcePolicy(graph, teams, read_write(x), write(bad)),
               TurnRow<Asks>(x, bad, level));
  graph.wait();
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), x);
  EXPECT_EQ(value_of(bad), 0);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) ASSERT_EQ(host(i, j), 1000 * i + columns - 1 - j);
}

SPACE_TEST(TeamsDo, ScratchMemoryOfBothLevels) {
  for_each_size([](TaskGraph& graph, Teams teams) {
    auto const of_team = Kokkos::PerTeam(static_cast<int>(Scratch::shmem_size(columns)));
    auto const of_thread = Kokkos::PerThread(static_cast<int>(Scratch::shmem_size(4)));
    for (int const level : {0, 1}) {
      Teams with = teams;
      with.set_scratch_size(level, of_team, of_thread);
      turn_rows<AsksInThePolicy>(graph, with, level);
    }
  });
}

/// Turns a row that it takes as an argument, so that the functor is bound, and asks itself.
template <class Asks>
struct TurnRowOfArgument : Asks {
  View<int> bad;
  explicit TurnRowOfArgument(View<int> const& bad_) : bad(bad_) {}
  KOKKOS_FUNCTION void operator()(Member const& team, View<int**> const& x) const {
    TurnRow<AsksInThePolicy>(x, bad, 0)(team);
  }
};

/// Kokkos 4.5 does not see the other name (it looks for `shmem_size_me`), so the memory is there
/// only when somebody has asked for more before. A functor that Trellis binds asks by the first.
constexpr bool kokkos_knows_other_name = KOKKOS_VERSION >= 50000;

SPACE_TEST(TeamsDo, ScratchMemoryThatTheFunctorAsksFor) {
  for_each_size([](TaskGraph& graph, Teams const& teams) {
    turn_rows<AsksItself>(graph, teams, 0);
    if (kokkos_knows_other_name) turn_rows<AsksByTheOtherName>(graph, teams, 0);
    View<int**> const x("x", rows, columns);
    View<int> const bad("bad");
    for (int turns = 0; turns < 2; ++turns)
      parallel_for("turn", ResourcePolicy(graph, teams, read_write(x)),
                   TurnRowOfArgument<AsksItself>(bad));
    parallel_for("turn", ResourcePolicy(graph, teams, read_write(x)),
                 TurnRowOfArgument<AsksByTheOtherName>(bad));
    graph.wait();
    EXPECT_EQ(value_of(bad), 0);
  });
}

// ---- in plans and children

struct SumOfRows {
  View<int**> x;
  KOKKOS_FUNCTION void operator()(Member const& team, long& total) const {
    int const i = team.league_rank();
    long row = 0;
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(team, columns), [&](int j, long& sum) { sum += x(i, j); }, row);
    Kokkos::single(Kokkos::PerTeam(team), [&] { total += row; });
  }
};

SPACE_TEST(TeamsDo, TheSameInEveryWay) {
  View<int**> const x("x", rows, columns);
  Test::in_every_way(
      [&](auto& target) {
        int const size = has_teams_of_two && Impl::threads_of(ResourcePolicy(target)) > 1 ? 2 : 1;
        deep_copy("clear", target, x, 0);
        parallel_for("nested", ResourcePolicy(target, Teams(rows, size), read_write(x)),
                     NestedFor{x});
        return parallel_reduce("sum", ResourcePolicy(target, Teams(rows, size), read(x)),
                               SumOfRows{x});
      },
      [&](Future<long> const& sum) { EXPECT_EQ(sum.get(), 111L * rows * columns); }, x);
}

/// Teams of two on two workers at once: each has its own pool, barriers and scratch memory.
SPACE_TEST(TeamsDo, NothingToTeamsOfOtherWorkers) {
  int const size = has_teams_of_two ? 2 : 1;
  TaskGraphOptions options = Test::with_workers(2);
  options.threads_per_worker = size;
  TaskGraph graph(options);
  Teams const teams =
      Teams(rows, size)
          .set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(Scratch::shmem_size(columns))),
                            Kokkos::PerThread(static_cast<int>(Scratch::shmem_size(4))));
  View<int> const bad("bad");
  std::vector<View<int**>> planes;
  for (int k = 0; k < 8; ++k) {
    View<int**> const x("x", rows, columns);
    planes.push_back(x);
    parallel_for("fill", ResourcePolicy(graph, Teams(rows, size), write(x)), NestedFor{x});
    for (int turn = 0; turn < 4; ++turn)
      parallel_for("turn", ResourcePolicy(graph, teams, read_write(x), atomic_add(bad)),
                   TurnRow<AsksInThePolicy>(x, bad, 0));
  }
  graph.wait();
  EXPECT_EQ(value_of(bad), 0);
  for (View<int**> const& x : planes) EXPECT_THAT(values_of(x), testing::Each(111));
}

}  // namespace teams
}  // namespace
}  // namespace trellis
