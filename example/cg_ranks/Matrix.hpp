// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_CG_RANKS_MATRIX_HPP
#define TRELLIS_EXAMPLE_CG_RANKS_MATRIX_HPP

#include <Kokkos_Core.hpp>
#include <Trellis.hpp>
#include <Trellis_Mpi.hpp>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "Rows.hpp"

/// This header describes how a matrix lies on a rank, which values the rank needs from others, and
/// which rows need none. All of it follows from the columns of the matrix.
namespace cg {

using Space = Kokkos::DefaultExecutionSpace;
using Vector = Kokkos::View<double*, Space>;
using Indices = Kokkos::View<int*, Space>;

/// The matrix as kernels use it. A rank numbers its own rows: first the inner ones, whose columns
/// are all of this rank, then those of the border. Columns have the numbers of these rows. Behind
/// them is the halo, the columns of other ranks.
struct Csr {
  Indices offsets;
  Indices columns;
  Vector values;
  Vector diagonal;
  Indices bounds;  ///< the rows of tile t are [bounds(t), bounds(t + 1))
};

/// Some rows, inner ones or those of the border.
struct Tile {
  int begin;
  int end;
  bool is_border;
  std::vector<int> tiles;       ///< that have columns of these rows
  std::vector<int> neighbours;  ///< the same
};

/// Another rank that has columns of this rank's rows.
struct Neighbour {
  int rank;
  int halo_begin;  ///< its values lie there in each vector
  int halo_count;
  Indices rows;            ///< whose values it gets
  std::vector<int> tiles;  ///< that have them
};

struct Matrix {
  trellis::mpi::Communicator comm;
  Csr local;
  Global rows_of_all;
  int rows;
  int inner_rows;
  int halo;
  int entries;
  std::vector<Tile> tiles;
  std::vector<Neighbour> neighbours;
  std::vector<int> number;  ///< of the i-th row that this rank was given

  [[nodiscard]] int tile_count() const { return static_cast<int>(tiles.size()); }
  /// Returns a vector with a value for each row and each column of the halo; all are 0.
  [[nodiscard]] Vector make_vector(std::string const& label) const {
    return Vector(label, static_cast<std::size_t>(rows) + static_cast<std::size_t>(halo));
  }
  /// Converts from and to the order in which this rank was given its rows.
  [[nodiscard]] Vector scatter(std::string const& label, HostArray<double> const& by_row) const;
  [[nodiscard]] HostArray<double> gather(Vector const& vector) const;
};

/// A vector with its pieces: those of the tiles, and those that come from each neighbour.
struct TiledVector {
  Vector all;
  std::vector<Vector> tiles;
  std::vector<Vector> halo;

  TiledVector() = default;
  TiledVector(Matrix const& matrix, Vector const& vector);
  [[nodiscard]] std::vector<Vector> pieces(std::vector<int> const& of_tiles) const;
};

/// Distributes the matrix in tasks, and waits for the graph. `tiles` is how many are wanted; 0: so
/// many that a tile fits a cache. Collective. Each row must have a positive entry on the diagonal.
[[nodiscard]] Matrix distribute(trellis::TaskGraph& graph, MPI_Comm comm, Rows const& given,
                                int tiles);

}  // namespace cg

#endif
