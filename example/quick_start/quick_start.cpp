// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The code of the README: three annotated kernels, ordered by what they read and write. Prints
// 999000.
#include <Trellis.hpp>

#include <cstdio>

int main() {
  Kokkos::ScopeGuard kokkos;
  int const n = 1000;

  trellis::TaskGraph graph;  // RAII: the destructor waits
  Kokkos::View<double*> x("x", n), y("y", n);

  trellis::parallel_for(
      "fill", trellis::ResourcePolicy(graph, n, trellis::write(x)),
      KOKKOS_LAMBDA(int i) { x(i) = i; });
  trellis::parallel_for(
      "scale", trellis::ResourcePolicy(graph, n, trellis::read(x), trellis::write(y)),
      KOKKOS_LAMBDA(int i) { y(i) = 2 * x(i); });
  auto sum = trellis::parallel_reduce(
      "sum", trellis::ResourcePolicy(graph, n, trellis::read(y)),
      KOKKOS_LAMBDA(int i, double& s) { s += y(i); });
  std::printf("%g\n", sum.get());
}
