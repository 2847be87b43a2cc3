// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: Trellis: the worklet's call operator must take what stands in WorkletMustTake<...> above
// SHOWS: WorkletMustTake<void ?[(]double[)]>
#include "Worklets.hpp"

using namespace trellis;
using Test::V;

struct Copy : MapFields {
  using ControlSignature = void(Field, Field(Out));
  using ExecutionSignature = _2(_1);
#ifdef TRELLIS_COMPILE_OK
  KOKKOS_FUNCTION double operator()(double x) const { return x; }
#else
  KOKKOS_FUNCTION double operator()(double x, int) const { return x; }
#endif
};

void submit(TaskGraph& graph, V const& x, V const& y) {
  invoke("copy", ResourcePolicy(graph), Copy(), x, y);
}
