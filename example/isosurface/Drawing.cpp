// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Drawing.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <set>
#include <utility>
#include <vector>

namespace isosurface {

heat::Picture draw(HostPoints const& points, HostTriangles const& triangles,
                   HostShades const& shades, int side) {
  heat::Picture picture(side, side);
  std::vector<double> depth(static_cast<std::size_t>(side) * static_cast<std::size_t>(side),
                            -std::numeric_limits<double>::infinity());
  for (std::size_t t = 0; t < triangles.extent(0); ++t) {
    double x[3], y[3], z[3];
    for (std::size_t k = 0; k < 3; ++k) {
      auto const p = static_cast<std::size_t>(triangles(t, k));
      x[k] = points(p, 0) * side;
      y[k] = (1 - points(p, 1)) * side;
      z[k] = points(p, 2);
    }
    double const area = (x[1] - x[0]) * (y[2] - y[0]) - (x[2] - x[0]) * (y[1] - y[0]);
    if (area == 0) continue;
    auto const [left, right] = std::minmax({x[0], x[1], x[2]});
    auto const [top, bottom] = std::minmax({y[0], y[1], y[2]});
    for (int i = std::max(0, static_cast<int>(top)); i <= std::min(side - 1.0, bottom); ++i)
      for (int j = std::max(0, static_cast<int>(left)); j <= std::min(side - 1.0, right); ++j) {
        double const u = ((j - x[0]) * (y[2] - y[0]) - (x[2] - x[0]) * (i - y[0])) / area;
        double const v = ((x[1] - x[0]) * (i - y[0]) - (j - x[0]) * (y[1] - y[0])) / area;
        if (u < 0 || v < 0 || u + v > 1) continue;
        double const here = z[0] + u * (z[1] - z[0]) + v * (z[2] - z[0]);
        auto const pixel = static_cast<std::size_t>(i) * static_cast<std::size_t>(side) +
                           static_cast<std::size_t>(j);
        if (here <= depth[pixel]) continue;
        depth[pixel] = here;
        picture(i, j) = shades(t);
      }
  }
  return picture;
}

bool is_closed(HostTriangles const& triangles) {
  std::set<std::pair<std::int64_t, std::int64_t>> edges;
  for (std::size_t t = 0; t < triangles.extent(0); ++t)
    for (std::size_t k = 0; k < 3; ++k)
      if (!edges.emplace(triangles(t, k), triangles(t, (k + 1) % 3)).second) return false;
  return std::all_of(edges.begin(), edges.end(),
                     [&](auto const& edge) { return edges.count({edge.second, edge.first}) == 1; });
}

}  // namespace isosurface
