// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: Trellis: the worklet's value goes to a parameter that is In
#include "Worklets.hpp"

using namespace trellis;
using Test::V;

struct Copy : MapFields {
#ifdef TRELLIS_COMPILE_OK
  using ControlSignature = void(Field, Field(Out));
#else
  using ControlSignature = void(Field, Field);
#endif
  using ExecutionSignature = _2(_1);
  KOKKOS_FUNCTION double operator()(double x) const { return x; }
};

void submit(TaskGraph& graph, V const& x, V const& y) {
  invoke("copy", ResourcePolicy(graph), Copy(), x, y);
}
