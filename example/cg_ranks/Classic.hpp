// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_CG_RANKS_CLASSIC_HPP
#define TRELLIS_EXAMPLE_CG_RANKS_CLASSIC_HPP

#include "Scalars.hpp"

/// This header has the kernels of preconditioned conjugate gradients: M. R. Hestenes, E. Stiefel,
/// Methods of conjugate gradients for solving linear systems, J. Res. Nat. Bur. Standards 49
/// (1952). A step has two sums over the ranks, and what is behind each waits for it:
///
///     s = A p;  alpha = (r, u) / (p, s);  x += alpha p;  r -= alpha s
///     u = M^-1 r;  beta = (r, u) / (r, u) of before;  p = u + beta p
namespace cg::classic {

/// Sets x = 0, and what follows from it.
struct Begin {
  Preconditioner precondition;
  Vector b, x, r, u, p;
  Partials partials;

  KOKKOS_FUNCTION void operator()(Member const& member, int t) const {
    auto const& bounds = precondition.a.bounds;
    each_row(member, bounds(t), bounds(t + 1), [&](int i) {
      x(i) = 0;
      r(i) = b(i);
    });
    precondition(member, t, r, u);
    each_row(member, bounds(t), bounds(t + 1), [&](int i) { p(i) = u(i); });
    store(member, partials, t,
          sum_rows<2>(member, bounds(t), bounds(t + 1), [&](int i, Sums<2>& sums) {
            sums.of[0] += r(i) * u(i);
            sums.of[1] += r(i) * r(i);
          }));
  }
};
struct BeginScalars {
  Judge judge;
  Numbers sums;  ///< (r, u), (r, r)
  Number gamma;
  KOKKOS_FUNCTION void operator()(int) const {
    gamma() = sums(0);
    judge.begin(sums(1));
  }
};

struct Alpha {
  Judge judge;
  Numbers sums;  ///< (p, A p)
  Number gamma;
  LengthsView alpha;
  KOKKOS_FUNCTION void operator()(int) const {
    double const curvature = sums(0);
    if (judge.state().continues() && !(curvature > 0)) judge.break_down(curvature);
    bool const continues = judge.state().continues();
    alpha() = {continues ? gamma() / curvature : 0, 0, continues};
  }
};

/// r -= alpha s;  u = M^-1 r
struct NextResidual {
  Preconditioner precondition;
  LengthsView alpha;
  Vector s, r, u;
  Partials partials;

  KOKKOS_FUNCTION void operator()(Member const& member, int t) const {
    if (!alpha().continues) return;
    auto const& bounds = precondition.a.bounds;
    double const length = alpha().alpha;
    each_row(member, bounds(t), bounds(t + 1), [&](int i) { r(i) -= length * s(i); });
    precondition(member, t, r, u);
    store(member, partials, t,
          sum_rows<2>(member, bounds(t), bounds(t + 1), [&](int i, Sums<2>& sums) {
            sums.of[0] += r(i) * u(i);
            sums.of[1] += r(i) * r(i);
          }));
  }
};
/// x += alpha p
struct NextSolution {
  Indices bounds;
  LengthsView alpha;
  Vector p, x;
  KOKKOS_FUNCTION void operator()(Member const& member, int t) const {
    if (!alpha().continues) return;
    double const length = alpha().alpha;
    each_row(member, bounds(t), bounds(t + 1), [&](int i) { x(i) += length * p(i); });
  }
};

struct Beta {
  Judge judge;
  Numbers sums;  ///< (r, u), (r, r)
  Number gamma;
  LengthsView beta;
  KOKKOS_FUNCTION void operator()(int) const {
    if (!judge.state().continues()) {
      beta() = {0, 0, false};
      return;
    }
    beta() = {0, sums(0) / gamma(), true};
    gamma() = sums(0);
    judge.next(sums(1));
    beta().continues = judge.state().continues();
  }
};

/// p = u + beta p
struct NextDirection {
  Indices bounds;
  LengthsView beta;
  Vector u, p;
  KOKKOS_FUNCTION void operator()(Member const& member, int t) const {
    if (!beta().continues) return;
    double const length = beta().beta;
    each_row(member, bounds(t), bounds(t + 1), [&](int i) { p(i) = u(i) + length * p(i); });
  }
};

}  // namespace cg::classic

#endif
