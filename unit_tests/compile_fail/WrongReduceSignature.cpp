// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: the functor's call operator must take what stands in FunctorMustTake<...> above
// SHOWS: FunctorMustTake<false, void ?[(][a-z ]+, double ?&, int ?&[)]>
#include <Trellis.hpp>

void submit(trellis::TaskGraph& graph) {
#ifdef TRELLIS_COMPILE_OK
  auto const body = KOKKOS_LAMBDA(int, double&, int&){};
#else
  auto const body = KOKKOS_LAMBDA(int, double&){};  // one value for two results
#endif
  auto const& sum = trellis::reduced<Kokkos::Sum<double>>;
  auto const& most = trellis::reduced<Kokkos::Max<int>>;
  trellis::parallel_reduce("both", trellis::ResourcePolicy(graph, 10), body, sum, most);
}
