// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: the type of a tag has a default value
// LINES: 15
#include <Trellis.hpp>
#include <Trellis_Scheduling.hpp>

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
