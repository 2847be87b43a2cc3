// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: deep_copy copies into a variable from a View of rank 0 of its type
#include <Trellis.hpp>

void submit(trellis::TaskGraph& graph, Kokkos::View<double, Kokkos::HostSpace> const& sum) {
#ifdef TRELLIS_COMPILE_OK
  static double result = 0;
#else
  static float result = 0;
#endif
  trellis::deep_copy(graph, result, sum);
}
