// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_ADAPTIVE_MESH_KERNELS_HPP
#define TRELLIS_EXAMPLE_ADAPTIVE_MESH_KERNELS_HPP

#include <Trellis.hpp>

#include <Kokkos_Core.hpp>

/// This header has the kernel that sweeps and enclave tasks share: an upwind step of advection in a
/// wind that turns around the middle of the square.
namespace adaptive_mesh {

using Host = Kokkos::DefaultHostExecutionSpace;
using Range = Kokkos::RangePolicy<Host>;
using Cells = Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace>;

/// Computes the patch a step later from a patch with one ghost cell around it. Row i has the same y
/// in both.
struct Advect {
  int cells;
  double x, y;       ///< of the patch's corner
  double spacing;    ///< of its cells
  double time_step;  ///< by which the finest cells are stable: the wind is at most 1

  template <class In>
  KOKKOS_FUNCTION double at(int i, int j, In const& in) const {
    double const wind_x = 0.5 - (y + (i + 0.5) * spacing);
    double const wind_y = x + (j + 0.5) * spacing - 0.5;
    double const centre = in(i + 1, j + 1);
    double const along_x = wind_x > 0 ? centre - in(i + 1, j) : in(i + 1, j + 2) - centre;
    double const along_y = wind_y > 0 ? centre - in(i, j + 1) : in(i + 2, j + 1) - centre;
    return centre - time_step / spacing * (wind_x * along_x + wind_y * along_y);
  }
  KOKKOS_FUNCTION void operator()(int index, trellis::read_view<Cells> const& in,
                                  Cells const& out) const {
    int const i = index / cells, j = index % cells;
    out(i, j) = at(i, j, in);
  }
};

}  // namespace adaptive_mesh

#endif
