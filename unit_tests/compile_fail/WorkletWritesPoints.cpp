// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: Trellis: cells share points, so a worklet over cells cannot write a point field
#include "Worklets.hpp"

using namespace trellis;
using Test::V;

struct Spread : MapCells {
#ifdef TRELLIS_COMPILE_OK
  using ControlSignature = void(Topology, Field(AtomicAdd, Point));
#else
  using ControlSignature = void(Topology, Field(Out, Point));
#endif
  using ExecutionSignature = void(_2);
  template <class Values>
  KOKKOS_FUNCTION void operator()(Values& values) const {
    values[0] = 1;
  }
};

void submit(TaskGraph& graph, V const& x) {
  invoke("spread", ResourcePolicy(graph), Spread(), UniformGrid<2>({4, 4}), x);
}
