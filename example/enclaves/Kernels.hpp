// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_ENCLAVES_KERNELS_HPP
#define TRELLIS_EXAMPLE_ENCLAVES_KERNELS_HPP

#include <Trellis.hpp>

#include <Kokkos_Core.hpp>

/// This header has the kernel that sweeps and enclave tasks share: a step of the Allen-Cahn
/// equation, du/dt = laplace u + u - u^3, in a cell. Spots grow, merge, and get sharp borders.
namespace enclaves {

using Host = Kokkos::DefaultHostExecutionSpace;
using Range = Kokkos::RangePolicy<Host>;
using Cells = Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace>;
using Columns = Kokkos::View<double**, Kokkos::LayoutStride, Kokkos::HostSpace>;

struct Law {
  double mixing = 0.2;     ///< time step times diffusivity over the area of a cell; at most 1/4
  double time_step = 0.1;  ///< of the reaction
  int reactions = 1;       ///< in so many small steps

  KOKKOS_FUNCTION double operator()(double centre, double north, double south, double west,
                                    double east) const {
    double u = centre + mixing * ((north + south) + (west + east) - 4 * centre);
    double const small = time_step / reactions;
    for (int k = 0; k < reactions; ++k) u += small * (u - u * u * u);
    return u;
  }
};

/// The task of an enclave: a patch with a halo of one cell becomes the patch a step later.
struct Enclave {
  Law law;
  int cells;
  KOKKOS_FUNCTION void operator()(int index, trellis::read_view<Cells> const& in,
                                  Cells const& out) const {
    int const i = index / cells, j = index % cells;
    out(i, j) =
        law(in(i + 1, j + 1), in(i, j + 1), in(i + 2, j + 1), in(i + 1, j), in(i + 1, j + 2));
  }
};

}  // namespace enclaves

#endif
