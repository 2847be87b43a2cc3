// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: the policy says which graph and which Views: fork_join(ResourcePolicy(graph,
#include <Trellis.hpp>

void submit(trellis::TaskGraph& graph) {
#ifdef TRELLIS_COMPILE_OK
  trellis::fork_join(trellis::ResourcePolicy(graph), [](trellis::TaskScope&) {});
#else
  trellis::fork_join(graph, [](trellis::TaskScope&) {});
#endif
}
