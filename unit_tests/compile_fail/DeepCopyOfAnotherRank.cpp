// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: deep_copy needs Views of the same rank
#include <Trellis.hpp>

#ifdef TRELLIS_COMPILE_OK
using V = Kokkos::View<double*>;
#else
using V = Kokkos::View<double**>;
#endif

void submit(trellis::TaskGraph& graph, Kokkos::View<double*> const& to, V const& from) {
  trellis::deep_copy(graph, to, from);
}
