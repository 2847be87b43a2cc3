// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What would two or four devices gain? A stencil in bands, one for each device, runs on devices in
// software that keep virtual time. The values are really computed. The times are those of the
// machine that `machine()` describes. On a small grid the devices wait for the one host thread that
// launches all this.
//
// Look at: `machine` and `step`. The halo rows are copied while the inner rows are computed; the
// program has no event, stream or barrier.
#include <Trellis_Simulated.hpp>
#include <Trellis.hpp>

#include <Kokkos_Core.hpp>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace {

using trellis::read, trellis::write, trellis::ResourcePolicy;
using Rows = Kokkos::View<double**, Kokkos::LayoutRight, trellis::SimulatedSpace>;
using Range = Kokkos::MDRangePolicy<trellis::Simulated::kernel_space, Kokkos::Rank<2>>;
using Interval = std::pair<int, int>;

/// Times in nanoseconds. A unit of work is one cell.
trellis::SimulatedDeviceOptions machine() {
  return {.virtual_time = true,
          .launch_latency = 2'500,
          .start_overhead = 1'500,
          .units_per_ns = 10,
          .index_units = 1,
          .concurrent_kernels = 1,  // each fills the device
          .link_bytes_per_ns = 25,
          .link_latency = 6'000,
          .log = false};
}

/// A device's rows, with one more on each side.
struct Band {
  Rows before, after;
  int rows;
};

auto row(Rows const& field, int i) {
  return Kokkos::subview(field, i, Kokkos::ALL());
}

/// Computes the cells of some rows of a band.
void relax(trellis::TaskGraph& graph, Band const& band, int device, Interval rows) {
  Rows const in = band.before, out = band.after;
  auto const needed = Kokkos::subview(in, Interval(rows.first - 1, rows.second + 1), Kokkos::ALL());
  auto const made = Kokkos::subview(out, rows, Kokkos::ALL());
  int const columns = static_cast<int>(in.extent(1));
  trellis::parallel_for(
      "relax",
      ResourcePolicy(graph, Range({rows.first, 1}, {rows.second, columns - 1}), read(needed),
                     write(made), trellis::on<trellis::Simulated>, trellis::device(device)),
      KOKKOS_LAMBDA(int i, int j) {
        out(i, j) = 0.25 * (in(i - 1, j) + in(i + 1, j) + in(i, j - 1) + in(i, j + 1));
      });
}

void step(trellis::TaskGraph& graph, std::vector<Band>& bands) {
  int const count = static_cast<int>(bands.size());
  for (int k = 0; k < count; ++k) {  // first the rows that others need
    relax(graph, bands[k], k, {1, 2});
    relax(graph, bands[k], k, {bands[k].rows, bands[k].rows + 1});
  }
  for (int k = 0; k + 1 < count; ++k) {
    Band const &upper = bands[k], &lower = bands[k + 1];
    trellis::deep_copy("down", graph, row(lower.after, 0), row(upper.after, upper.rows));
    trellis::deep_copy("up", graph, row(upper.after, upper.rows + 1), row(lower.after, 1));
  }
  for (int k = 0; k < count; ++k) {
    int const middle = 1 + bands[k].rows / 2;
    relax(graph, bands[k], k, {2, middle});
    relax(graph, bands[k], k, {middle, bands[k].rows});
  }
  for (Band& band : bands) std::swap(band.before, band.after);
}

struct Forecast {
  double microseconds;  ///< for a step
  double utilisation;
  double sum;  ///< of all cells
};

Forecast run(int cells, int devices, int steps) {
  trellis::Simulated::configure(machine(), devices);
  Forecast forecast{};
  std::vector<Band> bands;
  trellis::TaskGraphOptions options;
  options.workers = 1;
  trellis::TaskGraph graph(options);
  for (int k = 0; k < devices; ++k) {
    int const rows = cells / devices;
    auto const make = [&] {
      return Rows(Kokkos::view_alloc("rows", trellis::SimulatedSpace(k)),
                  static_cast<std::size_t>(rows + 2), static_cast<std::size_t>(cells + 2));
    };
    bands.push_back({make(), make(), rows});
  }
  // The upper edge is hot.
  for (Rows const& field : {bands[0].before, bands[0].after})
    trellis::deep_copy(graph, row(field, 0), 1.0);
  graph.wait();
  std::int64_t const start = trellis::Simulated::clock().now();
  for (int k = 0; k < steps; ++k) step(graph, bands);
  graph.wait();
  forecast.microseconds =
      static_cast<double>(trellis::Simulated::clock().now() - start) / 1000. / steps;
  for (int k = 0; k < devices; ++k)
    forecast.utilisation += trellis::Simulated::device(k).utilisation() / devices;
  for (Band const& band : bands) {
    auto const host = Kokkos::create_mirror_view(band.before);
    trellis::deep_copy(graph, host, band.before).get();
    for (int i = 1; i <= band.rows; ++i)
      for (int j = 1; j <= cells; ++j) forecast.sum += host(i, j);
  }
  return forecast;
}

}  // namespace

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  int const steps = 10;
  bool agree = true;
  std::printf("%6s %8s %12s %8s %12s\n", "cells", "devices", "us per step", "speedup", "busy");
  for (int const cells : {256, 1024, 2048}) {
    Forecast const one = run(cells, 1, steps);
    for (int const devices : {1, 2, 4}) {
      Forecast const now = devices == 1 ? one : run(cells, devices, steps);
      agree = agree && now.sum == one.sum;
      std::printf("%6d %8d %12.1f %8.2f %11.0f%%\n", cells, devices, now.microseconds,
                  one.microseconds / now.microseconds, 100 * now.utilisation);
    }
  }
  std::printf("All agree with one device: %s\n", agree ? "yes" : "no");
  return agree ? 0 : 1;
}
