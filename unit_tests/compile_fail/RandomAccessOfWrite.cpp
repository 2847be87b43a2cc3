// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: random access is a way to read: random_access(read(x))
#include <Trellis.hpp>
#include <Trellis_Resources.hpp>

void submit(trellis::TaskGraph& graph, Kokkos::View<double*> const& x) {
  auto const body = KOKKOS_LAMBDA(int){};
#ifdef TRELLIS_COMPILE_OK
  auto const access = trellis::random_access(trellis::read(x));
#else
  auto const access = trellis::random_access(trellis::write(x));
#endif
  trellis::parallel_for("task", trellis::ResourcePolicy(graph, 10, access), body);
}
