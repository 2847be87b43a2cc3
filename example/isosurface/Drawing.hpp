// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_ISOSURFACE_DRAWING_HPP
#define TRELLIS_EXAMPLE_ISOSURFACE_DRAWING_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>

#include "../heat/Picture.hpp"

/// This header makes a picture of a surface.
namespace isosurface {

using HostPoints = Kokkos::View<double* [3], Kokkos::LayoutRight, Kokkos::HostSpace>;
using HostTriangles = Kokkos::View<std::int64_t* [3], Kokkos::LayoutRight, Kokkos::HostSpace>;
using HostShades = Kokkos::View<double*, Kokkos::HostSpace>;

/// Draws the surface as seen along the third direction, nearer triangles in front, the unit square
/// as `side` x `side` pixels.
[[nodiscard]] heat::Picture draw(HostPoints const& points, HostTriangles const& triangles,
                                 HostShades const& shades, int side);

/// True if each edge of a triangle is the edge of exactly one other, which runs the other way.
[[nodiscard]] bool is_closed(HostTriangles const& triangles);

}  // namespace isosurface

#endif
