// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The smallest program that needs the headers of the component `kernels`.
#include <Trellis.hpp>
#include <Trellis_Kernels.hpp>

int main(int argc, char** argv) {
  Kokkos::ScopeGuard kokkos(argc, argv);
  trellis::TaskGraph graph;
  Kokkos::View<double*> x("x", 3);
  trellis::deep_copy(graph, x, 2.0);
  return trellis::kernels::dot(graph, x, x).get() == 12 ? 0 : 1;
}
