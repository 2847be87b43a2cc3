// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: demote takes accesses
#include <Trellis.hpp>

int main() {
  trellis::TaskGraph graph;
  Kokkos::View<double*> x("x", 1);
  trellis::host_task("t", trellis::ResourcePolicy(graph, trellis::write(x)),
                     [=](trellis::TaskScope& self) {
#ifdef TRELLIS_COMPILE_OK
                       self.demote(trellis::read(x));
#else
    self.demote(x);
#endif
                     });
}
