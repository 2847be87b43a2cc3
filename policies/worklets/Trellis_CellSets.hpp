// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_CELLSETS_HPP
#define TRELLIS_CELLSETS_HPP

#include <annotations/Trellis_Annotations.hpp>
#include <Trellis_Error.hpp>
#include <annotations/Trellis_LateView.hpp>
#include <Trellis_Token.hpp>
#include <worklets/Trellis_CellShape.hpp>
#include <worklets/Trellis_WorkItem.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

/// With this header you describe the cells that worklets run over: `Topology` arguments. Points and
/// cells are numbered from 0; a point has a value in each point field, a cell in each cell field.
namespace trellis {

namespace Impl {
/// The coordinates of a uniform grid's points.
template <int D>
struct UniformCoordinates {
  Kokkos::Array<std::int64_t, D> points;
  Kokkos::Array<double, D> origin;
  Kokkos::Array<double, D> spacing;
};
}  // namespace Impl

/// A grid of equal cells in two dimensions (quads) or three (hexahedra). Worklets run over its
/// cells as an `MDRangePolicy`. The first index is fastest in the numbering of points and cells.
///
///     trellis::UniformGrid<3> grid({129, 129, 129});   // points; 128^3 cells
template <int D>
class UniformGrid {
 public:
  static_assert(D == 2 || D == 3, "Trellis: a UniformGrid has two or three dimensions");
  using index_array = Kokkos::Array<std::int64_t, D>;
  static constexpr int rank = D;

  /// Throws `Error` when a direction has fewer than one point.
  explicit UniformGrid(index_array const& points, Kokkos::Array<double, D> const& origin = {},
                       Kokkos::Array<double, D> const& spacing = ones())
      : m_points(points), m_origin(origin), m_spacing(spacing) {
    for (int d = 0; d < D; ++d)
      if (points[d] < 1)
        throw Error(Error::Kind::bad_input, "Trellis: a UniformGrid cannot have " +
                                                std::to_string(points[d]) +
                                                " points in a direction");
  }
  /// Returns the number of points in each direction.
  [[nodiscard]] index_array const& points() const { return m_points; }
  [[nodiscard]] index_array cells() const {
    index_array cells;
    for (int d = 0; d < D; ++d) cells[d] = m_points[d] - 1;
    return cells;
  }
  [[nodiscard]] std::int64_t point_count() const { return product(m_points); }
  [[nodiscard]] std::int64_t cell_count() const { return product(cells()); }
  /// Returns the coordinates of the points, as a field that needs no memory: a
  /// `Kokkos::Array<double, D>` for each point.
  [[nodiscard]] Impl::UniformCoordinates<D> coordinates() const {
    return {m_points, m_origin, m_spacing};
  }

 private:
  static constexpr Kokkos::Array<double, D> ones() {
    Kokkos::Array<double, D> all{};
    for (int d = 0; d < D; ++d) all[d] = 1;
    return all;
  }
  static std::int64_t product(index_array const& extents) {
    std::int64_t all = 1;
    for (int d = 0; d < D; ++d) all *= extents[d];
    return all;
  }
  index_array m_points;
  Kokkos::Array<double, D> m_origin;
  Kokkos::Array<double, D> m_spacing;
};

/// Cells of one shape. `V` is a View of whole numbers. With rank 2 each row has the points of one
/// cell. With rank 1 the points of the cells follow each other.
///
///     auto triangles = trellis::make_cells<trellis::CellShape::triangle>(connectivity, n_points);
template <CellShape shape_, class V>
class SingleShapeCells {
 public:
  static_assert(V::rank() == 1 || V::rank() == 2,
                "Trellis: the points of cells are in a View of rank 1 or 2");
  static_assert(std::is_integral_v<typename V::value_type>,
                "Trellis: the points of cells are whole numbers");
  static constexpr CellShape shape = shape_;
  static constexpr int cell_points = points_of(shape_);
  using view_type = V;

  /// Throws `Error` when the View's extents do not fit the shape, or `point_count` is negative.
  SingleShapeCells(V connectivity, std::int64_t point_count)
      : m_connectivity(std::move(connectivity)), m_point_count(point_count) {
    bool const fits = V::rank() == 2 ? m_connectivity.extent(1) == cell_points
                                     : m_connectivity.extent(0) % cell_points == 0;
    if (!fits || point_count < 0)
      throw Error(Error::Kind::bad_input,
                  "Trellis: the cells \"" + m_connectivity.label() + "\" have " +
                      std::to_string(cell_points) + " points each, which the extents " +
                      std::to_string(m_connectivity.extent(0)) + " x " +
                      std::to_string(m_connectivity.extent(1)) + " do not fit, or " +
                      std::to_string(point_count) + " is no number of points");
  }
  [[nodiscard]] V const& connectivity() const { return m_connectivity; }
  [[nodiscard]] std::int64_t point_count() const { return m_point_count; }
  [[nodiscard]] std::int64_t cell_count() const {
    return static_cast<std::int64_t>(m_connectivity.extent(0)) / (V::rank() == 2 ? 1 : cell_points);
  }

