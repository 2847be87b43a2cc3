// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_HEAT_RANKS_PART_HPP
#define TRELLIS_EXAMPLE_HEAT_RANKS_PART_HPP

#include <mpi.h>

#include <Kokkos_Core.hpp>
#include <Trellis_Mpi.hpp>
#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "../heat/Grid.hpp"

/// This header describes which part of the plate a rank has, and what it sends to its neighbours.
///
/// The ranks form a grid of rows and columns. Each has a box of the plate's cells, as a field of
/// its own with a ring of cells around them. This ring is the halo. It has the outermost cells of
/// up to four neighbours, or the plate's boundary. (The stencil needs no corners.)
namespace heat::ranks {

enum Side : int { north, south, west, east };
inline constexpr std::array all_sides{north, south, west, east};
[[nodiscard]] inline char const* name_of(Side side) {
  return std::array{"north", "south", "west", "east"}[side];
}
[[nodiscard]] inline Side opposite(Side side) {
  return static_cast<Side>(side ^ 1);
}

struct Part {
  trellis::mpi::Communicator comm;
  std::vector<int> cells;         ///< of the plate: rows, columns
  std::vector<int> processes;     ///< ranks along each direction
  std::vector<Box<2>> boxes;      ///< of all ranks, in cells of the plate, which count from 1
  std::array<int, 4> neighbours;  ///< their ranks; MPI_PROC_NULL at the plate's boundary

  [[nodiscard]] Box<2> const& box() const { return boxes[static_cast<std::size_t>(comm.rank())]; }
  [[nodiscard]] bool has(Side side) const { return neighbours[side] != MPI_PROC_NULL; }
  /// Returns a field for the cells of this rank. It is not initialised.
  [[nodiscard]] Field<2> make_field(std::string const& label) const {
    return heat::make_field(label, box().length(0), box().length(1));
  }
};

/// Cuts the plate into as many parts as there are ranks, each of them with cells. Collective.
[[nodiscard]] Part cut_plate(MPI_Comm comm, std::vector<int> const& cells,
                             std::vector<int> const& processes);

/// Calls `f(edge, halo)` with the outermost cells on a side, which the neighbour gets, and those
/// beyond them, which are the neighbour's. Rows are contiguous, columns are not.
template <class F>
void with_side(Field<2> const& u, Side side, F&& f) {
  using Kokkos::subview;
  int const rows = u.extent_int(0) - 2, columns = u.extent_int(1) - 2;
  std::pair const down(1, rows + 1), across(1, columns + 1);
  switch (side) {
    case north:
      return f(subview(u, 1, across), subview(u, 0, across));
    case south:
      return f(subview(u, rows, across), subview(u, rows + 1, across));
    case west:
      return f(subview(u, down, 1), subview(u, down, 0));
    case east:
      return f(subview(u, down, columns), subview(u, down, columns + 1));
  }
}

/// Returns the tag of a message of this step that travels in this direction. Alternating steps have
/// tags of their own, so that in a plan of two steps each message has a channel of its own.
[[nodiscard]] inline int tag_of(Side direction, int step) {
  return direction + 4 * (step % 2);
}

/// A rank's cells in tiles. Those of the border produce what the neighbours wait for, and wait for
/// messages from there. Those inside have no neighbour.
struct Tiles {
  std::vector<int> counts;  ///< along each direction
  std::vector<Box<2>> border;
  std::vector<Box<2>> inner;
  [[nodiscard]] int count() const { return counts[0] * counts[1]; }
};

/// Cuts a part into tiles. `counts` may be empty: then tiles fit a cache, and some lie inside.
/// Throws `std::runtime_error` when a rank has fewer cells than tiles in a direction.
[[nodiscard]] Tiles cut_part(Part const& part, std::vector<int> counts, int workers);

}  // namespace heat::ranks

#endif
