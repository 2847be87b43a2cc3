// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functors that take the Views of an annotated range. For every space, a device among them.
#include <Trellis.hpp>
#include <Trellis_Resources.hpp>
#include <Trellis_States.hpp>

#include "SpaceTest.hpp"

#include <Kokkos_Core.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace trellis {
namespace {

using Test::value_of;
using Test::values_of;
using Test::with_workers;
using Line = View<long*>;
using RowMajor = Kokkos::View<long**, Kokkos::LayoutRight, Memory>;

/// The k-th one is full of k. (A launch for each of thousands takes OpenMP seconds on a busy
/// machine.)
std::vector<Line> lines_of(std::size_t count, int size = 3) {
  std::vector<Line> all;
  for (std::size_t k = 0; k < count; ++k) {
    Line const line("line " + std::to_string(k), static_cast<std::size_t>(size));
    if constexpr (Kokkos::SpaceAccessibility<Kokkos::HostSpace, Memory>::accessible)
      std::fill_n(line.data(), size, static_cast<long>(k));
    else
      Kokkos::deep_copy(line, static_cast<long>(k));
    all.push_back(line);
  }
  return all;
}

static_assert(std::is_same_v<read_view_list<Line>::value_type, read_view<Line>>);
static_assert(std::is_same_v<atomic_view_list<Line>::value_type, atomic_view<Line>>);

SPACE_TEST(ListArguments, ComeInPlaceOfTheRange) {
  // None, one, as many as there is room for in place, and more.
  for (std::size_t const count : {0, 1, 5, 8, 9, 17, 3000}) {
    TaskGraph graph(with_workers(2));
    auto const all = lines_of(count, 1);
    Line const x("x", 1), y("y", 1);
    parallel_for(
        "sum", ResourcePolicy(graph, 1, write(x), read(all), write(y), on<Space>),
        KOKKOS_LAMBDA(int i, Line first, read_view_list<Line> const& them, Line second) {
          first(i) = static_cast<long>(them.size());
          for (std::size_t k = 0; k < them.size(); ++k) second(i) += them[k](i);
        });
    graph.wait();
    EXPECT_EQ(value_of(x), static_cast<long>(count));
    long const n = static_cast<long>(count);
    EXPECT_EQ(value_of(y), n * (n - 1) / 2) << count;
  }
}

template <class Expected>
struct ExpectsList {
  View<int> right;
  template <class Given>
  KOKKOS_FUNCTION void operator()(int, Given const&) const {
    right() = std::is_same_v<Given, Expected> ? 1 : -1;
  }
};

SPACE_TEST(ListArguments, AreTypedByTheAccess) {
  TaskGraph graph;
  auto const all = lines_of(2);
  auto const check = [&]<class Expected>(auto&& annotation, std::type_identity<Expected>) {
    View<int> right("right");
    parallel_for("check", ResourcePolicy(graph, 1, annotation, on<Space>),
                 ExpectsList<Expected>{right});
    graph.wait();
    EXPECT_EQ(value_of(right), 1);
  };
  check(read(all), std::type_identity<read_view_list<Line>>());
  check(write(all), std::type_identity<view_list<Line>>());
  check(exclusive(std::span(all)), std::type_identity<view_list<Line>>());
  check(atomic_add(all), std::type_identity<atomic_view_list<Line>>());
  check(none(all), std::type_identity<read_view_list<Line>>());
  check(access(all, Mode::read), std::type_identity<view_list<Line>>());
  check(read(group(all)), std::type_identity<read_view_list<Line>>());
  auto const grouped = group(all[0]);
  std::vector const groups{grouped, grouped};
  check(read(groups), std::type_identity<read_view_list<Line>>());
  check(atomic_add(groups), std::type_identity<atomic_view_list<Line>>());
  check(access(groups, Mode::read), std::type_identity<view_list<Line>>());
  check(access(grouped, Mode::read), std::type_identity<Line>());
  using Restricted = view_list<restrict_view<Line>>;
  check(restricted(write(groups)), std::type_identity<Restricted>());
}

/// Of a range of groups each member is a list of its own; a Token is none, and a range within the
/// groups goes into one list.
SPACE_TEST(ListArguments, OfGroupsAreAListForEachMember) {
  using Flat = View<int*>;
  for (std::size_t const count : {0, 1, 8, 9, 40}) {
    TaskGraph graph(with_workers(2));
    auto const sources = lines_of(2 * count, 4), targets = lines_of(count, 4);
    std::vector<Flat> weights;
    for (std::size_t k = 0; k < count; ++k) weights.emplace_back("weights", 4);
    Token const token("token");
    using Sources = std::span<Line const>;
    std::vector<decltype(group(Sources(sources), group(token, Flat(weights[0])), Line()))> groups;
    for (std::size_t k = 0; k < count; ++k) {
      parallel_for(
          "fill", ResourcePolicy(graph, 4, write(weights[k]), on<Space>),
          KOKKOS_LAMBDA(int i, Flat const& x) { x(i) = static_cast<int>(k) + 1; });
      groups.push_back(group(Sources(sources).subspan(2 * k, 2), group(token, Flat(weights[k])),
                             Line(targets[k])));
    }
    parallel_for(
        "groups", ResourcePolicy(graph, 4, read_write(groups), on<Space>),
        KOKKOS_LAMBDA(int i, view_list<Line> const& from, view_list<Flat> const& by,
                      view_list<Line> const& to) {
          for (std::size_t k = 0; k < to.size(); ++k)
            to[k](i) = from.size() == 2 * to.size() && by.size() == to.size()
                           ? by[k](i) * (from[2 * k](i) + from[2 * k + 1](i))
                           : -1;
        });
    graph.wait();
    for (std::size_t k = 0; k < count; ++k) {
      long const n = static_cast<long>(k);
      EXPECT_EQ(values_of(targets[k]), std::vector<long>(4, (n + 1) * (2 * n + 2 * n + 1)));
    }
  }
}

SPACE_TEST(ListArguments, OfSubviews) {
  TaskGraph graph(with_workers(2));
  RowMajor const plane("plane", 12, 4);
  using Row = decltype(Kokkos::subview(plane, 0, Kokkos::ALL));
  for (int step = 0; step < 3; ++step)
    for (int start = 0; start < 3; ++start) {
      std::vector<Row> rows;  // (nvcc takes no Views as the elements of std::views::transform)
      for (int k = 0; k < 4; ++k)
        rows.push_back(Kokkos::subview(plane, 3 * k + start, Kokkos::ALL));
      parallel_for(
          "add", ResourcePolicy(graph, 4, read_write(rows), on<Space>),
          KOKKOS_LAMBDA(int i, view_list<Row> const& these) {
            for (std::size_t k = 0; k < these.size(); ++k)
              these[k](i) += static_cast<long>(k) + start;
          });
    }
  graph.wait();
  auto const values = values_of(plane);
  for (std::size_t r = 0; r < 12; ++r)
    EXPECT_EQ(values[4 * r + 1], static_cast<long>(3 * (r / 3 + r % 3))) << r;
}

SPACE_TEST(ListArguments, OfAtomicAccessesAddAtomically) {
  TaskGraph graph(with_workers(2));
  auto const sums = lines_of(20, 1);
  for (int k = 0; k < 10; ++k)
    parallel_for(
        "add", ResourcePolicy(graph, 100, atomic_add(sums), on<Space>),
        KOKKOS_LAMBDA(int, atomic_view_list<Line> const& to) {
          for (auto const& each : to) each(0) += 1;
        });
  graph.wait();
  EXPECT_EQ(value_of(sums[19]), 19 + 1000);
}

SPACE_TEST(ListArguments, ReachEveryPattern) {
  TaskGraph graph(with_workers(2));
  auto const all = lines_of(10, 4);
  using Lines = read_view_list<Line>;
  auto const sum = parallel_reduce(
      "sum", ResourcePolicy(graph, 4, read(all), on<Space>),
      KOKKOS_LAMBDA(int i, Lines const& them, long& s) {
        for (auto const& each : them) s += each(i);
      });
  View<long> const result("result");
  parallel_reduce(
      "sum", ResourcePolicy(graph, 4, read(all), on<Space>),
      KOKKOS_LAMBDA(int i, Lines const& them, long& s) { s += them[9](i); }, result);
  auto const total = parallel_scan(
      "scan", ResourcePolicy(graph, 4, write(all), on<Space>),
      KOKKOS_LAMBDA(int i, view_list<Line> const& them, long& s, bool last) {
        s += 2;
        if (last) them[3](i) = s;
      });
  parallel_for(
      "square", ResourcePolicy(graph, Square({0, 0}, {10, 4}), read_write(all)),
      KOKKOS_LAMBDA(int k, int i, view_list<Line> const& them) { them[k](i) += 100; });
  auto const teams = ResourcePolicy(graph, Teams(10, 1), read_write(all));
  parallel_for(
      "teams", teams, KOKKOS_LAMBDA(Member const& member, view_list<Line> const& them) {
        them[member.league_rank()](0) += 1000;
      });
  auto const size = space_task("space", ResourcePolicy(graph, read_write(all), on<Space>),
                               [](Space const& instance, view_list<Line> const& them) {
                                 Kokkos::deep_copy(instance, them[0], 7L);
                                 return them.size();
                               });
  graph.wait();
  EXPECT_EQ(sum.get(), 4 * 45);
  EXPECT_EQ(value_of(result), 4 * 9);
  EXPECT_EQ(total.get(), 8);
  EXPECT_EQ(size.get(), 10u);
  EXPECT_EQ(values_of(all[3]), (std::vector<long>{1102, 104, 106, 108}));
  EXPECT_EQ(values_of(all[0]), (std::vector<long>{7, 7, 7, 7}));
}

// Invariant 5, also for a list: Views that nobody else has any more.
SPACE_TEST(ListArguments, LiveUntilTheTaskIsDone) {
  for (std::size_t const count : {3, 12}) {
    TaskGraph graph(with_workers(1));
    Line const out("out", 1), outside("outside", 1);
    Kokkos::deep_copy(outside, 5L);
    Future<void> used;
    {
      auto all = lines_of(count, 1);
      all.push_back(outside);
      parallel_for(
          "wait", ResourcePolicy(graph, 1, write(out), on<Space>),
          KOKKOS_LAMBDA(int i) { out(i) = 0; });
      used = parallel_for(
          "use", ResourcePolicy(graph, 1, read(all), read_write(out), on<Space>),
          KOKKOS_LAMBDA(int i, read_view_list<Line> const& them, Line to) {
            for (auto const& each : them) to(i) += each(i);
          });
      EXPECT_GE(outside.use_count(), 2);
    }
    used.get();
    long const n = static_cast<long>(count);
    EXPECT_EQ(value_of(out), n * (n - 1) / 2 + 5);
    parallel_for("others", ResourcePolicy(graph, 1, write(out), on<Space>), KOKKOS_LAMBDA(int){});
    graph.wait();
  }
}

SPACE_TEST(ListArguments, AreValuesThatKeepTheirViews) {
  for (std::size_t const count : {2, 20}) {
    view_list<Line> kept;
    EXPECT_TRUE(kept.empty());
    Line first;
    {
      TaskGraph graph(with_workers(1));
      auto const all = lines_of(count);
      first = all[0];
      space_task("keep", ResourcePolicy(graph, read_write(all), on<Space>),
                 [&kept](Space const&, view_list<Line> const& them) {
                   view_list<Line> const copy(them);
                   kept = copy;
                   view_list<Line> const& itself = kept;
                   kept = itself;
                 });
      graph.wait();
    }
    ASSERT_EQ(kept.size(), count);
    EXPECT_EQ(value_of(kept[count - 1]), static_cast<long>(count - 1));
    EXPECT_EQ(first.use_count(), 2);
    kept = view_list<Line>();
    EXPECT_EQ(first.use_count(), 1);
  }
}

}  // namespace
}  // namespace trellis
