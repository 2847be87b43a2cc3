// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: a kernel on a device takes values of futures that are trivially copyable
#include <Simulated/Trellis_SpaceSimulated.hpp>
#include <Trellis.hpp>

#include <vector>

#ifdef TRELLIS_COMPILE_OK
using Value = double;
#else
using Value = std::vector<double>;
#endif

void f(trellis::TaskGraph& graph, trellis::Future<Value> const& future) {
  Kokkos::View<double*, trellis::SimulatedSpace> const x("x", 10);
  auto const body = KOKKOS_LAMBDA(int i) {
    x(i) = i;
  };
  trellis::ResourcePolicy const policy(graph, 10, trellis::value(future), trellis::write(x),
                                       trellis::on<trellis::Simulated>);
  trellis::parallel_for("write", policy, body);
}
