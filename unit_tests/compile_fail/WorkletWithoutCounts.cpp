// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: Trellis: a worklet that generates has one parameter that is Counts
#include "Worklets.hpp"

using namespace trellis;
using Test::V;

struct Keep : GenerateFields {
#ifdef TRELLIS_COMPILE_OK
  using ControlSignature = void(Field, Counts, Field(Out));
#else
  using ControlSignature = void(Field, Field, Field(Out));
#endif
  using ExecutionSignature = _3(_1);
  KOKKOS_FUNCTION double operator()(double x) const { return x; }
};

void submit(TaskGraph& graph, V const& x, Kokkos::View<int*> const& counts) {
  invoke("keep", ResourcePolicy(graph), Keep(), x, counts, LateView<double*>("kept"));
}
