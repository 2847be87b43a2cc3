// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: a View annotated with atomic_add or atomic_mul is taken as an atomic_view<V>
#include <Trellis.hpp>
#include <fields/Trellis_Fields.hpp>

using F = trellis::Field<double*>;
#ifdef TRELLIS_COMPILE_OK
using Count = F::atomic_view;
#else
using Count = F::view;
#endif

void submit(trellis::TaskGraph& graph, F const& x) {
  auto const body = KOKKOS_LAMBDA(int, Count const& count) {
    count(0) += 1;
  };
  trellis::parallel_for("count", trellis::ResourcePolicy(graph, 10, trellis::atomic_add(x)), body);
}
