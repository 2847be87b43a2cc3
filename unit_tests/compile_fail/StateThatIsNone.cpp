// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: an access state can be copied and has is_dependent_of
// LINES: 15
#include <Trellis.hpp>

struct State {
  bool is_dependent_of(State const&) const { return true; }
#ifdef TRELLIS_COMPILE_OK
  bool is_superset_of(State const&) const { return true; }
#endif
};

int main() {
  trellis::TaskGraph graph;
  trellis::Token const token("token");
  trellis::host_task("t", trellis::ResourcePolicy(graph, trellis::access(token, State())), [] {});
}
