// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis.hpp>

#include <cstdio>

/// Compiled by nvcc and hipcc in cmake/device_compile_check.sh, never run: host-device lambdas,
/// Views as arguments and reductions through Trellis' templates, on the host space of a Kokkos that
/// has a device as well.
int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  using Host = Kokkos::DefaultHostExecutionSpace;
  int const n = 1000;
  trellis::TaskGraph graph;
  Kokkos::View<double*, Kokkos::HostSpace> x("x", n), y("y", n);
  Kokkos::View<double, Kokkos::HostSpace> total("total");

  trellis::parallel_for(
      "fill", trellis::ResourcePolicy(graph, n, trellis::write(x), trellis::on<Host>),
      KOKKOS_LAMBDA(int i) { x(i) = i; });
  trellis::parallel_for(
      "scale",
      trellis::ResourcePolicy(graph, Kokkos::RangePolicy<Host>(0, n), trellis::read(x),
                              trellis::write(y)),
      KOKKOS_LAMBDA(int i, trellis::read_view<decltype(x)> in, decltype(y) out) {
        out(i) = 2 * in(i);
      });
  trellis::parallel_for(
      "add",
      trellis::ResourcePolicy(graph, n, trellis::on<Host>, trellis::read(y),
                              trellis::atomic_add(total)),
      KOKKOS_LAMBDA(int i, trellis::read_view<decltype(y)> in,
                    trellis::atomic_view<decltype(total)> sum) { sum() += in(i); });
  auto const largest = trellis::parallel_reduce(
      "largest",
      trellis::ResourcePolicy(graph, n, trellis::on<Host>,
                              trellis::read(Kokkos::subview(y, std::pair(0, n / 2)))),
      KOKKOS_LAMBDA(int i, double& value) { value = y(i) > value ? y(i) : value; },
      trellis::reduced<Kokkos::Max<double>>);
  auto const answer =
      trellis::host_task("answer", trellis::ResourcePolicy(graph, trellis::read(total)),
                         [=] { return total() + largest.get(); });
  std::printf("%g\n", answer.get());
}
