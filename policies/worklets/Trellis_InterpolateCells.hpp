// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_INTERPOLATECELLS_HPP
#define TRELLIS_INTERPOLATECELLS_HPP

#include <Trellis_Future.hpp>
#include <annotations/Trellis_LateView.hpp>
#include <annotations/Trellis_ResourcePolicy.hpp>
#include <worklets/Trellis_Generate.hpp>
#include <worklets/Trellis_InterpolatedPoint.hpp>
#include <worklets/impl/Trellis_Generation.hpp>
#include <worklets/impl/Trellis_MergePoints.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

/// With this header worklets make cells whose points lie between those of their domain, as those of
/// an isosurface do. The worklet says for each point of a new cell between which two points it
/// lies:
///
///     struct Contour : trellis::InterpolateCells {
///       using ControlSignature = void(Topology, Field(Point), Counts, Topology(Out));
///       using ExecutionSignature = void(Vertices(_1), _2, VisitIndex, Vertices(_4));
///       template <class Points, class Values, class New>
///       KOKKOS_FUNCTION void operator()(Points const& points, Values const& values,
///                                       std::int64_t visit, New& triangle) const {
///         for (int k = 0; k < 3; ++k) triangle[k] = {points[a], points[b], weight_of_b};
///       }
///     };
///     trellis::InterpolatedCells<trellis::CellShape::triangle> surface("surface");
///     trellis::invoke("contour", trellis::ResourcePolicy(graph), Contour(), grid, values, counts,
///                     surface);
///     trellis::LateView<double*[3]> at("coordinates");
///     trellis::interpolate("coordinates", trellis::ResourcePolicy(graph), surface,
///                          grid.coordinates(), at);
///
/// Points between the same two points are one point: tasks merge them, too. They are numbered in
/// the order of the smaller of their two points, and then of the larger.
namespace trellis {

/// Makes cells with points of their own, see above. Otherwise it is like `GenerateCells`.
struct InterpolateCells : worklets::Words {
  using kind = InterpolateCells;
  using domain = worklets::Cell;
  static constexpr bool generates = true;
};

/// A handle of cells of one shape whose points lie between those of other cells. Tasks make them.
template <CellShape shape_, class MemorySpace = Kokkos::DefaultExecutionSpace::memory_space>
class InterpolatedCells {
 public:
  static constexpr CellShape shape = shape_;
  static constexpr int cell_points = points_of(shape_);
  using raw_type = LateView<InterpolatedPoint* [cell_points], MemorySpace>;
  using points_type = LateView<InterpolatedPoint*, MemorySpace>;

  explicit InterpolatedCells(std::string const& label)
      : m_raw(label + ": raw"), m_points(label + ": points"), m_cells(label, m_points) {}
  /// Returns the cells, a `Topology`, whose points are merged.
  [[nodiscard]] LateCells<shape, MemorySpace> const& cells() const { return m_cells; }
  /// Returns where each of their points lies.
  [[nodiscard]] points_type const& points() const { return m_points; }
  /// Returns what the worklet has set for each point of each cell.
  [[nodiscard]] raw_type const& raw() const { return m_raw; }

 private:
  raw_type m_raw;
  points_type m_points;
  LateCells<shape, MemorySpace> m_cells;
};

template <class D, CellShape shape, class M>
struct BindArgument<worklets::Parameter<worklets::Topology, worklets::Out, D>,
                    InterpolatedCells<shape, M>> {
  using Cells = InterpolatedCells<shape, M>;
  static auto access(Cells const& cells) { return write(cells.raw()); }
  template <class Policy, class N>
  static Future<void> allocate(Label&& label, Policy const& policy, Cells const& cells,
                               N const& n) {
    return trellis::allocate(std::move(label), policy, cells.raw(), n);
  }
  static auto exec(Cells const&) { return worklets::Impl::MakeNewCellsPortal<shape>(); }
  static std::string label(Cells const& cells) { return cells.cells().connectivity().label(); }
};

template <class Worklet>
struct WorkletScheduler<InterpolateCells, Worklet> {
  template <class Policy, class Bindings>
  static Future<std::int64_t> submit(Label&& label, Policy const& policy, Worklet const& worklet,
                                     Bindings& bindings) {
    auto all = worklets::Impl::generate(label, policy, worklet, bindings);
    constexpr int cells = Bindings::template find<worklets::Topology, worklets::In>();
    constexpr int made = Bindings::template find<worklets::Topology, worklets::Out>();
    static_assert(cells > 0 && made > 0,
                  "Trellis: a worklet that interpolates cells has a Topology and a Topology(Out)");
    auto const n = bindings.template count_of<cells - 1, worklets::Point>();
    all.made =
        worklets::Impl::merge_points(label, policy, bindings.template get<made - 1>(), n, all);
    return all.count();
  }
};

namespace worklets::Impl {
struct Interpolate : MapFields {
  using ControlSignature = void(Field, Whole, Field(Out));
  using ExecutionSignature = void(_1, _2, _3);
  template <class All, class To>
  KOKKOS_FUNCTION void operator()(InterpolatedPoint const& point, All const& all, To& to) const {
    put(point.weight, all[point.first], all[point.second], to);
  }

 private:
  template <class From, class To>
  KOKKOS_FUNCTION static void put(double weight, From const& a, From const& b, To& to) {
    if constexpr (requires { a.size(); }) {
      for (int c = 0; c < static_cast<int>(a.size()); ++c) to[c] = between(weight, a[c], b[c]);
    } else {
      to = between(weight, a, b);
    }
  }
  template <class T>
  KOKKOS_FUNCTION static T between(double weight, T const& a, T const& b) {
    return static_cast<T>((1 - weight) * a + weight * b);
  }
};
}  // namespace worklets::Impl

/// Submits a task that interpolates a point field of the old cells to the points of the new ones;
/// returns at once. `in` is a View or LateView (of vectors, if it has one more extent), or the
/// coordinates of a uniform grid. `out` is an array that is allocated, as in `invoke`.
template <class Base, class... Annotations, CellShape shape, class M, class In, class Out>
auto interpolate(Label label, ResourcePolicy<Base, Annotations...> const& policy,
                 InterpolatedCells<shape, M> const& cells, In const& in, Out&& out) {
  return invoke(std::move(label), policy, worklets::Impl::Interpolate(), cells.points(), in, out);
}

}  // namespace trellis

#endif
