// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: in(i) = out(i)
// SHOWS: assignment of read-only location|returns a const value
#include <Trellis.hpp>

using V = Kokkos::View<double*>;

void submit(trellis::TaskGraph& graph, V const& x, V const& y) {
  trellis::parallel_for(
      "copy", trellis::ResourcePolicy(graph, 10, trellis::read(x), trellis::write(y)),
      KOKKOS_LAMBDA(int i, trellis::read_view<V> in, V out) {
#ifdef TRELLIS_COMPILE_OK
        out(i) = in(i);
#else
        in(i) = out(i);
#endif
      });
}
