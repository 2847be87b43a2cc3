// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Heat flows along a rod that is cut into tiles: one task for each tile and step. A task declares
// which part of the old temperatures it reads and which part of the new ones it writes. From that
// Trellis knows which tasks may run at the same time. Prints the heat at the end, which must be the
// same as at the beginning.
#include <Trellis.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

int main(int argc, char** argv) {
  Kokkos::ScopeGuard kokkos(argc, argv);
  constexpr int cells = 10000;
  constexpr int tile = 1000;
  constexpr int steps = 50;

  trellis::TaskGraph graph;
  Kokkos::View<double*> old("old", cells);
  Kokkos::View<double*> next("next", cells);
  trellis::parallel_for(
      "begin", trellis::ResourcePolicy(graph, cells, trellis::write(old)),
      KOKKOS_LAMBDA(int i) { old(i) = i < cells / 2 ? 1 : 0; });

  for (int step = 0; step < steps; ++step) {
    for (int begin = 0; begin < cells; begin += tile) {
      int const end = begin + tile;
      auto const around =
          Kokkos::subview(old, std::pair(std::max(begin - 1, 0), std::min(end + 1, cells)));
      auto const mine = Kokkos::subview(next, std::pair(begin, end));
      trellis::parallel_for(
          "flow",
          trellis::ResourcePolicy(graph, Kokkos::RangePolicy<>(begin, end), trellis::read(around),
                                  trellis::write(mine)),
          KOKKOS_LAMBDA(int i) {
            double const left = i > 0 ? old(i - 1) : old(i);
            double const right = i < cells - 1 ? old(i + 1) : old(i);
            next(i) = old(i) + 0.25 * (left - 2 * old(i) + right);
          });
    }
    std::swap(old, next);
  }

  auto heat = trellis::parallel_reduce(
      "heat", trellis::ResourcePolicy(graph, cells, trellis::read(old)),
      KOKKOS_LAMBDA(int i, double& sum) { sum += old(i); });
  double const found = heat.get();  // waits for the tasks that it depends on
  std::printf("the heat is %g\n", found);
  return std::abs(found - cells / 2) < 1e-6 ? 0 : 1;
}
