// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kokkos' containers as resources.
#include <Trellis.hpp>
#include <Trellis_Recorded.hpp>
#include <Trellis_Resources.hpp>

#include "SpaceTest.hpp"

#include <Kokkos_Bitset.hpp>
#include <Kokkos_Core.hpp>
#include <Kokkos_DualView.hpp>
#include <Kokkos_DynRankView.hpp>
#include <Kokkos_OffsetView.hpp>
#include <Kokkos_UnorderedMap.hpp>
#include <gmock/gmock.h>
#if __has_include(<Kokkos_StaticCrsGraph.hpp>)  // Kokkos 4
#include <Kokkos_StaticCrsGraph.hpp>
#define TRELLIS_TEST_HAS_STATIC_CRS_GRAPH
#endif

#include <string>
#include <utility>
#include <vector>

namespace trellis {
namespace {

using Test::with_workers;
using testing::ElementsAre;

TaskGraphOptions recorded_containers() {
  TaskGraphOptions options = with_workers(2);
  options.record = true;
  return options;
}
auto edges_between(TaskGraph& graph) {
  graph.wait();
  std::vector<std::pair<TaskId, TaskId>> edges;
  for (EdgeRecord const& each : graph.dependency_graph().edges())
    edges.emplace_back(each.from, each.to);
  return edges;
}
using Edges = std::vector<std::pair<TaskId, TaskId>>;

SPACE_TEST(Containers, DynRankViewsAreTheirElements) {
  TaskGraph graph(recorded_containers());
  using Dynamic = Kokkos::DynRankView<double, Memory>;
  Dynamic const x("x", 4, 6);
  auto const half = [&](int k) {
    return Kokkos::subview(x, Kokkos::ALL, std::pair(3 * k, 3 * k + 3));
  };
  parallel_for(
      "1", ResourcePolicy(graph, Square({0, 0}, {4, 6}), write(x)),
      KOKKOS_LAMBDA(int i, int j, Dynamic const& all) { all(i, j) = i + 10 * j; });
  parallel_for(
      "2", ResourcePolicy(graph, Range(0, 4), write(half(0))),
      KOKKOS_LAMBDA(int i) { x(i, 0) = 0; });
  parallel_for(
      "3", ResourcePolicy(graph, Range(0, 4), write(half(1))),
      KOKKOS_LAMBDA(int i) { x(i, 3) = 0; });
  auto const sum = parallel_reduce(
      "4", ResourcePolicy(graph, Square({0, 0}, {4, 6}), read(x)),
      KOKKOS_LAMBDA(int i, int j, Dynamic::const_type const& all, double& to) { to += all(i, j); });
  EXPECT_EQ(sum.get(), 504);
  EXPECT_EQ(edges_between(graph), (Edges{{1, 2}, {1, 3}, {1, 4}, {2, 4}, {3, 4}}));
  EXPECT_EQ(graph.dependency_graph().node(1).accesses[0].resource, "x");
}

SPACE_TEST(Containers, OffsetViewsAreTheirElements) {
  TaskGraph graph(recorded_containers());
  using Offset = Kokkos::Experimental::OffsetView<double*, Memory>;
  using Signed = Kokkos::RangePolicy<Space, Kokkos::IndexType<int>>;
  Offset const x("x", {-2, 3});
  parallel_for(
      "1", ResourcePolicy(graph, Signed(-2, 4), write(x)),
      KOKKOS_LAMBDA(int i, Offset const& all) { all(i) = i; });
  auto const sum = parallel_reduce(
      "2", ResourcePolicy(graph, Signed(-2, 4), read(x)),
      KOKKOS_LAMBDA(int i, Offset::const_type const& all, double& to) { to += all(i); });
  EXPECT_EQ(sum.get(), 3);
  EXPECT_EQ(edges_between(graph), (Edges{{1, 2}}));
}

SPACE_TEST(Containers, MapsAreOneResourceWithTheirCopies) {
  TaskGraph graph(recorded_containers());
  using Map = Kokkos::UnorderedMap<int, double, typename Memory::device_type>;
  using Set = Kokkos::UnorderedMap<int, void, typename Memory::device_type>;
  Map const map(1000);
  Map const same = map;
  Set const set(100);
  // Tasks that insert may run at the same time.
  for (int part = 0; part < 4; ++part)
    parallel_for(
        "insert", ResourcePolicy(graph, Range(100 * part, 100 * part + 100), atomic_add(map)),
        KOKKOS_LAMBDA(int i, Map const& to) { (void)to.insert(i, 2.0 * i); });
  parallel_for(
      "double",
      ResourcePolicy(graph, Range(0, static_cast<int>(map.capacity())), read_write(same),
                     write(set)),
      KOKKOS_LAMBDA(int i, Map const& all, Set const& some) {
        if (all.valid_at(i)) all.value_at(i) *= 2;
        if (i < 50) (void)some.insert(i);
      });
  auto const sum = parallel_reduce(
      "sum", ResourcePolicy(graph, Range(0, 400), read(map), read(set)),
      KOKKOS_LAMBDA(int i, Map::const_map_type const& all, Set::const_map_type const& some,
                    double& to) {
        if (some.exists(i)) to += all.value_at(all.find(i));
      });
  EXPECT_EQ(sum.get(), 4 * 49 * 25);
  EXPECT_EQ(edges_between(graph), (Edges{{1, 5}, {2, 5}, {3, 5}, {4, 5}, {5, 6}}));
  EXPECT_EQ(map.size(), 400);
}

SPACE_TEST(Containers, BitsetsAreOneResource) {
  TaskGraph graph(recorded_containers());
  using Bits = Kokkos::Bitset<typename Memory::device_type>;
  using ConstBits = Kokkos::ConstBitset<typename Memory::device_type>;
  Bits const bits(200);
  Bits const other(200);
  for (int part = 0; part < 2; ++part)
    parallel_for(
        "set", ResourcePolicy(graph, Range(0, 50), atomic_add(bits)),
        KOKKOS_LAMBDA(int i, Bits const& to) { (void)to.set(2 * i + 100 * part); });
  parallel_for(
      "other", ResourcePolicy(graph, Range(0, 50), write(other)),
      KOKKOS_LAMBDA(int i, Bits const& to) { (void)to.set(i); });
  auto const count = parallel_reduce(
      "count", ResourcePolicy(graph, Range(0, 200), read(bits), read(ConstBits(other))),
      KOKKOS_LAMBDA(int i, ConstBits const& in, ConstBits const& not_in, int& to) {
        if (in.test(i) && !not_in.test(i)) ++to;
      });
  EXPECT_EQ(count.get(), 75);
  EXPECT_EQ(edges_between(graph), (Edges{{1, 4}, {2, 4}, {3, 4}}));
}

SPACE_TEST(Containers, GraphsAndMatricesAreTheirArrays) {
  using Graph = Kokkos::Crs<int, Space, void, int>;
  struct Matrix {
    Graph graph;
    View<double*> values;
  };
  TaskGraph tasks(recorded_containers());
  Graph graph;
  graph.row_map = Graph::row_map_type("row map", 4);
  graph.entries = Graph::entries_type("entries", 6);
  Matrix const matrix{graph, View<double*>("values", 6)};
  Matrix const other{graph, View<double*>("other values", 6)};
  host_task("1", ResourcePolicy(tasks, write(graph)), [](Graph const& made) {
    for (int row = 0; row < 4; ++row) made.row_map(row) = 2 * row;
    for (int k = 0; k < 6; ++k) made.entries(k) = k % 3;
  });
  auto const fill = [](Matrix const& a) { Kokkos::deep_copy(a.values, 1.5); };
  host_task("2", ResourcePolicy(tasks, write(matrix)), fill);
  host_task("3", ResourcePolicy(tasks, write(other)), fill);
  V const y("y", 3);
  parallel_for(
      "4", ResourcePolicy(tasks, Range(0, 3), read(matrix), write(y)),
      KOKKOS_LAMBDA(int row, Matrix const& a, V const& to) {
        for (int k = a.graph.row_map(row); k < a.graph.row_map(row + 1); ++k)
          to(row) += a.values(k);
      });
  EXPECT_EQ(edges_between(tasks), (Edges{{1, 2}, {1, 3}, {1, 4}, {2, 4}}));
  EXPECT_THAT(Test::values_of(y), ElementsAre(3, 3, 3));
}

#ifdef TRELLIS_TEST_HAS_STATIC_CRS_GRAPH
SPACE_TEST(Containers, StaticCrsGraphsAreTheirArrays) {
  using Graph = Kokkos::StaticCrsGraph<int, Space>;
  TaskGraph tasks(recorded_containers());
  std::vector<std::vector<int>> const rows{{0, 1}, {1, 2}, {2, 0, 1}};
  auto const graph = Kokkos::create_staticcrsgraph<Graph>("graph", rows);
  host_task("1", ResourcePolicy(tasks, read_write(graph)),
            [](Graph const& g) { g.entries(g.row_map(2)) = 5; });
  host_task("2", ResourcePolicy(tasks, read(graph.row_map)), [] {});
  V const y("y", 3);
  parallel_for(
      "3", ResourcePolicy(tasks, Range(0, 3), read(graph), write(y)),
      KOKKOS_LAMBDA(int row, Graph const& g, V const& to) {
        auto const entries = g.rowConst(row);
        for (int k = 0; k < entries.length; ++k) to(row) += entries(k);
      });
  EXPECT_EQ(edges_between(tasks), (Edges{{1, 3}})) << "nobody writes the row map";
  EXPECT_THAT(Test::values_of(y), ElementsAre(1, 3, 6));
  auto const accesses = tasks.dependency_graph().node(1).accesses;
  ASSERT_EQ(accesses.size(), 2);
  EXPECT_EQ(accesses[0].mode, "read");
  EXPECT_EQ(accesses[1].mode, "read_write");
}
#endif

SPACE_TEST(Containers, StayUntilTheTaskIsDone) {
  TaskGraph graph(with_workers(2));
  using Map = Kokkos::UnorderedMap<int, int, typename Memory::device_type>;
  Future<std::size_t> size;
  {
    Map map(100);
    size = host_task("fill", ResourcePolicy(graph, write(map)), [](Map const& mine) {
      for (int k = 0; k < 10; ++k) (void)mine.insert(k, k);
      return std::size_t{mine.size()};
    });
    map = Map();
  }
  EXPECT_EQ(size.get(), 10);
}

/// On the host a DualView may have one side.
SPACE_TEST(Containers, DualViewsOfOneSideAreViews) {
  TaskGraph graph(recorded_containers());
  using Dual = Kokkos::DualView<double*, typename Memory::device_type>;
  Dual const x("x", 4);
  parallel_for(
      "1", ResourcePolicy(graph, Range(0, 4), write(x)),
      KOKKOS_LAMBDA(int i, Dual::t_dev const& all) { all(i) = i; });
  auto const sum = host_task("2", ResourcePolicy(graph, read(x)),
                             [](auto const& all) { return all(1) + all(2) + all(3); });
  EXPECT_EQ(sum.get(), 6);
  EXPECT_EQ(edges_between(graph), (Edges{{1, 2}}));
  Plan const plan = graph.record([&] {
    host_task("again", ResourcePolicy(graph, AccessList().read_write(x)),
              [=] { x.view_host()(0) += 1; });
  });
  graph.replay(plan, 3);
  graph.wait();
  EXPECT_EQ(x.view_host()(0), 3);
}

}  // namespace
}  // namespace trellis
