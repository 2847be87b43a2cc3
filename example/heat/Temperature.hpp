// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_HEAT_TEMPERATURE_HPP
#define TRELLIS_EXAMPLE_HEAT_TEMPERATURE_HPP

#include <cmath>

#include "Grid.hpp"
#include "Picture.hpp"

/// This header sets, copies and compares temperatures. All of it is plain Kokkos on the default
/// instance.
namespace heat {

/// All values of a field in memory order, boundary ring included.
using Flat = Kokkos::View<double*, Space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
template <int Dim>
Flat flat(Field<Dim> const& field) {
  return Flat(field.data(), field.size());
}

/// The slowest mode of the heat equation, sin(pi x) sin(pi y) [sin(pi z)], times an amplitude. It
/// keeps its shape for ever and its amplitude decays as exp(-Dim pi^2 t).
template <int Dim>
struct SineMode {
  Kokkos::View<double*, Space> sines;  // sin(pi x) at every grid line
  double amplitude;

  SineMode(Problem const& problem, double time)
      : sines("sines", problem.cells + 2),
        amplitude(std::exp(-Dim * Kokkos::numbers::pi * Kokkos::numbers::pi * time)) {
    auto const host = Kokkos::create_mirror_view(sines);
    for (int i = 1; i <= problem.cells; ++i)
      host(i) = std::sin(Kokkos::numbers::pi * i * problem.spacing());
    Kokkos::deep_copy(sines, host);
  }

  /// Returns the value at a position in memory order.
  KOKKOS_FUNCTION double operator()(Kokkos::DefaultExecutionSpace::size_type position) const {
    auto const pitch = sines.extent(0);
    double value = amplitude;
    for (int k = 0; k < Dim; ++k, position /= pitch) value *= sines(position % pitch);
    return value;
  }
};

template <int Dim>
void fill(Field<Dim> const& field, SineMode<Dim> const& mode) {
  Flat const values = flat<Dim>(field);
  Kokkos::parallel_for(
      "fill with sine mode", Kokkos::RangePolicy<Space>(0, values.size()),
      KOKKOS_LAMBDA(Space::size_type const p) { values(p) = mode(p); });
  Space().fence("heat: initial temperature");
}

/// Spreads a picture over the square, bilinearly. In three dimensions it fades to both ends of the
/// first direction as sin(pi x).
template <int Dim>
void fill(Field<Dim> const& field, Picture const& picture) {
  auto const host = Kokkos::create_mirror_view(field);
  Kokkos::deep_copy(host, 0.0);
  int const cells = static_cast<int>(field.extent(0)) - 2;
  for (int i = 1; i <= cells; ++i)
    for (int j = 1; j <= cells; ++j) {
      double const value = picture.at((i - 0.5) / cells, (j - 0.5) / cells);
      if constexpr (Dim == 2)
        host(i, j) = value;
      else
        for (int x = 1; x <= cells; ++x)
          host(x, i, j) = value * std::sin(Kokkos::numbers::pi * x / (cells + 1));
    }
  Kokkos::deep_copy(field, host);
}

/// Starts again: both buffers get the initial temperature. The thread that steps a page in the
/// plain solver touches that page.
template <int Dim>
void reset(DoubleBuffer<Dim> const& u, Field<Dim> const& initial) {
  Flat const even = flat<Dim>(u.even), odd = flat<Dim>(u.odd), from = flat<Dim>(initial);
  Kokkos::parallel_for(
      "reset", Kokkos::RangePolicy<Space>(0, from.size()), KOKKOS_LAMBDA(Space::size_type const p) {
        even(p) = from(p);
        odd(p) = from(p);
      });
  Space().fence("heat: reset");
}

template <int Dim>
double max_difference(Field<Dim> const& a, Field<Dim> const& b) {
  Flat const left = flat<Dim>(a), right = flat<Dim>(b);
  double result = 0;
  Kokkos::parallel_reduce(
      "max difference", Kokkos::RangePolicy<Space>(0, left.size()),
      KOKKOS_LAMBDA(Space::size_type const p, double& largest) {
        double const difference = Kokkos::abs(left(p) - right(p));
        // This form makes a NaN on one side only count as infinitely far.
        if (!(difference <= largest))
          largest = difference >= 0 ? difference : Kokkos::Experimental::infinity_v<double>;
      },
      Kokkos::Max<double>(result));
  return result;
}

template <int Dim>
double max_error(Field<Dim> const& field, SineMode<Dim> const& exact) {
  Flat const values = flat<Dim>(field);
  double result = 0;
  Kokkos::parallel_reduce(
      "max error", Kokkos::RangePolicy<Space>(0, values.size()),
      KOKKOS_LAMBDA(Space::size_type const p, double& largest) {
        double const error = Kokkos::abs(values(p) - exact(p));
        if (!(error <= largest))
          largest = error >= 0 ? error : Kokkos::Experimental::infinity_v<double>;
      },
      Kokkos::Max<double>(result));
  return result;
}

/// Returns the square, or the middle plane of the cube, as a picture of at most `largest` pixels
/// along each side; row 0 on top.
template <int Dim>
Picture picture_of(Field<Dim> const& field, int largest) {
  int const cells = static_cast<int>(field.extent(0)) - 2;
  int const side = cells < largest ? cells : largest;
  auto const plane = [&] {
    if constexpr (Dim == 2)
      return field;
    else
      return Kokkos::subview(field, (cells + 1) / 2, Kokkos::ALL, Kokkos::ALL);
  }();
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), plane);
  Picture picture(side, side);
  for (int i = 0; i < side; ++i)
    for (int j = 0; j < side; ++j)
      picture(i, j) = host(1 + static_cast<int>((i + 0.5) * cells / side),
                           1 + static_cast<int>((j + 0.5) * cells / side));
  return picture;
}

}  // namespace heat

#endif
