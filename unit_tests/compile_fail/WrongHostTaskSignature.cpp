// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: the callable must take what stands in CallableMustTake<...> above
// SHOWS: CallableMustTake<false, void ?[(]Kokkos::View<double ?[*], Kokkos::HostSpace>,
#include <Trellis.hpp>

using V = Kokkos::View<double*, Kokkos::HostSpace>;

void submit(trellis::TaskGraph& graph, V const& x, V const& y) {
#ifdef TRELLIS_COMPILE_OK
  auto const body = [](V const&, V const&) {};
#else
  auto const body = [](V const&) {};  // one of two
#endif
  trellis::ResourcePolicy const policy(graph, trellis::write(x), trellis::write(y));
  trellis::host_task("both", policy, body);
}
