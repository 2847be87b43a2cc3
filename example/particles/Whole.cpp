// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Whole.hpp"

#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "Oracle.hpp"

namespace particles {
namespace {

/// Collects the data of all ranks, one after the other, on rank 0.
template <class T>
std::vector<T> gather(trellis::mpi::Communicator const& comm, T const* mine, std::size_t count) {
  bool const is_root = comm.rank() == 0;
  std::vector<int> counts(static_cast<std::size_t>(comm.size())), begins(counts.size());
  int const bytes = static_cast<int>(count * sizeof(T));
  MPI_Gather(&bytes, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, comm.comm());
  for (std::size_t k = 1; k < counts.size(); ++k) begins[k] = begins[k - 1] + counts[k - 1];
  std::vector<T> all(is_root ? static_cast<std::size_t>(begins.back() + counts.back()) / sizeof(T)
                             : 0);
  MPI_Gatherv(mine, bytes, MPI_BYTE, all.data(), counts.data(), begins.data(), MPI_BYTE, 0,
              comm.comm());
  return all;
}

/// Gathers the rows without the halo. `before` rows of the halo come first.
template <class V>
auto gather_rows(Slab const& slab, V const& view, int before) {
  std::size_t const row = view.size() / view.extent(0);
  return gather(slab.comm, view.data() + static_cast<std::size_t>(before) * row,
                static_cast<std::size_t>(slab.fields.rows) * row);
}

template <class T, class V>
bool same_bits(std::vector<T> const& all, V const& view, int before) {
  std::size_t const row = view.size() / view.extent(0);
  return std::memcmp(all.data(), view.data() + static_cast<std::size_t>(before) * row,
                     all.size() * sizeof(T)) == 0;
}

/// Electrons at each node, in units of 1 / (2 cell_length^2).
std::vector<std::int64_t> number_density(Problem const& problem, std::vector<Particle> const& all) {
  int const rows = problem.cells[0], columns = problem.cells[1];
  std::vector<std::int64_t> density(static_cast<std::size_t>(rows) *
                                    static_cast<std::size_t>(columns));
  for (Particle const& p : all) {
    std::int64_t const a = p.x & (cell_length - 1), b = p.y & (cell_length - 1);
    for (int i = 0; i < 2; ++i)
      for (int k = 0; k < 2; ++k) {
        std::int64_t const row = ((p.x >> fraction_bits) + i) % rows;
        std::int64_t const column = ((p.y >> fraction_bits) + k) % columns;
        density[static_cast<std::size_t>(row * columns + column)] +=
            2 * (i == 0 ? cell_length - a : a) * (k == 0 ? cell_length - b : b);
      }
  }
  return density;
}

/// Sorts by the numbers of particles; each number occurs once.
void sort(std::vector<Particle>& all) {
  std::sort(all.begin(), all.end(),
            [](Particle const& a, Particle const& b) { return a.id < b.id; });
}

/// Returns the divergence at a node from `field(row, component, column)`.
template <class Field>
auto divergence(Problem const& problem, int row, int column, Field const& field) {
  int const rows = problem.cells[0], columns = problem.cells[1];
  return field(row, 0, column) - field((row + rows - 1) % rows, 0, column) + field(row, 1, column) -
         field(row, 1, (column + columns - 1) % columns);
}

}  // namespace

LooksAtWhole look_at_whole(Slab const& slab, Setup const& setup, Problem const& problem) {
  auto const e = gather_rows(slab, slab.fields.e, 1), b = gather_rows(slab, slab.fields.b, 1);
  auto const flown = gather_rows(slab, slab.fields.flown, 0);
  std::vector<Particle> mine;
  for (Tile const& tile : slab.tiles)
    mine.insert(mine.end(), tile.particles->begin(), tile.particles->end());
  auto all = gather(slab.comm, mine.data(), mine.size());
  LooksAtWhole found;
  if (slab.comm.rank() != 0) return found;
  sort(all);

  Oracle alone(setup, problem);
  auto const before = number_density(problem, alone.all);
  for (int step = 0; step < problem.steps; ++step) alone.step();
  found.same_as_one_rank =
      same_bits(e, alone.fields.e, 1) && same_bits(b, alone.fields.b, 1) &&
      same_bits(flown, alone.fields.flown, 0) && all.size() == alone.all.size() &&
      std::memcmp(all.data(), alone.all.data(), all.size() * sizeof(Particle)) == 0;

  auto const after = number_density(problem, all);
  auto const at = [&](auto const& values) {
    return [&](int row, int component, int column) {
      return values[static_cast<std::size_t>((row * 2 + component) * problem.cells[1] + column)];
    };
  };
  double const unit = problem.weight / problem.per_cell / (2.0 * cell_length * cell_length);
  for (int row = 0; row < problem.cells[0]; ++row)
    for (int column = 0; column < problem.cells[1]; ++column) {
      auto const node = static_cast<std::size_t>(row * problem.cells[1] + column);
      std::uint64_t const outflow = divergence(problem, row, column, at(flown));
      auto const change = static_cast<std::uint64_t>(after[node] - before[node]);
      found.charge_flows = found.charge_flows && change + outflow == 0;
      double const charge = problem.weight - unit * static_cast<double>(after[node]);
      double const field = divergence(problem, row, column, at(e)) / problem.spacing;
      double const wrong = std::abs(field - charge);
      if (!(wrong <= found.gauss)) found.gauss = wrong;  // also when it is NaN
    }
  return found;
}

std::vector<RowSums> rows_of_all(Slab const& slab, Problem const& problem, Series const& series) {
  auto const checks = static_cast<std::size_t>(problem.checks());
  std::vector<RowSums> all(checks * static_cast<std::size_t>(problem.cells[0]));
  auto const mine = gather(slab.comm, series.rows.data(), series.rows.size());
  if (slab.comm.rank() != 0) return all;
  auto next = mine.begin();
  for (int rank = 0; rank < slab.comm.size(); ++rank)
    for (std::size_t check = 0; check < checks; ++check) {
      auto const row = static_cast<std::size_t>(slab.first_rows[static_cast<std::size_t>(rank)]);
      auto const count = slab.rows_of(rank);
      std::copy(next, next + count,
                all.begin() + static_cast<std::ptrdiff_t>(
                                  check * static_cast<std::size_t>(problem.cells[0]) + row));
      next += count;
    }
  return all;
}

heat::Picture phase_space(Slab const& slab, Problem const& problem) {
  constexpr int pixels = 256;
  double largest = 0;
  auto const each = [&](auto const& look) {
    for (Tile const& tile : slab.tiles)
      for (Particle const& p : *tile.particles) look(p);
  };
  each([&](Particle const& p) { largest = std::max(largest, std::abs(p.ux)); });
  MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_DOUBLE, MPI_MAX, slab.comm.comm());
  std::vector<double> mine(static_cast<std::size_t>(pixels * pixels), 0.0), all = mine;
  double const length = static_cast<double>(problem.cells[0]) * cell_length;
  each([&](Particle const& p) {
    int const x = static_cast<int>(pixels * (static_cast<double>(p.x) / length));
    double const up = largest > 0 ? 0.5 - 0.45 * p.ux / largest : 0.5;
    mine[static_cast<std::size_t>(static_cast<int>(pixels * up) * pixels +
                                  std::min(x, pixels - 1))] += 1;
  });
  MPI_Reduce(mine.data(), all.data(), pixels * pixels, MPI_DOUBLE, MPI_SUM, 0, slab.comm.comm());
  heat::Picture picture(pixels, pixels);
  for (int row = 0; row < pixels; ++row)
    for (int column = 0; column < pixels; ++column)
      picture(row, column) = std::log1p(all[static_cast<std::size_t>(row * pixels + column)]);
  return picture;
}

}  // namespace particles
