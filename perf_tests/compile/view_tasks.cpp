// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// As tasks.cpp, with functors that take their Views as arguments.
#include "Ten.hpp"

#include <Trellis.hpp>

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  using V = Kokkos::View<double*>;
  trellis::TaskGraph graph;
  V const x("x", 100), y("y", 100);
  trellis::parallel_for(
      "fill", trellis::ResourcePolicy(graph, 100, trellis::read(y), trellis::write(x)),
      KOKKOS_LAMBDA(int i, trellis::read_view<V> const& in, V const& out) { out(i) = in(i) + i; });
#define TASK(n)                                                                         \
  trellis::parallel_for(                                                                \
      "task", trellis::ResourcePolicy(graph, 100, trellis::read(y), trellis::write(x)), \
      KOKKOS_LAMBDA(int i, trellis::read_view<V> const& in, V const& out) {             \
        out(i) = in(i) + n * i;                                                         \
      });
  TEN_TIMES(TASK)
}
