// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Kokkos_Core.hpp>

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  Kokkos::View<double*> const x("x", 100);
  Kokkos::parallel_for("fill", 100, KOKKOS_LAMBDA(int i) { x(i) = i; });
  Kokkos::fence();
}
