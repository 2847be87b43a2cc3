// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: deep_copy takes a policy without a range: deep_copy("label", ResourcePolicy(graph, ...)
#include <Trellis.hpp>

void submit(trellis::TaskGraph& graph, Kokkos::View<double*> const& to) {
#ifdef TRELLIS_COMPILE_OK
  trellis::deep_copy("fill", trellis::ResourcePolicy(graph), to, 1.0);
#else
  trellis::deep_copy("fill", trellis::ResourcePolicy(graph, 10), to, 1.0);
#endif
}
