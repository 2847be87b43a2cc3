// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_PARTICLES_KERNELS_HPP
#define TRELLIS_EXAMPLE_PARTICLES_KERNELS_HPP

#include <Kokkos_Core.hpp>
#include <array>
#include <cmath>
#include <cstdint>

#include "Plasma.hpp"

/// This header has the physics, for one row and for one particle. The tasks and the serial loop
/// that they are compared with call the same functions.
///
/// - Fields: the scheme of K. Yee, IEEE Trans. Antennas Propag. 14 (1966), 302.
/// - Momenta: J. Boris, Proc. 4th Conf. Num. Sim. Plasmas (1970), 3.
/// - Currents: T. Esirkepov, Comput. Phys. Commun. 135 (2001), 144, in whole numbers.
/// - Between the grid and particles: cloud in cell, C. Birdsall, A. Langdon, Plasma Physics via
///   Computer Simulation (1985).
///
/// A step goes from the time n to n + 1. It finds E and x at n, B and u at n - 1/2 and has the
/// current at n + 1/2:
///
///     B to n; u to n + 1/2, x to n + 1, J; B to n + 1/2; E to n + 1
namespace particles {

/// Half a step of dB/dt = -curl E in one row.
struct HalfStepOfB {
  Fields fields;
  double factor;  ///< time step / (2 spacing)

  void operator()(int row) const {
    int const r = row + 1;
    for (int c = 0; c < fields.columns; ++c) {
      int const up = fields.round(c + 1);
      double const curl =
          (fields.e(r + 1, 1, c) - fields.e(r, 1, c)) - (fields.e(r, 0, up) - fields.e(r, 0, c));
      fields.b(r, c) -= factor * curl;
    }
  }
};

/// A step of dE/dt = curl B - J in one row. It consumes the current.
struct StepOfE {
  Fields fields;
  double factor;  ///< time step / spacing
  double current_unit;

  void operator()(int row) const {
    int const r = row + 1;
    for (int c = 0; c < fields.columns; ++c) {
      int const down = fields.round(c - 1);
      take(row, 0, c, fields.b(r, c) - fields.b(r, down));
      take(row, 1, c, fields.b(r - 1, c) - fields.b(r, c));
    }
  }

