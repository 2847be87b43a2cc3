// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_CELLSHAPE_HPP
#define TRELLIS_CELLSHAPE_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>

/// This header has the shapes of cells, with the numbers and the order of points of VTK's file
/// format.
namespace trellis {

/// The shape of a cell, with the number that VTK gives it.
enum class CellShape : std::uint8_t {
  vertex = 1,
  line = 3,
  triangle = 5,
  quad = 9,
  tetrahedron = 10,
  hexahedron = 12,
  wedge = 13,
  pyramid = 14
};

namespace Impl {
/// The largest number of points that a cell of any shape has.
inline constexpr int most_points_of_a_cell = 8;
}  // namespace Impl

/// Returns how many points a cell of this shape has; 0 for an invalid shape.
KOKKOS_INLINE_FUNCTION constexpr int points_of(CellShape shape) {
  switch (shape) {
    case CellShape::vertex:
      return 1;
    case CellShape::line:
      return 2;
    case CellShape::triangle:
      return 3;
    case CellShape::quad:
    case CellShape::tetrahedron:
      return 4;
    case CellShape::hexahedron:
      return 8;
    case CellShape::wedge:
      return 6;
    case CellShape::pyramid:
      return 5;
  }
  return 0;
}

}  // namespace trellis

#endif
