// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef HYDRO_STEP_HPP
#define HYDRO_STEP_HPP

#include "Advection.hpp"
#include "Halo.hpp"
#include "Lagrange.hpp"

#include <algorithm>
#include <initializer_list>

namespace hydro {

/// Of which rows a kernel does its part: those of the inner cells, and beyond the first and the
/// last of these.
struct Rows {
  int below = 0;
  int above = 0;
};
inline constexpr Rows of_cells{0, 0};
inline constexpr Rows of_nodes{0, 1};
inline constexpr Rows of_all{Grid::halo, Grid::halo + 1};

/// What a kernel touches of a field, for the rows that it does.
struct Touch {
  Field field;
  bool writes = false;
  int below = 0;  ///< rows that it reads, too
  int above = 0;
  int above_first = 0;  ///< the same, where it does the first rows of all
};
inline Touch in(Field const& field, int below = 0, int above = 0) {
  return {field, false, below, above};
}
/// In the rows that it does; of some of them it leaves columns as they are.
inline Touch out(Field const& field) {
  return {field, true};
}

/// Brings one step before whoever runs it: `run(name, rows, kernel, touches)` for each loop, and
/// `run.choose_step(grid, fields)` where all rows have said how long it may be. `x_first`: which
/// direction the advection begins with; the directions alternate.
template <class Run>
class Step {
 public:
  Step(Run& run, Grid const& grid, Fields const& fields) : m_run(run), m_grid(grid), f(fields) {}

  void submit(bool x_first) const {
    choose_time_step();
    lagrange();
    if (x_first) {
      advect<true>(true);
      advect<false>(false);
    } else {
      advect<false>(true);
      advect<true>(false);
    }
    m_run("reset", of_nodes,
          Reset{m_grid, f.density0, f.energy0, f.x_velocity0, f.y_velocity0, f.density1, f.energy1,
                f.x_velocity1, f.y_velocity1},
          {in(f.density1), in(f.energy1), in(f.x_velocity1), in(f.y_velocity1), out(f.density0),
           out(f.energy0), out(f.x_velocity0), out(f.y_velocity0)});
  }

 private:
  using Touches = std::initializer_list<Touch>;

  template <int count>
  void halo(char const* name, Mirrored const (&of)[count]) const {
    HaloUpdate<count> kernel{m_grid, {}};
    std::copy(std::begin(of), std::end(of), std::begin(kernel.of));
    Touch touches[count];
    for (int k = 0; k < count; ++k) {
      touches[k] = out(of[k].field);
      // The inner rows that the halo below mirrors.
      touches[k].above_first = of[k].on_y_faces ? 1 : 0;
    }
    m_run(name, of_all, kernel, touches);
  }

  void choose_time_step() const {
    m_run("ideal gas", of_cells, IdealGas{m_grid, f.density0, f.energy0, f.pressure, f.sound_speed},
          {in(f.density0), in(f.energy0), out(f.pressure), out(f.sound_speed)});
    halo("halo 0", {in_cells(f.pressure), in_cells(f.energy0), in_cells(f.density0),
                    x_vector_in_nodes(f.x_velocity0), y_vector_in_nodes(f.y_velocity0)});
    m_run("viscosity", of_cells,
          Viscosity{m_grid, f.density0, f.pressure, f.x_velocity0, f.y_velocity0, f.viscosity},
          {in(f.density0), in(f.pressure, 1, 1), in(f.x_velocity0, 0, 1), in(f.y_velocity0, 0, 1),
           out(f.viscosity)});
    halo("halo of viscosity", {in_cells(f.viscosity)});
    m_run("least step", of_cells,
          LeastStep{m_grid, f.density0, f.viscosity, f.sound_speed, f.x_velocity0, f.y_velocity0,
                    f.least_step},
          {in(f.density0), in(f.viscosity), in(f.sound_speed), in(f.x_velocity0, 0, 1),
           in(f.y_velocity0, 0, 1), out(f.least_step)});
    m_run.choose_step(m_grid, f);
  }

  void pdv(char const* name, bool predicts) const {
    Touches const predicting = {in(f.density0),  in(f.energy0),           in(f.pressure),
                                in(f.viscosity), in(f.x_velocity0, 0, 1), in(f.y_velocity0, 0, 1),
                                out(f.density1), out(f.energy1)};
    Touches const correcting = {in(f.density0),          in(f.energy0),
                                in(f.pressure),          in(f.viscosity),
                                in(f.x_velocity0, 0, 1), in(f.y_velocity0, 0, 1),
                                in(f.x_velocity1, 0, 1), in(f.y_velocity1, 0, 1),
                                out(f.density1),         out(f.energy1)};
    m_run.with_time_step(
        name, of_cells,
        PdV{m_grid, predicts, f.density0, f.energy0, f.pressure, f.viscosity, f.x_velocity0,
            f.y_velocity0, f.x_velocity1, f.y_velocity1, f.density1, f.energy1, f.time_step},
        predicts ? predicting : correcting);
  }

