// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_ISOSURFACE_CASES_HPP
#define TRELLIS_EXAMPLE_ISOSURFACE_CASES_HPP

#include <Kokkos_Core.hpp>

/// This header has the triangles of a cell: marching cubes. The corners of a cell are numbered as
/// the points of a cell of a `UniformGrid`. A corner is inside where the value is larger than the
/// level. A case is the set of corners inside.
namespace isosurface {

/// The ends of an edge: 0 to 3 around the bottom, 4 to 7 around the top, 8 to 11 upwards.
KOKKOS_INLINE_FUNCTION constexpr int first_of(int edge) {
  return edge < 8 ? edge : edge - 8;
}
KOKKOS_INLINE_FUNCTION constexpr int second_of(int edge) {
  return edge < 4 ? (edge + 1) % 4 : edge < 8 ? 4 + (edge + 1) % 4 : edge - 4;
}

template <class Values>
KOKKOS_INLINE_FUNCTION int case_of(Values const& at, double level) {
  int inside = 0;
  for (int k = 0; k < 8; ++k) inside |= (at[k] > level ? 1 : 0) << k;
  return inside;
}

constexpr int cases = 256;
constexpr int most_triangles = 8;  // no case has more

/// The number of triangles of each case, and the edges that their corners lie on.
struct Cases {
  Kokkos::View<int*> counts{"triangles of each case", cases};
  Kokkos::View<signed char * [3 * most_triangles]> edges{"edges of each case", cases};
};

/// Follows the surface from face to face. On each face of the cell it enters where the corners come
/// inside, and leaves where they go outside, as seen from there. Two cells see the same on the face
/// that they share, so the surface has no holes. Throws `std::logic_error` if that were wrong.
[[nodiscard]] Cases make_cases();

}  // namespace isosurface

#endif
