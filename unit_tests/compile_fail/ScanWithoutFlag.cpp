// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: the functor's last arguments are the value to scan into and whether it is final
#include <Trellis.hpp>

void submit(trellis::TaskGraph& graph) {
#ifdef TRELLIS_COMPILE_OK
  auto const body = KOKKOS_LAMBDA(int, double&, bool){};
#else
  auto const body = KOKKOS_LAMBDA(int, double&){};
#endif
  trellis::parallel_scan("sum", trellis::ResourcePolicy(graph, 10), body);
}
