// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One kernel by Kokkos alone; with TEN ten more.
#include "Ten.hpp"

#include <Kokkos_Core.hpp>

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  Kokkos::View<double*> const x("x", 100), y("y", 100);
  Kokkos::parallel_for("fill", 100, KOKKOS_LAMBDA(int i) { x(i) = y(i) + i; });
#define KERNEL(n) \
  Kokkos::parallel_for("kernel", 100, KOKKOS_LAMBDA(int i) { x(i) = y(i) + n * i; });
  TEN_TIMES(KERNEL)
  Kokkos::fence();
}
