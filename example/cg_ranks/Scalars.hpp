// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_CG_RANKS_SCALARS_HPP
#define TRELLIS_EXAMPLE_CG_RANKS_SCALARS_HPP

#include <Kokkos_Core.hpp>

#include "Kernels.hpp"

/// This header has the numbers of a step. They stay where the vectors are, and no thread waits for
/// them.
///
/// The program may submit a step after the last one, as it does not know yet that the iteration has
/// ended. Such a step changes nothing: not a bit of the solution, and no number. So the answer does
/// not depend on how often the program looks.
namespace cg {

enum class Stop : int { not_yet, converged, most_steps, broke_down };

/// The progress of the solver. `residual` and others of that kind are squares of norms.
struct State {
  double first_residual;
  double target;
  double residual;
  double curvature;  ///< where it broke down: p A p, which was not positive
  int steps;
  Stop stop;

  KOKKOS_FUNCTION bool continues() const { return stop == Stop::not_yet; }
};

/// The factors of vectors in a step, if the step does anything.
struct Lengths {
  double alpha;
  double beta;
  bool continues;
};

using StateView = Kokkos::View<State, Space>;
using LengthsView = Kokkos::View<Lengths, Space>;
using Number = Kokkos::View<double, Space>;

/// Decides from a new residual, `|r|^2`, whether the solver stops.
struct Judge {
  double tolerance;
  int most_steps;
  StateView state;
  Numbers history;  ///< of `most_steps + 1` residuals

  KOKKOS_FUNCTION void begin(double residual) const {
    state() = {residual, tolerance * tolerance * residual, residual, 0, 0, Stop::not_yet};
    decide(residual);
  }
  KOKKOS_FUNCTION void next(double residual) const {
    ++state().steps;
    decide(residual);
  }
  KOKKOS_FUNCTION void break_down(double curvature) const {
    state().curvature = curvature;
    state().stop = Stop::broke_down;
  }

 private:
  KOKKOS_FUNCTION void decide(double residual) const {
    state().residual = residual;
    history(state().steps) = residual;
    if (residual <= state().target)
      state().stop = Stop::converged;
    else if (state().steps == most_steps)
      state().stop = Stop::most_steps;
  }
};

}  // namespace cg

#endif
