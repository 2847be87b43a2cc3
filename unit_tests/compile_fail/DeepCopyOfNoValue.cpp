// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: deep_copy(graph, view, value) fills a View with a value of its elements' type
#include <Trellis.hpp>

#ifdef TRELLIS_COMPILE_OK
using Value = trellis::Future<int>;
#else
using Value = trellis::Future<void>;
#endif

void submit(trellis::TaskGraph& graph, Kokkos::View<double*> const& to, Value const& value) {
  trellis::deep_copy("fill", trellis::ResourcePolicy(graph), to, value);
}
