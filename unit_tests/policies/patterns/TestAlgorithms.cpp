// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sorting as a task, and the recipes of the guide: Kokkos' algorithms and Kokkos graphs in a
// space_task.
#include <Trellis.hpp>
#include <Trellis_Recorded.hpp>
#include <patterns/Trellis_Sort.hpp>

#include "Ways.hpp"

#include <Kokkos_Core.hpp>
#include <Kokkos_Graph.hpp>
#include <Kokkos_StdAlgorithms.hpp>
#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace trellis {
namespace {
namespace algorithms {

using Test::in_every_way;
using Test::value_of;
using Test::values_of;
using testing::HasSubstr;

constexpr int n = 500;

struct Fill {
  View<int*> x, y;
  KOKKOS_FUNCTION void operator()(int i) const {
    x(i) = (i * 37 + 11) % n;
    y(i) = i;
  }
};
struct Descending {
  KOKKOS_FUNCTION bool operator()(int a, int b) const { return b < a; }
};

std::vector<int> range_of(int begin, int end) {
  std::vector<int> values(static_cast<std::size_t>(end - begin));
  std::iota(values.begin(), values.end(), begin);
  return values;
}

SPACE_TEST(Sort, SortsBetweenOtherTasks) {
  View<int*> const x("x", n), y("y", n), sorted("sorted", n);
  in_every_way(
      [&](auto& target) {
        parallel_for("fill", ResourcePolicy(target, Range(0, n), write(x), write(y)), Fill{x, y});
        trellis::sort("sort", ResourcePolicy(target), x);
        deep_copy("copy", target, sorted, x);
        return trellis::sort(ResourcePolicy(target, on<Space>, priority(1)), x, Descending{});
      },
      [&](Future<void> const&) {
        std::vector<int> expected = range_of(0, n);
        EXPECT_EQ(values_of(sorted), expected);
        std::reverse(expected.begin(), expected.end());
        EXPECT_EQ(values_of(x), expected);
      },
      x, y, sorted);
}

SPACE_TEST(Sort, OfASubviewLeavesTheRestAlone) {
  View<int*> const x("x", n), y("y", n);
  Kokkos::parallel_for(Range(0, n), Fill{x, y});
  Kokkos::fence();
  std::vector<int> expected = values_of(x);
  TaskGraphOptions options = Test::with_workers(2);
  options.record = true;
  TaskGraph graph(options);
  trellis::sort("left", ResourcePolicy(graph), Kokkos::subview(x, std::pair(0, 100)));
  trellis::sort("right", ResourcePolicy(graph), Kokkos::subview(x, std::pair(200, n)));
  graph.wait();
  std::sort(expected.begin(), expected.begin() + 100);
  std::sort(expected.begin() + 200, expected.end());
  EXPECT_EQ(values_of(x), expected);
  EXPECT_TRUE(graph.dependency_graph().edges().empty());
  EXPECT_EQ(graph.dependency_graph().node(1).accesses.at(0).mode, "read_write");
}

SPACE_TEST(Sort, ByKeyTakesTheValuesAlong) {
  View<int*> const keys("keys", n), values("values", n);
  in_every_way(
      [&](auto& target) {
        parallel_for("fill", ResourcePolicy(target, Range(0, n), write(keys), write(values)),
                     Fill{keys, values});
        return sort_by_key("sort", ResourcePolicy(target), keys, values);
      },
      [&](Future<void> const&) {
        EXPECT_EQ(values_of(keys), range_of(0, n));
        std::vector<int> const places = values_of(values);
        for (int k = 0; k < n; ++k)
          ASSERT_EQ((places[static_cast<std::size_t>(k)] * 37 + 11) % n, k);
      },
      keys, values);
  TaskGraph graph;
  sort_by_key(ResourcePolicy(graph), keys, values, Descending{});
  graph.wait();
  std::vector<int> expected = range_of(0, n);
  std::reverse(expected.begin(), expected.end());
  EXPECT_EQ(values_of(keys), expected);
  Error const error = Test::error_of([&] {
    sort_by_key("sort", ResourcePolicy(graph), keys, Kokkos::subview(values, std::pair(0, 5)));
  });
  EXPECT_THAT(error.what(),
              testing::AllOf(HasSubstr("\"sort\""), HasSubstr("500 keys"), HasSubstr("5 values")));
}

// ---- recipes

struct Square_ {
  KOKKOS_FUNCTION int operator()(int value) const { return value * value; }
};
struct IsEven {
  KOKKOS_FUNCTION bool operator()(int value) const { return value % 2 == 0; }
};

SPACE_TEST(Algorithms, InASpaceTask) {
  namespace KE = Kokkos::Experimental;
  View<int*> const x("x", n), y("y", n), squares("squares", n), sums("sums", n);
  Future<int> total;
  Future<long> even;
  in_every_way(
      [&](auto& target) {
        parallel_for("fill", ResourcePolicy(target, Range(0, n), write(x), write(y)), Fill{x, y});
        space_task("squares", ResourcePolicy(target, on<Space>, read(x), write(squares)),
                   [](Space const& instance, View<int const*> const& in, View<int*> const& out) {
                     KE::transform(instance, in, out, Square_{});
                   });
        space_task("scan", ResourcePolicy(target, on<Space>, read(y), write(sums)),
                   [](Space const& instance, View<int const*> const& in, View<int*> const& out) {
                     KE::inclusive_scan(instance, in, out);
                   });
        even = space_task("even", ResourcePolicy(target, on<Space>, read(x)),
                          [](Space const& instance, View<int const*> const& in) {
                            return static_cast<long>(KE::count_if(instance, in, IsEven{}));
                          });
        return total = space_task("total", ResourcePolicy(target, on<Space>, read(squares)),
                                  [](Space const& instance, View<int const*> const& in) {
                                    return KE::reduce(instance, in);
                                  });
      },
      [&](Future<int> const& sum) {
        EXPECT_EQ(sum.get(), (n - 1) * n * (2 * n - 1) / 6);
        EXPECT_EQ(even.get(), n / 2);
        EXPECT_EQ(values_of(sums).back(), n * (n - 1) / 2);
      },
      x, y, squares, sums);
}

struct AddOne {
  View<int*> x;
  KOKKOS_FUNCTION void operator()(int i) const { x(i) += 1; }
};
struct Double {
  View<int*> x;
  KOKKOS_FUNCTION void operator()(int i) const { x(i) *= 2; }
};

/// A Kokkos graph as a whole is one task.
SPACE_TEST(Algorithms, AKokkosGraphInASpaceTask) {
  View<int*> const x("x", n);
  auto const kokkos_graph = Kokkos::Experimental::create_graph<Space>([&](auto root) {
    root.then_parallel_for("add", Range(0, n), AddOne{x})
        .then_parallel_for("double", Range(0, n), Double{x});
  });
  in_every_way(
      [&](auto& target) {
        deep_copy("clear", target, x, 3);
        return space_task("graph", ResourcePolicy(target, on<Space>, read_write(x)),
                          [=](Space const& instance) {
                            auto graph = kokkos_graph;  // submit() is not const before 4.6
                            graph.submit(instance);
                          });
      },
      [&](auto const&) { EXPECT_THAT(values_of(x), testing::Each(8)); }, x);
}

}  // namespace algorithms
}  // namespace
}  // namespace trellis
