// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: the policy says which graph and which Views: parallel_for(ResourcePolicy(graph, n or
#include <Trellis.hpp>

void submit([[maybe_unused]] trellis::TaskGraph& graph) {
  auto const body = KOKKOS_LAMBDA(int){};
#ifdef TRELLIS_COMPILE_OK
  trellis::parallel_for(trellis::ResourcePolicy(graph, 10), body);
#else
  trellis::parallel_for(Kokkos::RangePolicy<>(0, 10), body);
#endif
}
