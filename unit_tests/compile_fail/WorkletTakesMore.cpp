// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: Trellis: behind the worklet come as many arguments as its ControlSignature has parameters
// SHOWS: MustTakeArguments<3, 2>
#include "Worklets.hpp"

using namespace trellis;
using Test::V;

void submit(TaskGraph& graph, V const& x, V const& y) {
#ifdef TRELLIS_COMPILE_OK
  invoke("copy", ResourcePolicy(graph), Test::Copy(), x, y);
#else
  invoke("copy", ResourcePolicy(graph), Test::Copy(), x, y, y);
#endif
}
