// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: an access names a Kokkos::View, a trellis::Token or another resource
#include <Trellis.hpp>

void submit(trellis::TaskGraph& graph, double& value) {
#ifdef TRELLIS_COMPILE_OK
  trellis::host_task("look", trellis::ResourcePolicy(graph, trellis::read(trellis::Token("value"))),
                     [] {});
#else
  trellis::host_task("look", trellis::ResourcePolicy(graph, trellis::read(value)), [] {});
#endif
}
