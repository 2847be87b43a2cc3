// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: a View of const elements can only be read
// LINES: 15
#include <Trellis.hpp>

using V = Kokkos::View<double*, Kokkos::HostSpace>;

void submit(trellis::TaskGraph& graph, V const& x, V::const_type const& y) {
#ifdef TRELLIS_COMPILE_OK
  trellis::host_task("fill", trellis::ResourcePolicy(graph, trellis::write(x), trellis::read(y)),
                     [] {});
#else
  trellis::host_task("fill", trellis::ResourcePolicy(graph, trellis::write(x, y)), [] {});
#endif
}