 private:
  void take(int row, int component, int c, double curl) const {
    std::int64_t& j = fields.j(row + 1, component, c);
    // Electrons are negative, so their current flows the other way.
    fields.e(row + 1, component, c) += factor * curl + current_unit * static_cast<double>(j);
    fields.flown(row, component, c) += static_cast<std::uint64_t>(j);
    j = 0;
  }
};

/// The sums over the particles of a tile or a rank, at the time of its fields. They are whole
/// numbers, so they do not depend on how the box was cut.
struct Ledger {
  std::int64_t count = 0;
  std::int64_t kinetic = 0;  ///< of gamma - 1, in `ledger_unit`
  std::int64_t ux = 0;       ///< the same unit
  std::int64_t uy = 0;
};

/// Two neighbouring points, and how near the second one is.
struct Between {
  int at;
  double second;
};
inline Between on_nodes(int cell, double fraction) {
  return {cell, fraction};
}
inline Between on_centres(int cell, double fraction) {
  return fraction < 0.5 ? Between{cell - 1, fraction + 0.5} : Between{cell, fraction - 0.5};
}

/// Interpolates bilinearly (cloud in cell). `at(row, column)` takes the row as it is in the View.
template <class At>
double interpolate(Fields const& f, Between const& x, Between const& y, At const& at) {
  int const c0 = f.round(y.at), c1 = f.round(y.at + 1);
  double const low = at(x.at + 1, c0) + y.second * (at(x.at + 1, c1) - at(x.at + 1, c0));
  double const high = at(x.at + 2, c0) + y.second * (at(x.at + 2, c1) - at(x.at + 2, c0));
  return low + x.second * (high - low);
}

/// How a particle covers four nodes in a row, before and after a step, in parts of `cell_length`.
struct Shape {
  std::array<std::int64_t, 4> before{}, after{};
  Shape(std::int64_t from, std::int64_t to, int cells_on) {
    before[1] = cell_length - from;
    before[2] = from;
    auto const k = static_cast<std::size_t>(1 + cells_on);
    after[k] = cell_length - to;
    after[k + 1] = to;
  }
};

/// Adds the current of a particle that moves by less than a cell, from cell (i, c). It is
/// Esirkepov's current in two directions, doubled, so that it is a whole number. It calls
/// `add(number, amount)`.
template <class Add>
void deposit(Fields const& f, int i, int c, Shape const& x, Shape const& y, Add const& add) {
  for (std::size_t b = 0; b < 4; ++b) {
    int const column = f.round(c - 1 + static_cast<int>(b));
    std::int64_t const across = y.before[b] + y.after[b];
    std::int64_t flow = 0;
    for (std::size_t a = 0; a < 3 && across != 0; ++a) {
      flow -= (x.after[a] - x.before[a]) * across;
      if (flow != 0) add(f.j(i + static_cast<int>(a), 0, column), flow);
    }
  }
  for (std::size_t a = 0; a < 4; ++a) {
    std::int64_t const across = x.before[a] + x.after[a];
    std::int64_t flow = 0;
    for (std::size_t b = 0; b < 3 && across != 0; ++b) {
      flow -= (y.after[b] - y.before[b]) * across;
      if (flow != 0)
        add(f.j(i + static_cast<int>(a), 1, f.round(c - 1 + static_cast<int>(b))), flow);
    }
  }
}

/// Takes a step of one particle that lies in these rows. Returns the row that it is in afterwards,
/// which may be one beyond; its position wraps around the box.
template <class Add>
int push(Particle& p, Fields const& f, Problem const& problem, Ledger& ledger, Add const& add) {
  std::int64_t const from_x = p.x & (cell_length - 1), from_y = p.y & (cell_length - 1);
  int const i = static_cast<int>(p.x >> fraction_bits) - f.first;
  int const c = static_cast<int>(p.y >> fraction_bits);
  constexpr double to_fraction = 1.0 / cell_length;
  double const fx = to_fraction * static_cast<double>(from_x);
  double const fy = to_fraction * static_cast<double>(from_y);
  Between const x_node = on_nodes(i, fx), x_centre = on_centres(i, fx);
  Between const y_node = on_nodes(c, fy), y_centre = on_centres(c, fy);
  double const ex = interpolate(f, x_centre, y_node, [&](int r, int k) { return f.e(r, 0, k); });
  double const ey = interpolate(f, x_node, y_centre, [&](int r, int k) { return f.e(r, 1, k); });
  double const bz = interpolate(f, x_centre, y_centre, [&](int r, int k) { return f.b(r, k); });

  // Boris' method: half of the push by E, the rotation by B, the other half.
  double const half = -0.5 * problem.time_step;
  double const mx = p.ux + half * ex, my = p.uy + half * ey;
  double const square = mx * mx + my * my;
  double const gamma = std::sqrt(1 + square);
  double const t = half * bz / gamma, s = 2 * t / (1 + t * t);
  double const tx = mx + my * t, ty = my - mx * t;
  p.ux = mx + ty * s + half * ex;
  p.uy = my - tx * s + half * ey;
  auto const unit = [](double value) { return std::llround(value / ledger_unit); };
  ++ledger.count;
  ledger.kinetic += unit(square / (gamma + 1));
  ledger.ux += unit(mx);
  ledger.uy += unit(my);

  double const on =
      cell_length * problem.time_step / problem.spacing / std::sqrt(1 + p.ux * p.ux + p.uy * p.uy);
  std::int64_t const to_x = from_x + std::llround(on * p.ux);
  std::int64_t const to_y = from_y + std::llround(on * p.uy);
  int const rows_on = static_cast<int>(to_x >> fraction_bits);
  int const columns_on = static_cast<int>(to_y >> fraction_bits);
  deposit(f, i, c, Shape(from_x, to_x & (cell_length - 1), rows_on),
          Shape(from_y, to_y & (cell_length - 1), columns_on), add);

  auto const go_round = [](std::int64_t position, int cells) {
    std::int64_t const length = cells * cell_length;
    return position < 0 ? position + length : position >= length ? position - length : position;
  };
  p.x = go_round(p.x - from_x + to_x, problem.cells[0]);
  p.y = go_round(p.y - from_y + to_y, problem.cells[1]);
  return i + rows_on;
}

/// The sums over the fields of a row.
struct RowSums {
  double ex = 0;        ///< the sum of Ex
  double electric = 0;  ///< energy
  double magnetic = 0;
};
inline RowSums sums_of_row(Fields const& f, int row, double spacing) {
  RowSums sums;
  for (int c = 0; c < f.columns; ++c) {
    double const ex = f.e(row + 1, 0, c), ey = f.e(row + 1, 1, c), b = f.b(row + 1, c);
    sums.ex += ex;
    sums.electric += 0.5 * spacing * spacing * (ex * ex + ey * ey);
    sums.magnetic += 0.5 * spacing * spacing * b * b;
  }
  return sums;
}

}  // namespace particles

#endif
