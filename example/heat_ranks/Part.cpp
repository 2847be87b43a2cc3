// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Part.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

#include "../heat/Tiles.hpp"
#include "../shared/Text.hpp"

namespace heat::ranks {

Part cut_plate(MPI_Comm comm, std::vector<int> const& cells, std::vector<int> const& processes) {
  Part part;
  part.cells = cells;
  part.processes = processes;
  part.boxes = cut<2>({{1, 1}, {cells[0] + 1, cells[1] + 1}}, processes);
  // The order is that of `cut`, the last direction fastest, as MPI numbers the ranks of a grid.
  int const periodic[] = {0, 0};
  MPI_Comm grid = MPI_COMM_NULL;
  MPI_Cart_create(comm, 2, processes.data(), periodic, 0, &grid);
  MPI_Cart_shift(grid, 0, 1, &part.neighbours[north], &part.neighbours[south]);
  MPI_Cart_shift(grid, 1, 1, &part.neighbours[west], &part.neighbours[east]);
  part.comm = trellis::mpi::Communicator::duplicate(grid);
  MPI_Comm_free(&grid);
  return part;
}

namespace {

// As in example/heat, small tiles keep the front of steps that moves over the plate in cache.
// Columns are cut only where there are neighbours, once for each of them, so that some tiles have
// none: longer rows are quicker.
std::vector<int> default_tiles(Part const& part, int workers) {
  constexpr double bytes_of_a_tile = 512 * 1024;
  int const rows = part.cells[0] / part.processes[0], columns = part.cells[1] / part.processes[1];
  int const across = std::min({part.processes[1], 3, columns});
  int const wanted = static_cast<int>(8.0 * rows * columns / bytes_of_a_tile) / across;
  return {std::min(std::max({wanted, 4 * workers / across, 3}), rows), across};
}

}  // namespace

Tiles cut_part(Part const& part, std::vector<int> counts, int workers) {
  Tiles tiles;
  tiles.counts = counts.empty() ? default_tiles(part, workers) : std::move(counts);
  for (int k = 0; k < 2; ++k)
    if (int const count = tiles.counts[static_cast<std::size_t>(k)]; count > part.box().length(k))
      throw std::runtime_error("--tiles " + std::to_string(count) + " is more than the " +
                               example::plural(part.box().length(k), "cell") +
                               " of a rank in one direction");
  int const rows = part.box().length(0), columns = part.box().length(1);
  for (Box<2> const& tile : cut<2>({{1, 1}, {rows + 1, columns + 1}}, tiles.counts)) {
    bool const is_border =
        (tile.begin[0] == 1 && part.has(north)) || (tile.end[0] == rows + 1 && part.has(south)) ||
        (tile.begin[1] == 1 && part.has(west)) || (tile.end[1] == columns + 1 && part.has(east));
    (is_border ? tiles.border : tiles.inner).push_back(tile);
  }
  return tiles;
}

}  // namespace heat::ranks
