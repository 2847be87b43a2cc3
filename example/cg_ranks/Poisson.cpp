// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Poisson.hpp"

#include <cmath>
#include <cstddef>
#include <string>

#include "../heat/Tiles.hpp"

namespace cg {
namespace {

using Box = heat::Box<3>;
using Cell = std::array<int, 3>;

bool contains(Box const& box, Cell const& cell) {
  bool inside = true;
  for (int d = 0; d < 3; ++d)
    inside = inside && box.begin[d] <= cell[static_cast<std::size_t>(d)] &&
             cell[static_cast<std::size_t>(d)] < box.end[d];
  return inside;
}
int place_in(Box const& box, Cell const& cell) {
  return ((cell[0] - box.begin[0]) * box.length(1) + cell[1] - box.begin[1]) * box.length(2) +
         cell[2] - box.begin[2];
}
Cell cell_at(Box const& box, int place) {
  int const line = place / box.length(2);
  return {box.begin[0] + line / box.length(1), box.begin[1] + line % box.length(1),
          box.begin[2] + place % box.length(2)};
}

/// A rank's box and those beside it, with the numbers of their first rows.
struct Numbering {
  struct Part {
    Box box;
    Global first;
  };
  std::vector<Part> parts;  ///< the rank's own is the first

  [[nodiscard]] Global operator()(Cell const& cell) const {
    for (Part const& part : parts)
      if (contains(part.box, cell)) return part.first + place_in(part.box, cell);
    return -1;
  }
};

/// Calls `f(cell, entry)` for the cells of a row of the matrix that lie in the cube, in the order
/// of their numbers if one rank has them all.
template <class F>
void for_entries(Cell const& cell, std::vector<int> const& cells,
                 std::array<double, 3> const& spacing, F const& f) {
  double diagonal = 0;
  for (double const h : spacing) diagonal += 2 / (h * h);
  auto const beside = [&](std::size_t d, int step) {
    Cell other = cell;
    other[d] += step;
    if (other[d] >= 0 && other[d] < cells[d]) f(other, -1 / (spacing[d] * spacing[d]));
  };
  for (std::size_t d = 0; d < 3; ++d) beside(d, -1);
  f(cell, diagonal);
  for (std::size_t d = 3; d-- > 0;) beside(d, 1);
}

double g(double x) {
  return x * (1 - x) * std::exp(x);
}
double minus_second_derivative(double x) {
  return x * (3 + x) * std::exp(x);
}

}  // namespace

Poisson::Poisson(std::vector<int> const& cells, std::vector<int> const& processes)
    : m_cells(cells),
      m_processes(processes),
      m_boxes(heat::cut<3>({{0, 0, 0}, {cells[0], cells[1], cells[2]}}, processes)) {
  for (std::size_t d = 0; d < 3; ++d) m_spacing[d] = 1.0 / (cells[d] + 1);
  m_cut.begin = {0};
  for (Box const& box : m_boxes)
    m_cut.begin.push_back(m_cut.begin.back() + Global{box.rows()} * box.length(2));
}

Rows Poisson::assemble(trellis::TaskGraph& graph, int rank) const {
  using trellis::ResourcePolicy, trellis::read, trellis::write;
  auto const box_of = [&](int r) { return m_boxes[static_cast<std::size_t>(r)]; };
  auto const part_of = [&](int r) {
    return Numbering::Part{box_of(r), m_cut.begin[static_cast<std::size_t>(r)]};
  };
  Numbering number{{part_of(rank)}};
  for (int d = 0, stride = 1; d < 3; ++d, stride = 1) {
    for (int k = d + 1; k < 3; ++k) stride *= m_processes[static_cast<std::size_t>(k)];
    if (box_of(rank).begin[d] > 0) number.parts.push_back(part_of(rank - stride));
    if (box_of(rank).end[d] < m_cells[static_cast<std::size_t>(d)])
      number.parts.push_back(part_of(rank + stride));
  }

  Rows rows;
  rows.cut = m_cut;
  int const count = m_cut.of_rank(rank);
  rows.offsets = HostArray<int>("offsets", static_cast<std::size_t>(count) + 1);
  HostArray<int> const lengths("lengths", static_cast<std::size_t>(count));
  auto const pieces = pieces_of(count);
  for (auto const& piece : pieces)
    trellis::parallel_for(
        "count entries",
        ResourcePolicy(graph, Kokkos::RangePolicy<HostThreads>(piece.first, piece.second),
                       write(Kokkos::subview(lengths, piece))),
        [=, box = box_of(rank), this](int i) {
          int length = 0;
          for_entries(cell_at(box, i), m_cells, m_spacing, [&](Cell const&, double) { ++length; });
          lengths(i) = length;
        });
  int const entries =
      trellis::parallel_scan("offsets",
                             ResourcePolicy(graph, Kokkos::RangePolicy<HostThreads>(0, count),
                                            read(lengths), write(rows.offsets)),
                             [lengths, offsets = rows.offsets](int i, int& sum, bool is_final) {
                               sum += lengths(i);
                               if (is_final) offsets(i + 1) = sum;
                             })
          .get();
  // Only now the size of that memory is known.
  rows.columns = HostArray<Global>("columns", static_cast<std::size_t>(entries));
  rows.values = HostArray<double>("values", static_cast<std::size_t>(entries));
  for (auto const& piece : pieces) {
    std::pair const range(rows.offsets(piece.first), rows.offsets(piece.second));
    trellis::parallel_for(
        "assemble",
        ResourcePolicy(graph, Kokkos::RangePolicy<HostThreads>(piece.first, piece.second),
                       read(rows.offsets), write(Kokkos::subview(rows.columns, range)),
                       write(Kokkos::subview(rows.values, range))),
        [box = box_of(rank), number, offsets = rows.offsets, columns = rows.columns,
         values = rows.values, this](int i) {
          int at = offsets(i);
          for_entries(cell_at(box, i), m_cells, m_spacing, [&](Cell const& cell, double value) {
            // Columns of other ranks are out of order: there are at most seven.
            Global const column = number(cell);
            int k = at++;
            for (; k > offsets(i) && columns(k - 1) > column; --k) {
              columns(k) = columns(k - 1);
              values(k) = values(k - 1);
            }
            columns(k) = column;
            values(k) = value;
          });
        });
  }
  graph.wait();
  return rows;
}

template <class F>
HostArray<double> Poisson::by_cell(std::string const& label, trellis::TaskGraph& graph, int rank,
                                   F f) const {
  HostArray<double> const all(label, static_cast<std::size_t>(m_cut.of_rank(rank)));
  Box const box = m_boxes[static_cast<std::size_t>(rank)];
  for (auto const& piece : pieces_of(m_cut.of_rank(rank)))
    trellis::parallel_for(
        label,
        trellis::ResourcePolicy(graph, Kokkos::RangePolicy<HostThreads>(piece.first, piece.second),
                                trellis::write(Kokkos::subview(all, piece))),
        [=, spacing = m_spacing](int i) {
          Cell const cell = cell_at(box, i);
          all(i) =
              f((cell[0] + 1) * spacing[0], (cell[1] + 1) * spacing[1], (cell[2] + 1) * spacing[2]);
        });
  graph.wait();
  return all;
}

HostArray<double> Poisson::right_hand_side(trellis::TaskGraph& graph, int rank) const {
  return by_cell("right-hand side", graph, rank, [](double x, double y, double z) {
    return minus_second_derivative(x) * g(y) * g(z) + g(x) * minus_second_derivative(y) * g(z) +
           g(x) * g(y) * minus_second_derivative(z);
  });
}
HostArray<double> Poisson::solution(trellis::TaskGraph& graph, int rank) const {
  return by_cell("known solution", graph, rank,
                 [](double x, double y, double z) { return g(x) * g(y) * g(z); });
}

double Poisson::largest_error(double norm_of_residual) const {
  constexpr double e = 2.718281828459045;
  double const top = g((std::sqrt(5.0) - 1) / 2);  // where x^2 + x = 1
  double error = 0, smallest_eigenvalue = 0;
  for (double const h : m_spacing) {
    error += h * h / 12 * 16 * e * top * top / 8;
    double const sine = std::sin(Kokkos::numbers::pi * h / 2);
    smallest_eigenvalue += 4 / (h * h) * sine * sine;
  }
  return error + norm_of_residual / smallest_eigenvalue;
}

}  // namespace cg
