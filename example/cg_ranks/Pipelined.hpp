// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_CG_RANKS_PIPELINED_HPP
#define TRELLIS_EXAMPLE_CG_RANKS_PIPELINED_HPP

#include "Scalars.hpp"

/// This header has the kernels of pipelined conjugate gradients: P. Ghysels, W. Vanroose, Hiding
/// global synchronization latency in the preconditioned conjugate gradient algorithm, Parallel
/// Computing 40 (2014), algorithm 4. A step has one sum over the ranks, and two operations while
/// that sum is in progress:
///
///     gamma = (r, u);  delta = (w, u)
///     m = M^-1 w;  n = A m
///     beta = gamma / gamma of before;  alpha = gamma / (delta - beta gamma / alpha of before)
///     z = n + beta z;  q = m + beta q;  s = w + beta s;  p = u + beta p
///     x += alpha p;  r -= alpha s;  u -= alpha q;  w -= alpha z
///
/// In exact arithmetic this is the classic method. Rounding errors add up faster, as r and w follow
/// from recurrences, so it does not reach residuals as small.
namespace cg::pipelined {

/// Sets x = 0, and what follows from it without the matrix.
struct Begin {
  Preconditioner precondition;
  Vector b, x, r, u, p, s, q, z;

  KOKKOS_FUNCTION void operator()(Member const& member, int t) const {
    auto const& bounds = precondition.a.bounds;
    each_row(member, bounds(t), bounds(t + 1), [&](int i) {
      x(i) = p(i) = s(i) = q(i) = z(i) = 0;
      r(i) = b(i);
    });
    precondition(member, t, r, u);
  }
};

struct Dots {
  Vector r, u, w;
  Partials partials;  ///< (r, u), (w, u), (r, r)

  KOKKOS_FUNCTION void operator()(Member const& member, int t, int begin, int end) const {
    store(member, partials, t, sum_rows<3>(member, begin, end, [&](int i, Sums<3>& sums) {
            sums.of[0] += r(i) * u(i);
            sums.of[1] += w(i) * u(i);
            sums.of[2] += r(i) * r(i);
          }));
  }
};
struct FirstDots {
  Indices bounds;
  Dots dots;
  KOKKOS_FUNCTION void operator()(Member const& member, int t) const {
    dots(member, t, bounds(t), bounds(t + 1));
  }
};

/// No residual is known yet.
struct BeginScalars {
  Judge judge;
  LengthsView lengths;
  KOKKOS_FUNCTION void operator()(int) const {
    judge.state() = {0, 0, 0, 0, -1, Stop::not_yet};
    lengths() = {0, 0, true};
  }
};

/// Computes the residual of this step, and its lengths. `gamma` is that of the previous step.
struct NextLengths {
  Judge judge;
  Numbers sums;
  Number gamma;
  LengthsView lengths;

  KOKKOS_FUNCTION void operator()(int) const {
    if (judge.state().continues()) step();
    lengths().continues = judge.state().continues();
  }

 private:
  KOKKOS_FUNCTION void step() const {
    bool const is_first = judge.state().steps < 0;
    if (is_first)
      judge.begin(sums(2));
    else
      judge.next(sums(2));
    if (!judge.state().continues()) return;
    double const beta = is_first ? 0 : sums(0) / gamma();
    double const curvature = is_first ? sums(1) : sums(1) - beta * sums(0) / lengths().alpha;
    if (!(curvature > 0)) return judge.break_down(curvature);
    lengths() = {sums(0) / curvature, beta, true};
    gamma() = sums(0);
  }
};

struct Update {
  Indices bounds;
  LengthsView lengths;
  Vector m, n, z, q, s, p, x, r, u, w;
  Partials partials;

  KOKKOS_FUNCTION void operator()(Member const& member, int t) const {
    if (!lengths().continues) return;
    double const alpha = lengths().alpha, beta = lengths().beta;
    each_row(member, bounds(t), bounds(t + 1), [&](int i) {
      z(i) = n(i) + beta * z(i);
      q(i) = m(i) + beta * q(i);
      s(i) = w(i) + beta * s(i);
      p(i) = u(i) + beta * p(i);
      x(i) += alpha * p(i);
      r(i) -= alpha * s(i);
      u(i) -= alpha * q(i);
      w(i) -= alpha * z(i);
    });
    Dots{r, u, w, partials}(member, t, bounds(t), bounds(t + 1));
  }
};

}  // namespace cg::pipelined

#endif
