// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: allocate takes as many extents as the LateView has that its type does not say
#include <Trellis.hpp>
#include <Trellis_Late.hpp>

void f(trellis::TaskGraph& graph, trellis::Future<int> const& n) {
#ifdef TRELLIS_COMPILE_OK
  trellis::LateView<double* [3]> const x("x");
#else
  trellis::LateView<double**> const x("x");
#endif
  trellis::allocate("make room", trellis::ResourcePolicy(graph), x, n);
}
