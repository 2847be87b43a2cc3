// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_PARTICLES_INITIAL_HPP
#define TRELLIS_EXAMPLE_PARTICLES_INITIAL_HPP

#include <cstdint>
#include <optional>
#include <string>

#include "Plasma.hpp"

/// This header has the plasmas of the program, and what is known of each.
namespace particles {

/// | case | what it is | what is known |
/// |---|---|---|
/// | oscillation | cold electrons with a velocity sin(k x) | the plasma frequency, 1 |
/// | streams | two streams against each other | the growth rate of their instability |
/// | gyration | test particles in a uniform field | the cyclotron frequency, B / gamma |
///
/// Electrons begin in a pattern that is the same in each cell (a quiet start). So their charge is
/// that of the ions everywhere, to the last bit, and there is no field E.
enum class Case { oscillation, streams, gyration };

struct Setup {
  Case what = Case::oscillation;
  double speed = 0;        ///< amplitude of velocity, or that of each stream, or of the gyration
  double length = 0;       ///< of the box along x
  double temperature = 0;  ///< standard deviation of each component of momentum
  double field = 0;        ///< B at the beginning

  [[nodiscard]] double wave_number() const;
  /// Returns the frequency, or the growth rate, that theory predicts.
  [[nodiscard]] double known_value() const;
};

[[nodiscard]] std::string to_string(Case what);

/// Returns the particle with this number. It does not depend on which rank asks.
[[nodiscard]] Particle make_particle(Setup const& setup, Problem const& problem, std::int64_t id);

/// All particles with numbers from the first to the last one are in this row.
struct Numbers {
  std::int64_t first, last;
};
[[nodiscard]] inline Numbers numbers_of_row(Problem const& problem, int row) {
  std::int64_t const of_row = std::int64_t{problem.cells[1]} * problem.per_cell;
  return {row * of_row, (row + 1) * of_row};
}

}  // namespace particles

#endif
