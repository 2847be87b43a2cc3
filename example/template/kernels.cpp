// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls of Kokkos Kernels as tasks. The result of `dot` is a future, which goes into `axpy` without
// a thread that waits for it.
#include <Trellis.hpp>
#include <Trellis_Kernels.hpp>

#include <cstdio>

namespace kernels = trellis::kernels;

int main(int argc, char** argv) {
  Kokkos::ScopeGuard kokkos(argc, argv);
  constexpr int n = 1000;
  trellis::TaskGraph graph;
  Kokkos::View<double*> x("x", n);
  Kokkos::View<double*> y("y", n);
  trellis::deep_copy(graph, x, 2.0);
  trellis::deep_copy(graph, y, 1.0);

  auto const product = kernels::dot(graph, x, y);  // 2 n
  kernels::axpy(graph, product, x, y);             // each y is 4 n + 1
  double const found = kernels::dot(graph, x, y).get();
  std::printf("the product is %g\n", found);
  return found == 2.0 * n * (4.0 * n + 1) ? 0 : 1;
}
