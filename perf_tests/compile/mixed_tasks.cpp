// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two loops and a reduction as tasks.
#include <Trellis.hpp>

#include <cstdio>

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  trellis::TaskGraph graph;
  Kokkos::View<double*> const x("x", 100), y("y", 100);
  trellis::parallel_for(
      "fill", trellis::ResourcePolicy(graph, 100, trellis::write(x)),
      KOKKOS_LAMBDA(int i) { x(i) = i; });
  trellis::parallel_for(
      "scale", trellis::ResourcePolicy(graph, 100, trellis::read(x), trellis::write(y)),
      KOKKOS_LAMBDA(int i) { y(i) = 2 * x(i); });
  auto const sum = trellis::parallel_reduce(
      "sum", trellis::ResourcePolicy(graph, 100, trellis::read(y)),
      KOKKOS_LAMBDA(int i, double& s) { s += y(i); });
  std::printf("%g\n", sum.get());
}
