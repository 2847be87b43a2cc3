// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef HYDRO_LAGRANGE_HPP
#define HYDRO_LAGRANGE_HPP

#include "Fields.hpp"

#include <cmath>

// The kernels that move the grid with the fluid. Each does one row. The gas is ideal.
namespace hydro {

/// Pressure and speed of sound.
struct IdealGas {
  Grid grid;
  Field density, energy, pressure, sound_speed;
  KOKKOS_FUNCTION void operator()(int r) const {
    constexpr double gamma = 1.4;
    for (int c = grid.halo; c < grid.end(); ++c) {
      double const v = 1 / density(r, c);
      double const p = (gamma - 1) * density(r, c) * energy(r, c);
      double const by_energy = (gamma - 1) * density(r, c);
      double const by_volume = -density(r, c) * p;
      pressure(r, c) = p;
      sound_speed(r, c) = std::sqrt(v * v * (p * by_energy - by_volume));
    }
  }
};

/// Artificial viscosity, where the fluid is compressed.
struct Viscosity {
  Grid grid;
  Field density, pressure, u, v, viscosity;
  KOKKOS_FUNCTION void operator()(int r) const {
    double const h = grid.dx;
    for (int c = grid.halo; c < grid.end(); ++c) {
      double const du = (u(r, c + 1) + u(r + 1, c + 1)) - (u(r, c) + u(r + 1, c));
      double const dv = (v(r + 1, c) + v(r + 1, c + 1)) - (v(r, c) + v(r, c + 1));
      double const strain = 0.5 * (u(r + 1, c) + u(r + 1, c + 1) - u(r, c) - u(r, c + 1)) / h +
                            0.5 * (v(r, c + 1) + v(r + 1, c + 1) - v(r, c) - v(r + 1, c)) / h;
      double px = (pressure(r, c + 1) - pressure(r, c - 1)) / (2 * h);
      double py = (pressure(r + 1, c) - pressure(r - 1, c)) / (2 * h);
      double const px2 = px * px;
      double const py2 = py * py;
      double const limiter = (0.5 * du / h * px2 + 0.5 * dv / h * py2 + strain * px * py) /
                             std::fmax(px2 + py2, 1e-16);
      viscosity(r, c) = 0;
      if (limiter > 0 || h * du + h * dv >= 0) continue;
      px = std::copysign(std::fmax(1e-16, std::fabs(px)), px);
      py = std::copysign(std::fmax(1e-16, std::fabs(py)), py);
      double const gradient = std::sqrt(px * px + py * py);
      double const length = std::fmin(std::fabs(h * gradient / px), std::fabs(h * gradient / py));
      viscosity(r, c) = 2 * density(r, c) * length * length * limiter * limiter;
    }
  }
};

/// The longest step that the cells of the row allow.
struct LeastStep {
  Grid grid;
  Field density, viscosity, sound_speed, u, v, least;
  KOKKOS_FUNCTION void operator()(int r) const {
    constexpr double small = 1e-16;
    constexpr double big = 1e21;
    double const h = grid.dx;
    double step = big;
    for (int c = grid.halo; c < grid.end(); ++c) {
      double const ss = sound_speed(r, c);
      double const cc = std::fmax(std::sqrt(ss * ss + 2 * viscosity(r, c) / density(r, c)), small);
      double const left = (u(r, c) + u(r + 1, c)) * h;
      double const right = (u(r, c + 1) + u(r + 1, c + 1)) * h;
      double const below = (v(r, c) + v(r, c + 1)) * h;
      double const above = (v(r + 1, c) + v(r + 1, c + 1)) * h;
      double const least_flux = small * grid.volume();
      double const across = std::fmax(std::fmax(std::fabs(left), std::fabs(right)), least_flux);
      double const along = std::fmax(std::fmax(std::fabs(below), std::fabs(above)), least_flux);
      double const divergence = (right - left + above - below) / (2 * grid.volume());
      step = std::fmin(step, 0.7 * h / cc);
      step = std::fmin(step, 0.5 * 2 * grid.volume() / across);
      step = std::fmin(step, 0.5 * 2 * grid.volume() / along);
      if (divergence < -small) step = std::fmin(step, -0.7 / divergence);
    }
    least(r, 0) = step;
  }
};

/// Work done by pressure: half a step with the velocity of its beginning (`predicts`), or a whole
/// one with the mean velocity.
struct PdV {
  Grid grid;
  bool predicts;
  Field density0, energy0, pressure, viscosity, u0, v0, u1, v1, density1, energy1;
  Scalar time_step;
  KOKKOS_FUNCTION void operator()(int r) const {
    Field const& u = predicts ? u0 : u1;
    Field const& v = predicts ? v0 : v1;
    double const dt = (predicts ? 0.5 : 1.0) * time_step();
    double const scale = 0.25 * dt * grid.dx;
    double const volume = grid.volume();
    for (int c = grid.halo; c < grid.end(); ++c) {
      double const left = scale * (u0(r, c) + u0(r + 1, c) + u(r, c) + u(r + 1, c));
      double const right =
          scale * (u0(r, c + 1) + u0(r + 1, c + 1) + u(r, c + 1) + u(r + 1, c + 1));
      double const below = scale * (v0(r, c) + v0(r, c + 1) + v(r, c) + v(r, c + 1));
      double const above =
          scale * (v0(r + 1, c) + v0(r + 1, c + 1) + v(r + 1, c) + v(r + 1, c + 1));
      double const total = right - left + above - below;
      energy1(r, c) =
          energy0(r, c) - (pressure(r, c) + viscosity(r, c)) / density0(r, c) * total / volume;
      density1(r, c) = density0(r, c) * (volume / (volume + total));
    }
  }
};

struct Revert {
  Grid grid;
  Field density0, energy0, density1, energy1;
  KOKKOS_FUNCTION void operator()(int r) const {
    for (int c = grid.halo; c < grid.end(); ++c) {
      density1(r, c) = density0(r, c);
      energy1(r, c) = energy0(r, c);
    }
  }
};

/// Velocities of nodes by the gradients of pressure and viscosity.
struct Accelerate {
  Grid grid;
  Field density, pressure, viscosity, u0, v0, u1, v1;
  Scalar time_step;
  KOKKOS_FUNCTION void operator()(int r) const {
    for (int c = grid.halo; c <= grid.end(); ++c) {
      double const mass =
          0.25 * grid.volume() *
          (density(r - 1, c - 1) + density(r - 1, c) + density(r, c) + density(r, c - 1));
      double const scale = 0.5 * time_step() / mass * grid.dx;
      auto const by = [&](Field const& p, double& du, double& dv) {
        du += scale * (p(r, c) - p(r, c - 1) + p(r - 1, c) - p(r - 1, c - 1));
        dv += scale * (p(r, c) - p(r - 1, c) + p(r, c - 1) - p(r - 1, c - 1));
      };
      double du = 0;
      double dv = 0;
      by(pressure, du, dv);
      by(viscosity, du, dv);
      u1(r, c) = u0(r, c) - du;
      v1(r, c) = v0(r, c) - dv;
    }
  }
};

/// Volumes that the faces of the grid sweep. In the row above the last cells there are no left
/// faces.
struct VolumeFlux {
  Grid grid;
  Field u0, v0, u1, v1, flux_x, flux_y;
  Scalar time_step;
  KOKKOS_FUNCTION void operator()(int r) const {
    double const scale = 0.25 * time_step() * grid.dx;
    if (r < grid.end())
      for (int c = grid.halo; c <= grid.end(); ++c)
        flux_x(r, c) = scale * (u0(r, c) + u0(r + 1, c) + u1(r, c) + u1(r + 1, c));
    for (int c = grid.halo; c < grid.end(); ++c)
      flux_y(r, c) = scale * (v0(r, c) + v0(r, c + 1) + v1(r, c) + v1(r, c + 1));
  }
};

struct Reset {
  Grid grid;
  Field density0, energy0, u0, v0, density1, energy1, u1, v1;
  KOKKOS_FUNCTION void operator()(int r) const {
    if (r < grid.end())
      for (int c = grid.halo; c < grid.end(); ++c) {
        density0(r, c) = density1(r, c);
        energy0(r, c) = energy1(r, c);
      }
    for (int c = grid.halo; c <= grid.end(); ++c) {
      u0(r, c) = u1(r, c);
      v0(r, c) = v1(r, c);
    }
  }
};

}  // namespace hydro

#endif
