// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: give it a member type value_type
#include <Trellis.hpp>

struct Sum {
#ifdef TRELLIS_COMPILE_OK
  using value_type = double;
#endif
  template <class V>
  KOKKOS_FUNCTION void operator()(int i, V const& in, double& s) const {
    s += in(i);
  }
};

void submit(trellis::TaskGraph& graph, Kokkos::View<double*> const& x) {
  trellis::parallel_reduce("sum", trellis::ResourcePolicy(graph, 10, trellis::read(x)), Sum{});
}
