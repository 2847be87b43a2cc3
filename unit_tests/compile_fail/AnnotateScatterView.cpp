// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: which need no annotation, or trellis::ScatterView
#include <Trellis.hpp>
#include <workers/Trellis_ScatterView.hpp>

void submit(trellis::TaskGraph& graph, Kokkos::View<double*> x) {
#ifdef TRELLIS_COMPILE_OK
  trellis::ScatterView<Kokkos::View<double*>> const scatter(x);
  auto const updates = trellis::atomic_add(scatter.token());
#else
  Kokkos::Experimental::ScatterView<double*> const scatter(x);
  auto const updates = trellis::atomic_add(scatter);
#endif
  trellis::parallel_for(
      "count", trellis::ResourcePolicy(graph, 10, updates), KOKKOS_LAMBDA(int i) {
        auto access = scatter.access();
        access(i) += 1;
      });
}
