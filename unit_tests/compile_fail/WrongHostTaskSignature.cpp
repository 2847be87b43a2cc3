// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: the callable of a host_task takes nothing or the annotated Views in order
#include <Trellis.hpp>

using V = Kokkos::View<double*, Kokkos::HostSpace>;

void submit(trellis::TaskGraph& graph, V const& x, V const& y) {
#ifdef TRELLIS_COMPILE_OK
  auto const body = [](V const&, V const&) {};
#else
  auto const body = [](V const&) {};  // one of two
#endif
  trellis::host_task("both", trellis::ResourcePolicy(graph, trellis::write(x), trellis::write(y)),
                     body);
}
