// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_PARTICLES_MEASURE_HPP
#define TRELLIS_EXAMPLE_PARTICLES_MEASURE_HPP

#include <cmath>
#include <optional>
#include <vector>

#include "Initial.hpp"
#include "Kernels.hpp"
#include "Plasma.hpp"

/// This header derives from the record of the whole box the values that theory predicts.
namespace particles {

/// The state at one check.
struct Moment {
  double time = 0;
  double kinetic = 0, electric = 0, magnetic = 0;  ///< energies of the box
  double sine = 0, cosine = 0;                     ///< of Ex along x, for the longest wave
  double ux = 0, uy = 0;                           ///< sums of all particles

  [[nodiscard]] double energy() const { return kinetic + electric + magnetic; }
  [[nodiscard]] double wave() const { return std::hypot(sine, cosine); }
};

/// Returns the moments from `rows`, those of the whole box, one check after the other.
[[nodiscard]] std::vector<Moment> moments_of(Setup const& setup, Problem const& problem,
                                             std::vector<Ledger> const& totals,
                                             std::vector<RowSums> const& rows);

/// Returns the largest difference from the initial energy, relative to that; 0 without checks.
[[nodiscard]] double energy_drift(std::vector<Moment> const& moments);

/// Returns the measured value that theory predicts; nothing when the run was too short.
///
/// - oscillation: so many half periods lie between the first time and the last time that the wave
///   of Ex is zero.
/// - streams: the slope of the logarithm of that wave (least squares), while it grows from a
///   hundredth of its largest value to a fifth.
/// - gyration: the angle by which the mean momentum turns.
[[nodiscard]] std::optional<double> measured_value(Setup const& setup,
                                                   std::vector<Moment> const& moments);

}  // namespace particles

#endif
