// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: an access names a Kokkos::View or a trellis::Token, or a range of these
#include <Trellis.hpp>

#include <vector>

void submit(trellis::TaskGraph& graph, std::vector<double> const& values) {
#ifdef TRELLIS_COMPILE_OK
  std::vector<trellis::Token> const tokens(values.size(), trellis::Token("value"));
  trellis::host_task("look", trellis::ResourcePolicy(graph, trellis::read(tokens)), [] {});
#else
  trellis::host_task("look", trellis::ResourcePolicy(graph, trellis::read(values)), [] {});
#endif
}
