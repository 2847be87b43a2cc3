// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: the label comes first: parallel_for("label", ResourcePolicy(graph, n, read(x), ...),
// LINES: 12
#include <Trellis.hpp>

using V = Kokkos::View<double*>;

void submit(trellis::TaskGraph& graph, V const& x) {
  auto const body = KOKKOS_LAMBDA(int i) {
    x(i) = 1;
  };
  trellis::ResourcePolicy const policy(graph, 10, trellis::write(x));
#ifdef TRELLIS_COMPILE_OK
  trellis::parallel_for("fill", policy, body);
#else
  trellis::parallel_for(policy, "fill", body);
#endif
}
