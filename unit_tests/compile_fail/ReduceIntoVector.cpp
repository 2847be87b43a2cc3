// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: parallel_reduce writes into a View of rank 0
#include <Trellis.hpp>

#ifdef TRELLIS_COMPILE_OK
using V = Kokkos::View<double>;
#else
using V = Kokkos::View<double*>;
#endif

void submit(trellis::TaskGraph& graph, V const& sum) {
  trellis::parallel_reduce(
      "sum", trellis::ResourcePolicy(graph, 10), KOKKOS_LAMBDA(int i, double& s) { s += i; }, sum);
}
