// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The smallest program that needs Trellis's headers and its archive.
#include <Trellis.hpp>

#include <cstdio>

int main(int argc, char** argv) {
  Kokkos::ScopeGuard kokkos(argc, argv);
  const int n = 10;
  double result = 0;
  {
    trellis::TaskGraph graph;
    Kokkos::View<double*> x("x", n);
    trellis::parallel_for(
        "fill", trellis::ResourcePolicy(graph, n, trellis::write(x)),
        KOKKOS_LAMBDA(int i) { x(i) = i; });
    auto sum = trellis::parallel_reduce(
        "sum", trellis::ResourcePolicy(graph, n, trellis::read(x)),
        KOKKOS_LAMBDA(int i, double& s) { s += x(i); });
    result = sum.get();
  }
  std::printf("the sum is %g\n", result);
  return result == 45 ? 0 : 1;
}
