// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: parallel_scan cannot write into a variable, which may be gone when the task runs
#include <Trellis.hpp>

void submit(trellis::TaskGraph& graph, [[maybe_unused]] double& total) {
  auto const body = KOKKOS_LAMBDA(int, double&, bool){};
#ifdef TRELLIS_COMPILE_OK
  trellis::parallel_scan("sum", trellis::ResourcePolicy(graph, 10), body);
#else
  trellis::parallel_scan("sum", trellis::ResourcePolicy(graph, 10), body, total);
#endif
}
