// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: Trellis: the value comes later, by .get() of the Future
// LINES: 12
#include <Trellis.hpp>

using V = Kokkos::View<double*>;

double submit(trellis::TaskGraph& graph, V const& x) {
  auto const body = KOKKOS_LAMBDA(int i, double& sum) {
    sum += x(i);
  };
  auto const policy = trellis::ResourcePolicy(graph, 10, trellis::read(x));
#ifdef TRELLIS_COMPILE_OK
  double const sum = trellis::parallel_reduce("sum", policy, body).get();
#else
  double const sum = trellis::parallel_reduce("sum", policy, body);
#endif
  return sum;
}
