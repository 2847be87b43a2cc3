// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_BINDARGUMENT_HPP
#define TRELLIS_BINDARGUMENT_HPP

#include <annotations/Trellis_Annotations.hpp>
#include <Trellis_Future.hpp>
#include <Trellis_Label.hpp>
#include <annotations/Trellis_LateView.hpp>
#include <worklets/Trellis_CellSets.hpp>
#include <worklets/Trellis_ExecArguments.hpp>
#include <worklets/Trellis_Signature.hpp>
#include <worklets/Trellis_WorkItem.hpp>

#include <Kokkos_Core.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

/// With this header you say how an argument of a call is bound to a parameter of a control
/// signature. Specialise `BindArgument` in namespace `trellis`:
///
///     struct Masked {};                               // a word for control signatures
///
///     template <class Access, class Domain>
///     struct trellis::BindArgument<trellis::worklets::Parameter<Masked, Access, Domain>, Mask> {
///       // Returns what the task touches: an annotation, or a std::tuple of them.
///       static auto access(Mask const& mask) { return trellis::read(mask.bits); }
///       // Returns how many items it has, e.g. of cells in a grid of `rank` dimensions. Without
///       // this function it fits any number.
///       template <int rank>
///       static trellis::worklets::Extents length(Mask const& mask,
///                                                trellis::worklets::Over<Domain, rank>) { ... }
///       // Returns what the kernel has instead of the argument, which a device must be able to
///       // copy: a function object that takes what a functor gets for the accesses, and returns
///       // the execution argument (see Trellis_ExecArguments.hpp). If there are no accesses, it
///       // may be the execution argument itself.
///       static auto exec(Mask const& mask) { return MaskPortal::Maker{mask.shift}; }
///     };
///
/// These members are optional:
///
///     static void prepare(Argument&, Over<Domain, rank>, Extents const&, std::string const& name);
///
/// This is called before the task is submitted, and may allocate memory that the worklet
/// overwrites.
///
/// - `late_length(argument, Over<...>)` in place of `length`: a source of the number (see
///   impl/Trellis_LateCount.hpp), which is resolved when the task is launched;
/// - `allocate(label, policy, argument, n)`, which submits the task that makes room for `n` items;
/// - `label(argument)`, for errors;
/// - `identity(argument)`: the address that identifies an array that a task allocates;
/// - `memory(argument)`: a View or a std::tuple of Views. By this and `identity` an argument is
///   found that is gathered from and also written;
/// - a constant `rank`, for an argument that is a grid.
namespace trellis {

/// Says how an argument is bound to a parameter of a signature; see above.
template <class Parameter, class Argument>
struct BindArgument {
  using is_not_bound = void;
};

namespace worklets {

/// Names the items of a domain, which is a grid of `rank` dimensions, or a list.
template <class Domain, int rank_>
struct Over {
  using domain = Domain;
  static constexpr int rank = rank_;
};

namespace Impl {

/// True if this argument can be bound to this parameter.
template <class Parameter, class Argument>
inline constexpr bool is_bound_v =
    !requires { typename BindArgument<Parameter, Argument>::is_not_bound; };

/// Says how many extents of a View of this rank number its items: 0, 1, or as many as a grid has.
template <int view_rank, int rank>
inline constexpr int item_extents = view_rank == rank || view_rank <= 1 ? view_rank
                                    : view_rank == rank + 1             ? rank
                                                                        : 1;

template <class V, int rank>
Extents extents_of(V const& view) {
  constexpr int of_item = item_extents<static_cast<int>(V::rank()), rank>;
  Extents extents{of_item, {1, 1, 1}};
  for (int d = 0; d < of_item; ++d)
    extents.along[d] = static_cast<std::int64_t>(view.extent(static_cast<std::size_t>(d)));
  return extents;
}

/// True if the View knows the length of its vectors, or has none.
template <class V, int rank>
bool knows_components(V const& view) {
  constexpr int of_item = item_extents<static_cast<int>(V::rank()), rank>;
  for (std::size_t d = of_item; d < V::rank(); ++d)
    if (view.extent(d) == 0) return false;
  return true;
}
/// Allocates a View of rank 0 to 4 for these items. Its memory is not initialised.
template <class V, int rank>
V allocate_view(V const& old, Extents const& extents, std::string const& name) {
  constexpr int view_rank = static_cast<int>(V::rank());
  constexpr int of_item = item_extents<view_rank, rank>;
  typename V::array_layout layout;
  for (int d = 0; d < view_rank; ++d)
    layout.dimension[d] =
        d < of_item ? static_cast<std::size_t>(of_item == 1 ? extents.count() : extents.along[d])
                    : old.extent(static_cast<std::size_t>(d));
  return V(
      Kokkos::view_alloc(old.label().empty() ? name : old.label(), Kokkos::WithoutInitializing),
      layout);
}

/// Makes an execution argument of this kind from the Views of an argument.
template <class P>
struct MakeFieldPortal {
  template <class V>
  KOKKOS_FUNCTION auto operator()(V const& view) const {
    return FieldPortal<P, V>(view);
  }
};
struct MakeWholeArray {
  template <class V>
  KOKKOS_FUNCTION auto operator()(V const& view) const {
    return WholeArray<V>(view);
  }
};
template <CellShape shape>
struct MakeSingleShapePortal {
  template <class V>
  KOKKOS_FUNCTION auto operator()(V const& connectivity) const {
    return SingleShapePortal<shape, V>{connectivity};
  }
};
template <CellShape shape>
struct MakeNewCellsPortal {
  template <class V>
  KOKKOS_FUNCTION auto operator()(V const& connectivity) const {
    return NewCellsPortal<shape, V>{connectivity};
  }
};
struct MakeMixedPortal {
  template <class Shapes, class Offsets, class V>
  KOKKOS_FUNCTION auto operator()(Shapes const& shapes, Offsets const& offsets,
                                  V const& connectivity) const {
    return MixedPortal<Shapes, Offsets, V>{shapes, offsets, connectivity};
  }
};

/// Returns the number of cells or of points.
template <class Domain, class Cells>
Extents count_of(Cells const& cells) {
  static_assert(std::is_same_v<Domain, Cell> || std::is_same_v<Domain, Point>,
                "Trellis: a Topology has cells and points");
  return Extents::of(std::is_same_v<Domain, Point> ? cells.point_count() : cells.cell_count());
}

}  // namespace Impl
}  // namespace worklets

// --- fields

/// Binds a number, which is the same for each item.
template <class D, class T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>)
struct BindArgument<worklets::Parameter<worklets::Field, worklets::In, D>, T> {
  static worklets::Impl::Constant<T> exec(T const& number) { return {number}; }
};

