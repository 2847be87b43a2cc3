// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: parallel_reduce cannot write into a variable, which may be gone when the task runs
#include <Trellis.hpp>

void submit(trellis::TaskGraph& graph, double& value) {
  auto const body = KOKKOS_LAMBDA(int i, double& s) {
    s += i;
  };
#ifdef TRELLIS_COMPILE_OK
  value = trellis::parallel_reduce("sum", trellis::ResourcePolicy(graph, 10), body).get();
#else
  trellis::parallel_reduce("sum", trellis::ResourcePolicy(graph, 10), body, value);
#endif
}
