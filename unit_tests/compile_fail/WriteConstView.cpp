// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: a View of const elements can only be read
// LINES: 15
#include <Trellis.hpp>

using V = Kokkos::View<double const*, Kokkos::HostSpace>;

void submit(trellis::TaskGraph& graph, V const& x) {
#ifdef TRELLIS_COMPILE_OK
  trellis::host_task("look", trellis::ResourcePolicy(graph, trellis::read(x)), [] {});
#else
  trellis::host_task("look", trellis::ResourcePolicy(graph, trellis::write(x)), [] {});
#endif
}
