// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The smallest program that needs the headers of the component `kernels`.
#include <Trellis.hpp>
#include <Trellis_Kernels.hpp>

int main(int argc, char** argv) {
  Kokkos::ScopeGuard kokkos(argc, argv);
  trellis::TaskGraph graph;
  Kokkos::View<double*> x("x", 3);
  trellis::deep_copy(graph, x, 2.0);
  bool const has_blas = trellis::kernels::dot(graph, x, x).get() == 12;

  // Where there is LAPACKE, it must be linked, too.
  Kokkos::View<double**, Kokkos::LayoutLeft> a("a", 1, 1);
  trellis::deep_copy(graph, a, 4.0);
  trellis::kernels::potrf(graph, "L", a);
  auto const column = Kokkos::subview(a, Kokkos::ALL, 0);
  bool const has_lapack = trellis::kernels::nrm2(graph, column).get() == 2;
  return has_blas && has_lapack ? 0 : 1;
}
