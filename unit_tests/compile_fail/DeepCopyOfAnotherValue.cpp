// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: deep_copy(graph, view, value) fills a View with a value of its elements' type
#include <Trellis.hpp>

void submit(trellis::TaskGraph& graph, Kokkos::View<double*> const& to) {
#ifdef TRELLIS_COMPILE_OK
  trellis::deep_copy("fill", graph, to, 1.0);
#else
  trellis::deep_copy("fill", graph, to, "one");
#endif
}
