// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: the functor's call operator must take what stands in FunctorMustTake<...> above
// SHOWS: FunctorMustTake<false, void ?[(][a-z ]+, trellis::view_list<Kokkos::View<const double
#include <Trellis.hpp>

#include <vector>

using V = Kokkos::View<double*, Kokkos::HostSpace>;

void submit(trellis::TaskGraph& graph, std::vector<V> const& all) {
  trellis::ResourcePolicy const policy(graph, 1, trellis::read(all),
                                       trellis::on<Kokkos::DefaultHostExecutionSpace>);
#ifdef TRELLIS_COMPILE_OK
  trellis::parallel_for("look", policy, [](int, trellis::read_view_list<V> const&) {});
#else
  trellis::parallel_for("look", policy, [](int, trellis::view_list<V> const&) {});
#endif
}
