// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: a functor with value_type = T[] is reduced into one View of rank 1, or into the Future
#include <Trellis.hpp>

struct Histogram {
  using value_type = int[];
  unsigned value_count = 3;
  KOKKOS_FUNCTION void operator()(int i, int* bins) const { ++bins[i % 3]; }
};

#ifdef TRELLIS_COMPILE_OK
using V = Kokkos::View<int*>;
#else
using V = Kokkos::View<int>;
#endif

void submit(trellis::TaskGraph& graph, V const& bins) {
  trellis::parallel_reduce("bins", trellis::ResourcePolicy(graph, 10), Histogram{}, bins);
}
