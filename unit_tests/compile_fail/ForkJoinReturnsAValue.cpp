// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: the body of a fork_join returns nothing
#include <Trellis.hpp>

void submit(trellis::TaskGraph& graph) {
#ifdef TRELLIS_COMPILE_OK
  trellis::fork_join(trellis::ResourcePolicy(graph), [](trellis::TaskScope&) {});
#else
  trellis::fork_join(trellis::ResourcePolicy(graph), [](trellis::TaskScope&) { return 1; });
#endif
}
