// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: a graph goes to trellis::deep_copy(graph, destination, source), not to Kokkos::deep_copy
// LINES: 12
#include <Trellis.hpp>

using V = Kokkos::View<double*>;
#ifdef TRELLIS_COMPILE_OK
namespace called = trellis;
#else
namespace called = Kokkos;
#endif

void submit(trellis::TaskGraph& graph, V const& x) {
  called::deep_copy(graph, x, 0.0);
}
