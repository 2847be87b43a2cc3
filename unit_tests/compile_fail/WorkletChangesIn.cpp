// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: Trellis: the worklet's call operator takes a parameter that is In by a reference to what is not
#include "Worklets.hpp"

using namespace trellis;
using Test::V;

struct Add : MapFields {
  using ControlSignature = void(Field, Field(InOut));
#ifdef TRELLIS_COMPILE_OK
  KOKKOS_FUNCTION void operator()(double x, double& y) const { y += x; }
#else
  KOKKOS_FUNCTION void operator()(double& x, double& y) const { y += x; }
#endif
};

void submit(TaskGraph& graph, V const& x, V const& y) {
  invoke("add", ResourcePolicy(graph), Add(), x, y);
}
