// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A functor that could write to a View annotated with `read` is refused as a whole.
// EXPECT: the functor's call operator must take what stands in FunctorMustTake<...> above
// SHOWS: FunctorMustTake<false, void ?[(][a-z ]+, Kokkos::View<const double ?[*]
#include <Trellis.hpp>

using V = Kokkos::View<double*>;
#ifdef TRELLIS_COMPILE_OK
using In = trellis::read_view<V>;
#else
using In = V;  // takes a View that it may write
#endif

void submit(trellis::TaskGraph& graph, V const& x) {
  auto const body = KOKKOS_LAMBDA(int, In){};
  trellis::parallel_for("copy", trellis::ResourcePolicy(graph, 10, trellis::read(x)), body);
}
