// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: an access names a Kokkos::View, a trellis::Token or another resource
#include <Trellis.hpp>

using V = Kokkos::View<double*, Kokkos::HostSpace>;

void submit(trellis::TaskGraph& graph, V const& x, double& value) {
#ifdef TRELLIS_COMPILE_OK
  trellis::Token const token("value");
  trellis::host_task("look", trellis::ResourcePolicy(graph, trellis::read(x, token)), [] {});
#else
  trellis::host_task("look", trellis::ResourcePolicy(graph, trellis::read(x, value)), [] {});
#endif
}
