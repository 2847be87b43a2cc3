// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Slab.hpp"

#include <algorithm>

namespace particles {
namespace {

/// Cuts `count` into `parts` consecutive pieces of equal size, as far as possible.
std::vector<int> cut(int begin, int count, int parts) {
  std::vector<int> begins;
  for (int k = 0; k <= parts; ++k)
    begins.push_back(begin + static_cast<int>(std::int64_t{count} * k / parts));
  return begins;
}

}  // namespace

Slab::Slab(MPI_Comm world, Problem const& problem, int core_tiles)
    : comm(trellis::mpi::Communicator::duplicate(world)),
      exchanges(comm.duplicate()),
      neighbours{(comm.rank() + comm.size() - 1) % comm.size(), (comm.rank() + 1) % comm.size()},
      first_rows(cut(0, problem.cells[0], comm.size())),
      fields(first_rows[static_cast<std::size_t>(comm.rank())], rows_of(comm.rank()),
             problem.cells[1]),
      arriving{ParticleBuffer("arriving from the west"), ParticleBuffer("arriving from the east")} {
  int const core_rows = fields.rows - 2 * border_rows;
  auto const begins = cut(border_rows, core_rows, std::min(core_tiles, core_rows));
  tiles.emplace_back("west", 0, border_rows);
  for (std::size_t k = 0; k + 1 < begins.size(); ++k)
    tiles.emplace_back("core " + std::to_string(k), begins[k], begins[k + 1]);
  tiles.emplace_back("east", fields.rows - border_rows, fields.rows);
}

}  // namespace particles
