// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: the callable must take what stands in CallableMustTake<...> above
#include <Trellis.hpp>

#include <vector>

using V = Kokkos::View<double*, Kokkos::HostSpace>;
#ifdef TRELLIS_COMPILE_OK
using Counts = trellis::atomic_view_list<V>;
#else
using Counts = trellis::view_list<V>;
#endif

void submit(trellis::TaskGraph& graph, std::vector<V> const& all) {
  auto const body = [](Counts const& counts) { counts[0](0) += 1; };
  trellis::host_task("count", trellis::ResourcePolicy(graph, trellis::atomic_add(all)), body);
}
