// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis.hpp>

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  trellis::TaskGraph graph;
  Kokkos::View<double*> const x("x", 100);
  trellis::parallel_for(
      "fill", trellis::ResourcePolicy(graph, 100, trellis::write(x)),
      KOKKOS_LAMBDA(int i) { x(i) = i; });
}
