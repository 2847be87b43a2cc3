// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXECARGUMENTS_HPP
#define TRELLIS_EXECARGUMENTS_HPP

#include <worklets/Trellis_CellShape.hpp>
#include <worklets/Trellis_Signature.hpp>
#include <worklets/Trellis_WorkItem.hpp>

#include <Kokkos_Core.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

/// This header has the execution arguments, which replace the arguments of a call while a worklet
/// runs.
///
/// An execution argument is made for each item, so it holds references and small values. If the
/// worklet reads the item (`In`, `InOut`), it has
///
///     auto load(WorkItem<rank> const& item) const;         // what the worklet gets
///
/// If it changes the item (all but `In`), it has
///
///     auto start(WorkItem<rank> const& item) const;        // optional, not with `load`
///     void save(WorkItem<rank> const& item, T const& value) const;
///
/// and the worklet gets what `start` returns, by default a `value_type{}`, as an lvalue. It must
/// not have the other functions: an `Out` argument cannot be loaded, and an `In` argument cannot be
/// saved.
namespace trellis::worklets {

/// A row of a View: the vector of one item, whose length is known at run time.
template <class T>
class Row {
 public:
  using value_type = std::remove_const_t<T>;
  KOKKOS_FUNCTION Row(T* first, std::ptrdiff_t stride, int size)
      : m_first(first), m_stride(stride), m_size(size) {}
  KOKKOS_FUNCTION T& operator[](int k) const { return m_first[k * m_stride]; }
  [[nodiscard]] KOKKOS_FUNCTION int size() const { return m_size; }
  [[nodiscard]] KOKKOS_FUNCTION T* data() const { return m_first; }

 private:
  T* m_first;
  std::ptrdiff_t m_stride;
  int m_size;
};

namespace Impl {

/// Requires that `E` loads items of this type if, and only if, the parameter P reads.
template <class E, class P, class Item>
concept ExecArgument = requires(E const& e, Item const& item) { e.load(item); } == P::reads;

/// Gives the same number for each item.
template <class T>
struct Constant {
  T value;
  template <int rank>
  KOKKOS_FUNCTION T const& load(WorkItem<rank> const&) const {
    return value;
  }
};

/// A View as a field.
///
/// | rank of the View | over a list | over a grid of D dimensions |
/// |---|---|---|
/// | 0 | one value for all items | the same |
/// | 1 | a value for each item | the same, by the item's number |
/// | 2 | a vector for each item | 2 dimensions: a value for each item; 3: a vector, by its number |
/// | D | | a value for each item |
/// | D + 1 | | a vector for each item |
///
/// A vector is a `Kokkos::Array` when the View's last extent is static, else a `Row`.
template <class P, class V>
class FieldPortal {
 public:
  using value_type = typename V::non_const_value_type;
  KOKKOS_FUNCTION explicit FieldPortal(V const& view) : m_view(view) {}

  template <int rank>
  KOKKOS_FUNCTION decltype(auto) load(WorkItem<rank> const& item) const
    requires(P::reads)
  {
    if constexpr (!is_vector<rank>) {
      if constexpr (P::writes)
        return value_type(element(item));
      else
        return element(item);
    } else if constexpr (is_static) {
      Vector values;
      for (int c = 0; c < components; ++c) values[c] = element(item, c);
      return values;
    } else {
      return row(item);
    }
  }
  template <int rank>
  KOKKOS_FUNCTION auto start(WorkItem<rank> const& item) const
    requires(P::writes && !P::reads)
  {
    static_assert(!P::is_atomic || !is_vector<rank> || is_static,
                  "Trellis: vectors that are added atomically have a static number of components: "
                  "View<double*[3]>");
    if constexpr (!is_vector<rank>) {
      return neutral();
    } else if constexpr (is_static) {
      Vector values;
      for (int c = 0; c < components; ++c) values[c] = neutral();
      return values;
    } else {
      return row(item);
    }
  }
  template <int rank, class T>
  KOKKOS_FUNCTION void save(WorkItem<rank> const& item, T const& value) const
    requires(P::writes)
  {
    if constexpr (!is_vector<rank>) {
      put(element(item), value);
    } else if constexpr (is_static) {
      for (int c = 0; c < components; ++c) put(element(item, c), value[c]);
    } else {
      auto const to = row(item);
      if constexpr (requires { value.data() == to.data(); })
        if (static_cast<void const*>(value.data()) == static_cast<void const*>(to.data())) return;
      for (int c = 0; c < to.size(); ++c) to[c] = value[c];
    }
  }

