// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: the functor's call operator must take what stands in FunctorMustTake<...> above
// SHOWS: FunctorMustTake<false, void ?[(][a-z ]+[)]>
#include <Trellis.hpp>

struct Counter {
  int calls = 0;
#ifdef TRELLIS_COMPILE_OK
  KOKKOS_FUNCTION void operator()(int) const {}
#else
  KOKKOS_FUNCTION void operator()(int) { ++calls; }
#endif
};

void submit(trellis::TaskGraph& graph) {
  trellis::parallel_for("count", trellis::ResourcePolicy(graph, 10), Counter{});
}
