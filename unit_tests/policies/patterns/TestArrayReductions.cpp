// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functors that reduce into an array, `value_type = T[]` with `value_count`: into a View of rank 1
// and into a Future, as plain Kokkos does.
#include <Trellis.hpp>
#include <Trellis_Recorded.hpp>

#include "Ways.hpp"

#include <Kokkos_Core.hpp>
#include <gmock/gmock.h>

#include <cstddef>
#include <type_traits>
#include <vector>

namespace trellis {
namespace {
namespace array_reductions {

using Test::in_every_way;
using Test::values_of;
using testing::HasSubstr;

constexpr int n = 1000;
constexpr unsigned bins = 7;

struct Fill {
  View<int*> x;
  KOKKOS_FUNCTION void operator()(int i) const { x(i) = (i * 37 + 11) % 501; }
};
struct Histogram {
  using value_type = long[];
  View<int const*> x;
  unsigned value_count = bins;
  KOKKOS_FUNCTION void operator()(int i, long* sums) const { sums[x(i) % bins] += x(i); }
};
struct HistogramOfArgument {
  using value_type = long[];
  static constexpr unsigned value_count = bins;
  KOKKOS_FUNCTION void operator()(int i, View<int const*> const& x, value_type sums) const {
    sums[x(i) % bins] += x(i);
  }
};
/// The least and the largest value, which no sum gives; negated in the end.
struct Extremes {
  using value_type = int[];
  View<int const*> x;
  int value_count = 2;
  KOKKOS_FUNCTION void operator()(int i, int* ends) const {
    ends[0] = x(i) < ends[0] ? x(i) : ends[0];
    ends[1] = x(i) > ends[1] ? x(i) : ends[1];
  }
  KOKKOS_FUNCTION void init(int* ends) const { ends[0] = 1 << 30, ends[1] = -(1 << 30); }
  KOKKOS_FUNCTION void join(int* ends, int const* others) const {
    ends[0] = others[0] < ends[0] ? others[0] : ends[0];
    ends[1] = others[1] > ends[1] ? others[1] : ends[1];
  }
  KOKKOS_FUNCTION void final(int* ends) const { ends[0] = -ends[0], ends[1] = -ends[1]; }
};
struct ExtremesOfArgument {
  using value_type = int[];
  Extremes of;
  int value_count = 2;
  KOKKOS_FUNCTION void operator()(int i, View<int const*> const& x, int* ends) const {
    Extremes{x}(i, ends);
  }
  KOKKOS_FUNCTION void init(int* ends) const { of.init(ends); }
  KOKKOS_FUNCTION void join(int* ends, int const* others) const { of.join(ends, others); }
  KOKKOS_FUNCTION void final(int* ends) const { of.final(ends); }
};

View<int*> filled() {
  View<int*> x("x", n);
  Kokkos::parallel_for(Range(0, n), Fill{x});
  Kokkos::fence();
  return x;
}
/// What plain Kokkos makes of it.
template <class T, class Policy, class Functor>
std::vector<T> of_kokkos(Policy const& policy, Functor const& functor) {
  View<T*> into("expected", static_cast<std::size_t>(functor.value_count));
  Kokkos::parallel_reduce(policy, functor, into);
  Kokkos::fence();
  return values_of(into);
}

SPACE_TEST(ArrayReduction, IntoAFutureIsAVector) {
  View<int*> const x = filled();
  std::vector<long> const expected = of_kokkos<long>(Range(0, n), Histogram{x});
  std::vector<int> const ends = of_kokkos<int>(Range(0, n), Extremes{x});
  EXPECT_EQ(ends, (std::vector{0, -500}));
  in_every_way(
      [&](auto& target) {
        return parallel_reduce("sums", ResourcePolicy(target, Range(0, n), read(x)), Histogram{x});
      },
      [&](Future<std::vector<long>> const& sums) { EXPECT_EQ(sums.get(), expected); }, x);
  in_every_way(
      [&](auto& target) {
        return parallel_reduce("sums", ResourcePolicy(target, n, read(x), on<Space>),
                               HistogramOfArgument{});
      },
      [&](Future<std::vector<long>> const& sums) { EXPECT_EQ(sums.get(), expected); }, x);
  in_every_way(
      [&](auto& target) {
        return parallel_reduce("ends", ResourcePolicy(target, Range(0, n), read(x)), Extremes{x});
      },
      [&](Future<std::vector<int>> const& found) { EXPECT_EQ(found.get(), ends); }, x);
  in_every_way(
      [&](auto& target) {
        return parallel_reduce("ends", ResourcePolicy(target, Range(0, n), read(x)),
                               ExtremesOfArgument{});
      },
      [&](Future<std::vector<int>> const& found) { EXPECT_EQ(found.get(), ends); }, x);
}

SPACE_TEST(ArrayReduction, IntoAViewIsAWriteOfThatView) {
  View<int*> const x = filled();
  std::vector<long> const expected = of_kokkos<long>(Range(0, n), Histogram{x});
  std::vector<int> const ends = of_kokkos<int>(Range(0, n), Extremes{x});
  View<long*> const sums("sums", bins);
  View<int*> const found("found", 2);
  in_every_way(
      [&](auto& target) {
        deep_copy("clear", target, sums, -1);
        deep_copy("clear", target, found, -1);
        parallel_reduce("sums", ResourcePolicy(target, Range(0, n), read(x)), HistogramOfArgument{},
                        sums);
        return parallel_reduce("ends", ResourcePolicy(target, Range(0, n), read(x)), Extremes{x},
                               found);
      },
      [&](Future<void> const& done) {
        EXPECT_TRUE(done.is_done());
        EXPECT_EQ(values_of(sums), expected);
        EXPECT_EQ(values_of(found), ends);
      },
      x, sums, found);
  TaskGraphOptions options;
  options.record = true;
  TaskGraph graph(options);
  parallel_reduce("sums", ResourcePolicy(graph, Range(0, n), read(x)), Histogram{x}, sums);
  parallel_reduce("again", ResourcePolicy(graph, Range(0, n), read(x)), Histogram{x}, sums);
  graph.wait();
  EXPECT_EQ(graph.dependency_graph().edges().size(), 1u);
  EXPECT_EQ(graph.dependency_graph().node(1).accesses.back().mode, "write");
  EXPECT_EQ(values_of(sums), expected);
}

SPACE_TEST(ArrayReduction, IntoTheFirstValuesOfALongerViewAndIntoASubview) {
  View<int*> const x = filled();
  std::vector<long> const expected = of_kokkos<long>(Range(0, n), Histogram{x});
  View<long*> const sums("sums", 20);
  TaskGraph graph;
  deep_copy("clear", graph, sums, -1);
  auto const middle = Kokkos::subview(sums, std::pair(10, 20));
  parallel_reduce("sums", ResourcePolicy(graph, Range(0, n), read(x)), Histogram{x}, middle);
  graph.wait();
  std::vector<long> all(20, -1);
  for (std::size_t k = 0; k < bins; ++k) all[10 + k] = expected[k];
  EXPECT_EQ(values_of(sums), all);
}

SPACE_TEST(ArrayReduction, ThatDoesNotFitItsViewIsRefusedWhenItIsSubmitted) {
  View<int*> const x = filled();
  View<long*> const few("few", bins - 1);
  Kokkos::View<long**, Kokkos::LayoutRight, Memory> const rows("rows", bins, 2);
  TaskGraph graph;
  Error const error = Test::error_of([&] {
    parallel_reduce("sums", ResourcePolicy(graph, Range(0, n), read(x)), Histogram{x}, few);
  });
  EXPECT_EQ(error.kind(), Error::Kind::bad_input);
  EXPECT_THAT(error.what(),
              testing::AllOf(HasSubstr("\"sums\""), HasSubstr("into 7 values"),
                             HasSubstr("\"few\" has 6"), HasSubstr("TestArrayReductions.cpp:")));
  Error const strided = Test::error_of([&] {
    parallel_reduce("sums", ResourcePolicy(graph, Range(0, n), read(x)), Histogram{x},
                    Kokkos::subview(rows, Kokkos::ALL, 0));
  });
  EXPECT_THAT(strided.what(), HasSubstr("not contiguous"));
  EXPECT_EQ(graph.submitted(), 0u);
}

// ---- other ranges, other elements

struct Tag {};
struct TaggedHistogram {
  using value_type = long[];
  View<int const*> x;
  unsigned value_count = bins;
  KOKKOS_FUNCTION void operator()(Tag, int i, long* sums) const { sums[x(i) % bins] += x(i); }
  KOKKOS_FUNCTION void join(Tag, long* sums, long const* others) const {
    for (unsigned k = 0; k < bins; ++k) sums[k] += others[k];
  }
};
/// The largest of each bin, which the sum of two threads' is not.
struct TaggedLargestOfArgument {
  using value_type = long[];
  unsigned value_count = bins;
  KOKKOS_FUNCTION void operator()(Tag, int i, View<int const*> const& x, long* most) const {
    long& bin = most[x(i) % bins];
    bin = x(i) > bin ? x(i) : bin;
  }
  KOKKOS_FUNCTION void join(Tag, long* most, long const* others) const {
    for (unsigned k = 0; k < bins; ++k) most[k] = others[k] > most[k] ? others[k] : most[k];
  }
};
struct HistogramOfPlane {
  using value_type = long[];
  View<int const*> x;
  unsigned value_count = bins;
  KOKKOS_FUNCTION void operator()(int i, int j, long* sums) const {
    sums[(i + j) % bins] += x(i) * x(j);
  }
};
struct HistogramOfTeams {
  using value_type = long[];
  View<int const*> x;
  unsigned value_count = bins;
  KOKKOS_FUNCTION void operator()(Member const& team, long* sums) const {
    int const i = team.league_rank();
    Kokkos::single(Kokkos::PerTeam(team), [&] { sums[x(i) % bins] += x(i); });
  }
};
struct AnyOfEach {
  using value_type = bool[];
  View<int const*> x;
  unsigned value_count = 3;
  KOKKOS_FUNCTION void operator()(int i, bool* any) const {
    any[0] = any[0] || x(i) == 11;
    any[1] = any[1] || x(i) == 777;
    any[2] = any[2] || x(i) == 48;
  }
  KOKKOS_FUNCTION void init(bool* any) const { any[0] = any[1] = any[2] = false; }
  KOKKOS_FUNCTION void join(bool* any, bool const* others) const {
    for (int k = 0; k < 3; ++k) any[k] = any[k] || others[k];
  }
};

SPACE_TEST(ArrayReduction, OverTagsPlanesAndTeams) {
  View<int*> const x = filled();
  using Tagged = Kokkos::RangePolicy<Space, Tag>;
  std::vector<long> const whole = of_kokkos<long>(Range(0, n), Histogram{x});
  std::vector<long> const plane = of_kokkos<long>(Square({0, 0}, {40, 50}), HistogramOfPlane{x});
  std::vector<long> const teams = of_kokkos<long>(Range(0, 60), Histogram{x});
  // (On a device Kokkos reduces arrays over teams of a whole warp or more.)
  int const size = std::is_same_v<Memory, Kokkos::HostSpace> ? (has_teams_of_two ? 2 : 1) : 32;
  in_every_way(
      [&](auto& target) {
        return parallel_reduce("tagged", ResourcePolicy(target, Tagged(0, n), read(x)),
                               TaggedHistogram{x});
      },
      [&](auto const& sums) { EXPECT_EQ(sums.get(), whole); }, x);
  in_every_way(
      [&](auto& target) {
        return parallel_reduce("tagged", ResourcePolicy(target, Tagged(0, n), read(x)),
                               TaggedLargestOfArgument{});
      },
      [&](auto const& most) {
        EXPECT_EQ(most.get(), (std::vector<long>{497, 498, 499, 500, 494, 495, 496}));
      },
      x);
  in_every_way(
      [&](auto& target) {
        return parallel_reduce("plane", ResourcePolicy(target, Square({0, 0}, {40, 50}), read(x)),
                               HistogramOfPlane{x});
      },
      [&](auto const& sums) { EXPECT_EQ(sums.get(), plane); }, x);
  in_every_way(
      [&](auto& target) {
        return parallel_reduce("teams", ResourcePolicy(target, Teams(60, Kokkos::AUTO), read(x)),
                               HistogramOfTeams{x});
      },
      [&](auto const& sums) { EXPECT_EQ(sums.get(), teams); }, x);
  TaskGraphOptions options = Test::with_workers(1);
  options.threads_per_worker = size;
  TaskGraph graph(options);
  EXPECT_EQ(
      parallel_reduce("teams", ResourcePolicy(graph, Teams(60, size), read(x)), HistogramOfTeams{x})
          .get(),
      teams);
}

SPACE_TEST(ArrayReduction, OfFlagsAndOverNothing) {
  View<int*> const x = filled();
  TaskGraph graph;
  EXPECT_EQ(parallel_reduce("any", ResourcePolicy(graph, Range(0, n), read(x)), AnyOfEach{x}).get(),
            (std::vector{true, false, true}));
  Range const nothing(5, 5);
  EXPECT_EQ(parallel_reduce("none", ResourcePolicy(graph, nothing, read(x)), Histogram{x}).get(),
            std::vector<long>(bins, 0));
  EXPECT_EQ(parallel_reduce("ends", ResourcePolicy(graph, nothing, read(x)), Extremes{x}).get(),
            (std::vector{-(1 << 30), 1 << 30}));
}

/// The slot of a device, on whatever memory both reach.
SPACE_TEST(ArrayReduction, SlotsKeepTheirPieceUntilTheLengthChanges) {
  using Pinned = Kokkos::SharedHostPinnedSpace;
  Impl::ArraySlot<long, Pinned> slot;
  EXPECT_TRUE(slot.value().empty());
  long* const first = slot.renew(100);
  EXPECT_THAT(slot.value(), testing::Each(0));
  EXPECT_EQ(slot.value().size(), 100u);
  first[99] = 5;
  EXPECT_EQ(slot.renew(100), first);
  EXPECT_EQ(first[99], 0);
  long* const larger = slot.renew(1000);
  larger[999] = 1;
  EXPECT_EQ(slot.value().size(), 1000u);
  Impl::ArraySlot<long, Pinned> moved(std::move(slot));
  EXPECT_EQ(moved.value().data(), larger);
  Impl::ArraySlot<long, Pinned> const copy(moved);
  EXPECT_TRUE(copy.value().empty()) << "each body has its own";
}

}  // namespace array_reductions
}  // namespace
}  // namespace trellis
