// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: after the base policy come accesses (read, write, ...) and properties (priority, after,
// ...) only
#include <Trellis.hpp>

void submit(trellis::TaskGraph& graph, Kokkos::View<double*> const& x) {
#ifdef TRELLIS_COMPILE_OK
  trellis::parallel_for("task", trellis::ResourcePolicy(graph, 10, trellis::write(x)),
                        KOKKOS_LAMBDA(int){});
#else
  trellis::parallel_for("task", trellis::ResourcePolicy(graph, 10, x), KOKKOS_LAMBDA(int){});
#endif
}
