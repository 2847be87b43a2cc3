// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Matrix.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace cg {
namespace {

using trellis::ResourcePolicy, trellis::read, trellis::write;
Indices on_device(std::string const& label, std::vector<int> const& numbers) {
  Indices const copy(Kokkos::view_alloc(label, Kokkos::WithoutInitializing), numbers.size());
  Kokkos::deep_copy(
      copy, Kokkos::View<int const*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(
                numbers.data(), numbers.size()));
  return copy;
}

/// Finds the rows that have columns of other ranks.
HostArray<int> find_border(trellis::TaskGraph& graph, Rows const& given, int rank) {
  HostArray<int> const border("is border", to_size(given.count()));
  for (auto const& piece : pieces_of(given.count()))
    trellis::parallel_for(
        "find border",
        ResourcePolicy(graph, Kokkos::RangePolicy<HostThreads>(piece.first, piece.second),
                       write(Kokkos::subview(border, piece))),
        [border, rank, cut = given.cut, offsets = given.offsets, columns = given.columns](int i) {
          for (int k = offsets(i); k < offsets(i + 1); ++k)
            if (!cut.has(rank, columns(k))) border(i) = 1;
        });
  graph.wait();
  return border;
}

/// Returns the columns of other ranks, in ascending order, so that those of one rank lie together.
std::vector<Global> find_halo(Rows const& given, HostArray<int> const& border, int rank) {
  std::vector<Global> halo;
  for (int i = 0; i < given.count(); ++i)
    if (border(i) != 0)
      std::copy_if(&given.columns(given.offsets(i)),
                   &given.columns(given.offsets(i)) + (given.offsets(i + 1) - given.offsets(i)),
                   std::back_inserter(halo),
                   [&](Global column) { return !given.cut.has(rank, column); });
  std::sort(halo.begin(), halo.end());
  halo.erase(std::unique(halo.begin(), halo.end()), halo.end());
  return halo;
}

/// Cuts the rows of one kind into tiles of about the same size.
void cut_tiles(std::vector<Tile>& tiles, int begin, int end, int rows_of_a_tile, bool is_border) {
  int const count = (end - begin + rows_of_a_tile - 1) / rows_of_a_tile;
  for (Global k = 0; k < count; ++k)
    tiles.push_back({begin + static_cast<int>(k * (end - begin) / count),
                     begin + static_cast<int>((k + 1) * (end - begin) / count),
                     is_border,
                     {},
                     {}});
}
/// The result does not depend on the number of workers: sums are added up tile by tile, so all bits
/// of the result depend on the tiles.
int rows_of_a_tile(int rows, int wanted) {
  constexpr int fits_a_cache = 8192, least_tiles = 8, most_tiles = 256;
  int const tiles = wanted > 0 ? wanted : std::clamp(rows / fits_a_cache, least_tiles, most_tiles);
  return std::max(1, (rows + tiles - 1) / tiles);
}
int tile_of(std::vector<Tile> const& tiles, int row) {
  auto const behind = std::upper_bound(tiles.begin(), tiles.end(), row,
                                       [](int r, Tile const& tile) { return r < tile.begin; });
  return static_cast<int>(behind - tiles.begin()) - 1;
}

/// Sends each rank the columns that this one needs of it, and receives the columns that others
/// need.
void agree_on_messages(trellis::TaskGraph& graph, Matrix& matrix, Cut const& cut,
                       std::vector<Global> const& halo) {
  int const rank = matrix.comm.rank(), ranks = matrix.comm.size();
  HostArray<int> const needed("needed of each rank", to_size(ranks));
  HostArray<int> const asked("asked by each rank", to_size(ranks));
  for (Global const column : halo) ++needed(cut.owner(column));
  trellis::mpi::alltoall(graph, matrix.comm, needed, asked);
  graph.wait();
  std::vector<int> const needs(needed.data(), needed.data() + ranks);
  std::vector<int> const asks(asked.data(), asked.data() + ranks);
  HostArray<Global> const out("columns needed", halo.size());
  std::copy(halo.begin(), halo.end(), out.data());
  HostArray<Global> const in("rows asked for",
                             to_size(std::accumulate(asks.begin(), asks.end(), 0)));
  trellis::mpi::alltoallv(graph, matrix.comm, out, needs, in, asks);
  graph.wait();

  Global const first = cut.begin[to_size(rank)];
  int halo_at = matrix.rows, asked_at = 0;
  for (int r = 0; r < ranks; ++r) {
    if (needs[to_size(r)] == 0 && asks[to_size(r)] == 0) continue;
    Neighbour neighbour{r, halo_at, needs[to_size(r)], {}, {}};
    std::vector<int> rows;
    for (int k = 0; k < asks[to_size(r)]; ++k)
      rows.push_back(matrix.number[to_size(in(asked_at + k) - first)]);
    neighbour.rows = on_device("rows of a neighbour", rows);
    for (int const row : rows) neighbour.tiles.push_back(tile_of(matrix.tiles, row));
    std::sort(neighbour.tiles.begin(), neighbour.tiles.end());
    neighbour.tiles.erase(std::unique(neighbour.tiles.begin(), neighbour.tiles.end()),
                          neighbour.tiles.end());
    halo_at += needs[to_size(r)];
    asked_at += asks[to_size(r)];
    matrix.neighbours.push_back(std::move(neighbour));
  }
}

/// The matrix in the host's memory, with the numbers that the rank uses.
struct HostCsr {
  HostArray<int> offsets, columns;
  HostArray<double> values, diagonal;
};

HostCsr renumber(trellis::TaskGraph& graph, Matrix const& matrix, Rows const& given,
                 std::vector<Global> const& halo) {
  HostCsr csr{HostArray<int>("offsets", to_size(matrix.rows) + 1),
              HostArray<int>("columns", to_size(matrix.entries)),
              HostArray<double>("values", to_size(matrix.entries)),
              HostArray<double>("diagonal", to_size(matrix.rows))};
  std::vector<int> given_as(to_size(matrix.rows));
  for (int i = 0; i < matrix.rows; ++i) given_as[to_size(matrix.number[to_size(i)])] = i;
  for (int i = 0; i < matrix.rows; ++i) {
    int const from = given_as[to_size(i)];
    csr.offsets(i + 1) = csr.offsets(i) + given.offsets(from + 1) - given.offsets(from);
  }
  int const rank = matrix.comm.rank();
  for (Tile const& tile : matrix.tiles) {
    std::pair const entries(csr.offsets(tile.begin), csr.offsets(tile.end));
    trellis::parallel_for(
        "renumber",
        ResourcePolicy(graph, Kokkos::RangePolicy<HostThreads>(tile.begin, tile.end),
                       write(Kokkos::subview(csr.columns, entries)),
                       write(Kokkos::subview(csr.values, entries)),
                       write(Kokkos::subview(csr.diagonal, std::pair(tile.begin, tile.end)))),
        [csr, given, rank, rows = matrix.rows, &halo, &given_as, &number = matrix.number](int i) {
          int const from = given_as[to_size(i)];
          Global const first = given.cut.begin[to_size(rank)];
          for (int k = 0; k < csr.offsets(i + 1) - csr.offsets(i); ++k) {
            Global const column = given.columns(given.offsets(from) + k);
            bool const is_own = given.cut.has(rank, column);
            int const here =
                is_own
                    ? number[to_size(column - first)]
                    : rows + static_cast<int>(std::lower_bound(halo.begin(), halo.end(), column) -
                                              halo.begin());
            csr.columns(csr.offsets(i) + k) = here;
            csr.values(csr.offsets(i) + k) = given.values(given.offsets(from) + k);
            if (here == i) csr.diagonal(i) = given.values(given.offsets(from) + k);
          }
        });
  }
  graph.wait();
  return csr;
}

/// Finds the tiles and neighbours that have columns of each tile's rows.
void find_columns(trellis::TaskGraph& graph, Matrix& matrix, HostCsr const& csr) {
  for (Tile& tile : matrix.tiles)
    trellis::host_task("columns of a tile", ResourcePolicy(graph), [&tile, &matrix, csr] {
      std::vector<bool> has_tile(matrix.tiles.size()), has_neighbour(matrix.neighbours.size());
      for (int k = csr.offsets(tile.begin); k < csr.offsets(tile.end); ++k) {
        int const column = csr.columns(k);
        if (column < matrix.rows) {
          has_tile[to_size(tile_of(matrix.tiles, column))] = true;
          continue;
        }
        auto const behind =
            std::upper_bound(matrix.neighbours.begin(), matrix.neighbours.end(), column,
                             [](int c, Neighbour const& n) { return c < n.halo_begin; });
        has_neighbour[to_size(behind - matrix.neighbours.begin() - 1)] = true;
      }
      for (std::size_t t = 0; t < has_tile.size(); ++t)
        if (has_tile[t]) tile.tiles.push_back(static_cast<int>(t));
      for (std::size_t n = 0; n < has_neighbour.size(); ++n)
        if (has_neighbour[n]) tile.neighbours.push_back(static_cast<int>(n));
    });
  graph.wait();
}

}  // namespace

