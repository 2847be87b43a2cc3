// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: the functor's last argument is the value to reduce into, as in (int i, double& sum)
#include <Trellis.hpp>

void submit(trellis::TaskGraph& graph) {
#ifdef TRELLIS_COMPILE_OK
  auto const body = KOKKOS_LAMBDA(int, double&){};
#else
  auto const body = KOKKOS_LAMBDA(int){};
#endif
  trellis::parallel_reduce("sum", trellis::ResourcePolicy(graph, 10), body);
}
