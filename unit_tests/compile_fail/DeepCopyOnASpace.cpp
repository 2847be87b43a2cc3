// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: deep_copy runs where its Views are, on<...> has no say in it
#include <Trellis.hpp>

void submit(trellis::TaskGraph& graph, Kokkos::View<double*, Kokkos::HostSpace> const& x) {
  using Host = Kokkos::DefaultHostExecutionSpace;
#ifdef TRELLIS_COMPILE_OK
  trellis::deep_copy("fill", trellis::ResourcePolicy(graph, trellis::priority(1)), x, 1.0);
  static_cast<void>(trellis::on<Host>);
#else
  trellis::deep_copy("fill", trellis::ResourcePolicy(graph, trellis::on<Host>), x, 1.0);
#endif
}
