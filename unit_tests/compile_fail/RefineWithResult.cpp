// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: refine(task, split) replaces the body of a task without a result, a Future<void>
#include <Trellis.hpp>

int main() {
  trellis::TaskGraph graph;
#ifdef TRELLIS_COMPILE_OK
  trellis::Future<void> const task = trellis::host_task("t", trellis::ResourcePolicy(graph), [] {});
#else
  trellis::Future<int> const task =
      trellis::host_task("t", trellis::ResourcePolicy(graph), [] { return 1; });
#endif
  trellis::refine(task, [](trellis::TaskScope&) {});
}
