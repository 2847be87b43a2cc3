// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: a View of const elements can only be read
// LINES: 14
#include <Trellis.hpp>

#include <vector>

using V = Kokkos::View<double const*, Kokkos::HostSpace>;

void submit(trellis::TaskGraph& graph, std::vector<V> const& all) {
#ifdef TRELLIS_COMPILE_OK
  trellis::host_task("look", trellis::ResourcePolicy(graph, trellis::read(all)), [] {});
#else
  trellis::host_task("look", trellis::ResourcePolicy(graph, trellis::write(all)), [] {});
#endif
}
