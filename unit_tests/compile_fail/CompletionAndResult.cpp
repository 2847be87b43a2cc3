// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: a callable that takes a Completion<T> returns nothing
#include <Trellis.hpp>

void submit(trellis::TaskGraph& graph) {
#ifdef TRELLIS_COMPILE_OK
  auto const body = [](trellis::Completion<int> completion) { completion.done(1); };
#else
  auto const body = [](trellis::Completion<int> completion) {
    completion.done(1);
    return 2;
  };
#endif
  trellis::host_task("late", trellis::ResourcePolicy(graph), body);
}
