// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_HEAT_STENCIL_HPP
#define TRELLIS_EXAMPLE_HEAT_STENCIL_HPP

#include <type_traits>

#include "Grid.hpp"

/// This header has one explicit step on a box of cells, as a functor for any Kokkos policy. Both
/// solvers run the same functor, so their fields agree in every bit.
namespace heat {

/// Returns the new value of a cell from the sum of its 2 * Dim neighbours.
template <int Dim>
KOKKOS_FORCEINLINE_FUNCTION double stepped(double centre, double neighbours, double ratio) {
  return centre + ratio * (neighbours - 2 * Dim * centre);
}

/// A step on a host: one index is one row, its cells are a loop that vectorises.
template <int Dim>
struct RowStep {
  Field<Dim> before;
  Field<Dim> after;
  Box<Dim> box;
  double ratio;

  KOKKOS_FUNCTION void operator()(int row) const {
    Pointers const at = pointers(row);
    double* __restrict__ const out = at.out;
    int const n = box.length(Dim - 1);
    for (int j = 0; j < n; ++j) {
      double neighbours = (at.north[j] + at.south[j]) + (at.centre[j - 1] + at.centre[j + 1]);
      if constexpr (Dim == 3) neighbours += at.front[j] + at.back[j];
      out[j] = stepped<Dim>(at.centre[j], neighbours, ratio);
    }
  }

  /// Takes the step, and adds the squares of the changes. The row is still in the first-level cache
  /// for the second loop. It has several partial sums, so that it vectorises although the order of
  /// a sum matters.
  KOKKOS_FUNCTION void operator()(int row, double& sum) const {
    (*this)(row);
    Pointers const at = pointers(row);
    int const n = box.length(Dim - 1);
    constexpr int lanes = 16;
    double partial[lanes] = {};
    int j = 0;
    for (; j + lanes <= n; j += lanes)
      for (int k = 0; k < lanes; ++k) {
        double const change = at.out[j + k] - at.centre[j + k];
        partial[k] += change * change;
      }
    for (; j < n; ++j) {
      double const change = at.out[j] - at.centre[j];
      sum += change * change;
    }
    for (int k = 0; k < lanes; ++k) sum += partial[k];
  }

 private:
  // Pointers to the row's first cell and its neighbours; front and back only in three dimensions.
  struct Pointers {
    double const *centre, *north, *south, *front, *back;
    double* out;
  };

  KOKKOS_FORCEINLINE_FUNCTION Pointers pointers(int row) const {
    if constexpr (Dim == 2) {
      int const i = box.begin[0] + row, j = box.begin[1];
      return {&before(i, j), &before(i - 1, j), &before(i + 1, j), nullptr, nullptr, &after(i, j)};
    } else {
      int const i = box.begin[0] + row / box.length(1), j = box.begin[1] + row % box.length(1),
                k = box.begin[2];
      return {&before(i, j, k),     &before(i, j - 1, k), &before(i, j + 1, k),
              &before(i - 1, j, k), &before(i + 1, j, k), &after(i, j, k)};
    }
  }
};

/// A step on a device: one thread per cell.
template <int Dim>
struct CellStep;

template <>
struct CellStep<2> {
  Field<2> before;
  Field<2> after;
  Box<2> box;
  double ratio;

  KOKKOS_FUNCTION void operator()(int i, int j) const {
    double const neighbours =
        (before(i - 1, j) + before(i + 1, j)) + (before(i, j - 1) + before(i, j + 1));
    after(i, j) = stepped<2>(before(i, j), neighbours, ratio);
  }
  KOKKOS_FUNCTION void operator()(int i, int j, double& sum) const {
    (*this)(i, j);
    double const change = after(i, j) - before(i, j);
    sum += change * change;
  }
};

template <>
struct CellStep<3> {
  Field<3> before;
  Field<3> after;
  Box<3> box;
  double ratio;

  KOKKOS_FUNCTION void operator()(int i, int j, int k) const {
    double const neighbours = (before(i, j - 1, k) + before(i, j + 1, k)) +
                              (before(i, j, k - 1) + before(i, j, k + 1)) +
                              (before(i - 1, j, k) + before(i + 1, j, k));
    after(i, j, k) = stepped<3>(before(i, j, k), neighbours, ratio);
  }
  KOKKOS_FUNCTION void operator()(int i, int j, int k, double& sum) const {
    (*this)(i, j, k);
    double const change = after(i, j, k) - before(i, j, k);
    sum += change * change;
  }
};

template <int Dim>
using Step = std::conditional_t<runs_on_host, RowStep<Dim>, CellStep<Dim>>;

/// The iteration space of `Step` over a box, for the backend.
template <int Dim>
auto policy_over(Box<Dim> const& box) {
  if constexpr (runs_on_host) {
    return Kokkos::RangePolicy<Space, Kokkos::IndexType<int>>(0, box.rows());
  } else {
    using Right = Kokkos::Rank<Dim, Kokkos::Iterate::Right, Kokkos::Iterate::Right>;
    return Kokkos::MDRangePolicy<Space, Right, Kokkos::IndexType<int>>(box.begin, box.end);
  }
}

}  // namespace heat

#endif
