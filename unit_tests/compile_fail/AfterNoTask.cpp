// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: after(...) takes futures, numbers of tasks, and ranges of these
#include <Trellis.hpp>

void submit(trellis::TaskGraph& graph, Kokkos::View<double*> x, trellis::Future<void> task) {
#ifdef TRELLIS_COMPILE_OK
  trellis::host_task("next", trellis::ResourcePolicy(graph, trellis::after(task)), [] {});
#else
  trellis::host_task("next", trellis::ResourcePolicy(graph, trellis::after(task, x)), [] {});
#endif
}
