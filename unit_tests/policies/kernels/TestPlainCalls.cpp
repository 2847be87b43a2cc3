// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Library calls as tasks: Kokkos Kernels on the worker's instance, through Trellis::kernels.
#include <Trellis.hpp>
#include <Trellis_Recorded.hpp>

#include <KokkosBlas1_axpby.hpp>
#include <KokkosBlas1_dot.hpp>
#include <KokkosSparse_CrsMatrix.hpp>
#include <Kokkos_Core.hpp>
#include <gmock/gmock.h>

#include <vector>

namespace trellis {
namespace {

TEST(Kernels, AxpyAndDotAreTasks) {
  TaskGraph graph;
  using V = Kokkos::View<double*>;
  using Space = Kokkos::DefaultExecutionSpace;
  V x("x", 1000), y("y", 1000);
  trellis::deep_copy(graph, x, 2.0);
  trellis::deep_copy(graph, y, 1.0);
  for (int k = 0; k < 10; ++k)
    space_task("axpy", ResourcePolicy(graph, read(x), read_write(y)),
               [](Space const& space, read_view<V> const& in, V const& out) {
                 KokkosBlas::axpy(space, 0.5, in, out);
               });
  auto const dot = space_task("dot", ResourcePolicy(graph, read(x), read(y)),
                              [x, y](Space const& space) { return KokkosBlas::dot(space, x, y); });
  EXPECT_EQ(dot.get(), 2.0 * 11 * 1000);
}

/// Whoever writes a matrix writes its values, and reads the graph that others share.
TEST(Kernels, AMatrixIsItsValuesAndReadsItsGraph) {
  using Space = Kokkos::DefaultExecutionSpace;
  using Matrix = KokkosSparse::CrsMatrix<double, int, Space, void, int>;
  using V = Kokkos::View<double*>;
  using Range = Kokkos::RangePolicy<Space>;
  std::vector<double> values{2, 1, 3, 1, 4};
  std::vector<int> row_map{0, 2, 3, 5}, columns{0, 1, 1, 0, 2};
  Matrix const a("a", 3, 3, 5, values.data(), row_map.data(), columns.data());
  Matrix const b("b", a.graph, 3);  // the same graph, other values
  V x("x", 3), y("y", 3);
  TaskGraphOptions options;
  options.record = true;
  TaskGraph graph(options);
  trellis::deep_copy(graph, x, 1.0);         // 1
  trellis::deep_copy(graph, b.values, 0.0);  // 2
  parallel_for(
      "scale", ResourcePolicy(graph, Range(0, 5), read_write(a)),  // 3
      KOKKOS_LAMBDA(int k, Matrix const& m) { m.values(k) *= 10; });
  parallel_for(
      "other", ResourcePolicy(graph, Range(0, 5), write(b)),  // 4
      KOKKOS_LAMBDA(int k, Matrix const& m) { m.values(k) = k; });
  parallel_for(
      "multiply", ResourcePolicy(graph, Range(0, 3), read(a), read(x), write(y)),  // 5
      KOKKOS_LAMBDA(int i, Matrix const& m, read_view<V> const& in, V const& out) {
        auto const row = m.rowConst(i);
        double sum = 0;
        for (int k = 0; k < row.length; ++k) sum += row.value(k) * in(row.colidx(k));
        out(i) = sum;
      });
  graph.wait();
  auto const result = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), y);
  EXPECT_EQ(result(0), 30);
  EXPECT_EQ(result(1), 30);
  EXPECT_EQ(result(2), 50);
  DependencyGraph const tasks = graph.dependency_graph();
  EXPECT_THAT(tasks.predecessors(3), testing::IsEmpty()) << "the graph is only read";
  EXPECT_THAT(tasks.predecessors(4), testing::ElementsAre(2));
  EXPECT_THAT(tasks.predecessors(5), testing::ElementsAre(1, 3));
}

}  // namespace
}  // namespace trellis