/// Binds a View, see `FieldPortal`. A View that is overwritten and has no items yet is allocated.
template <class A, class D, class V>
  requires Kokkos::is_view_v<V>
struct BindArgument<worklets::Parameter<worklets::Field, A, D>, V> {
  using P = worklets::Parameter<worklets::Field, A, D>;
  static auto access(V const& view) { return trellis::access(view, P::how); }
  template <int rank>
  static worklets::Extents length(V const& view, worklets::Over<D, rank>) {
    return worklets::Impl::extents_of<V, rank>(view);
  }
  template <int rank>
  static void prepare(V& view, worklets::Over<D, rank>, worklets::Extents const& extents,
                      std::string const& name)
    requires(std::is_same_v<A, worklets::Out> && V::rank() > 0 && !V::memory_traits::is_unmanaged)
  {
    if (worklets::Impl::extents_of<V, rank>(view).count() == 0 && extents.count() > 0 &&
        worklets::Impl::knows_components<V, rank>(view))
      view = worklets::Impl::allocate_view<V, rank>(view, extents, name);
  }
  static auto exec(V const&) { return worklets::Impl::MakeFieldPortal<P>(); }
  static std::string label(V const& view) { return view.label(); }
  static V const& memory(V const& view) { return view; }
};

/// Binds the positions of a uniform grid's points.
template <class D, int dimensions>
struct BindArgument<worklets::Parameter<worklets::Field, worklets::In, D>,
                    Impl::UniformCoordinates<dimensions>> {
  using Coordinates = Impl::UniformCoordinates<dimensions>;
  template <int rank>
  static worklets::Extents length(Coordinates const& of, worklets::Over<D, rank>) {
    static_assert(rank == dimensions,
                  "Trellis: the coordinates of a uniform grid go with that grid as Topology");
    return worklets::Extents::of<dimensions>(of.points);
  }
  static auto exec(Coordinates const& of) {
    return worklets::Impl::CoordinatesPortal<dimensions>{of.origin, of.spacing};
  }
  static std::string label(Coordinates const&) { return "coordinates"; }
};

