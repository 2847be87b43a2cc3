// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../features/SpaceTest.hpp"
#include "GenerateTest.hpp"

#include <worklets/Trellis_Worklets.hpp>

#include <gmock/gmock.h>

/// Worklets that make new items, on each space.
namespace trellis {
namespace {

struct CountOdd : MapFields {
  using ControlSignature = void(Field, Field(Out));
  using ExecutionSignature = _2(_1);
  KOKKOS_FUNCTION int operator()(int x) const { return x % 3; }
};
struct Copies : GenerateFields {
  using ControlSignature = void(Field, Counts, Field(Out), Field(Out));
  using ExecutionSignature = void(_1, VisitIndex, WorkIndex, SourceIndex, _3, _4);
  KOKKOS_FUNCTION void operator()(int x, std::int64_t visit, std::int64_t index,
                                  std::int64_t source, int& value, std::int64_t& all) const {
    value = 10 * x + static_cast<int>(visit);
    all = 100 * index + source;
  }
};
struct Twice : MapFields {
  using ControlSignature = void(Field, Field(Out));
  using ExecutionSignature = _2(_1);
  KOKKOS_FUNCTION int operator()(int x) const { return 2 * x; }
};

SPACE_TEST(WorkletGenerate, CopiesOfItems) {
  TaskGraph graph;
  View<int*> x("x", 6), counts;
  auto const host = Kokkos::create_mirror_view(x);
  for (int i = 0; i < 6; ++i) host(i) = i;
  Kokkos::deep_copy(x, host);
  LateView<int*, Memory> made("made"), doubled("doubled");
  LateView<std::int64_t*, Memory> all("all");
  ResourcePolicy const policy(graph, on<Space>);
  invoke("counts", policy, CountOdd(), x, counts);
  auto const n = invoke("copies", policy, Copies(), x, counts, made, all);
  invoke("twice", policy, Twice(), made, doubled);
  EXPECT_EQ(n.get(), 6);
  graph.wait();
  EXPECT_THAT(Test::values_of(made.managed()), testing::ElementsAre(10, 20, 21, 40, 50, 51));
  EXPECT_THAT(Test::values_of(all.managed()), testing::ElementsAre(1, 102, 202, 304, 405, 505));
  EXPECT_THAT(Test::values_of(doubled.managed()), testing::ElementsAre(20, 40, 42, 80, 100, 102));
}

struct SumOfKey : ReduceByKey {
  using ControlSignature = void(Keys, Values, Field(Out), Field(Out));
  using ExecutionSignature = _4(_1, _2, _3);
  template <class Group>
  KOKKOS_FUNCTION double operator()(int key, Group const& group, int& same_key) const {
    same_key = key;
    double sum = 0;
    for (std::int64_t k = 0; k < group.size(); ++k) sum += group[k];
    return sum;
  }
};

SPACE_TEST(WorkletReduce, SumsOfKeys) {
  TaskGraph graph;
  View<int*> keys("keys", 6);
  V values("values", 6);
  int const key[] = {3, 1, 3, 7, 1, 3};
  auto const host_keys = Kokkos::create_mirror_view(keys);
  auto const host_values = Kokkos::create_mirror_view(values);
  for (int i = 0; i < 6; ++i) {
    host_keys(i) = key[i];
    host_values(i) = i + 1;
  }
  Kokkos::deep_copy(keys, host_keys);
  Kokkos::deep_copy(values, host_values);
  ResourcePolicy const policy(graph, on<Space>);
  auto const groups = group_by_key("group", policy, keys);
  LateView<double*, Memory> sums("sums");
  LateView<int*, Memory> found("found");
  invoke("sum", policy, SumOfKey(), groups, values, found, sums);
  graph.wait();
  EXPECT_THAT(Test::values_of(found.managed()), testing::ElementsAre(1, 3, 7));
  EXPECT_THAT(Test::values_of(sums.managed()), testing::ElementsAre(7, 10, 4));
}

/// A line between the middles of two edges of each quad that the level crosses, left to right.
struct CountLines : MapCells {
  using ControlSignature = void(Topology, Field(Point), Field(Out));
  using ExecutionSignature = _3(_2);
  template <class Values>
  KOKKOS_FUNCTION int operator()(Values const& values) const {
    return values[0] < 0.5 && values[3] > 0.5 ? 1 : 0;
  }
};
struct Lines : InterpolateCells {
  using ControlSignature = void(Topology, Field(Point), Counts, Topology(Out));
  using ExecutionSignature = void(Vertices(_1), _2, Vertices(_4));
  template <class Points, class Values, class New>
  KOKKOS_FUNCTION void operator()(Points const& points, Values const& values, New& line) const {
    line[0] = {points[0], points[3], (0.5 - values[0]) / (values[3] - values[0])};
    line[1] = {points[2], points[1], (0.5 - values[2]) / (values[1] - values[2])};
  }
};

SPACE_TEST(WorkletInterpolate, MergesPoints) {
  TaskGraph graph;
  UniformGrid<2> const grid({5, 4});
  View<double**> values("values", 5, 4);
  View<int**> counts;
  auto const host = Kokkos::create_mirror_view(values);
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 4; ++j) host(i, j) = j < 2 ? 0 : 1;
  Kokkos::deep_copy(values, host);
  ResourcePolicy const policy(graph, on<Space>);
  InterpolatedCells<CellShape::line, Memory> lines("lines");
  LateView<double* [2], Memory> at("at");
  invoke("counts", policy, CountLines(), grid, values, counts);
  auto const n = invoke("lines", policy, Lines(), grid, values, counts, lines);
  interpolate("at", policy, lines, grid.coordinates(), at);
  EXPECT_EQ(n.get(), 4);
  graph.wait();
  EXPECT_THAT(Test::values_of(lines.cells().managed().connectivity()),
              testing::ElementsAre(0, 1, 1, 2, 2, 3, 3, 4));
  EXPECT_THAT(Test::values_of(at.managed()),
              testing::ElementsAre(0, 1.5, 1, 1.5, 2, 1.5, 3, 1.5, 4, 1.5));
}

SPACE_TEST(RandomWorklets, ThatMakeArraysEqualTheOracle) {
  Test::run_array_programs<Space>(Test::sanitized ? 24 : 80);
}

}  // namespace
}  // namespace trellis
