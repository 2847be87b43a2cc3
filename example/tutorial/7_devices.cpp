// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Step 7 of the tutorial: memory and tasks of a device. See docs/tutorial/7_devices.md.
#include <Trellis.hpp>
#ifdef TUTORIAL_HAS_SIMULATED
#include <Trellis_Simulated.hpp>
#endif

#include <cstdio>
#include <type_traits>

// The default execution space, or a device in software where that one is the host.
using Default = Kokkos::DefaultExecutionSpace;
#ifdef TUTORIAL_HAS_SIMULATED
constexpr bool is_host = std::is_same_v<Default, Kokkos::DefaultHostExecutionSpace>;
using Device = std::conditional_t<is_host, trellis::Simulated, Default>;
using Memory = std::conditional_t<is_host, trellis::SimulatedSpace, Default::memory_space>;
#else
using Device = Default;
using Memory = Default::memory_space;
#endif
using DeviceValues = Kokkos::View<double*, Memory>;

static double add_up_on_device(trellis::TaskGraph& graph, int n);  // the solution, at the end

int main() {
  Kokkos::ScopeGuard kokkos;
  int const n = 1000;

  trellis::TaskGraph graph;
  DeviceValues x("x", n);
  auto const host = Kokkos::create_mirror_view(x);
  for (int i = 0; i < n; ++i) host(i) = i;
  trellis::deep_copy("there", graph, x, host);
  trellis::parallel_for(
      "scale", trellis::ResourcePolicy(graph, n, trellis::read_write(x), trellis::on<Device>),
      KOKKOS_LAMBDA(int i) { x(i) *= 2; });
  trellis::deep_copy("back", graph, host, x);
  graph.wait();

  double sum = 0;
  for (int i = 0; i < n; ++i) sum += host(i);
  std::printf("The device is %s.\n", Device::name());
  std::printf("The doubled numbers add up to %g.\n", sum);

  double const total = add_up_on_device(graph, n);
  std::printf("Exercise: the sum is %g.\n", total);
  return sum == 999000 && total == 499500 ? 0 : 1;
}

/// Fills a View of the device there and adds it up; only the sum comes to the host.
static double add_up_on_device(trellis::TaskGraph& graph, int n) {
  DeviceValues x("x", n);
  trellis::parallel_for(
      "fill", trellis::ResourcePolicy(graph, n, trellis::write(x), trellis::on<Device>),
      KOKKOS_LAMBDA(int i) { x(i) = i; });
  trellis::Future<double> const sum = trellis::parallel_reduce(
      "sum", trellis::ResourcePolicy(graph, n, trellis::read(x), trellis::on<Device>),
      KOKKOS_LAMBDA(int i, double& s) { s += x(i); });
  return sum.get();
}
