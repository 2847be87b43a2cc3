// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A functor of a model is told the names that it may write, not the types of the Views behind them.
// EXPECT: the functor's call operator must take what stands in FunctorMustTake<...> above
// SHOWS: FunctorMustTake<false, void ?[(][a-z ]+, [A-Za-z:]*Field<double ?[*], Kokkos::LayoutRight>::read_view, [A-Za-z:]*Field<double ?[*], Kokkos::LayoutRight>::view[)]
#include <Trellis.hpp>
#include <fields/Trellis_Fields.hpp>

using F = trellis::Field<double*, Kokkos::LayoutRight>;
#ifdef TRELLIS_COMPILE_OK
using In = F::read_view;
#else
using In = Kokkos::View<double*>;
#endif

void submit(trellis::FieldGraph& model, F const& q, F const& r) {
  auto const body = KOKKOS_LAMBDA(int i, In in, F::view out) {
    out(i) = in(i);
  };
  trellis::ResourcePolicy const policy(model, 10, trellis::read(q), trellis::write(r));
  trellis::parallel_for("copy", policy, body);
}