/// Binds an array that a task allocates; its items are a list. Their number is looked up when the
/// worklet's task is launched. If the worklet overwrites the array, a task before it allocates the
/// array.
template <class A, class D, class T, class M, class L>
struct BindArgument<worklets::Parameter<worklets::Field, A, D>, LateView<T, M, L>> {
  using P = worklets::Parameter<worklets::Field, A, D>;
  using Array = LateView<T, M, L>;
  static auto access(Array const& array) { return trellis::access(array, P::how); }
  template <int rank>
  static auto late_length(Array const& array, worklets::Over<D, rank>) {
    return extent(array).source;
  }
  template <class Policy, class N>
  static Future<void> allocate(Label&& label, Policy const& policy, Array const& array, N const& n)
    requires std::is_same_v<A, worklets::Out>
  {
    static_assert(
        Array::managed_view::rank_dynamic() == 1,
        "Trellis: a LateView that a worklet overwrites has one extent that is not static: "
        "LateView<double*>, LateView<double*[3]>");
    return trellis::allocate(std::move(label), policy, array, n);
  }
  static auto exec(Array const&) { return worklets::Impl::MakeFieldPortal<P>(); }
  static std::string label(Array const& array) { return array.label(); }
  static void const* identity(Array const& array) { return array.memory().get(); }
};

/// Binds the numbers of items that each item generates.
template <class D, class V>
  requires(Kokkos::is_view_v<V> ||
           worklets::Impl::is_bound_v<worklets::Parameter<worklets::Field, worklets::In, D>, V>)
struct BindArgument<worklets::Parameter<worklets::Counts, worklets::In, D>, V>
    : BindArgument<worklets::Parameter<worklets::Field, worklets::In, D>, V> {};

/// Binds all coordinates of a uniform grid.
template <class D, int dimensions>
struct BindArgument<worklets::Parameter<worklets::Whole, worklets::In, D>,
                    Impl::UniformCoordinates<dimensions>> {
  static auto exec(Impl::UniformCoordinates<dimensions> const& of) {
    return worklets::Impl::WholeCoordinates<dimensions>{of.points, {of.origin, of.spacing}};
  }
  static std::string label(Impl::UniformCoordinates<dimensions> const&) { return "coordinates"; }
};
/// Binds a whole array, for worklets that access any element. It fits any number of items.
template <class D, class V>
  requires Kokkos::is_view_v<V>
struct BindArgument<worklets::Parameter<worklets::Whole, worklets::In, D>, V> {
  static auto access(V const& view) { return read(view); }
  static auto exec(V const&) { return worklets::Impl::MakeWholeArray(); }
  static std::string label(V const& view) { return view.label(); }
  static V const& memory(V const& view) { return view; }
};
template <class D, class T, class M, class L>
struct BindArgument<worklets::Parameter<worklets::Whole, worklets::In, D>, LateView<T, M, L>> {
  using Array = LateView<T, M, L>;
  static auto access(Array const& array) { return read(array); }
  static auto exec(Array const&) { return worklets::Impl::MakeWholeArray(); }
  static std::string label(Array const& array) { return array.label(); }
  static void const* identity(Array const& array) { return array.memory().get(); }
};