 private:
  static constexpr int view_rank = static_cast<int>(V::rank());
  template <int rank>
  static constexpr bool is_vector =
      rank == 2 ? view_rank == 3 : (view_rank == 2 || view_rank == rank + 1);
  static constexpr int last = view_rank > 0 ? view_rank - 1 : 0;
  static constexpr int components = view_rank > 0 ? static_cast<int>(V::static_extent(last)) : 0;
  static constexpr bool is_static = components > 0;
  using Vector = Kokkos::Array<value_type, static_cast<std::size_t>(is_static ? components : 1)>;

  static KOKKOS_FUNCTION value_type neutral() {
    if constexpr (std::is_same_v<typename P::access_type, AtomicMul>)
      return value_type(1);
    else
      return value_type{};
  }
  template <class To, class T>
  static KOKKOS_FUNCTION void put(To&& to, T const& value) {
    if constexpr (std::is_same_v<typename P::access_type, AtomicMul>)
      to *= value;
    else if constexpr (P::is_atomic)
      to += value;
    else
      to = value;
  }
  template <int rank, class... K>
  KOKKOS_FUNCTION decltype(auto) element(WorkItem<rank> const& item, K... k) const {
    constexpr int of_item = view_rank - static_cast<int>(sizeof...(K));
    static_assert(of_item == 0 || of_item == 1 || of_item == rank,
                  "Trellis: a View that is a Field has the rank of its items, 1, or one more");
    if constexpr (of_item == 0)
      return m_view();
    else if constexpr (of_item == 1)
      return m_view(item.flat, k...);
    else if constexpr (of_item == 2)
      return m_view(item.at[0], item.at[1], k...);
    else
      return m_view(item.at[0], item.at[1], item.at[2], k...);
  }
  template <int rank>
  KOKKOS_FUNCTION auto row(WorkItem<rank> const& item) const {
    auto& first = element(item, 0);
    return Row<std::remove_reference_t<decltype(first)>>(
        &first, static_cast<std::ptrdiff_t>(m_view.stride(int{last})),
        static_cast<int>(m_view.extent(int{last})));  // a value, as it may be taken by reference
  }
  V const& m_view;
};

/// Gives the coordinates of a uniform grid's points.
template <int D>
struct CoordinatesPortal {
  Kokkos::Array<double, D> origin;
  Kokkos::Array<double, D> spacing;
  KOKKOS_FUNCTION Kokkos::Array<double, D> load(WorkItem<D> const& item) const {
    Kokkos::Array<double, D> at;
    for (int d = 0; d < D; ++d) at[d] = origin[d] + spacing[d] * static_cast<double>(item.at[d]);
    return at;
  }
};

// --- cells

/// A shape that the type has.
template <CellShape shape>
struct ShapeConstant {
  KOKKOS_FUNCTION constexpr operator CellShape() const { return shape; }
};

/// The points of a cell of a uniform grid: `[k]` is the number of the k-th point, `item(k)` its
/// position.
template <int D>
class GridVertices {
 public:
  KOKKOS_FUNCTION GridVertices(Kokkos::Array<std::int64_t, D> const& points,
                               WorkItem<D> const& cell)
      : m_points(points), m_cell(cell.at) {}
  [[nodiscard]] static KOKKOS_FUNCTION constexpr int size() { return D == 2 ? 4 : 8; }
  [[nodiscard]] KOKKOS_FUNCTION WorkItem<D> item(int k) const {
    std::int64_t const i = m_cell[0] + ((k ^ (k >> 1)) & 1);
    std::int64_t const j = m_cell[1] + ((k >> 1) & 1);
    if constexpr (D == 2)
      return {{i, j}, i + m_points[0] * j};
    else {
      std::int64_t const l = m_cell[2] + (k >> 2);
      return {{i, j, l}, i + m_points[0] * (j + m_points[1] * l)};
    }
  }
  KOKKOS_FUNCTION std::int64_t operator[](int k) const { return item(k).flat; }

