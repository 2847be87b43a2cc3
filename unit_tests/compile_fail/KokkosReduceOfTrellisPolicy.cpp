// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: a ResourcePolicy goes to trellis::parallel_reduce, not to Kokkos::parallel_reduce
// LINES: 12
#include <Trellis.hpp>

using V = Kokkos::View<double*>;
using Sum = Kokkos::View<double>;
#ifdef TRELLIS_COMPILE_OK
namespace called = trellis;
#else
namespace called = Kokkos;
#endif

void submit(trellis::TaskGraph& graph, V const& x, Sum const& sum) {
  auto const body = KOKKOS_LAMBDA(int i, double& s) {
    s += x(i);
  };
  called::parallel_reduce(trellis::ResourcePolicy(graph, 10, trellis::read(x)), body, sum);
}
