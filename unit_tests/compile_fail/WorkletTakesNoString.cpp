// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: Trellis: an argument of this type cannot be bound to this parameter of the ControlSignature
// SHOWS: MustBeBound<.*Parameter<.*Field, .*In, .*Item>, char
#include "Worklets.hpp"

using namespace trellis;
using Test::V;

void submit(TaskGraph& graph, V const& x, V const& y) {
#ifdef TRELLIS_COMPILE_OK
  invoke("copy", ResourcePolicy(graph), Test::Copy(), x, y);
#else
  invoke("copy", ResourcePolicy(graph), Test::Copy(), "x", y);
#endif
}
