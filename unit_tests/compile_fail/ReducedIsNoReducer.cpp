// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: reduced<...> takes a Kokkos reducer, e.g. Kokkos::Max<double>
#include <Trellis.hpp>

#ifdef TRELLIS_COMPILE_OK
using R = Kokkos::Max<double>;
#else
using R = double;
#endif

void submit(trellis::TaskGraph& graph) {
  trellis::parallel_reduce("most", trellis::ResourcePolicy(graph, 10),
                           KOKKOS_LAMBDA(int, double&){}, trellis::reduced<R>);
}
