// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: Trellis: an ExecutionSignature names parameters of the ControlSignature, from _1 on
#include "Worklets.hpp"

using namespace trellis;
using Test::V;

struct Copy : MapFields {
  using ControlSignature = void(Field, Field(Out));
#ifdef TRELLIS_COMPILE_OK
  using ExecutionSignature = _2(_1);
#else
  using ExecutionSignature = _2(_3);
#endif
  KOKKOS_FUNCTION double operator()(double x) const { return x; }
};

void submit(TaskGraph& graph, V const& x, V const& y) {
  invoke("copy", ResourcePolicy(graph), Copy(), x, y);
}
