// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_CG_RANKS_POISSON_HPP
#define TRELLIS_EXAMPLE_CG_RANKS_POISSON_HPP

#include <Trellis.hpp>
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "../heat/Grid.hpp"
#include "Rows.hpp"

/// This header has Poisson's equation in the unit cube, -laplace(u) = f, u = 0 on the boundary,
/// with a known solution u, by seven-point differences.
///
/// u = g(x) g(y) g(z) with g(x) = x (1 - x) exp(x). It is no eigenvector of the matrix, for which
/// CG would take one step, and no polynomial, for which the differences would be exact.
namespace cg {

class Poisson {
 public:
  /// The ranks have boxes of the grid, which have fewer neighbours' cells around them than slices.
  Poisson(std::vector<int> const& cells, std::vector<int> const& processes);

  /// A rank's rows are the cells of its box, line by line. So each rank can compute the number of
  /// each cell around its box.
  [[nodiscard]] Cut const& cut() const { return m_cut; }
  /// Assembles the rows in tasks, each of some rows. Waits for the graph.
  [[nodiscard]] Rows assemble(trellis::TaskGraph& graph, int rank) const;
  /// Returns the right-hand side by the rows of a rank.
  [[nodiscard]] HostArray<double> right_hand_side(trellis::TaskGraph& graph, int rank) const;
  [[nodiscard]] HostArray<double> solution(trellis::TaskGraph& graph, int rank) const;

  /// Returns the largest distance of a vector with this residual from u in a cell. It has two
  /// parts. By the maximum principle the differences' own error is at most x (1 - x) / 2 <= 1/8 of
  /// the largest truncation error. That is h^2 / 12 of the largest fourth derivative in each
  /// direction, 16 e max(g)^2. By the smallest eigenvalue the rest is at most |r| / lambda.
  [[nodiscard]] double largest_error(double norm_of_residual) const;

  [[nodiscard]] double largest_spacing() const { return *std::ranges::max_element(m_spacing); }

 private:
  using Box = heat::Box<3>;
  template <class F>
  HostArray<double> by_cell(std::string const& label, trellis::TaskGraph& graph, int rank,
                            F f) const;

  std::vector<int> m_cells;
  std::vector<int> m_processes;
  std::array<double, 3> m_spacing;
  std::vector<Box> m_boxes;  ///< of all ranks; cells count from 0
  Cut m_cut;
};

}  // namespace cg

#endif
