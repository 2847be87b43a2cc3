// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_ISOSURFACE_PLAIN_HPP
#define TRELLIS_EXAMPLE_ISOSURFACE_PLAIN_HPP

#include <Kokkos_Core.hpp>
#include <worklets/Trellis_InterpolatedPoint.hpp>

#include <cstddef>
#include <cstdint>

#include "Cases.hpp"
#include "Surface.hpp"

/// This header computes the same triangles by Kokkos alone. The host has to know how many there are
/// before it can allocate them, so it waits in each step.
namespace isosurface {

using Triangles = Kokkos::View<trellis::InterpolatedPoint* [3]>;

/// The values at the corners of a cell, as `case_of` reads them.
struct Corners {
  Field values;
  std::int64_t row, plane, first;
  [[nodiscard]] KOKKOS_FUNCTION std::int64_t point(int k) const {
    return first + ((k ^ (k >> 1)) & 1) + row * ((k >> 1) & 1) + plane * (k >> 2);
  }
  KOKKOS_FUNCTION double operator[](int k) const { return values(point(k)); }
};

struct PlainStep {
  Field values;
  Counts counts;
  Kokkos::View<std::int64_t*> begin;
  Triangles triangles;

  PlainStep(std::size_t points, std::size_t cells)
      : values("values", points), counts("counts", cells), begin("begin", cells) {}
};

/// Returns when the step is complete. `cells` is the number in each direction.
inline std::int64_t run_plain(std::int64_t cells, Cases const& all, Scene const& scene,
                              PlainStep& step) {
  using Space = Kokkos::DefaultExecutionSpace;
  using Grid =
      Kokkos::MDRangePolicy<Space, Kokkos::Rank<3, Kokkos::Iterate::Left, Kokkos::Iterate::Left>,
                            Kokkos::IndexType<std::int64_t>>;
  using Line = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;
  std::int64_t const row = cells + 1, plane = row * row;
  double const spacing = 1.0 / static_cast<double>(cells);
  Field const values = step.values;
  Counts const counts = step.counts;
  Kokkos::View<std::int64_t*> const begin = step.begin;
  auto const triangle_counts = all.counts;
  auto const edges = all.edges;

  Kokkos::parallel_for(
      "sample", Grid({0, 0, 0}, {row, row, row}),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j, std::int64_t k) {
        values(i + row * j + plane * k) =
            scene(0.0 + spacing * static_cast<double>(i), 0.0 + spacing * static_cast<double>(j),
                  0.0 + spacing * static_cast<double>(k));
      });
  Kokkos::parallel_for(
      "count", Grid({0, 0, 0}, {cells, cells, cells}),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t j, std::int64_t k) {
        Corners const at{values, row, plane, i + row * j + plane * k};
        counts(i + cells * (j + cells * k)) = triangle_counts(case_of(at, level));
      });
  std::int64_t total = 0;
  Kokkos::parallel_scan(
      "scan", Line(0, cells * cells * cells),
      KOKKOS_LAMBDA(std::int64_t c, std::int64_t& sum, bool is_final) {
        if (is_final) begin(c) = sum;
        sum += counts(c);
      },
      total);  // waits
  if (static_cast<std::int64_t>(step.triangles.extent(0)) != total)
    step.triangles = Triangles(Kokkos::view_alloc("triangles", Kokkos::WithoutInitializing),
                               static_cast<std::size_t>(total));
  Triangles const triangles = step.triangles;
  Kokkos::parallel_for(
      "contour", Line(0, cells * cells * cells), KOKKOS_LAMBDA(std::int64_t c) {
        if (counts(c) == 0) return;
        Corners const at{values, row, plane,
                         c % cells + row * (c / cells % cells) + plane * (c / cells / cells)};
        int const which = case_of(at, level);
        for (int visit = 0; visit < counts(c); ++visit)
          for (int k = 0; k < 3; ++k) {
            int const edge = edges(which, 3 * visit + k);
            int const a = first_of(edge), b = second_of(edge);
            triangles(begin(c) + visit, k) = {at.point(a), at.point(b),
                                              weight_between(at[a], at[b])};
          }
      });
  Kokkos::fence("the step is over");
  return total;
}

}  // namespace isosurface

#endif
