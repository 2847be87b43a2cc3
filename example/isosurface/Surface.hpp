// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_ISOSURFACE_SURFACE_HPP
#define TRELLIS_EXAMPLE_ISOSURFACE_SURFACE_HPP

#include <Trellis.hpp>
#include <Trellis_Worklets.hpp>

#include <Kokkos_Core.hpp>

#include <cmath>
#include <cstdint>

#include "Cases.hpp"

/// This header has the worklets that make an isosurface.
namespace isosurface {

using Field = Kokkos::View<double*>;
using Counts = Kokkos::View<int*>;
constexpr int balls = 5;

/// Balls that move. Each adds a term to the field that falls off with the distance from it.
class Scene {
 public:
  explicit Scene(double time) {
    for (int b = 0; b < balls; ++b) {
      double const angle = time + 1.3 * b;
      m_centres[b] = {0.5 + 0.22 * std::cos(angle), 0.5 + 0.22 * std::sin(1.7 * angle + b),
                      0.5 + 0.2 * std::cos(0.8 * angle + 2.0 * b)};
    }
  }
  KOKKOS_FUNCTION double operator()(double x, double y, double z) const {
    double sum = 0;
    for (auto const& centre : m_centres) {
      double const dx = x - centre[0], dy = y - centre[1], dz = z - centre[2];
      sum += 1 / (dx * dx + dy * dy + dz * dz + 0.002);
    }
    return sum;
  }

 private:
  Kokkos::Array<double, 3> m_centres[balls];
};
constexpr double level = 95;

/// Returns the place of a point on an edge, from the values at its ends.
KOKKOS_INLINE_FUNCTION double weight_between(double at_first, double at_second) {
  return (level - at_first) / (at_second - at_first);
}

struct Sample : trellis::MapPoints {
  using ControlSignature = void(Topology, Field, Field(Out));
  using ExecutionSignature = _3(_2);
  Scene scene;
  KOKKOS_FUNCTION double operator()(Kokkos::Array<double, 3> const& at) const {
    return scene(at[0], at[1], at[2]);
  }
};

/// Returns how many triangles a cell has. `Whole` has the number for each case.
struct Count : trellis::MapCells {
  using ControlSignature = void(Topology, Field(Point), Whole, Field(Out));
  using ExecutionSignature = _4(_2, _3);
  template <class Values, class Table>
  KOKKOS_FUNCTION int operator()(Values const& values, Table const& triangles) const {
    return triangles[case_of(values, level)];
  }
};

struct Contour : trellis::InterpolateCells {
  using ControlSignature = void(Topology, Field(Point), Counts, Whole, Topology(Out));
  using ExecutionSignature = void(Vertices(_1), _2, _4, VisitIndex, Vertices(_5));
  template <class Points, class Values, class Table, class New>
  KOKKOS_FUNCTION void operator()(Points const& points, Values const& values, Table const& table,
                                  std::int64_t visit, New& triangle) const {
    int const which = case_of(values, level);
    for (int k = 0; k < 3; ++k) {
      int const edge = table.view()(which, 3 * visit + k);
      int const a = first_of(edge), b = second_of(edge);
      triangle[k] = {points[a], points[b], weight_between(values[a], values[b])};
    }
  }
};

/// Returns how bright a triangle is in a light from above, left and front, and how much volume lies
/// between it and the origin.
struct Shade : trellis::MapCells {
  using ControlSignature = void(Topology, Field(Point), Field(Out), Field(AtomicAdd));
  using ExecutionSignature = _3(_2, _4);
  template <class Coordinates>
  KOKKOS_FUNCTION double operator()(Coordinates const& at, double& volume) const {
    auto const p = at[0], q = at[1], r = at[2];
    double const ux = q[0] - p[0], uy = q[1] - p[1], uz = q[2] - p[2];
    double const vx = r[0] - p[0], vy = r[1] - p[1], vz = r[2] - p[2];
    double const nx = uy * vz - uz * vy, ny = uz * vx - ux * vz, nz = ux * vy - uy * vx;
    volume = (p[0] * nx + p[1] * ny + p[2] * nz) / 6;
    double const length = Kokkos::sqrt(nx * nx + ny * ny + nz * nz);
    if (length == 0) return 0;
    double const light = (-0.4 * nx - 0.5 * ny + 0.77 * nz) / length;
    return 0.15 + 0.85 * (light > 0 ? light : 0);
  }
};

/// The results of one step.
struct Step {
  Field values;
  Counts counts;
  trellis::InterpolatedCells<trellis::CellShape::triangle> surface{"surface"};
  trellis::LateView<double* [3]> coordinates{"coordinates"};
  trellis::LateView<double*> brightness{"brightness"};
  Kokkos::View<double> volume{"volume"};
};

/// Submits the tasks of one step, without a wait. The volume goes to `volume`, on the host.
inline trellis::Future<std::int64_t> submit(trellis::TaskGraph& graph,
                                            trellis::UniformGrid<3> const& grid,
                                            Cases const& cases_of_cells, Scene const& scene,
                                            Step& step,
                                            Kokkos::View<double, Kokkos::HostSpace> const& volume) {
  trellis::ResourcePolicy const policy(graph);
  trellis::invoke("sample", policy, Sample{{}, scene}, grid, grid.coordinates(), step.values);
  trellis::invoke("count", policy, Count(), grid, step.values, cases_of_cells.counts, step.counts);
  trellis::Future<std::int64_t> const triangles =
      trellis::invoke("contour", policy, Contour(), grid, step.values, step.counts,
                      cases_of_cells.edges, step.surface);
  trellis::interpolate("coordinates", policy, step.surface, grid.coordinates(), step.coordinates);
  trellis::deep_copy("volume", policy, step.volume, 0.0);
  trellis::invoke("shade", policy, Shade(), step.surface.cells(), step.coordinates, step.brightness,
                  step.volume);
  trellis::deep_copy("keep", policy, volume, step.volume);
  return triangles;
}

}  // namespace isosurface

#endif
