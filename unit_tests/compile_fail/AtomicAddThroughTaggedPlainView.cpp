// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Also of a functor with several call operators, and through a View of other traits.
// EXPECT: a View annotated with atomic_add or atomic_mul is taken as an atomic_view<V>
#include <Trellis.hpp>
#include <Trellis_Resources.hpp>

using V = Kokkos::View<double*>;
#ifdef TRELLIS_COMPILE_OK
using Sum = trellis::atomic_view<V>;
#else
using Sum = trellis::restrict_view<V>;
#endif
struct One {};
struct Other {};

struct Count {
  template <class Index>
  KOKKOS_FUNCTION void operator()(One, Index, Sum const& sum) const {
    sum(0) += 1;
  }
  KOKKOS_FUNCTION void operator()(Other, int, trellis::atomic_view<V> const& sum) const {
    sum(0) += 2;
  }
};

void submit(trellis::TaskGraph& graph, V const& x) {
  using Range = Kokkos::RangePolicy<One>;
  trellis::ResourcePolicy const policy(graph, Range(0, 10), trellis::atomic_add(x));
  trellis::parallel_for("count", policy, Count());
}
