// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../features/SpaceTest.hpp"

#include <worklets/Trellis_Worklets.hpp>

#include <gmock/gmock.h>

/// Worklets that map, on each space.
namespace trellis {
namespace {

struct Scale : MapFields {
  using ControlSignature = void(Field, Field, Field(Out));
  using ExecutionSignature = _3(_1, _2);
  KOKKOS_FUNCTION double operator()(double factor, double x) const { return factor * x; }
};
struct AddInto : MapFields {
  using ControlSignature = void(Field(In), Field(InOut));
  KOKKOS_FUNCTION void operator()(double x, double& y) const { y += x; }
};
struct CellAverage : MapCells {
  using ControlSignature = void(Topology, Field(Point), Field(Out));
  using ExecutionSignature = _3(Vertices(_1), _2);
  template <class Points, class Values>
  KOKKOS_FUNCTION double operator()(Points const& points, Values const& values) const {
    double sum = 0;
    for (int k = 0; k < points.size(); ++k) sum += values[k];
    return sum / points.size();
  }
};
struct Spread : MapCells {
  using ControlSignature = void(Topology, Field, Field(AtomicAdd, Point));
  using ExecutionSignature = void(_2, _3);
  template <class Values>
  KOKKOS_FUNCTION void operator()(double x, Values& values) const {
    for (int k = 0; k < values.size(); ++k) values[k] = x;
  }
};

SPACE_TEST(WorkletMaps, ScaleAView) {
  TaskGraph graph;
  V x("x", 5), y("y", 5), z;
  Kokkos::deep_copy(x, 2.0);
  invoke("scale", ResourcePolicy(graph, on<Space>), Scale(), 3, x, y);
  invoke("scale", ResourcePolicy(graph, on<Space>), Scale(), 2.0, y, z);
  invoke("add", ResourcePolicy(graph, on<Space>), AddInto(), y, z);
  graph.wait();
  EXPECT_THAT(Test::values_of(z), testing::Each(18.0));
  EXPECT_EQ(z.extent(0), 5u);
}
SPACE_TEST(WorkletMaps, AverageOverAGrid) {
  TaskGraph graph;
  UniformGrid<3> const grid({4, 3, 3});
  V x("x", static_cast<std::size_t>(grid.point_count()));
  View<double***> y;
  Kokkos::deep_copy(x, 2.0);
  invoke("average", ResourcePolicy(graph, on<Space>), CellAverage(), grid, x, y);
  graph.wait();
  ASSERT_EQ(y.extent(0), 3u);
  ASSERT_EQ(y.extent(2), 2u);
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), y);
  EXPECT_EQ(host(2, 1, 1), 2.0);
}

}  // namespace
}  // namespace trellis
