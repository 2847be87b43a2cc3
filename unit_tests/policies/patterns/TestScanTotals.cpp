// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scans whose total goes into a View or into a Future, as with plain Kokkos.
#include <Trellis.hpp>
#include <Trellis_Recorded.hpp>

#include "Ways.hpp"

#include <Kokkos_Core.hpp>
#include <gmock/gmock.h>

#include <vector>

namespace trellis {
namespace {
namespace scan_totals {

using Test::in_every_way;
using Test::value_of;
using Test::values_of;

constexpr int n = 1000;

struct Fill {
  View<int*> x;
  KOKKOS_FUNCTION void operator()(int i) const { x(i) = (i * 37 + 11) % 501 - 100; }
};
struct PartialSums {
  View<int*> x;
  View<long*> sums;
  KOKKOS_FUNCTION void operator()(int i, long& sum, bool is_final) const {
    sum += x(i);
    if (is_final) sums(i) = sum;
  }
};
struct PartialSumsOfArguments {
  using value_type = long;
  KOKKOS_FUNCTION void operator()(int i, View<int const*> const& x, View<long*> const& sums,
                                  long& sum, bool is_final) const {
    if (is_final) sums(i) = sum;  // exclusive
    sum += x(i);
  }
};
struct RunningMaximum {
  using value_type = int;
  View<int*> x;
  View<long*> most;
  KOKKOS_FUNCTION void operator()(int i, int& m, bool is_final) const {
    m = x(i) > m ? x(i) : m;
    if (is_final) most(i) = m;
  }
  KOKKOS_FUNCTION void init(int& m) const { m = -1000; }
  KOKKOS_FUNCTION void join(int& m, int const& other) const { m = other > m ? other : m; }
};
struct Tag {};
struct TaggedSums {
  View<int*> x;
  View<long*> sums;
  KOKKOS_FUNCTION void operator()(Tag, int i, long& sum, bool is_final) const {
    PartialSums{x, sums}(i, sum, is_final);
  }
};

struct Data {
  View<int*> x{"x", n};
  View<long*> sums{"sums", n};
  View<long> total{"total"};
  Data() {
    Kokkos::parallel_for(Range(0, n), Fill{x});
    Kokkos::fence();
  }
};

SPACE_TEST(ScanTotal, IntoAView) {
  Data const data;
  long of_kokkos = 0;
  Kokkos::parallel_scan(Range(0, n), PartialSums{data.x, data.sums}, of_kokkos);
  Kokkos::fence();
  std::vector<long> const expected = values_of(data.sums);
  ASSERT_EQ(expected.back(), of_kokkos);
  in_every_way(
      [&](auto& target) {
        deep_copy("clear", target, data.total, -1);
        deep_copy("clear", target, data.sums, -1);
        return parallel_scan("scan",
                             ResourcePolicy(target, Range(0, n), read(data.x), write(data.sums)),
                             PartialSums{data.x, data.sums}, data.total);
      },
      [&](Future<void> const&) {
        EXPECT_EQ(value_of(data.total), of_kokkos);
        EXPECT_EQ(values_of(data.sums), expected);
      },
      data.x, data.sums, data.total);
  std::vector<long> exclusive = expected;
  exclusive.insert(exclusive.begin(), 0);
  exclusive.pop_back();
  in_every_way(
      [&](auto& target) {
        deep_copy("clear", target, data.total, -1);
        return parallel_scan("scan",
                             ResourcePolicy(target, n, read(data.x), write(data.sums), on<Space>),
                             PartialSumsOfArguments{}, data.total);
      },
      [&](Future<void> const&) {
        EXPECT_EQ(value_of(data.total), of_kokkos);
        EXPECT_EQ(values_of(data.sums), exclusive);
      },
      data.x, data.sums, data.total);
  in_every_way(
      [&](auto& target) {
        using Tagged = Kokkos::RangePolicy<Space, Tag>;
        return parallel_scan("scan",
                             ResourcePolicy(target, Tagged(0, n), read(data.x), write(data.sums)),
                             TaggedSums{data.x, data.sums}, data.total);
      },
      [&](Future<void> const&) {
        EXPECT_EQ(value_of(data.total), of_kokkos);
        EXPECT_EQ(values_of(data.sums), expected);
      },
      data.x, data.sums, data.total);
}

SPACE_TEST(ScanTotal, IntoAFuture) {
  Data const data;
  long of_kokkos = 0;
  Kokkos::parallel_scan(Range(0, n), PartialSums{data.x, data.sums}, of_kokkos);
  in_every_way(
      [&](auto& target) {
        return parallel_scan("scan",
                             ResourcePolicy(target, Range(0, n), read(data.x), write(data.sums)),
                             PartialSums{data.x, data.sums});
      },
      [&](Future<long> const& total) { EXPECT_EQ(total.get(), of_kokkos); }, data.x, data.sums,
      data.total);
}

SPACE_TEST(ScanTotal, OfAFunctorsOwnJoinAndInit) {
  Data const data;
  View<int> const most("most");
  in_every_way(
      [&](auto& target) {
        return parallel_scan("scan",
                             ResourcePolicy(target, Range(0, n), read(data.x), write(data.sums)),
                             RunningMaximum{data.x, data.sums}, most);
      },
      [&](Future<void> const&) { EXPECT_EQ(value_of(most), 400); }, data.x, data.sums, most);
}

SPACE_TEST(ScanTotal, OfNothingIsWhatTheFunctorStartsWith) {
  Data const data;
  View<int> const most("most");
  in_every_way(
      [&](auto& target) {
        deep_copy("clear", target, most, 5);
        deep_copy("clear", target, data.total, 5);
        parallel_scan("scan", ResourcePolicy(target, Range(3, 3), read(data.x)),
                      RunningMaximum{data.x, data.sums}, most);
        return parallel_scan("scan", ResourcePolicy(target, Range(3, 3), read(data.x)),
                             PartialSums{data.x, data.sums}, data.total);
      },
      [&](Future<void> const&) {
        EXPECT_EQ(value_of(most), -1000);
        EXPECT_EQ(value_of(data.total), 0);
      },
      data.x, most, data.total);
}

SPACE_TEST(ScanTotal, IntoAViewIsAWriteOfThatView) {
  Data const data;
  TaskGraphOptions options;
  options.record = true;
  TaskGraph graph(options);
  parallel_scan("scan", ResourcePolicy(graph, Range(0, n), read(data.x), write(data.sums)),
                PartialSums{data.x, data.sums}, data.total);
  View<long> const copy("copy");
  deep_copy("copy", graph, copy, data.total);
  graph.wait();
  EXPECT_EQ(value_of(copy), value_of(data.total));
  EXPECT_EQ(graph.dependency_graph().edges().size(), 1u);
  EXPECT_EQ(graph.dependency_graph().node(1).accesses.back().mode, "write");
}

}  // namespace scan_totals
}  // namespace
}  // namespace trellis
