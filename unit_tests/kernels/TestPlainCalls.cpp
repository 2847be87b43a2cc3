// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Library calls as tasks: Kokkos Kernels on the worker's instance, through Trellis::kernels.
#include <Trellis.hpp>

#include <KokkosBlas1_axpby.hpp>
#include <KokkosBlas1_dot.hpp>
#include <Kokkos_Core.hpp>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace trellis
