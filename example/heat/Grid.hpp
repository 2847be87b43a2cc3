// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_HEAT_GRID_HPP
#define TRELLIS_EXAMPLE_HEAT_GRID_HPP

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <string>

/// This header defines the problem: du/dt = laplace(u) on the unit square (`Dim` = 2) or cube (3),
/// with u = 0 on the boundary. There are `cells` unknowns along each direction, with one ring of
/// boundary values around them.
namespace heat {

using Space = Kokkos::DefaultExecutionSpace;

/// True where a thread takes a whole row of cells; false where each thread of a device takes one
/// cell.
inline constexpr bool runs_on_host =
    Kokkos::SpaceAccessibility<Kokkos::DefaultHostExecutionSpace, Space::memory_space>::accessible;

template <int Dim>
struct FieldOf;
template <>
struct FieldOf<2> {
  using type = Kokkos::View<double**, Kokkos::LayoutRight, Space>;
};
template <>
struct FieldOf<3> {
  using type = Kokkos::View<double***, Kokkos::LayoutRight, Space>;
};

/// A temperature with its boundary ring: `cells + 2` values along each direction, the last
/// direction contiguous.
template <int Dim>
using Field = typename FieldOf<Dim>::type;

/// Returns a field that is not initialised. The thread that writes it first decides where its pages
/// lie.
inline Field<2> make_field(std::string const& label, int rows, int columns) {
  return Field<2>(Kokkos::view_alloc(label, Kokkos::WithoutInitializing), rows + 2, columns + 2);
}
template <int Dim>
Field<Dim> make_field(std::string const& label, int cells) {
  if constexpr (Dim == 2)
    return make_field(label, cells, cells);
  else
    return Field<3>(Kokkos::view_alloc(label, Kokkos::WithoutInitializing), cells + 2, cells + 2,
                    cells + 2);
}

/// The numbers that fix a run. Lengths in units of the square's edge, times in units of edge^2 /
/// diffusivity.
struct Problem {
  int cells;           ///< unknowns along each direction
  int steps;           ///< explicit Euler steps
  int residual_every;  ///< every so many steps the residual is computed; 0: never
  double time_step;

  [[nodiscard]] double spacing() const { return 1.0 / (cells + 1); }
  /// dt / h^2, the factor in front of the stencil.
  [[nodiscard]] double ratio() const { return time_step / (spacing() * spacing()); }
  [[nodiscard]] double final_time() const { return steps * time_step; }

  [[nodiscard]] int residuals() const { return residual_every == 0 ? 0 : steps / residual_every; }
  /// Returns which residual this step computes, or -1. Steps count from 0.
  [[nodiscard]] int residual_of(int step) const {
    return residual_every != 0 && (step + 1) % residual_every == 0 ? step / residual_every : -1;
  }
};

/// A box of cells, `begin` inside, `end` outside; the first and the last cell of a field along each
/// direction are boundary.
template <int Dim>
struct Box {
  Kokkos::Array<int, Dim> begin;
  Kokkos::Array<int, Dim> end;

  [[nodiscard]] KOKKOS_FUNCTION int length(int direction) const {
    return end[direction] - begin[direction];
  }
  /// Lines of cells along the last direction.
  [[nodiscard]] KOKKOS_FUNCTION int rows() const {
    if constexpr (Dim == 2)
      return length(0);
    else
      return length(0) * length(1);
  }
};

/// All unknowns.
template <int Dim>
Box<Dim> interior(Field<Dim> const& field) {
  Box<Dim> box;
  for (int k = 0; k < Dim; ++k) {
    box.begin[k] = 1;
    box.end[k] = static_cast<int>(field.extent(static_cast<std::size_t>(k))) - 1;
  }
  return box;
}

/// The field before and after a step: a step reads one and writes the other. The next step
/// exchanges them.
template <int Dim>
struct DoubleBuffer {
  Field<Dim> even;
  Field<Dim> odd;

  [[nodiscard]] Field<Dim> const& before(int step) const { return step % 2 == 0 ? even : odd; }
  [[nodiscard]] Field<Dim> const& after(int step) const { return step % 2 == 0 ? odd : even; }
};

}  // namespace heat

#endif
