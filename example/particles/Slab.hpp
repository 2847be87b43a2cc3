// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_PARTICLES_SLAB_HPP
#define TRELLIS_EXAMPLE_PARTICLES_SLAB_HPP

#include <mpi.h>

#include <Trellis_Mpi.hpp>
#include <string>
#include <vector>

#include "ParticleBuffer.hpp"
#include "Plasma.hpp"

/// This header describes what a rank has: a slab of rows, cut into tiles.
///
///     west   | border |   core   |   core   | border |   east
///     rows     0    2                        -2     rows
///
/// The neighbour to the west has the rows before, the one to the east those behind. The box is
/// periodic, so each rank has both, and a single rank is its own neighbour. The two rows at each
/// end are border: only their particles see the halo, and leave, and bring currents to other ranks.
/// In a step, nothing that happens to the particles of the core depends on a message of that step.
namespace particles {

enum Side : int { west, east };
[[nodiscard]] inline char const* name_of(Side side) {
  return side == west ? "west" : "east";
}
[[nodiscard]] inline Side opposite(Side side) {
  return side == west ? east : west;
}

inline constexpr int border_rows = 2;
inline constexpr int least_rows = 2 * border_rows + 1;

/// Rows of a slab, with the particles in them and those that leave them.
struct Tile {
  Tile(std::string const& name, int begin_row, int end_row)
      : begin(begin_row),
        end(end_row),
        particles("particles " + name),
        leaving{ParticleBuffer("leaving " + name + " to the west"),
                ParticleBuffer("leaving " + name + " to the east")} {}
  int begin, end;
  ParticleBuffer particles;
  ParticleBuffer leaving[2];  ///< for each side
};

struct Slab {
  /// Cuts the rows between the ranks, and this rank's rows into two border tiles and `core_tiles`
  /// others, or fewer, if there are not so many rows. Collective.
  Slab(MPI_Comm world, Problem const& problem, int core_tiles);

  trellis::mpi::Communicator comm;       ///< of fields
  trellis::mpi::Communicator exchanges;  ///< of particles; a step's exchange has all of it
  int neighbours[2];                     ///< for each side
  std::vector<int> first_rows;           ///< of all ranks, and behind the last one
  Fields fields;
  std::vector<Tile> tiles;     ///< the first and the last one are border
  ParticleBuffer arriving[2];  ///< from each side

  [[nodiscard]] bool is_border(int tile) const { return tile == 0 || tile == last(); }
  [[nodiscard]] int last() const { return static_cast<int>(tiles.size()) - 1; }
  [[nodiscard]] int rows_of(int rank) const {
    auto const r = static_cast<std::size_t>(rank);
    return first_rows[r + 1] - first_rows[r];
  }
};

}  // namespace particles

#endif
