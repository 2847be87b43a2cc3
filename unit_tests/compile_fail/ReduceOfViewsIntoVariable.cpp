// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: parallel_reduce cannot write into a variable, which may be gone when the task runs
#include <Trellis.hpp>

using V = Kokkos::View<double*>;
using Plane = Kokkos::View<double**>;

void submit(trellis::TaskGraph& graph, V const& x, Plane const& y, V const& z, double& value) {
  auto const body =
      KOKKOS_LAMBDA(int i, trellis::read_view<V> a, trellis::read_view<Plane> b, V c, double& s) {
    c(i) = a(i) + b(i, 0);
    s += c(i);
  };
  trellis::ResourcePolicy const policy(graph, 10, trellis::read(x), trellis::read(y),
                                       trellis::write(z));
#ifdef TRELLIS_COMPILE_OK
  value = trellis::parallel_reduce("sum", policy, body).get();
#else
  trellis::parallel_reduce("sum", policy, body, value);
#endif
}
