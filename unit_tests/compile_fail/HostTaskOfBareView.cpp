// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: is to know how a View or Token is accessed: read(x), write(x), ...
#include <Trellis.hpp>

void submit(trellis::TaskGraph& graph, Kokkos::View<double*, Kokkos::HostSpace> const& x) {
#ifdef TRELLIS_COMPILE_OK
  trellis::host_task("task", trellis::ResourcePolicy(graph, trellis::read(x)), [] {});
#else
  trellis::host_task("task", trellis::ResourcePolicy(graph, x), [] {});
#endif
}