  void lagrange() const {
    pdv("predict", true);
    m_run("ideal gas", of_cells, IdealGas{m_grid, f.density1, f.energy1, f.pressure, f.sound_speed},
          {in(f.density1), in(f.energy1), out(f.pressure), out(f.sound_speed)});
    halo("halo of pressure", {in_cells(f.pressure)});
    m_run("revert", of_cells, Revert{m_grid, f.density0, f.energy0, f.density1, f.energy1},
          {in(f.density0), in(f.energy0), out(f.density1), out(f.energy1)});
    m_run.with_time_step(
        "accelerate", of_nodes,
        Accelerate{m_grid, f.density0, f.pressure, f.viscosity, f.x_velocity0, f.y_velocity0,
                   f.x_velocity1, f.y_velocity1, f.time_step},
        {in(f.density0, 1), in(f.pressure, 1), in(f.viscosity, 1), in(f.x_velocity0),
         in(f.y_velocity0), out(f.x_velocity1), out(f.y_velocity1)});
    pdv("correct", false);
    m_run.with_time_step("volume flux", of_nodes,
                         VolumeFlux{m_grid, f.x_velocity0, f.y_velocity0, f.x_velocity1,
                                    f.y_velocity1, f.volume_flux_x, f.volume_flux_y, f.time_step},
                         {in(f.x_velocity0, 0, 1), in(f.y_velocity0), in(f.x_velocity1, 0, 1),
                          in(f.y_velocity1), out(f.volume_flux_x), out(f.volume_flux_y)});
    halo("halo 1", {in_cells(f.density1), in_cells(f.energy1), on_left_faces(f.volume_flux_x),
                    on_lower_faces(f.volume_flux_y)});
  }

  template <bool x>
  void advect(bool is_first) const {
    Volumes<x> const volumes{is_first, m_grid.volume(), f.volume_flux_x, f.volume_flux_y};
    Field const& flux = x ? f.volume_flux_x : f.volume_flux_y;
    Field const& mass_flux = x ? f.mass_flux_x : f.mass_flux_y;
    int const back = x ? 0 : 1;  // in the direction of the rows
    int const back2 = x ? 0 : 2;
    m_run("cell fluxes", x ? of_cells : of_nodes,
          CellFluxes<x>{m_grid, volumes, f.density1, f.energy1, flux, mass_flux, f.energy_flux},
          {in(f.density1, back2, back), in(f.energy1, back2, back), in(f.volume_flux_x, back),
           in(f.volume_flux_y, back, 1), out(mass_flux), out(f.energy_flux)});
    m_run("cell update", of_cells,
          CellUpdate<x>{m_grid, volumes, flux, mass_flux, f.energy_flux, f.density1, f.energy1},
          {in(f.volume_flux_x), in(f.volume_flux_y, 0, 1), in(mass_flux, 0, back),
           in(f.energy_flux, 0, back), out(f.density1), out(f.energy1)});
    halo("halo 2", {in_cells(f.density1), in_cells(f.energy1), x_vector_in_nodes(f.x_velocity1),
                    y_vector_in_nodes(f.y_velocity1),
                    x ? on_left_faces(mass_flux) : on_lower_faces(mass_flux)});
    m_run("node masses", of_all,
          NodeMasses<x>{m_grid, volumes, f.density1, mass_flux, f.node_flux, f.node_mass_before,
                        f.node_mass_after},
          {in(f.density1, 1), in(f.volume_flux_x, 1), in(f.volume_flux_y, 1, 1),
           in(mass_flux, 1, back), out(f.node_flux), out(f.node_mass_before),
           out(f.node_mass_after)});
    m_run("momentum fluxes", of_all,
          MomentumFlux<x>{m_grid, f.node_flux, f.node_mass_before, f.x_velocity1, f.y_velocity1,
                          f.x_momentum_flux, f.y_momentum_flux},
          {in(f.node_flux), in(f.node_mass_before, 0, back), in(f.x_velocity1, back, back2),
           in(f.y_velocity1, back, back2), out(f.x_momentum_flux), out(f.y_momentum_flux)});
    m_run("velocity update", of_nodes,
          VelocityUpdate<x>{m_grid, f.node_mass_before, f.node_mass_after, f.x_momentum_flux,
                            f.y_momentum_flux, f.x_velocity1, f.y_velocity1},
          {in(f.node_mass_before), in(f.node_mass_after), in(f.x_momentum_flux, back),
           in(f.y_momentum_flux, back), out(f.x_velocity1), out(f.y_velocity1)});
  }

  Run& m_run;
  Grid const m_grid;
  Fields const& f;
};

/// The next step, from the least one of all rows.
struct ChooseStep {
  Grid grid;
  Field least;
  Scalar time_step;
  double operator()() const {
    double step = std::min(1.5 * time_step(), longest_step);
    for (int r = grid.halo; r < grid.end(); ++r) step = std::min(step, least(r, 0));
    return time_step() = step;
  }
};

}  // namespace hydro

#endif