 private:
  V m_connectivity;
  std::int64_t m_point_count;
};
template <CellShape shape, class V>
[[nodiscard]] SingleShapeCells<shape, V> make_cells(V const& connectivity,
                                                    std::int64_t point_count) {
  return {connectivity, point_count};
}

/// Cells of several shapes. `shapes(c)` is the shape of cell c, as a number or a `CellShape`; its
/// points are `connectivity(offsets(c))` up to `connectivity(offsets(c + 1) - 1)`.
///
///     trellis::MixedCells cells(shapes, offsets, connectivity, n_points);
template <class Shapes, class Offsets, class V>
class MixedCells {
 public:
  static_assert(Shapes::rank() == 1 && Offsets::rank() == 1 && V::rank() == 1,
                "Trellis: the shapes, offsets and points of cells are Views of rank 1");

  /// Throws `Error` unless there is one more offset than there are shapes.
  MixedCells(Shapes shapes, Offsets offsets, V connectivity, std::int64_t point_count)
      : m_shapes(std::move(shapes)),
        m_offsets(std::move(offsets)),
        m_connectivity(std::move(connectivity)),
        m_point_count(point_count) {
    if (m_offsets.extent(0) != m_shapes.extent(0) + 1 || point_count < 0)
      throw Error(Error::Kind::bad_input,
                  "Trellis: the cells \"" + m_connectivity.label() + "\" have " +
                      std::to_string(m_shapes.extent(0)) + " shapes and " +
                      std::to_string(m_offsets.extent(0)) +
                      " offsets; one offset more than shapes is needed, and a number of points");
  }
  [[nodiscard]] Shapes const& shapes() const { return m_shapes; }
  [[nodiscard]] Offsets const& offsets() const { return m_offsets; }
  [[nodiscard]] V const& connectivity() const { return m_connectivity; }
  [[nodiscard]] std::int64_t point_count() const { return m_point_count; }
  [[nodiscard]] std::int64_t cell_count() const {
    return static_cast<std::int64_t>(m_shapes.extent(0));
  }

 private:
  Shapes m_shapes;
  Offsets m_offsets;
  V m_connectivity;
  std::int64_t m_point_count;
};

namespace Impl {
/// The number of points that the cells refer to: a number, or the extent of an array that a task
/// allocates.
struct PointCount {
  static constexpr bool ends_without_user = true;
  std::int64_t number;  ///< if `late` is empty
  std::function<std::int64_t()> late;
  Token shape;
  [[nodiscard]] std::int64_t resolve() const { return late ? late() : number; }
  [[nodiscard]] auto annotations() const { return std::tuple(read(Token(shape))); }
};
}  // namespace Impl

/// A handle of cells of one shape that a task makes, see `LateView`. Kinds that generate write it,
/// and other kinds take it as a `Topology`.
template <CellShape shape_, class MemorySpace = Kokkos::DefaultExecutionSpace::memory_space>
class LateCells {
 public:
  static constexpr CellShape shape = shape_;
  static constexpr int cell_points = points_of(shape_);
  using connectivity_type = LateView<std::int64_t* [cell_points], MemorySpace>;

  /// Makes a handle without cells. `point_count` is the number of points that the cells will refer
  /// to.
  LateCells(std::string label, std::int64_t point_count)
      : m_points{point_count, {}, Token("points of " + label)}, m_connectivity(std::move(label)) {}
  /// Makes a handle without cells, whose points are those of this array, which a task allocates.
  template <class T, class M, class L>
  LateCells(std::string label, LateView<T, M, L> const& points)
      : m_points{0, [source = extent(points).source] { return source.resolve(); }, points.shape()},
        m_connectivity(std::move(label)) {}
  /// Returns the numbers of the points of each cell.
  [[nodiscard]] connectivity_type const& connectivity() const { return m_connectivity; }
  /// Returns the cells, for the program, after a wait for the tasks that make them. Throws `Error`
  /// when there are none.
  [[nodiscard]] auto managed() const {
    return make_cells<shape>(m_connectivity.managed(), m_points.resolve());
  }
  [[nodiscard]] Impl::PointCount const& point_source() const { return m_points; }

 private:
  Impl::PointCount m_points;
  connectivity_type m_connectivity;
};

}  // namespace trellis

#endif
