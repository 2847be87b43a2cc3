// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: parallel_for needs a range: parallel_for("label", ResourcePolicy(graph, n, read(x),
#include <Trellis.hpp>

using V = Kokkos::View<double*>;
using Plane = Kokkos::View<double**>;

void submit(trellis::TaskGraph& graph, V const& x, Plane const& y, V const& z, V const& sum) {
  auto const body = KOKKOS_LAMBDA(int i, trellis::read_view<V> a, trellis::read_view<Plane> b, V c,
                                  trellis::atomic_view<V> d) {
    c(i) = a(i) + b(i, 0);
    d(0) += c(i);
  };
#ifdef TRELLIS_COMPILE_OK
  trellis::parallel_for("task",
                        trellis::ResourcePolicy(graph, 10, trellis::read(x), trellis::read(y),
                                                trellis::write(z), trellis::atomic_add(sum)),
                        body);
#else
  trellis::parallel_for("task",
                        trellis::ResourcePolicy(graph, trellis::read(x), trellis::read(y),
                                                trellis::write(z), trellis::atomic_add(sum)),
                        body);
#endif
}
