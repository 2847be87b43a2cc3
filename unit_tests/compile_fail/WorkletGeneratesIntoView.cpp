// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: Trellis: nobody knows yet how many items a worklet generates
#include "Worklets.hpp"

using namespace trellis;
using Test::V;

struct Keep : GenerateFields {
  using ControlSignature = void(Field, Counts, Field(Out));
  using ExecutionSignature = _3(_1);
  KOKKOS_FUNCTION double operator()(double x) const { return x; }
};

void submit(TaskGraph& graph, V const& x, Kokkos::View<int*> const& counts) {
#ifdef TRELLIS_COMPILE_OK
  invoke("keep", ResourcePolicy(graph), Keep(), x, counts, LateView<double*>("kept"));
#else
  invoke("keep", ResourcePolicy(graph), Keep(), x, counts, V("kept", 4));
#endif
}
