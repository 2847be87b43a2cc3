// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: the label comes first: deep_copy("label", graph, destination, source)
// LINES: 12
#include <Trellis.hpp>

using V = Kokkos::View<double*>;

void submit(trellis::TaskGraph& graph, V const& x, V const& y) {
#ifdef TRELLIS_COMPILE_OK
  trellis::deep_copy("copy", graph, x, y);
#else
  trellis::deep_copy(graph, "copy", x, y);
#endif
}
