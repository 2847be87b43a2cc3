// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_HEAT_TRELLISSOLVER_HPP
#define TRELLIS_EXAMPLE_HEAT_TRELLISSOLVER_HPP

#include <Trellis.hpp>
#include <string>
#include <vector>

#include "Stencil.hpp"
#include "Tiles.hpp"

/// This header has the solver as annotated tasks: a plain loop over steps and tiles. Nothing in it
/// specifies what may overlap. A tile's next step runs as soon as the tiles around it are complete,
/// often while its cells are still in cache.
namespace heat {

/// Returns what a step of this tile touches: its own cells and the layer around them before, its
/// own cells after; no corners. The task also has the given properties.
template <int Dim, class... Properties>
auto tile_policy(trellis::TaskGraph& graph, Field<Dim> const& before, Field<Dim> const& after,
                 Box<Dim> const& box, Properties const&... properties) {
  using trellis::read;
  if constexpr (Dim == 2)
    return trellis::ResourcePolicy(
        graph, policy_over(box), read(cells_of<2>(before, box)),
        read(halo_before<2>(before, box, 0)), read(halo_behind<2>(before, box, 0)),
        read(halo_before<2>(before, box, 1)), read(halo_behind<2>(before, box, 1)),
        trellis::write(cells_of<2>(after, box)), properties...);
  else
    return trellis::ResourcePolicy(
        graph, policy_over(box), read(cells_of<3>(before, box)),
        read(halo_before<3>(before, box, 0)), read(halo_behind<3>(before, box, 0)),
        read(halo_before<3>(before, box, 1)), read(halo_behind<3>(before, box, 1)),
        read(halo_before<3>(before, box, 2)), read(halo_behind<3>(before, box, 2)),
        trellis::write(cells_of<3>(after, box)), properties...);
}

/// Adds up one row of the sums that the tiles left behind.
struct AddUp {
  Kokkos::View<double*, Space> sums;
  KOKKOS_FUNCTION void operator()(int tile, double& sum) const { sum += sums(tile); }
};

/// Takes all steps in `graph`, waits, and returns the sums of squared changes, one per residual.
/// Every residual has its own row of partial sums, one per tile, so no step waits for a residual.
template <int Dim>
std::vector<double> solve_trellis(trellis::TaskGraph& graph, Problem const& problem,
                                  std::vector<Box<Dim>> const& tiles, DoubleBuffer<Dim> const& u) {
  int const count = static_cast<int>(tiles.size());
  Kokkos::View<double**, Kokkos::LayoutRight, Space> partial("partial sums", problem.residuals(),
                                                             count);
  std::vector<trellis::Future<double>> sums;

  for (int step = 0; step < problem.steps; ++step) {
    std::string const label = "step " + std::to_string(step + 1);
    auto const before = u.before(step), after = u.after(step);
    int const residual = problem.residual_of(step);
    for (int t = 0; t < count; ++t) {
      Step<Dim> const body{before, after, tiles[t], problem.ratio()};
      if (residual < 0) {
        trellis::parallel_for(label, tile_policy<Dim>(graph, before, after, tiles[t]), body);
      } else {
        trellis::parallel_reduce(label, tile_policy<Dim>(graph, before, after, tiles[t]), body,
                                 Kokkos::subview(partial, residual, t));
      }
    }
    if (residual >= 0) {
      auto const row = Kokkos::subview(partial, residual, Kokkos::ALL);
      sums.push_back(trellis::parallel_reduce(
          "residual", trellis::ResourcePolicy(graph, count, trellis::read(row)), AddUp{row}));
    }
  }
  graph.wait();

  std::vector<double> result;
  for (auto& sum : sums) result.push_back(sum.get());
  return result;
}

}  // namespace heat

#endif
