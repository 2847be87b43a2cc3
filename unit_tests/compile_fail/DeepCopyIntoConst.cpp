// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: a View of const elements cannot be copied into
#include <Trellis.hpp>

#ifdef TRELLIS_COMPILE_OK
using V = Kokkos::View<double*>;
#else
using V = Kokkos::View<double const*>;
#endif

void submit(trellis::TaskGraph& graph, V const& to, Kokkos::View<double*> const& from) {
  trellis::deep_copy(graph, to, from);
}
