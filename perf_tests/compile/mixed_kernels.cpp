// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two loops and a reduction by Kokkos alone.
#include <Kokkos_Core.hpp>

#include <cstdio>

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  Kokkos::View<double*> const x("x", 100), y("y", 100);
  Kokkos::parallel_for("fill", 100, KOKKOS_LAMBDA(int i) { x(i) = i; });
  Kokkos::parallel_for("scale", 100, KOKKOS_LAMBDA(int i) { y(i) = 2 * x(i); });
  double sum = 0;
  Kokkos::parallel_reduce("sum", 100, KOKKOS_LAMBDA(int i, double& s) { s += y(i); }, sum);
  std::printf("%g\n", sum);
}
