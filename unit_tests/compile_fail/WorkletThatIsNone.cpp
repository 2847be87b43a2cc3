// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: Trellis: a worklet derives from its kind (trellis::MapFields, MapCells, ...) and has a
#include "Worklets.hpp"

using namespace trellis;
using Test::V;

void submit(TaskGraph& graph, V const& x, V const& y) {
#ifdef TRELLIS_COMPILE_OK
  invoke("copy", ResourcePolicy(graph), Test::Copy(), x, y);
#else
  auto const copy = [](double from) { return from; };
  invoke("copy", ResourcePolicy(graph), copy, x, y);
#endif
}
