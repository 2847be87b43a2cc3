// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_HEAT_TILES_HPP
#define TRELLIS_EXAMPLE_HEAT_TILES_HPP

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <utility>
#include <vector>

#include "Grid.hpp"

/// This header cuts a grid into tiles, and returns their cells, and the cells around them, as
/// subviews.
namespace heat {

/// Cuts a box into boxes of equal size as far as possible, so many along each direction, last
/// direction fastest.
template <int Dim>
std::vector<Box<Dim>> cut(Box<Dim> const& whole, std::vector<int> const& tiles) {
  std::vector<Box<Dim>> boxes(1, whole);
  for (int k = 0; k < Dim; ++k) {
    std::vector<Box<Dim>> finer;
    for (Box<Dim> box : boxes)
      for (int t = 0; t < tiles[static_cast<std::size_t>(k)]; ++t) {
        auto const edge = [&](long tile) {
          return static_cast<int>(whole.begin[k] +
                                  tile * whole.length(k) / tiles[static_cast<std::size_t>(k)]);
        };
        box.begin[k] = edge(t);
        box.end[k] = edge(t + 1);
        finer.push_back(box);
      }
    boxes = std::move(finer);
  }
  return boxes;
}

/// Returns the cells of a box, as a subview.
template <int Dim>
auto cells_of(Field<Dim> const& field, Box<Dim> const& box) {
  auto const along = [&](int k) { return std::pair(box.begin[k], box.end[k]); };
  if constexpr (Dim == 2)
    return Kokkos::subview(field, along(0), along(1));
  else
    return Kokkos::subview(field, along(0), along(1), along(2));
}

/// Returns the layer of cells just outside of a box, before its beginning or behind its end.
template <int Dim>
auto halo_before(Field<Dim> const& field, Box<Dim> box, int direction) {
  box.end[direction] = box.begin[direction];
  --box.begin[direction];
  return cells_of<Dim>(field, box);
}
template <int Dim>
auto halo_behind(Field<Dim> const& field, Box<Dim> box, int direction) {
  box.begin[direction] = box.end[direction];
  ++box.end[direction];
  return cells_of<Dim>(field, box);
}

}  // namespace heat

#endif
