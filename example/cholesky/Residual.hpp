// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_CHOLESKY_RESIDUAL_HPP
#define TRELLIS_EXAMPLE_CHOLESKY_RESIDUAL_HPP

#include <Trellis.hpp>
#include <kernels/Trellis_Blas.hpp>

#include <Kokkos_Core.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "TiledMatrix.hpp"

/// This header measures the quality of a factor. It has one task for each tile of A.
namespace cholesky {

/// Sums of squares over a tile and its mirror image.
struct Squares {
  double of_difference = 0;
  double of_matrix = 0;
};

/// Returns ‖A - L Lᵀ‖ / (n ‖A‖ eps) in the norm of Frobenius. Rounding alone gives at most the root
/// of n (by the usual bound on the error, and because the sum of L's squares is the trace of A). In
/// practice it gives much less than 1. The result is NaN if there is one in L.
inline double residual(trellis::TaskGraph& graph, TiledMatrix const& l, Covariance const& element) {
  using trellis::read, trellis::read_view_list;
  std::vector<trellis::Future<Squares>> sums;
  for_each_tile(l, [&](int i, int j) {
    int const rows = l.extent(i), columns = l.extent(j);
    int const first_row = l.begin(i), first_column = l.begin(j);
    bool const is_diagonal = i == j;
    sums.push_back(trellis::space_task(
        "residual " + std::to_string(i) + "," + std::to_string(j),
        trellis::ResourcePolicy(graph, trellis::on<Space>, read(l.row(i, j + 1)),
                                read(l.row(j, j + 1))),
        [=](Space const& space, read_view_list<Tile> const& left,
            read_view_list<Tile> const& right) {
          Tile const rest("rest", rows, columns);
          Squares squares;
          for (int c = 0; c < columns; ++c)
            for (int r = is_diagonal ? c : 0; r < rows; ++r) {
              bool const is_alone = is_diagonal && r == c;
              rest(r, c) = element(first_row + r, first_column + c);
              squares.of_matrix += (is_alone ? 1 : 2) * rest(r, c) * rest(r, c);
            }
          for (std::size_t k = 0; k < left.size(); ++k)
            trellis::kernels::gemm.function(space, "N", "T", -1.0, left[k], right[k], 1.0, rest);
          space.fence("cholesky: residual");
          for (int c = 0; c < columns; ++c)
            for (int r = is_diagonal ? c : 0; r < rows; ++r) {
              bool const is_alone = is_diagonal && r == c;
              squares.of_difference += (is_alone ? 1 : 2) * rest(r, c) * rest(r, c);
            }
          return squares;
        }));
  });
  Squares all;
  for (auto const& sum : sums) {
    Squares const squares = sum.get();
    all.of_difference += squares.of_difference;
    all.of_matrix += squares.of_matrix;
  }
  return std::sqrt(all.of_difference / all.of_matrix) /
         (l.order() * std::numeric_limits<double>::epsilon());
}

/// Returns the largest difference between two factors' elements.
inline double largest_difference(TiledMatrix const& a, TiledMatrix const& b) {
  double most = 0;
  for_each_tile(a, [&](int i, int j) {
    for (int c = 0; c < a.extent(j); ++c)
      for (int r = 0; r < a.extent(i); ++r) {
        double const difference = std::abs(a(i, j)(r, c) - b(i, j)(r, c));
        if (!(difference <= most)) most = difference;  // nor is it NaN
      }
  });
  return most;
}

}  // namespace cholesky

#endif