 private:
  Kokkos::Array<std::int64_t, D> m_points;
  Kokkos::Array<std::int64_t, D> m_cell;
};
template <int D>
struct GridCells {
  static constexpr int most_points = D == 2 ? 4 : 8;
  using vertices_type = GridVertices<D>;
  Kokkos::Array<std::int64_t, D> points;
  KOKKOS_FUNCTION auto load(WorkItem<D> const&) const {
    return ShapeConstant<D == 2 ? CellShape::quad : CellShape::hexahedron>();
  }
  [[nodiscard]] KOKKOS_FUNCTION GridVertices<D> vertices(WorkItem<D> const& cell) const {
    return {points, cell};
  }
};

/// The points of a cell in a list. `count` is their number; 0 means that it is known at run time.
template <class V, int count>
class ListVertices {
 public:
  KOKKOS_FUNCTION ListVertices(V const& connectivity, std::int64_t first, int size)
      : m_connectivity(connectivity), m_first(first), m_size(size) {}
  [[nodiscard]] KOKKOS_FUNCTION int size() const {
    if constexpr (count > 0)
      return count;
    else
      return m_size;
  }
  KOKKOS_FUNCTION std::int64_t operator[](int k) const {
    if constexpr (V::rank() == 2)
      return static_cast<std::int64_t>(m_connectivity(m_first, k));
    else
      return static_cast<std::int64_t>(m_connectivity(m_first + k));
  }
  [[nodiscard]] KOKKOS_FUNCTION WorkItem<1> item(int k) const {
    std::int64_t const point = (*this)[k];
    return WorkItem<1>{point};  // (nvcc passes on `return {(*this)[k]}` without its braces.)
  }

 private:
  V const& m_connectivity;
  std::int64_t m_first;
  int m_size;
};
template <CellShape shape, class V>
struct SingleShapePortal {
  static constexpr int most_points = points_of(shape);
  using vertices_type = ListVertices<V, most_points>;
  V const& connectivity;
  KOKKOS_FUNCTION auto load(WorkItem<1> const&) const { return ShapeConstant<shape>(); }
  [[nodiscard]] KOKKOS_FUNCTION vertices_type vertices(WorkItem<1> const& cell) const {
    return {connectivity, V::rank() == 2 ? cell.flat : cell.flat * most_points, most_points};
  }
};
template <class Shapes, class Offsets, class V>
struct MixedPortal {
  static constexpr int most_points = trellis::Impl::most_points_of_a_cell;
  using vertices_type = ListVertices<V, 0>;
  Shapes const& shapes;
  Offsets const& offsets;
  V const& connectivity;
  KOKKOS_FUNCTION CellShape load(WorkItem<1> const& cell) const {
    return static_cast<CellShape>(shapes(cell.flat));
  }
  [[nodiscard]] KOKKOS_FUNCTION vertices_type vertices(WorkItem<1> const& cell) const {
    auto const first = static_cast<std::int64_t>(offsets(cell.flat));
    return {connectivity, first, static_cast<int>(offsets(cell.flat + 1) - first)};
  }
};

/// The points of a new cell, which the worklet sets. `T` is the type of their numbers, or of their
/// positions.
template <class T, int count>
struct NewVertices {
  T points[static_cast<std::size_t>(count)];
  [[nodiscard]] static KOKKOS_FUNCTION constexpr int size() { return count; }
  KOKKOS_FUNCTION T& operator[](int k) { return points[k]; }
  KOKKOS_FUNCTION T const& operator[](int k) const { return points[k]; }
};
/// Writes new cells of one shape.
template <CellShape shape, class V>
struct NewCellsPortal {
  static constexpr int most_points = points_of(shape);
  using vertices_type = NewVertices<typename V::non_const_value_type, most_points>;
  V const& connectivity;
  template <int rank>
  KOKKOS_FUNCTION vertices_type start(WorkItem<rank> const&) const {
    return {};
  }
  template <int rank, class T>
  KOKKOS_FUNCTION void save(WorkItem<rank> const& cell, T const& vertices) const {
    for (int k = 0; k < most_points; ++k)
      connectivity(cell.flat, k) = static_cast<typename V::value_type>(vertices[k]);
  }
};

// --- whole arrays, and groups of values

/// Lets a worklet see all of a View: `[i]` is what a `Field` of it has for the i-th item. A View of
/// two or three dimensions for the items of a grid is numbered like the grid.
template <class V>
class WholeArray {
 public:
  KOKKOS_FUNCTION explicit WholeArray(V const& view) : m_view(view) {}
  template <int rank>
  KOKKOS_FUNCTION WholeArray const& load(WorkItem<rank> const&) const {
    return *this;
  }
  KOKKOS_FUNCTION decltype(auto) operator[](std::int64_t i) const {
    using P = Parameter<Field, In, Item>;
    FieldPortal<P, V> const portal(m_view);
    if constexpr (V::rank() <= 2) {
      return portal.load(WorkItem<1>{i});
    } else {
      auto const nx = static_cast<std::int64_t>(m_view.extent(0));
      auto const ny = static_cast<std::int64_t>(m_view.extent(1));
      return portal.load(WorkItem<3>{{i % nx, i / nx % ny, i / nx / ny}, i});
    }
  }
  [[nodiscard]] KOKKOS_FUNCTION V const& view() const { return m_view; }

