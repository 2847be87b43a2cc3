// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_CHOLESKY_TILEDMATRIX_HPP
#define TRELLIS_EXAMPLE_CHOLESKY_TILEDMATRIX_HPP

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

/// This header has the matrix that is factorised, and its layout in memory.
namespace cholesky {

/// Each tile kernel has one thread.
using Space = Kokkos::Serial;
/// A tile is stored by columns, as BLAS requires.
using Tile = Kokkos::View<double**, Kokkos::LayoutLeft, Space>;

/// The lower half of a square matrix, each tile in memory of its own. Above the diagonal its
/// diagonal tiles are zero, and stay so.
class TiledMatrix {
 public:
  TiledMatrix(std::string const& name, int order, int tile)
      : m_order(order), m_tile(tile), m_tiles((order + tile - 1) / tile) {
    for (int i = 0; i < m_tiles; ++i)
      for (int j = 0; j <= i; ++j)
        m_views.emplace_back(name + "(" + std::to_string(i) + ", " + std::to_string(j) + ")",
                             extent(i), extent(j));
  }

  [[nodiscard]] int order() const { return m_order; }
  [[nodiscard]] int tiles() const { return m_tiles; }  ///< in a row or column
  /// Returns the first row of the i-th row of tiles, and how many rows it has. The last one may be
  /// narrower.
  [[nodiscard]] int begin(int i) const { return i * m_tile; }
  [[nodiscard]] int extent(int i) const { return std::min(m_tile, m_order - begin(i)); }
  /// Requires j <= i.
  [[nodiscard]] Tile const& operator()(int i, int j) const {
    return m_views[static_cast<std::size_t>(i * (i + 1) / 2 + j)];
  }
  /// Returns the first `count` tiles of a row.
  [[nodiscard]] std::vector<Tile> row(int i, int count) const {
    auto const first = m_views.begin() + i * (i + 1) / 2;
    return {first, first + count};
  }

 private:
  int m_order;
  int m_tile;
  int m_tiles;
  std::vector<Tile> m_views;
};

/// The covariance of a random field at points that are scattered evenly over the unit square
/// (M. Roberts' sequence "R2"). It falls exponentially with the distance, which makes the matrix
/// positive definite whatever the points are, as long as no two of them are the same.
struct Covariance {
  static constexpr double correlation_length = 0.1;
  int negative_at;  ///< where a diagonal element is -1, so that the matrix is not; -1: nowhere

  double operator()(int i, int j) const {
    if (i == j) return i == negative_at ? -1 : 1;
    double const x = coordinate(i, 0.7548776662466927) - coordinate(j, 0.7548776662466927);
    double const y = coordinate(i, 0.5698402909980532) - coordinate(j, 0.5698402909980532);
    return std::exp(-std::hypot(x, y) / correlation_length);
  }

 private:
  static double coordinate(int i, double step) {
    double whole;
    return std::modf(0.5 + i * step, &whole);
  }
};

/// Writes the lower half of tile (i, j).
inline void fill(TiledMatrix const& a, int i, int j, Covariance const& element, Tile const& tile) {
  for (int column = 0; column < a.extent(j); ++column)
    for (int row = i == j ? column : 0; row < a.extent(i); ++row)
      tile(row, column) = element(a.begin(i) + row, a.begin(j) + column);
}

template <class F>
void for_each_tile(TiledMatrix const& a, F const& f) {
  for (int i = 0; i < a.tiles(); ++i)
    for (int j = 0; j <= i; ++j) f(i, j);
}

inline void copy(TiledMatrix const& to, TiledMatrix const& from) {
  for_each_tile(to, [&](int i, int j) { Kokkos::deep_copy(Space(), to(i, j), from(i, j)); });
  Space().fence("cholesky: after a copy");
}

/// Returns how many operations the factorisation takes: additions, multiplications, divisions and
/// roots.
inline double operations(int order) {
  double const n = order;
  return n * n * n / 3 + n * n / 2 + n / 6;
}

}  // namespace cholesky

#endif
