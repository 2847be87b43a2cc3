// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: the label comes first: parallel_reduce("label", ResourcePolicy(graph, n, read(x), ...),
// LINES: 12
#include <Trellis.hpp>

#include <string>

using V = Kokkos::View<double*>;

double submit(trellis::TaskGraph& graph, V const& x, std::string const& name) {
  auto const body = KOKKOS_LAMBDA(int i, double& sum) {
    sum += x(i);
  };
  trellis::ResourcePolicy const policy(graph, 10, trellis::read(x));
#ifdef TRELLIS_COMPILE_OK
  return trellis::parallel_reduce(name, policy, body).get();
#else
  return trellis::parallel_reduce(policy, name, body).get();
#endif
}
