// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_PARTICLES_PLASMA_HPP
#define TRELLIS_EXAMPLE_PARTICLES_PLASMA_HPP

#include <Kokkos_Core.hpp>
#include <array>
#include <cmath>
#include <cstdint>

/// This header defines the problem: electrons in a periodic box of two directions, on a background
/// of ions that do not move. There are two components of momentum and the fields Ex, Ey, Bz (2D2V,
/// transverse electric).
///
/// Units: velocities are in c, times in 1 / omega_p, lengths in c / omega_p, momenta u = gamma v in
/// m c. Fields are in m c omega_p / e, and densities in that of the ions; omega_p is the plasma
/// frequency. An electron has the charge -1 and the mass 1.
namespace particles {

using Space = Kokkos::DefaultHostExecutionSpace;

/// Positions are whole numbers; so many are a cell. So the current of a particle is a sum of
/// products of whole numbers as well, and sums of it are the same in any order. Charge is conserved
/// exactly: the charge of a node changes by what flows there, to the last bit.
inline constexpr int fraction_bits = 20;
inline constexpr std::int64_t cell_length = std::int64_t{1} << fraction_bits;
/// A particle adds at most 2 cell_length^2 to a node in the unit of currents, so no sum over so
/// many particles overflows.
inline constexpr std::int64_t most_particles = std::int64_t{1} << (62 - 2 * fraction_bits - 1);
/// Energies and momenta of particles are added up as whole numbers, too.
inline constexpr double ledger_unit = 1.0 / (std::int64_t{1} << 36);

struct Particle {
  std::int64_t x, y;  ///< in cells / 2^20, from the corner of the box
  double ux, uy;
  std::int64_t id;
};

/// The numbers that fix a run.
struct Problem {
  std::array<int, 2> cells;  ///< rows (along x), columns (along y)
  int per_cell;
  double spacing;  ///< of cells, in both directions
  double time_step;
  int steps;
  int check_every;  ///< steps from one look at conserved quantities to the next; 0: none
  /// The weight of the particles' charge in the sources of the fields; 0: they are test particles.
  double weight = 1;

  [[nodiscard]] std::int64_t particles() const {
    return std::int64_t{cells[0]} * cells[1] * per_cell;
  }
  /// Returns the limit of Yee's scheme in two directions (Courant, Friedrichs, Lewy).
  [[nodiscard]] double stable_time_step() const { return spacing / std::sqrt(2.0); }
  /// Returns by how much a unit of current changes the field.
  [[nodiscard]] double current_unit() const {
    return weight * spacing / per_cell / (2.0 * cell_length * cell_length);
  }
  [[nodiscard]] double particle_charge() const { return weight * spacing * spacing / per_cell; }

  [[nodiscard]] int checks() const {
    return check_every == 0 ? 0 : (steps + check_every - 1) / check_every;
  }
  /// Returns the number of the check at the time of this step, or -1.
  [[nodiscard]] int check_of(int step) const {
    return check_every != 0 && step % check_every == 0 ? step / check_every : -1;
  }
};

/// Rows of the box, from `first` on, with a halo. Row r lies at index r + 1; rows -1 and `rows` are
/// the neighbours'. A current has one more row beyond, for particles that have left to the east.
/// All columns are present, and wrap around.
struct Fields {
  using Vector = Kokkos::View<double***, Kokkos::LayoutRight, Kokkos::HostSpace>;
  using Scalar = Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace>;
  using Current = Kokkos::View<std::int64_t***, Kokkos::LayoutRight, Kokkos::HostSpace>;

  using Flown = Kokkos::View<std::uint64_t***, Kokkos::LayoutRight, Kokkos::HostSpace>;

  Fields(int first_row, int row_count, int column_count)
      : first(first_row),
        rows(row_count),
        columns(column_count),
        e("E", row_count + 2, 2, column_count),
        b("B", row_count + 2, column_count),
        j("J", row_count + 3, 2, column_count),
        flown("J of all steps", row_count, 2, column_count) {}

  int first, rows, columns;
  Vector e;     ///< Ex at (row + 1/2, column), Ey at (row, column + 1/2)
  Scalar b;     ///< Bz at (row + 1/2, column + 1/2)
  Current j;    ///< what has flown in this step, where E is; an electron is 2 cell_length^2
  Flown flown;  ///< the same in all steps, modulo 2^64; without a halo

  [[nodiscard]] int round(int column) const {
    return column < 0 ? column + columns : column >= columns ? column - columns : column;
  }
};

}  // namespace particles

#endif
