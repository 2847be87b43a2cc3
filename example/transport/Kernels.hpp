// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_TRANSPORT_KERNELS_HPP
#define TRELLIS_EXAMPLE_TRANSPORT_KERNELS_HPP

#include <Trellis_Fields.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>

#include "Problem.hpp"

/// This header has the kernels of both solvers: functors over the rows of a cube of cells.
namespace transport {

using F = trellis::Field<double***, Kokkos::LayoutRight>;
using In = F::read_view;
using Out = F::view;

/// The cells are periodic: before the first cell is the last one. A face has the number of the cell
/// after it.
struct Cells {
  int n;
  [[nodiscard]] KOKKOS_FUNCTION int before(int k) const { return (k == 0 ? n : k) - 1; }
  [[nodiscard]] KOKKOS_FUNCTION int after(int k) const { return k + 1 == n ? 0 : k + 1; }
};

/// Calls `f(i, j, k, i', j', k')` for the cells of a row, with the cell before each of them in a
/// direction.
template <class Body>
KOKKOS_FUNCTION void for_faces(Cells cells, int direction, int row, Body const& body) {
  int const i = row / cells.n, j = row % cells.n;
  if (direction == 2) {
    body(i, j, 0, i, j, cells.n - 1);
    for (int k = 1; k < cells.n; ++k) body(i, j, k, i, j, k - 1);
    return;
  }
  int const i_before = direction == 0 ? cells.before(i) : i;
  int const j_before = direction == 1 ? cells.before(j) : j;
  for (int k = 0; k < cells.n; ++k) body(i, j, k, i_before, j_before, k);
}

/// q = -D grad phi, on the faces across one direction.
struct Diffusion {
  Cells cells;
  int direction;
  double factor;  ///< D / h
  KOKKOS_FUNCTION void operator()(int row, In const& phi, Out const& q) const {
    for_faces(cells, direction, row, [&](int i, int j, int k, int a, int b, int c) {
      q(i, j, k) = factor * (phi(a, b, c) - phi(i, j, k));
    });
  }
};

/// q = u phi, with phi from the upwind side.
struct Convection {
  Cells cells;
  int direction;
  double velocity;
  KOKKOS_FUNCTION void operator()(int row, In const& phi, Out const& q) const {
    bool const forward = velocity > 0;
    for_faces(cells, direction, row, [&](int i, int j, int k, int a, int b, int c) {
      q(i, j, k) = velocity * (forward ? phi(a, b, c) : phi(i, j, k));
    });
  }
};

/// The product of the exponentials of these.
struct Product {
  Cells cells;
  template <class Fields>
  KOKKOS_FUNCTION void operator()(int row, Fields const& phis, Out const& source) const {
    int const i = row / cells.n, j = row % cells.n;
    for (int k = 0; k < cells.n; ++k) {
      double product = 1;
      for (std::size_t e = 0; e < phis.size(); ++e) product *= Kokkos::exp(phis[e](i, j, k));
      source(i, j, k) = product;
    }
  }
};

/// Source minus divergence. `fluxes`: three diffusive and three convective ones.
struct Balance {
  Cells cells;
  double per_spacing;  ///< 1 / h
  template <class Fields>
  KOKKOS_FUNCTION void operator()(int row, Fields const& fluxes, In const& source,
                                  Out const& rate) const {
    int const i = row / cells.n, j = row % cells.n;
    int const i_after = cells.after(i), j_after = cells.after(j);
    In const dx = fluxes[0], dy = fluxes[1], dz = fluxes[2];
    In const cx = fluxes[3], cy = fluxes[4], cz = fluxes[5];
    auto const at = [&](int k, int k_after) {
      double const x = dx(i_after, j, k) - dx(i, j, k) + (cx(i_after, j, k) - cx(i, j, k));
      double const y = dy(i, j_after, k) - dy(i, j, k) + (cy(i, j_after, k) - cy(i, j, k));
      double const z = dz(i, j, k_after) - dz(i, j, k) + (cz(i, j, k_after) - cz(i, j, k));
      rate(i, j, k) = source(i, j, k) - per_spacing * (x + y + z);
    };
    for (int k = 0; k + 1 < cells.n; ++k) at(k, k + 1);
    at(cells.n - 1, 0);
  }
};

/// An explicit step.
struct Advance {
  Cells cells;
  double time_step;
  KOKKOS_FUNCTION void operator()(int row, In const& rate, Out const& phi) const {
    int const i = row / cells.n, j = row % cells.n;
    for (int k = 0; k < cells.n; ++k) phi(i, j, k) += time_step * rate(i, j, k);
  }
};

/// The fluxes of one equation in the order of Balance.
inline Diffusion diffusion(Problem const& problem, int direction) {
  return {{problem.cells}, direction, Problem::diffusivity / problem.spacing()};
}
inline Convection convection(Problem const& problem, int direction) {
  return {{problem.cells}, direction, Problem::velocity[direction]};
}

/// Sets the initial values, in any View on the host.
template <class V>
void set_initial(Problem const& problem, int equation, V const& phi) {
  double const wave = 2 * 3.14159265358979323846 / problem.cells;
  for (int i = 0; i < problem.cells; ++i)
    for (int j = 0; j < problem.cells; ++j)
      for (int k = 0; k < problem.cells; ++k)
        phi(i, j, k) = 0.1 * Kokkos::sin(wave * (i + equation)) * Kokkos::cos(wave * j) -
                       0.05 * Kokkos::cos(wave * (k - equation)) - 0.1;
}

}  // namespace transport

#endif
