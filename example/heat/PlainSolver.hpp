// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_HEAT_PLAINSOLVER_HPP
#define TRELLIS_EXAMPLE_HEAT_PLAINSOLVER_HPP

#include "Stencil.hpp"

/// This header has the reference solver: bulk-synchronous Kokkos, one kernel per step over the
/// whole grid.
namespace heat {

/// Takes all steps on every thread of the default instance and returns the sums of squared changes,
/// one per residual. The residual is fused into its step and goes into a View, so nothing waits
/// before the end.
template <int Dim>
auto solve_plain(Problem const& problem, DoubleBuffer<Dim> const& u) {
  Kokkos::View<double*, Space> sums("sums of squared changes", problem.residuals());
  Box<Dim> const box = interior<Dim>(u.even);
  auto const policy = policy_over(box);
  for (int step = 0; step < problem.steps; ++step) {
    Step<Dim> const body{u.before(step), u.after(step), box, problem.ratio()};
    if (int const residual = problem.residual_of(step); residual < 0)
      Kokkos::parallel_for("step", policy, body);
    else
      Kokkos::parallel_reduce("step with residual", policy, body, Kokkos::subview(sums, residual));
  }
  Space().fence("heat: end of the plain solver");
  return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), sums);
}

}  // namespace heat

#endif
