// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: a kernel has no range: ResourcePolicy(graph, priority(1), ...)
// LINES: 20
#include <kernels/Trellis_Kernel.hpp>

using V = Kokkos::View<double*, Kokkos::HostSpace>;
using R = Kokkos::View<double const*, Kokkos::HostSpace>;
inline void library_axpy(Kokkos::DefaultHostExecutionSpace const&, double, R const&, V const&) {}
using trellis::kernels::in, trellis::kernels::in_out, trellis::kernels::Takes;
TRELLIS_KERNEL(axpy, library_axpy, Takes<in, in, in_out>);

void submit(trellis::TaskGraph& graph, V const& x, V const& y) {
  using namespace trellis;
#ifdef TRELLIS_COMPILE_OK
  axpy(ResourcePolicy(graph, priority(1)), 2.0, x, y);
#else
  axpy(ResourcePolicy(graph, 10), 2.0, x, y);
#endif
}
