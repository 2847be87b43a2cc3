// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: a Future<void> has no value for a kernel
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
  auto const task = axpy(graph, 2.0, x, y);
  axpy(ResourcePolicy(graph, after(task)), 2.0, x, y);
#else
  auto const task = axpy(graph, 2.0, x, y);
  axpy(graph, task, x, y);
#endif
}