Matrix distribute(trellis::TaskGraph& graph, MPI_Comm comm, Rows const& given, int tiles) {
  Matrix matrix;
  matrix.comm = trellis::mpi::Communicator::duplicate(comm);
  int const rank = matrix.comm.rank();
  matrix.rows_of_all = given.cut.all();
  matrix.rows = given.count();
  matrix.entries = given.columns.extent_int(0);

  HostArray<int> const border = find_border(graph, given, rank);
  std::vector<Global> const halo = find_halo(given, border, rank);
  matrix.halo = static_cast<int>(halo.size());
  matrix.inner_rows = matrix.rows - std::accumulate(border.data(), border.data() + matrix.rows, 0);
  matrix.number.resize(to_size(matrix.rows));
  int inner = 0, outer = matrix.inner_rows;
  for (int i = 0; i < matrix.rows; ++i)
    matrix.number[to_size(i)] = border(i) != 0 ? outer++ : inner++;

  int const rows_each = rows_of_a_tile(matrix.rows, tiles);
  cut_tiles(matrix.tiles, 0, matrix.inner_rows, rows_each, false);
  cut_tiles(matrix.tiles, matrix.inner_rows, matrix.rows, rows_each, true);
  std::vector<int> bounds(1, 0);
  for (Tile const& tile : matrix.tiles) bounds.push_back(tile.end);

  agree_on_messages(graph, matrix, given.cut, halo);
  HostCsr const csr = renumber(graph, matrix, given, halo);
  find_columns(graph, matrix, csr);
  auto const copy = [](auto const& host) {
    return Kokkos::create_mirror_view_and_copy(Space(), host);
  };
  matrix.local = {copy(csr.offsets), copy(csr.columns), copy(csr.values), copy(csr.diagonal),
                  on_device("bounds of tiles", bounds)};
  return matrix;
}

Vector Matrix::scatter(std::string const& label, HostArray<double> const& by_row) const {
  Vector const vector = make_vector(label);
  auto const host = Kokkos::create_mirror_view(vector);
  for (int i = 0; i < rows; ++i) host(number[to_size(i)]) = by_row(i);
  Kokkos::deep_copy(vector, host);
  return vector;
}
HostArray<double> Matrix::gather(Vector const& vector) const {
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), vector);
  HostArray<double> const by_row("by row", to_size(rows));
  for (int i = 0; i < rows; ++i) by_row(i) = host(number[to_size(i)]);
  return by_row;
}

TiledVector::TiledVector(Matrix const& matrix, Vector const& vector) : all(vector) {
  for (Tile const& tile : matrix.tiles)
    tiles.push_back(Kokkos::subview(all, std::pair(tile.begin, tile.end)));
  for (Neighbour const& n : matrix.neighbours)
    halo.push_back(Kokkos::subview(all, std::pair(n.halo_begin, n.halo_begin + n.halo_count)));
}
std::vector<Vector> TiledVector::pieces(std::vector<int> const& of_tiles) const {
  std::vector<Vector> found;
  for (int const t : of_tiles) found.push_back(tiles[to_size(t)]);
  return found;
}

}  // namespace cg
