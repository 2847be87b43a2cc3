// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One task; with TEN ten more, whose annotations are of the same types.
#include "Ten.hpp"

#include <Trellis.hpp>

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  trellis::TaskGraph graph;
  Kokkos::View<double*> const x("x", 100), y("y", 100);
  trellis::parallel_for(
      "fill", trellis::ResourcePolicy(graph, 100, trellis::read(y), trellis::write(x)),
      KOKKOS_LAMBDA(int i) { x(i) = y(i) + i; });
#define TASK(n)                                                                         \
  trellis::parallel_for(                                                                \
      "task", trellis::ResourcePolicy(graph, 100, trellis::read(y), trellis::write(x)), \
      KOKKOS_LAMBDA(int i) { x(i) = y(i) + n * i; });
  TEN_TIMES(TASK)
}