// --- cells

template <class D, int dimensions>
struct BindArgument<worklets::Parameter<worklets::Topology, worklets::In, D>,
                    UniformGrid<dimensions>> {
  static constexpr int rank = dimensions;
  using Grid = UniformGrid<dimensions>;
  template <class Domain>
  static worklets::Extents length(Grid const& grid, worklets::Over<Domain, dimensions>) {
    return worklets::Extents::of<dimensions>(
        std::is_same_v<Domain, worklets::Point> ? grid.points() : grid.cells());
  }
  static auto exec(Grid const& grid) {
    return worklets::Impl::GridCells<dimensions>{grid.points()};
  }
  static std::string label(Grid const&) { return "uniform grid"; }
};

template <class D, CellShape shape, class V>
struct BindArgument<worklets::Parameter<worklets::Topology, worklets::In, D>,
                    SingleShapeCells<shape, V>> {
  using Cells = SingleShapeCells<shape, V>;
  static auto access(Cells const& cells) { return read(cells.connectivity()); }
  template <class Domain>
  static worklets::Extents length(Cells const& cells, worklets::Over<Domain, 1>) {
    return worklets::Impl::count_of<Domain>(cells);
  }
  static auto exec(Cells const&) { return worklets::Impl::MakeSingleShapePortal<shape>(); }
  static std::string label(Cells const& cells) { return cells.connectivity().label(); }
  static V const& memory(Cells const& cells) { return cells.connectivity(); }
};

template <class D, class Shapes, class Offsets, class V>
struct BindArgument<worklets::Parameter<worklets::Topology, worklets::In, D>,
                    MixedCells<Shapes, Offsets, V>> {
  using Cells = MixedCells<Shapes, Offsets, V>;
  static auto access(Cells const& cells) {
    return std::tuple(read(cells.shapes()), read(cells.offsets()), read(cells.connectivity()));
  }
  template <class Domain>
  static worklets::Extents length(Cells const& cells, worklets::Over<Domain, 1>) {
    return worklets::Impl::count_of<Domain>(cells);
  }
  static auto exec(Cells const&) { return worklets::Impl::MakeMixedPortal(); }
  static std::string label(Cells const& cells) { return cells.connectivity().label(); }
  static auto memory(Cells const& cells) {
    return std::tie(cells.shapes(), cells.offsets(), cells.connectivity());
  }
};

template <class D, CellShape shape, class M>
struct BindArgument<worklets::Parameter<worklets::Topology, worklets::In, D>, LateCells<shape, M>> {
  using Cells = LateCells<shape, M>;
  static auto access(Cells const& cells) { return read(cells.connectivity()); }
  template <class Domain>
  static auto late_length(Cells const& cells, worklets::Over<Domain, 1>) {
    if constexpr (std::is_same_v<Domain, worklets::Point>)
      return cells.point_source();
    else
      return extent(cells.connectivity()).source;
  }
  static auto exec(Cells const&) { return worklets::Impl::MakeSingleShapePortal<shape>(); }
  static std::string label(Cells const& cells) { return cells.connectivity().label(); }
  static void const* identity(Cells const& cells) { return cells.connectivity().memory().get(); }
};
template <class D, CellShape shape, class M>
struct BindArgument<worklets::Parameter<worklets::Topology, worklets::Out, D>,
                    LateCells<shape, M>> {
  using Cells = LateCells<shape, M>;
  static auto access(Cells const& cells) { return write(cells.connectivity()); }
  template <class Policy, class N>
  static Future<void> allocate(Label&& label, Policy const& policy, Cells const& cells,
                               N const& n) {
    return trellis::allocate(std::move(label), policy, cells.connectivity(), n);
  }
  static auto exec(Cells const&) { return worklets::Impl::MakeNewCellsPortal<shape>(); }
  static std::string label(Cells const& cells) { return cells.connectivity().label(); }
  static void const* identity(Cells const& cells) { return cells.connectivity().memory().get(); }
};

}  // namespace trellis

#endif
