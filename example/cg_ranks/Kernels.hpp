// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_CG_RANKS_KERNELS_HPP
#define TRELLIS_EXAMPLE_CG_RANKS_KERNELS_HPP

#include <Kokkos_Core.hpp>
#include <type_traits>

#include "Matrix.hpp"
#include "Options.hpp"

/// This header has the operations of both versions on a tile of rows. Both call the same functors,
/// one tile at a time or all at once, so they round in the same way.
namespace cg {

/// True where a thread takes all rows of a tile, one after the other; false where a team of a
/// device's threads shares them.
inline constexpr bool runs_on_host =
    Kokkos::SpaceAccessibility<Kokkos::DefaultHostExecutionSpace, Space::memory_space>::accessible;

/// `Member` is what works on a tile: one thread, or a team.
struct Alone {};
using Team = Kokkos::TeamPolicy<Space>::member_type;
using Member = std::conditional_t<runs_on_host, Alone, Team>;

/// Sums that are taken in one pass.
template <int N>
struct Sums {
  double of[N] = {};
  KOKKOS_FUNCTION Sums& operator+=(Sums const& other) {
    for (int k = 0; k < N; ++k) of[k] += other.of[k];
    return *this;
  }
};

template <class F>
KOKKOS_FUNCTION void each_row(Alone, int begin, int end, F const& f) {
  for (int i = begin; i < end; ++i) f(i);
}
template <class F>
KOKKOS_FUNCTION void each_row(Team const& team, int begin, int end, F const& f) {
  Kokkos::parallel_for(Kokkos::TeamThreadRange(team, begin, end), f);
  team.team_barrier();
}
/// Calls `f(i, sums)`. On the host it takes one row after the other, so that the order is known.
template <int N, class F>
KOKKOS_FUNCTION Sums<N> sum_rows(Alone, int begin, int end, F const& f) {
  Sums<N> sums;
  for (int i = begin; i < end; ++i) f(i, sums);
  return sums;
}
template <int N, class F>
KOKKOS_FUNCTION Sums<N> sum_rows(Team const& team, int begin, int end, F const& f) {
  Sums<N> sums;
  Kokkos::parallel_reduce(Kokkos::TeamThreadRange(team, begin, end), f, sums);
  return sums;
}
/// Calls `f` once for all threads of a team; they continue after it.
template <class F>
KOKKOS_FUNCTION void once(Alone, F const& f) {
  f();
}
template <class F>
KOKKOS_FUNCTION void once(Team const& team, F const& f) {
  Kokkos::single(Kokkos::PerTeam(team), f);
  team.team_barrier();
}

/// A row of sums for each tile; `AddUp` adds them up in the order of the tiles.
using Partials = Kokkos::View<double**, Kokkos::LayoutRight, Space>;
using Numbers = Kokkos::View<double*, Space>;

template <int N>
KOKKOS_FUNCTION void store(Member const& member, Partials const& partials, int t,
                           Sums<N> const& sums) {
  once(member, [&] {
    for (int k = 0; k < N; ++k) partials(t, k) = sums.of[k];
  });
}

struct AddUp {
  Partials partials;
  Numbers sums;
  KOKKOS_FUNCTION void operator()(int k) const {
    double sum = 0;
    for (int t = 0; t < partials.extent_int(0); ++t) sum += partials(t, k);
    sums(k) = sum;
  }
};

KOKKOS_INLINE_FUNCTION Alone member_of(int) {
  return {};
}
KOKKOS_INLINE_FUNCTION Team const& member_of(Team const& team) {
  return team;
}
KOKKOS_INLINE_FUNCTION int place_of(int k) {
  return k;
}
KOKKOS_INLINE_FUNCTION int place_of(Team const& team) {
  return team.league_rank();
}
/// The functor of a kernel over tiles, from `first` on.
template <class Body>
struct OverTiles {
  Body body;
  int first;
  using Index = std::conditional_t<runs_on_host, int, Team>;
  KOKKOS_FUNCTION void operator()(Index const& k) const { body(member_of(k), first + place_of(k)); }
};
inline auto policy_over_tiles(int count) {
  if constexpr (runs_on_host)
    return Kokkos::RangePolicy<Space>(0, count);
  else
    return Kokkos::TeamPolicy<Space>(count, Kokkos::AUTO);
}

/// out = A in. (It does not call Kokkos Kernels, which not every toolchain has. It takes three
/// lines, some rows at a time, and can compute a dot product in the same pass.)
struct Apply {
  Csr a;
  Vector in, out;

