// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: an access names a Kokkos::View, a trellis::Token or another resource
#include <Trellis.hpp>

#include <vector>

void submit(trellis::TaskGraph& graph, std::vector<bool> const& values) {
#ifdef TRELLIS_COMPILE_OK
  std::vector<trellis::Token> const tokens(values.size(), trellis::Token("value"));
  trellis::host_task("look", trellis::ResourcePolicy(graph, trellis::read(tokens)), [] {});
#else
  trellis::host_task("look", trellis::ResourcePolicy(graph, trellis::read(values)), [] {});
#endif
}
