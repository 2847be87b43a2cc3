// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A functor that could write to a View annotated with `read` is refused as a whole.
// EXPECT: the functor can be called neither with the policy's indices nor with the indices followed
// by the
#include <Trellis.hpp>

using V = Kokkos::View<double*>;
#ifdef TRELLIS_COMPILE_OK
using In = trellis::read_view<V>;
#else
using In = V;  // takes a View that it may write
#endif

void submit(trellis::TaskGraph& graph, V const& x) {
  trellis::parallel_for("copy", trellis::ResourcePolicy(graph, 10, trellis::read(x)),
                        KOKKOS_LAMBDA(int, In){});
}
