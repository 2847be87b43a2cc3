// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: a fork-join has no range: fork_join("label", ResourcePolicy(graph, read(x), ...), body)
#include <Trellis.hpp>

void submit(trellis::TaskGraph& graph) {
#ifdef TRELLIS_COMPILE_OK
  trellis::fork_join("sweep", trellis::ResourcePolicy(graph), [](trellis::TaskScope&) {});
#else
  trellis::fork_join("sweep", trellis::ResourcePolicy(graph, 10), [](trellis::TaskScope&) {});
#endif
}
