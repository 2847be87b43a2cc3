// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: the callable must take what stands in CallableMustTake<...> above
// SHOWS: CallableMustTake<false, void ?[(]trellis::Completion<(double|void)>, Kokkos::View<double ?[*]
#include <Trellis.hpp>

using V = Kokkos::View<double*, Kokkos::HostSpace>;

void submit(trellis::TaskGraph& graph, V const& x) {
#ifdef TRELLIS_COMPILE_OK
  auto const body = [](trellis::Completion<> completion, V const&) { completion.done(); };
#else
  auto const body = [](trellis::Completion<> completion, int) { completion.done(); };
#endif
  trellis::host_task("late", trellis::ResourcePolicy(graph, trellis::write(x)), body);
}
