// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tasks that run at the same time add to one View. Duplicates are not updated atomically, so the
// thread sanitizer would see two threads with one.
#include "Ways.hpp"

#include <workers/Trellis_ScatterView.hpp>

#include <gmock/gmock.h>

#include <vector>

namespace trellis {
namespace {

using namespace Test;
using Kokkos::Experimental::ScatterMax;
using Kokkos::Experimental::ScatterMin;
using Kokkos::Experimental::ScatterProd;
using Kokkos::Experimental::ScatterSum;
using Longs = Kokkos::View<long*, Space>;

/// Of index i in task k: an element, and what is done to it.
KOKKOS_FUNCTION inline int element_of(int k, int i, int size) {
  return static_cast<int>((2654435761U * static_cast<unsigned>(1000 * k + i) >> 7) %
                          static_cast<unsigned>(size));
}
KOKKOS_FUNCTION inline long amount_of(int k, int i) {
  return (k * 31 + i * 17) % 23 - 11;
}

template <class Scatter>
struct Update {
  Scatter scatter;
  int task;
  int size;
  KOKKOS_FUNCTION void operator()(int i) const {
    auto const access = scatter.access();
    access(element_of(task, i, size)).update(amount_of(task, i));
  }
};

/// On the host as on a device: there the updates are atomic.
template <class Op, bool on_device>
void check_all_ways(long start, long (*join)(long, long)) {
  for_each_way([&](Way const& way) {
    constexpr int tasks = 8, indices = 100, size = 40, rounds = 2;
    using Scatter = ScatterView<Longs, Op, on_device>;
    Longs const x("x", size);
    Kokkos::deep_copy(x, start);
    Scatter const scatter(x);
    run_rounds(
        way, rounds,
        [&](auto& target) {
          for (int half = 0; half < 2; ++half) {
            for (int k = 0; k < tasks / 2; ++k)
              parallel_for("update",
                           ResourcePolicy(target, Range(0, indices), atomic_add(scatter.token())),
                           Update<Scatter>{scatter, half * (tasks / 2) + k, size});
            contribute(target, x, scatter);
          }
        },
        x, scatter.token());
    std::vector<long> expected(size, start);
    for (int round = 0; round < rounds; ++round)
      for (int k = 0; k < tasks; ++k)
        for (int i = 0; i < indices; ++i) {
          long& value = expected[static_cast<std::size_t>(element_of(k, i, size))];
          value = join(value, amount_of(k, i));
        }
    EXPECT_EQ(values_of(x), expected);
  });
}

SPACE_TEST(ScatterView, AddsWhatAllTasksAdd) {
  check_all_ways<ScatterSum, false>(5, [](long a, long b) { return a + b; });
  check_all_ways<ScatterSum, true>(5, [](long a, long b) { return a + b; });
}
SPACE_TEST(ScatterView, FindsTheLeastOfAll) {
  check_all_ways<ScatterMin, false>(-3, [](long a, long b) { return std::min(a, b); });
}
SPACE_TEST(ScatterView, FindsTheGreatestOfAll) {
  check_all_ways<ScatterMax, false>(4, [](long a, long b) { return std::max(a, b); });
}

template <class Layout>
struct Cross {
  using Matrix = Kokkos::View<int**, Layout, Space>;
  ScatterView<Matrix> scatter;
  int row;
  KOKKOS_FUNCTION void operator()(int column) const {
    auto access = scatter.access();
    access(row, column) += 1;
    access(column % 3, row) -= 1000;
    access(0, 0)++;
  }
};
template <class Layout>
void check_matrix() {
  typename Cross<Layout>::Matrix const a("a", 3, 7);
  Kokkos::View<int[3][7], Layout, Space> const fixed("fixed");
  ScatterView<Kokkos::View<int[3][7], Layout, Space>> const scatter_fixed(fixed);
  {
    TaskGraph graph(with_workers(3));
    ScatterView<typename Cross<Layout>::Matrix> const scatter(a);
    for (int row = 0; row < 3; ++row)
      parallel_for("cross", ResourcePolicy(graph, Range(0, 7), atomic_add(scatter.token())),
                   Cross<Layout>{scatter, row});
    auto const first = host_task("first", ResourcePolicy(graph), [] {});
    contribute("sum", ResourcePolicy(graph, after(first), priority(1)), a, scatter);
    host_task("fixed", ResourcePolicy(graph, atomic_add(scatter_fixed.token())),
              [=] { scatter_fixed.access()(2, 6) += 4; });
    contribute(graph, fixed, scatter_fixed);
  }
  EXPECT_EQ(fixed(2, 6), 4);
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), a);
  for (int row = 0; row < 3; ++row)
    for (int column = 0; column < 7; ++column) {
      int expected = 1;
      for (int other = 0; other < 7; ++other)
        if (other % 3 == row && column < 3) expected -= 1000;
      if (row == 0 && column == 0) expected += 21;
      EXPECT_EQ(host(row, column), expected) << row << ' ' << column;
    }
}
SPACE_TEST(ScatterView, TakesViewsOfAnyRank) {
  check_matrix<Kokkos::LayoutLeft>();
  check_matrix<Kokkos::LayoutRight>();
  Kokkos::View<double, Space> const total("total");
  ScatterView<Kokkos::View<double, Space>, ScatterProd> const factors(total);
  {
    TaskGraph graph(with_workers(2));
    trellis::deep_copy(graph, total, 1.0);
    for (int k = 0; k < 10; ++k)
      host_task("factor", ResourcePolicy(graph, atomic_add(factors.token())),
                [=] { factors.access()() *= 2; });
    contribute(graph, total, factors);
  }
  EXPECT_EQ(value_of(total), 1024);
}

