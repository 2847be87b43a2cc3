// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Cases.hpp"

#include <array>
#include <cstddef>
#include <stdexcept>

namespace isosurface {
namespace {

/// Corners of the faces, counter-clockwise as seen from outside.
constexpr int faces[6][4] = {{0, 3, 2, 1}, {4, 5, 6, 7}, {0, 1, 5, 4},
                             {3, 7, 6, 2}, {0, 4, 7, 3}, {1, 2, 6, 5}};

int edge_between(int a, int b) {
  for (int edge = 0; edge < 12; ++edge)
    if ((first_of(edge) == a && second_of(edge) == b) ||
        (first_of(edge) == b && second_of(edge) == a))
      return edge;
  throw std::logic_error("no edge between these corners");
}

/// Returns for each edge that the surface crosses the next one around it; -1: it does not cross.
std::array<int, 12> follow(int inside) {
  std::array<int, 12> next;
  next.fill(-1);
  auto const is_in = [&](int corner) { return (inside >> corner & 1) != 0; };
  for (auto const& face : faces)
    for (int k = 0; k < 4; ++k) {
      if (is_in(face[k]) || !is_in(face[(k + 1) % 4])) continue;
      int end = (k + 1) % 4;
      while (is_in(face[(end + 1) % 4])) end = (end + 1) % 4;
      int const in = edge_between(face[k], face[(k + 1) % 4]);
      next[static_cast<std::size_t>(in)] = edge_between(face[end], face[(end + 1) % 4]);
    }
  return next;
}

}  // namespace

Cases make_cases() {
  Cases all;
  auto const counts = Kokkos::create_mirror_view(all.counts);
  auto const edges = Kokkos::create_mirror_view(all.edges);
  for (int inside = 0; inside < cases; ++inside) {
    auto const c = static_cast<std::size_t>(inside);
    std::array<int, 12> next = follow(inside);
    int count = 0;
    for (int start = 0; start < 12; ++start) {
      // A fan of triangles for each loop, from its first edge.
      int second = next[static_cast<std::size_t>(start)];
      next[static_cast<std::size_t>(start)] = -1;
      while (second >= 0 && second != start) {
        int const third = next[static_cast<std::size_t>(second)];
        next[static_cast<std::size_t>(second)] = -1;
        if (third < 0) throw std::logic_error("a surface does not close within a cell");
        if (third == start) break;
        if (count == most_triangles) throw std::logic_error("a case has too many triangles");
        auto const at = static_cast<std::size_t>(3 * count++);
        edges(c, at) = static_cast<signed char>(start);
        edges(c, at + 1) = static_cast<signed char>(second);
        edges(c, at + 2) = static_cast<signed char>(third);
        second = third;
      }
    }
    counts(c) = count;
  }
  Kokkos::deep_copy(all.counts, counts);
  Kokkos::deep_copy(all.edges, edges);
  return all;
}

}  // namespace isosurface
