// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: Trellis: no parameter of the ControlSignature belongs to the domain that the worklet runs over
#include "Worklets.hpp"

using namespace trellis;
using Test::V;

struct Average : MapCells {
#ifdef TRELLIS_COMPILE_OK
  using ControlSignature = void(Topology, Field(AtomicAdd, Point));
#else
  using ControlSignature = void(Whole, Field(AtomicAdd, Point));
#endif
  using ExecutionSignature = void(WorkIndex);
  KOKKOS_FUNCTION void operator()(std::int64_t) const {}
};

void submit(TaskGraph& graph, V const& x, V const& y) {
#ifdef TRELLIS_COMPILE_OK
  invoke("average", ResourcePolicy(graph), Average(), UniformGrid<2>({4, 4}), y);
#else
  invoke("average", ResourcePolicy(graph), Average(), x, y);
#endif
}