SPACE_TEST(ScatterView, ChangesTheViewWhenItContributesAndNotBefore) {
  TaskGraph graph(with_workers(2));
  Longs const x("x", 3);
  ScatterView const scatter(x);
  auto const update = [&] {
    host_task("update", ResourcePolicy(graph, atomic_add(scatter.token())),
              [=] { scatter.access()(1) += 1; });
  };
  auto const look = [&] {
    return host_task("look", ResourcePolicy(graph, read(x)), [=] { return x(1); });
  };
  update();
  update();
  auto const before = look();
  contribute(graph, x, scatter);
  auto const first = look();
  update();
  auto const between = look();
  contribute(graph, x, scatter);
  contribute(graph, x, scatter);
  auto const last = look();
  EXPECT_EQ(before.get(), 0);
  EXPECT_EQ(first.get(), 2);
  EXPECT_EQ(between.get(), 2);
  EXPECT_EQ(last.get(), 3);
}

SPACE_TEST(ScatterView, IsNotContributedToAfterAFailure) {
  TaskGraph graph(with_workers(2));
  Longs const x("x", 3);
  ScatterView const scatter(x);
  host_task("update", ResourcePolicy(graph, atomic_add(scatter.token())),
            []() { throw std::runtime_error("overflow"); });
  auto const sum = contribute(graph, x, scatter);
  EXPECT_THAT(error_of([&] { sum.get(); }).what(), testing::HasSubstr("overflow"));
  EXPECT_THROW(graph.wait(), Error);
  EXPECT_EQ(values_of(x), (std::vector<long>{0, 0, 0}));
}

SPACE_TEST(ScatterView, SaysWhatItCannotTake) {
  Kokkos::View<int**, Kokkos::LayoutLeft, Space> const a("a", 4, 5);
  Kokkos::View<int**, Kokkos::LayoutLeft, Space> const rows =
      Kokkos::subview(a, std::pair(1, 3), Kokkos::ALL);
  EXPECT_THAT(error_of([&] { ScatterView<decltype(rows)> const none(rows); }).what(),
              testing::HasSubstr("\"a\" is to have a ScatterView, but its elements do not lie in "
                                 "one piece"));
  TaskGraph graph(with_workers(2));
  ScatterView const scatter(a);
  Kokkos::View<int**, Kokkos::LayoutLeft, Space> const other("other", 5, 4);
  EXPECT_THAT(
      error_of([&] { contribute("sum", ResourcePolicy(graph), other, scatter); }).what(),
      testing::AllOf(testing::HasSubstr("task \"sum\" ("), testing::HasSubstr("View \"other\""),
                     testing::HasSubstr("ScatterView \"a\"")));
}

}  // namespace
}  // namespace trellis
