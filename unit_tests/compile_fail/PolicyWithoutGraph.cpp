// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: a policy begins with the graph that the task goes to
#include <Trellis.hpp>

void submit(trellis::TaskGraph& graph, Kokkos::View<double*> x) {
#ifdef TRELLIS_COMPILE_OK
  trellis::ResourcePolicy const policy(graph, 10, trellis::read(x));
#else
  trellis::ResourcePolicy const policy(10, trellis::read(x));
#endif
  trellis::parallel_for("task", policy, KOKKOS_LAMBDA(int){});
}
