// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef HYDRO_FIELDS_HPP
#define HYDRO_FIELDS_HPP

#include <Kokkos_Core.hpp>

#include <string>

namespace hydro {

#ifdef KOKKOS_ENABLE_SERIAL
using TaskSpace = Kokkos::Serial;
#else
using TaskSpace = Kokkos::DefaultHostExecutionSpace;
#endif
/// A row of the grid is a row of the array. Cells and nodes have two more on each side, the halo.
using Field = Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace>;
using Scalar = Kokkos::View<double, Kokkos::HostSpace>;

/// Cells of equal size. The inner ones are in the rows and columns from `halo` to before
/// `halo + n`; node (r, c) is the lower left corner of cell (r, c), so there is one more in each
/// direction.
struct Grid {
  static constexpr int halo = 2;
  int n;  ///< inner cells in each direction
  double dx;

  [[nodiscard]] KOKKOS_FUNCTION int end() const { return halo + n; }
  [[nodiscard]] KOKKOS_FUNCTION int all() const { return n + 2 * halo + 1; }
  [[nodiscard]] KOKKOS_FUNCTION double volume() const { return dx * dx; }
};

/// What the kernels of a step read and write. Names with 0 are of the beginning of the step, those
/// with 1 of its end.
struct Fields {
  explicit Fields(Grid const& grid);

  // In cells.
  Field density0, density1, energy0, energy1, pressure, viscosity, sound_speed;
  // In nodes.
  Field x_velocity0, x_velocity1, y_velocity0, y_velocity1;
  // Through the left (x) and lower (y) faces of cells.
  Field volume_flux_x, volume_flux_y, mass_flux_x, mass_flux_y;
  // Of the advection.
  Field energy_flux, node_flux, node_mass_before, node_mass_after, x_momentum_flux, y_momentum_flux;
  Field least_step;  ///< one for each row
  Scalar time_step;
};

inline Fields::Fields(Grid const& grid)
    : least_step("least step", grid.all(), 1), time_step("time step") {
  struct Named {
    Field* field;
    char const* name;
  };
  for (Named const each : {Named{&density0, "density0"},
                           {&density1, "density1"},
                           {&energy0, "energy0"},
                           {&energy1, "energy1"},
                           {&pressure, "pressure"},
                           {&viscosity, "viscosity"},
                           {&sound_speed, "sound speed"},
                           {&x_velocity0, "x velocity0"},
                           {&x_velocity1, "x velocity1"},
                           {&y_velocity0, "y velocity0"},
                           {&y_velocity1, "y velocity1"},
                           {&volume_flux_x, "volume flux x"},
                           {&volume_flux_y, "volume flux y"},
                           {&mass_flux_x, "mass flux x"},
                           {&mass_flux_y, "mass flux y"},
                           {&energy_flux, "energy flux"},
                           {&node_flux, "node flux"},
                           {&node_mass_before, "node mass before"},
                           {&node_mass_after, "node mass after"},
                           {&x_momentum_flux, "x momentum flux"},
                           {&y_momentum_flux, "y momentum flux"}})
    *each.field = Field(std::string(each.name), grid.all(), grid.all());
}

/// The first longest step; further ones grow by half at most.
inline constexpr double longest_step = 0.04;

}  // namespace hydro

#endif
