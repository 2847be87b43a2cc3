// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: constraints not satisfied
// LINES: 50
#include <Trellis.hpp>

struct Phase {
  int number = 0;
#ifdef TRELLIS_COMPILE_OK
  bool operator==(Phase const&) const = default;
#endif
};

int main() {
  trellis::TaskGraph graph;
  trellis::host_task("t", trellis::ResourcePolicy(graph, trellis::tag(Phase{1})), [] {});
}