  KOKKOS_FUNCTION double row(int i) const {
    double sum = 0;
    for (int k = a.offsets(i); k < a.offsets(i + 1); ++k) sum += a.values(k) * in(a.columns(k));
    return sum;
  }
  KOKKOS_FUNCTION void operator()(Member const& member, int t) const {
    each_row(member, a.bounds(t), a.bounds(t + 1), [&](int i) { out(i) = row(i); });
  }
};

/// out = A in, and in * out
struct ApplyAndDot {
  Apply apply;
  Partials partials;

  KOKKOS_FUNCTION void operator()(Member const& member, int t) const {
    auto const& bounds = apply.a.bounds;
    store(member, partials, t,
          sum_rows<1>(member, bounds(t), bounds(t + 1), [&](int i, Sums<1>& sums) {
            double const value = apply.row(i);
            apply.out(i) = value;
            sums.of[0] += apply.in(i)*value;
          }));
  }
};

/// |b - out|^2 of out = A in
struct Residual {
  Csr a;
  Vector b, out;
  Partials partials;

  KOKKOS_FUNCTION void operator()(Member const& member, int t) const {
    store(member, partials, t,
          sum_rows<1>(member, a.bounds(t), a.bounds(t + 1), [&](int i, Sums<1>& sums) {
            double const off = b(i) - out(i);
            sums.of[0] += off * off;
          }));
  }
};

/// out = M^-1 in, with the part of the matrix that a tile has to itself. This is its diagonal, or
/// (D + L) D^-1 (D + U) of its block, one sweep of Gauss-Seidel forward and one back. Both are
/// symmetric and, if the matrix is, positive definite. Neither needs another tile.
struct Preconditioner {
  Csr a;
  Preconditioning kind;

  KOKKOS_FUNCTION void operator()(Member const& member, int t, Vector const& in,
                                  Vector const& out) const {
    int const begin = a.bounds(t), end = a.bounds(t + 1);
    if (kind == Preconditioning::none)
      each_row(member, begin, end, [&](int i) { out(i) = in(i); });
    else if (kind == Preconditioning::jacobi)
      each_row(member, begin, end, [&](int i) { out(i) = in(i) / a.diagonal(i); });
    else
      once(member, [&] { sweep(begin, end, in, out); });
  }

 private:
  KOKKOS_FUNCTION void sweep(int begin, int end, Vector const& in, Vector const& out) const {
    for (int i = begin; i < end; ++i) {
      double sum = in(i);
      for (int k = a.offsets(i); k < a.offsets(i + 1); ++k) {
        int const j = a.columns(k);
        if (j >= begin && j < i) sum -= a.values(k) * out(j);
      }
      out(i) = sum / a.diagonal(i);
    }
    for (int i = end - 1; i >= begin; --i) {
      double sum = 0;
      for (int k = a.offsets(i); k < a.offsets(i + 1); ++k) {
        int const j = a.columns(k);
        if (j > i && j < end) sum += a.values(k) * out(j);
      }
      out(i) -= sum / a.diagonal(i);
    }
  }
};

struct Precondition {
  Preconditioner with;
  Vector in, out;
  KOKKOS_FUNCTION void operator()(Member const& member, int t) const { with(member, t, in, out); }
};

/// Packs the values that neighbours get, one after the other.
struct Pack {
  Indices rows;
  Vector from, to;
  KOKKOS_FUNCTION void operator()(int k) const { to(k) = from(rows(k)); }
};

}  // namespace cg

/// The sums of a team.
template <int N>
struct Kokkos::reduction_identity<cg::Sums<N>> {
  KOKKOS_FUNCTION static cg::Sums<N> sum() { return {}; }
};

#endif
