// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef HYDRO_ADVECTION_HPP
#define HYDRO_ADVECTION_HPP

#include "Fields.hpp"

#include <cmath>

// The kernels that map everything back to the grid: a sweep in each direction, of second order
// after van Leer. Each does one row. `x`: in the direction of the columns, else of the rows. The
// sweep in that direction is the first of its step, or the second.
namespace hydro {

/// The entry `k` further on in the direction of the sweep.
template <bool x>
KOKKOS_INLINE_FUNCTION double along(Field const& field, int r, int c, int k) {
  return x ? field(r, c + k) : field(r + k, c);
}

/// What cells hold before the sweep and after it.
template <bool x>
struct Volumes {
  bool is_first;
  double volume;
  Field flux_x, flux_y;
  KOKKOS_INLINE_FUNCTION double change_x(int r, int c) const {
    return flux_x(r, c + 1) - flux_x(r, c);
  }
  KOKKOS_INLINE_FUNCTION double change_y(int r, int c) const {
    return flux_y(r + 1, c) - flux_y(r, c);
  }
  KOKKOS_INLINE_FUNCTION double after(int r, int c) const {
    if (!is_first) return volume;
    return volume + (x ? change_y(r, c) : change_x(r, c));
  }
  KOKKOS_INLINE_FUNCTION double before(int r, int c) const {
    return after(r, c) + (x ? change_x(r, c) : change_y(r, c));
  }
};

/// The slope that makes no new extremum, from the differences upwind and downwind.
KOKKOS_INLINE_FUNCTION double limited(double upwind, double downwind, double sigma) {
  if (upwind * downwind <= 0) return 0;
  double const a = std::fabs(upwind);
  double const b = std::fabs(downwind);
  double const third = ((1 + sigma) * a + (2 - sigma) * b) / 6;
  return (1 - sigma) * std::copysign(std::fmin(std::fmin(a, b), third), downwind);
}

/// Mass and energy through the faces. `flux`: of the volume, in the direction of the sweep.
template <bool x>
struct CellFluxes {
  Grid grid;
  Volumes<x> volumes;
  Field density, energy, flux, mass_flux, energy_flux;
  KOKKOS_FUNCTION void operator()(int r) const {
    int const columns = grid.end() + (x ? 1 : 0);
    for (int c = grid.halo; c < columns; ++c) {
      bool const forward = flux(r, c) > 0;
      int const donor = forward ? -1 : 0;
      int const upwind = forward ? -2 : 1;
      int const downwind = forward ? 0 : -1;
      double const rho = along<x>(density, r, c, donor);
      double const before = volumes.before(r + (x ? 0 : donor), c + (x ? donor : 0));
      double const slope =
          limited(rho - along<x>(density, r, c, upwind), along<x>(density, r, c, downwind) - rho,
                  std::fabs(flux(r, c)) / before);
      double const mass = flux(r, c) * (rho + slope);
      double const e = along<x>(energy, r, c, donor);
      double const e_slope =
          limited(e - along<x>(energy, r, c, upwind), along<x>(energy, r, c, downwind) - e,
                  std::fabs(mass) / (rho * before));
      mass_flux(r, c) = mass;
      energy_flux(r, c) = mass * (e + e_slope);
    }
  }
};

template <bool x>
struct CellUpdate {
  Grid grid;
  Volumes<x> volumes;
  Field flux, mass_flux, energy_flux, density, energy;
  KOKKOS_FUNCTION void operator()(int r) const {
    auto const loss = [&](Field const& of, int c) { return along<x>(of, r, c, 1) - of(r, c); };
    for (int c = grid.halo; c < grid.end(); ++c) {
      double const volume = volumes.before(r, c);
      double const mass = density(r, c) * volume;
      double const mass_after = mass - loss(mass_flux, c);
      energy(r, c) = (energy(r, c) * mass - loss(energy_flux, c)) / mass_after;
      density(r, c) = mass_after / (volume - loss(flux, c));
    }
  }
};

/// Masses around nodes, and what flows between them.
template <bool x>
struct NodeMasses {
  Grid grid;
  Volumes<x> volumes;
  Field density, mass_flux, node_flux, before, after;
  KOKKOS_INLINE_FUNCTION double flow(int r, int c) const {
    if constexpr (x)
      return 0.25 * (mass_flux(r - 1, c) + mass_flux(r, c) + mass_flux(r - 1, c + 1) +
                     mass_flux(r, c + 1));
    else
      return 0.25 * (mass_flux(r, c - 1) + mass_flux(r, c) + mass_flux(r + 1, c - 1) +
                     mass_flux(r + 1, c));
  }
  KOKKOS_FUNCTION void operator()(int r) const {
    if (r < grid.halo - (x ? 0 : 1) || r > grid.end() + (x ? 0 : 1)) return;
    auto const mass = [&](int row, int column) {
      return density(row, column) * volumes.after(row, column);
    };
    int const more = x ? 1 : 0;
    for (int c = grid.halo - more; c <= grid.end() + more; ++c) {
      node_flux(r, c) = flow(r, c);
      after(r, c) = 0.25 * (mass(r - 1, c - 1) + mass(r - 1, c) + mass(r, c) + mass(r, c - 1));
      before(r, c) = after(r, c) - (x ? flow(r, c - 1) : flow(r - 1, c)) + flow(r, c);
    }
  }
};

template <bool x>
struct MomentumFlux {
  Grid grid;
  Field node_flux, before, u, v, u_flux, v_flux;
  KOKKOS_INLINE_FUNCTION double carried(Field const& velocity, int r, int c) const {
    bool const back = node_flux(r, c) < 0;
    int const donor = back ? 1 : 0;
    double const own = along<x>(velocity, r, c, donor);
    double const sigma = std::fabs(node_flux(r, c)) / along<x>(before, r, c, donor);
    double const slope = limited(own - along<x>(velocity, r, c, back ? 2 : -1),
                                 along<x>(velocity, r, c, back ? 0 : 1) - own, sigma);
    return (own + slope) * node_flux(r, c);
  }
  KOKKOS_FUNCTION void operator()(int r) const {
    if (r < grid.halo - (x ? 0 : 1) || r > grid.end()) return;
    for (int c = grid.halo - (x ? 1 : 0); c <= grid.end(); ++c) {
      u_flux(r, c) = carried(u, r, c);
      v_flux(r, c) = carried(v, r, c);
    }
  }
};

template <bool x>
struct VelocityUpdate {
  Grid grid;
  Field before, after, u_flux, v_flux, u, v;
  KOKKOS_FUNCTION void operator()(int r) const {
    for (int c = grid.halo; c <= grid.end(); ++c) {
      auto const update = [&](Field const& velocity, Field const& flux) {
        velocity(r, c) =
            (velocity(r, c) * before(r, c) + along<x>(flux, r, c, -1) - flux(r, c)) / after(r, c);
      };
      update(u, u_flux);
      update(v, v_flux);
    }
  }
};

}  // namespace hydro

#endif
