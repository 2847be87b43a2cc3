// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernels of list_tasks.cpp by Kokkos alone.
#include <Kokkos_Core.hpp>

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  Kokkos::View<double*> const x("x", 100), y("y", 100);
  Kokkos::View<double**> const a("a", 10, 10), b("b", 10, 10);
#define KERNEL(n) Kokkos::parallel_for("kernel", 100, KOKKOS_LAMBDA(int i) { x(i) += n * i; });
  KERNEL(1)
  KERNEL(2)
  KERNEL(3) KERNEL(4) KERNEL(5) KERNEL(6) KERNEL(7) KERNEL(8) KERNEL(9) KERNEL(10) Kokkos::fence();
}
