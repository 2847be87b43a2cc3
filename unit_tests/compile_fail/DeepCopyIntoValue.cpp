// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: deep_copy(graph, destination, source) copies into a View, or from a View of rank 0
#include <Trellis.hpp>

void submit(trellis::TaskGraph& graph, double& to, Kokkos::View<double> const& from) {
#ifdef TRELLIS_COMPILE_OK
  trellis::deep_copy(graph, to, from);
#else
  trellis::deep_copy(graph, to, 1.0);
  static_cast<void>(from);
#endif
}
