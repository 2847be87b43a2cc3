// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: a ResourcePolicy goes to trellis::parallel_for, not to Kokkos::parallel_for
// LINES: 12
#include <Trellis.hpp>

using V = Kokkos::View<double*>;
#ifdef TRELLIS_COMPILE_OK
namespace called = trellis;
#else
namespace called = Kokkos;
#endif

void submit(trellis::TaskGraph& graph, V const& x) {
  auto const body = KOKKOS_LAMBDA(int i) {
    x(i) = 1;
  };
  called::parallel_for("fill", trellis::ResourcePolicy(graph, 10, trellis::write(x)), body);
}
