// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: what is const can only be read
// LINES: 15
#include <Trellis.hpp>

#include <vector>

using V = Kokkos::View<double*, Kokkos::HostSpace>;

void submit(trellis::TaskGraph& graph, V const& x, std::vector<double> const& values) {
#ifdef TRELLIS_COMPILE_OK
  trellis::host_task("look", trellis::ResourcePolicy(graph, trellis::read(x, values)), [] {});
#else
  trellis::host_task("look", trellis::ResourcePolicy(graph, trellis::write(x, values)), [] {});
#endif
}
