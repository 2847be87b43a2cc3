// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: parallel_reduce needs a range: parallel_reduce("label", ResourcePolicy(graph, n,
#include <Trellis.hpp>

using V = Kokkos::View<double*>;
using Plane = Kokkos::View<double**>;

double submit(trellis::TaskGraph& graph, V const& x, Plane const& y, V const& z) {
  auto const body =
      KOKKOS_LAMBDA(int i, trellis::read_view<V> a, trellis::read_view<Plane> b, V c, double& s) {
    c(i) = a(i) + b(i, 0);
    s += c(i);
  };
#ifdef TRELLIS_COMPILE_OK
  auto const sum = trellis::parallel_reduce(
      "sum",
      trellis::ResourcePolicy(graph, 10, trellis::read(x), trellis::read(y), trellis::write(z)),
      body);
#else
  auto const sum = trellis::parallel_reduce(
      "sum", trellis::ResourcePolicy(graph, trellis::read(x), trellis::read(y), trellis::write(z)),
      body);
#endif
  return sum.get();
}