 private:
  V const& m_view;
};

/// The coordinates of all points of a grid.
template <int D>
struct WholeCoordinates {
  Kokkos::Array<std::int64_t, D> points;
  CoordinatesPortal<D> at;
  template <int rank>
  KOKKOS_FUNCTION WholeCoordinates const& load(WorkItem<rank> const&) const {
    return *this;
  }
  KOKKOS_FUNCTION Kokkos::Array<double, D> operator[](std::int64_t i) const {
    WorkItem<D> item{{}, i};
    for (int d = 0; d < D; ++d) {
      item.at[d] = i % points[d];
      i /= points[d];
    }
    return at.load(item);
  }
};

/// The keys of a `ReduceByKey`. The numbers of the items of key k are in `order`, from `begin(k)`
/// on.
template <class Unique, class Begin, class Order>
struct KeysPortal {
  Unique const& unique;
  Begin const& begin;
  Order const& order;
  KOKKOS_FUNCTION auto const& load(WorkItem<1> const& key) const { return unique(key.flat); }
  [[nodiscard]] KOKKOS_FUNCTION std::int64_t first_of(std::int64_t key) const {
    return key < static_cast<std::int64_t>(begin.extent(0))
               ? begin(key)
               : static_cast<std::int64_t>(order.extent(0));
  }
};
/// The values of one key, in the order of their items.
template <class Portal, class Order>
class GroupOfValues {
 public:
  KOKKOS_FUNCTION GroupOfValues(Portal const& values, Order const& order, std::int64_t first,
                                std::int64_t end)
      : m_values(values), m_order(order), m_first(first), m_end(end) {}
  [[nodiscard]] KOKKOS_FUNCTION std::int64_t size() const { return m_end - m_first; }
  KOKKOS_FUNCTION decltype(auto) operator[](std::int64_t k) const {
    return m_values.load(WorkItem<1>{m_order(m_first + k)});
  }

 private:
  Portal m_values;
  Order const& m_order;
  std::int64_t m_first;
  std::int64_t m_end;
};

/// The values of a point field at the points of a cell: `[k]` is that of the k-th point.
template <class Portal, class Vertices_>
class CellPoints {
 public:
  KOKKOS_FUNCTION CellPoints(Portal const& field, Vertices_ const& vertices)
      : m_field(field), m_vertices(vertices) {}
  [[nodiscard]] KOKKOS_FUNCTION int size() const { return m_vertices.size(); }
  KOKKOS_FUNCTION decltype(auto) operator[](int k) const {
    return m_field.load(m_vertices.item(k));
  }

 private:
  Portal m_field;
  Vertices_ m_vertices;
};
/// The values that a worklet adds to (multiplies into) a point field at the points of its cell.
template <class T, int most>
struct PointContributions {
  T values[static_cast<std::size_t>(most)];
  int count;
  [[nodiscard]] KOKKOS_FUNCTION int size() const { return count; }
  KOKKOS_FUNCTION T& operator[](int k) { return values[k]; }
  KOKKOS_FUNCTION T const& operator[](int k) const { return values[k]; }
};

}  // namespace Impl
}  // namespace trellis::worklets

#endif
